"""Teacher-forced scores: equal in every exact stack, close but different in int8."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from arbor.targets.engine.model_folder import planted_successors
from arbor.targets.engine.server.kv_cache import PreallocatedCache
from arbor.targets.engine.server.prefix_cache import PrefixCache
from arbor.targets.engine.server.scoring import ScoreRequest, score
from arbor.targets.engine.trace import build_trace

from .tiny import EXACT_STACK, TINY, MakeEngine


@pytest.fixture(scope="module")
def sequences(tiny_model: Path) -> tuple[tuple[int, ...], ...]:
    successors = planted_successors(tiny_model)
    trace = build_trace(
        8, num_requests=6, vocab_size=TINY.vocab_size, successors=successors, length_scale=0.2
    )
    return tuple(request.prompt for request in trace)


@pytest.fixture(scope="module")
def reference(
    make_engine: MakeEngine, sequences: tuple[tuple[int, ...], ...]
) -> list[dict[str, Any]]:
    scored: list[dict[str, Any]] = score(make_engine(), ScoreRequest(sequences))["results"]
    return scored


def _divergence(reference: list[dict[str, Any]], scored: list[dict[str, Any]]) -> float:
    """Mean Kullback-Leibler divergence over the reference's top tokens, in nats."""
    terms = []
    for expected, actual in zip(reference, scored, strict=True):
        for ids, logprobs, other_ids, others in zip(
            expected["top_ids"],
            expected["top_logprobs"],
            actual["top_ids"],
            actual["top_logprobs"],
            strict=True,
        ):
            by_id = dict(zip(other_ids, others, strict=True))
            terms.append(
                sum(np.exp(p) * (p - by_id.get(i, p)) for i, p in zip(ids, logprobs, strict=True))
            )
    return float(np.mean(terms))


def test_every_position_is_scored(
    reference: list[dict[str, Any]], sequences: tuple[tuple[int, ...], ...]
) -> None:
    for result, tokens in zip(reference, sequences, strict=True):
        assert {len(values) for values in result.values()} == {len(tokens) - 1}
        assert len(result["top_ids"][0]) == 32
        assert max(result["logprobs"]) <= 0.0


@pytest.mark.parametrize("num_scored", [1, 5, 10_000])
def test_the_last_positions_alone_can_be_asked_for(
    num_scored: int,
    make_engine: MakeEngine,
    reference: list[dict[str, Any]],
    sequences: tuple[tuple[int, ...], ...],
) -> None:
    request = ScoreRequest(sequences, num_decode=3, num_scored=num_scored)
    for expected, actual in zip(reference, score(make_engine(), request)["results"], strict=True):
        assert len(actual["top1"]) == min(num_scored, len(expected["top1"]))
        assert actual["top1"] == expected["top1"][-num_scored:]
        np.testing.assert_allclose(
            actual["logprobs"], expected["logprobs"][-num_scored:], atol=2e-4
        )


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("document", [{}, EXACT_STACK], ids=["baseline", "exact"])
def test_exact_stacks_score_alike_through_decode(
    document: dict[str, Any],
    batch: int,
    make_engine: MakeEngine,
    reference: list[dict[str, Any]],
    sequences: tuple[tuple[int, ...], ...],
) -> None:
    engine = make_engine(document)
    scored = score(engine, ScoreRequest(sequences, num_decode=12, batch=batch))
    assert scored["batch"] == batch
    for expected, actual in zip(reference, scored["results"], strict=True):
        np.testing.assert_allclose(actual["logprobs"], expected["logprobs"], atol=2e-4)
        assert actual["top1"] == expected["top1"]
    assert abs(_divergence(reference, scored["results"])) < 1e-5
    steps = engine.witness.counts["decode.batched" if document else "decode.single"]
    assert steps == 12 * -(-len(sequences) // batch)
    assert engine.scheduler.running == []


def test_int8_differs_a_little(
    make_engine: MakeEngine,
    reference: list[dict[str, Any]],
    sequences: tuple[tuple[int, ...], ...],
) -> None:
    engine = make_engine({"kernel": {"weights": "int8"}})
    scored = score(engine, ScoreRequest(sequences, num_decode=8, batch=4))["results"]
    assert 1e-6 < abs(_divergence(reference, scored)) < 0.05


class RepeatingCache(PreallocatedCache):
    """A cache with a fault: it restores a prefix's first block in place of every block.

    Blocks in a wrong order would be no fault: keys carry their positions already.
    """

    def copy_in(self, slot: int, blocks: list[Tensor]) -> None:
        super().copy_in(slot, blocks[:1] * len(blocks))


def test_a_broken_prefix_cache_shows_in_the_score(
    make_engine: MakeEngine,
    reference: list[dict[str, Any]],
    sequences: tuple[tuple[int, ...], ...],
) -> None:
    engine = make_engine(EXACT_STACK)
    cache = engine.decoder.cache
    assert isinstance(cache, PreallocatedCache)
    faulty = RepeatingCache(engine.architecture, 6, torch.float32, engine.witness)
    faulty.storage = cache.storage
    engine.prefix_cache = PrefixCache(faulty)
    scored = score(engine, ScoreRequest(sequences, num_decode=12, batch=4))["results"]
    assert abs(_divergence(reference, scored)) > 1e-4
