"""Requests of windows: equal work for every seed, other prompts for each."""

import numpy as np
import pytest

from arbor.targets.engine.trace import MIXES
from arbor.targets.vllm.config import Workload
from arbor.targets.vllm.requests import (
    MAX_TEXT_CHARACTERS,
    CompletionRequest,
    TokenSource,
    build_requests,
    prose,
    tokenised,
)

WORKLOAD = Workload(input_tokens=40, output_tokens=10, prefix_tokens=16, length_spread=0.5)


def build(seed: int = 1, num: int = 9, max_length: int | None = None) -> list[CompletionRequest]:
    found = build_requests(
        WORKLOAD,
        MIXES[""],
        TokenSource(1000),
        seed=seed,
        num_requests=num,
        model="m",
        salt="s",
        max_length=max_length,
    )
    return list(found)


def test_seeds_change_prompts_and_not_the_work() -> None:
    one, again, other = build(1), build(1), build(2)
    assert one == again
    assert {r.prompt for r in one}.isdisjoint({r.prompt for r in other})
    assert [(len(r.prompt), r.max_tokens) for r in one] == [
        (len(r.prompt), r.max_tokens) for r in other
    ]


def test_lengths_spread_around_what_is_asked() -> None:
    requests = build()
    assert np.mean([len(r.prompt) for r in requests]) == pytest.approx(40, abs=0.5)
    assert np.mean([r.max_tokens for r in requests]) == pytest.approx(10, abs=0.5)
    assert {len(r.prompt) for r in requests} > {20, 60}
    assert len({r.prompt[:16] for r in requests}) == 1
    assert len({r.prompt[16:] for r in requests}) == 9


def test_nothing_exceeds_what_the_server_takes() -> None:
    for request in build(max_length=48):
        assert len(request.prompt) + request.max_tokens <= 48


def test_tokens_keep_away_from_the_ends_of_the_vocabulary() -> None:
    tokens = TokenSource(1000).draw(np.random.default_rng(0), 5000)
    assert (min(tokens), max(tokens)) == (100, 899)


def test_the_body_asks_for_token_ids_and_a_cold_cache() -> None:
    body = build()[0].body()
    assert (body["stream"], body["return_token_ids"], body["cache_salt"]) == (True, True, "s")
    assert body["ignore_eos"]


def test_prose_becomes_tokens() -> None:
    texts = prose()
    assert sum(map(len, texts)) >= MAX_TEXT_CHARACTERS
    tokens = tokenised(texts, lambda text: [len(word) for word in text.split()])
    source = TokenSource(100, tokens)
    one, other = (source.draw(np.random.default_rng(seed), 300) for seed in (1, 2))
    assert len(one) == len(other) == 300
    assert one != other
    assert set(one) <= {token for paragraph in tokens for token in paragraph}
    assert tokenised(["a b"], lambda _: [1, 2]) == ()
