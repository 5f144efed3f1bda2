"""Prompt lookup drafts what came before, and never changes a token."""

from typing import Any

import pytest

from arbor.targets.engine.server.sequence import SamplingParameters, Sequence
from arbor.targets.engine.server.settings import ApplicationSettings
from arbor.targets.engine.server.speculation import PromptLookup
from arbor.targets.engine.server.witness import Witness

from .tiny import EXACT_STACK, ListSink, MakeEngine, step_to_the_end

STACKS: dict[str, dict[str, dict[str, Any]]] = {
    "baseline": {},
    "batched": {"application": {"decode_batching": True, "max_num_seqs": 8}},
    "padded": {
        "application": {"decode_batching": True, "max_num_seqs": 8, "sampler": "vectorised"},
        "framework": {"kv_cache": "preallocated", "attention": "sdpa", "masks": "static"},
    },
    "exact": EXACT_STACK,
}
CHOICES = [
    SamplingParameters(),
    SamplingParameters(repetition_penalty=1.05),
    SamplingParameters(temperature=0.7, top_k=20, top_p=0.9, seed=5),
    SamplingParameters(temperature=0.3, top_k=3, repetition_penalty=1.02, seed=9),
]
PROMPT = [3, 141, 59, 26, 53, 58, 97, 93, 238, 462]


def _sequence(tokens: list[int], parameters: SamplingParameters, max_tokens: int) -> Sequence:
    return Sequence(list(tokens), parameters, max_tokens, frozenset(), ListSink())


def _run(engine: Any, prompts: list[list[int]], max_tokens: int) -> list[list[int]]:
    sequences = [
        _sequence(prompt, choice, max_tokens)
        for prompt, choice in zip(prompts, CHOICES, strict=True)
    ]
    for sequence in sequences:
        engine.scheduler.add(sequence)
    step_to_the_end(engine)
    return [sequence.tokens for sequence in sequences]


@pytest.mark.parametrize("name", STACKS)
@pytest.mark.parametrize("num_tokens", [1, 4])
def test_drafts_come_true_and_keep_the_tokens(
    name: str, num_tokens: int, make_engine: MakeEngine
) -> None:
    # what a prompt is followed by, and the prompt's end once more: the same is likely to follow
    first = _run(make_engine(), [PROMPT] * len(CHOICES), 30)
    prompts = [tokens + PROMPT[-4:] for tokens in first]
    expected = _run(make_engine(), prompts, 40)
    document = {section: dict(entries) for section, entries in STACKS[name].items()}
    application = document.setdefault("application", {})
    application |= {"speculation": "prompt_lookup", "speculation_tokens": num_tokens}
    engine = make_engine(document)
    assert _run(engine, prompts, 40) == expected
    assert engine.witness.counts["speculation.accepted"] > 5
    assert engine.witness.counts["decode.checked"] > 0
    assert engine.num_generated_tokens == 40 * len(CHOICES)


def test_a_draft_is_what_followed_the_last_pair_and_no_longer_than_what_is_left() -> None:
    lookup = PromptLookup(ApplicationSettings(speculation_tokens=3), Witness())
    sequence = _sequence([1, 2, 3, 4, 5, 1, 2], SamplingParameters(), 4)
    sequence.slot = 0
    assert lookup.draft(sequence) == [3, 4, 5]
    sequence.tokens += [9]
    assert lookup.draft(sequence) == []
    sequence.tokens += [1, 2]
    # one token is left, which needs no draft
    assert lookup.draft(sequence) == []
    other = _sequence([7, 1, 2], SamplingParameters(), 8)
    other.slot = 0
    assert lookup.draft(other) == []
    other.tokens += [8, 1, 2]
    assert lookup.draft(other) == [8, 1, 2]


def test_a_draft_is_taken_up_to_its_first_error() -> None:
    lookup = PromptLookup(ApplicationSettings(), Witness())
    assert lookup.accept([], [5]) == [5]
    assert lookup.accept([5, 6], [5, 6, 7]) == [5, 6, 7]
    assert lookup.accept([5, 6], [5, 9, 7]) == [5, 9]
    assert lookup.accept([5, 6], [4, 6, 7]) == [4]


def test_a_stop_token_inside_a_draft_ends_the_sequence(make_engine: MakeEngine) -> None:
    (first, *_) = _run(make_engine(), [PROMPT] * len(CHOICES), 30)
    prompt = first + PROMPT[-4:]
    (plain, *_) = _run(make_engine(), [prompt] * len(CHOICES), 20)
    stop = plain[len(prompt) + 2]
    sequence = Sequence(list(prompt), CHOICES[0], 20, frozenset({stop}), ListSink())
    engine = make_engine({"application": {"speculation": "prompt_lookup"}})
    engine.scheduler.add(sequence)
    step_to_the_end(engine)
    assert sequence.tokens == plain[: plain.index(stop, len(prompt)) + 1]
