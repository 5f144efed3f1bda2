"""All samplers choose the same tokens, and the right ones."""

import pytest
import torch

from arbor.targets.engine.server.sampler import (
    PerSequenceSampler,
    make_sampler,
)
from arbor.targets.engine.server.sequence import SamplingParameters, Sequence
from arbor.targets.engine.server.witness import Witness

from .tiny import ListSink

CHOICES = [
    SamplingParameters(),
    SamplingParameters(repetition_penalty=1.3),
    SamplingParameters(temperature=0.8, top_k=40, top_p=0.95, seed=1),
    SamplingParameters(temperature=1.5, top_k=5, seed=2),
    SamplingParameters(temperature=1.0, top_p=0.7, seed=3),
    SamplingParameters(temperature=1.0, seed=4),
    SamplingParameters(temperature=0.6, top_k=40, repetition_penalty=1.2, seed=5),
    SamplingParameters(temperature=1.0, top_k=1, seed=6),
]


def _sequence(parameters: SamplingParameters, slot: int, tokens: list[int]) -> Sequence:
    sequence = Sequence(tokens, parameters, 100, frozenset(), ListSink())
    sequence.slot = slot
    return sequence


@pytest.mark.parametrize("kind", ["vectorised", "native"])
@pytest.mark.parametrize("vocab_size", [500, 512, 16_384])
@pytest.mark.parametrize("parameters", [CHOICES, CHOICES[2:4], CHOICES[:2], [CHOICES[2]] * 7])
def test_all_rows_at_once_equal_one_by_one_over_many_steps(
    kind: str, vocab_size: int, parameters: list[SamplingParameters]
) -> None:
    generator = torch.Generator().manual_seed(vocab_size)
    witness = Witness()
    all_at_once = make_sampler(kind, witness)
    one_by_one = PerSequenceSampler(Witness())
    prompt = torch.randint(vocab_size, (30,), generator=generator).tolist()
    sequences = [_sequence(choice, slot, list(prompt)) for slot, choice in enumerate(parameters)]
    for _ in range(12):
        logits = 4 * torch.randn(len(parameters), vocab_size, generator=generator)
        tokens = all_at_once(sequences, logits.clone())
        assert tokens == one_by_one(sequences, logits.clone())
        for sequence, token in zip(sequences, tokens, strict=True):
            sequence.tokens.append(token)
    # only a draw from all tokens is left to the other sampler
    draws_from_all = any(p.temperature and not p.top_k for p in parameters)
    assert witness.counts == {"sampler.vectorised" if draws_from_all else f"sampler.{kind}": 12}


def test_the_native_sampler_takes_any_width_and_place() -> None:
    sampler = make_sampler("native", Witness())
    for width in (1, 63, 64, 65, 1000):
        for place in {0, width // 2, width - 1}:
            logits = torch.zeros(1, width)
            logits[0, place] = 5.0
            greedy = SamplingParameters()
            likeliest = SamplingParameters(temperature=1.0, top_k=1)
            all_ranked = SamplingParameters(temperature=0.1, top_k=width, top_p=0.5)
            for parameters in (greedy, likeliest, all_ranked):
                assert sampler([_sequence(parameters, 0, [0])], logits.clone()) == [place]


@pytest.mark.parametrize("kind", ["vectorised", "native"])
def test_the_penalty_is_of_the_sequence_and_not_of_the_slot(kind: str) -> None:
    sampler = make_sampler(kind, Witness())
    penalised = SamplingParameters(repetition_penalty=2.0)
    logits = torch.zeros(1, 64)
    logits[0, 7], logits[0, 9] = 3.0, 2.0
    assert sampler([_sequence(penalised, 0, [7])], logits.clone()) == [9]
    assert sampler([_sequence(penalised, 0, [9])], logits.clone()) == [7]


@pytest.mark.parametrize("kind", ["per_sequence", "vectorised", "native"])
def test_draws_follow_the_probabilities(kind: str) -> None:
    count = 4000
    sampler = make_sampler(kind, Witness())
    probabilities = torch.tensor([0.5, 0.3, 0.15, 0.05])
    logits = torch.full((count, 64), -1e4)
    logits[:, :4] = probabilities.log()
    sequences = [
        _sequence(SamplingParameters(temperature=1.0, top_k=9, top_p=0.94, seed=seed), seed, [0])
        for seed in range(count)
    ]
    drawn = torch.bincount(torch.tensor(sampler(sequences, logits)), minlength=64) / count
    # The fourth token lies beyond the mass of 0.94; the others share it. Five standard errors.
    kept = probabilities[:3] / probabilities[:3].sum()
    torch.testing.assert_close(drawn[:3], kept, atol=0.04, rtol=0.0)
    assert drawn[3:].sum() == 0


def test_uniform_numbers_are_spread_and_repeatable() -> None:
    numbers = torch.tensor(
        [SamplingParameters(seed=s).uniform(d) for s in range(40) for d in range(50)]
    )
    assert SamplingParameters(seed=8).uniform(3) == SamplingParameters(seed=8).uniform(3)
    assert len(set(numbers.tolist())) == len(numbers)
    assert 0 <= numbers.min() < 0.01
    assert 0.99 < numbers.max() < 1
    assert abs(float(numbers.mean()) - 0.5) < 0.03
