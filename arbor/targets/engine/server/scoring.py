"""Teacher-forced log-probabilities through the engine's own prefill and decode."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from arbor.targets.engine.server.engine import Engine
from arbor.targets.engine.server.sequence import SamplingParameters, Sequence

DEFAULT_TOP_K = 32


@dataclass(frozen=True)
class ScoreRequest:
    """What to score.

    Attributes:
        sequences: token ids, two at least in each.
        num_decode: the last so many predictions of a sequence come from decode steps, the others
            from its prefill.
        num_scored: the last so many predictions of a sequence are reported; 0 for all.
        batch: sequences that are computed together.
        top_k: likeliest tokens that are reported per position.
    """

    sequences: tuple[tuple[int, ...], ...]
    num_decode: int = 0
    num_scored: int = 0
    batch: int = 1
    top_k: int = DEFAULT_TOP_K


class _Silence:
    """Takes the tokens of sequences that nobody listens to."""

    def push(self, tokens: list[int], finish_reason: str | None) -> None:
        """Ignore the tokens."""

    def fail(self, message: str) -> None:
        """Ignore the error, which the caller sees itself."""


def score(engine: Engine, request: ScoreRequest) -> dict[str, Any]:
    """Score on an idle engine.

    With prefix reuse on, the decode steps run on restored prefixes: after the prefill that is
    scored the sequences are prefilled again through the prefix cache.

    Returns:
        `results`, one per sequence, each with lists over the scored of the positions 1..n-1:
        `logprobs` of the given tokens, `top1`, `top_ids` and `top_logprobs`; `batch` that was
        used, at most max_num_seqs.
    """
    width = max(1, min(request.batch, engine.settings.application.max_num_seqs))
    results: list[dict[str, Any]] = []
    with engine.grad_mode():
        for start in range(0, len(request.sequences), width):
            group = [list(tokens) for tokens in request.sequences[start : start + width]]
            results.extend(_score_group(engine, group, request))
    return {"results": results, "batch": width}


def _score_group(
    engine: Engine, group: list[list[int]], request: ScoreRequest
) -> list[dict[str, Any]]:
    num_decode = [min(request.num_decode, len(tokens) - 2) for tokens in group]
    sequences = [
        Sequence(
            tokens[: len(tokens) - 1 - count], SamplingParameters(), 1, frozenset(), _Silence()
        )
        for tokens, count in zip(group, num_decode, strict=True)
    ]
    for sequence in sequences:
        engine.scheduler.add(sequence)
    engine.scheduler.admit()
    try:
        # one row at least: products are not made for none
        num_last = max(request.num_scored - min(num_decode), 1) if request.num_scored else None
        logits = [[rows] for rows in engine.prefill_all_logits(sequences, num_last)]
        if engine.settings.application.prefix_reuse:
            for sequence in sequences:
                engine.prefix_cache.store(sequence.slot, sequence.tokens)
                engine.decoder.cache.release(sequence.slot)
                sequence.num_cached = 0
            engine.prefill(sequences)
        for step in range(max(num_decode, default=0)):
            active = [i for i, count in enumerate(num_decode) if step < count]
            for i in active:
                sequences[i].tokens.append(group[i][len(sequences[i].tokens)])
            rows = engine.decode([sequences[i] for i in active])
            for i, row in zip(active, rows, strict=True):
                logits[i].append(row[None])
    finally:
        for sequence in sequences:
            engine.finish(sequence)
    return [
        _result(torch.cat(rows), tokens, request)
        for rows, tokens in zip(logits, group, strict=True)
    ]


def _result(logits: Tensor, tokens: list[int], request: ScoreRequest) -> dict[str, Any]:
    """Numbers of one sequence from its next-token logits [positions, vocabulary]."""
    num_scored = min(request.num_scored or len(logits), len(logits))
    logprobs = torch.log_softmax(logits[-num_scored:], dim=-1)
    chosen = logprobs.gather(1, torch.tensor(tokens[-num_scored:])[:, None]).squeeze(1)
    top, ids = torch.topk(logprobs, min(request.top_k, logprobs.shape[1]))
    return {
        "logprobs": _rounded(chosen),
        "top1": ids[:, 0].tolist(),
        "top_ids": ids.tolist(),
        "top_logprobs": _rounded(top),
    }


def _rounded(values: Tensor) -> Any:
    return torch.round(values.to(torch.float64), decimals=6).tolist()
