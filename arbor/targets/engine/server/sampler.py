"""Next tokens from logits: one sequence after the other, or all rows at once.

All draw by inverting the cumulative distribution, likeliest token first, at the request's own
uniform number; so they choose the same tokens whatever runs beside a request.
"""

import itertools
from typing import Protocol

import torch
from torch import Tensor

from arbor.targets.engine.server.native.sampling import NativeSampler
from arbor.targets.engine.server.sequence import SamplingParameters, Sequence
from arbor.targets.engine.server.witness import Witness

# Rows are searched in blocks of this many logits: first the blocks' maxima, then the best blocks.
_BLOCK = 64


class Sampler(Protocol):
    """Chooses a token for each row."""

    def __call__(self, sequences: list[Sequence], logits: Tensor) -> list[int]:
        """One token for each sequence from logits [sequences, vocabulary], which it may change."""


class PerSequenceSampler:
    """The textbook order on one row at a time: penalty, temperature, top-k, top-p, draw."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness

    def __call__(self, sequences: list[Sequence], logits: Tensor) -> list[int]:
        """One token for each sequence."""
        return [self._one(sequence, row) for sequence, row in zip(sequences, logits, strict=True)]

    def _one(self, sequence: Sequence, row: Tensor) -> int:
        self._witness.count("sampler.per_sequence")
        parameters = sequence.parameters
        if parameters.repetition_penalty != 1.0:
            seen = torch.tensor(sequence.tokens)
            values = row[seen]
            penalty = parameters.repetition_penalty
            row[seen] = torch.where(values > 0, values / penalty, values * penalty)
        if parameters.temperature == 0.0:
            return int(row.argmax())
        ordered, order = torch.sort(row / parameters.temperature, descending=True)
        if 0 < parameters.top_k < len(ordered):
            ordered[parameters.top_k :] = float("-inf")
        probabilities = torch.softmax(ordered, dim=-1)
        if parameters.top_p < 1.0:
            before = probabilities.cumsum(-1) - probabilities
            probabilities[before > parameters.top_p] = 0.0
        cumulative = probabilities.cumsum(-1)
        drawn = parameters.uniform(sequence.num_generated) * float(cumulative[-1])
        place = int(torch.searchsorted(cumulative, drawn, right=True))
        num_kept = int(torch.count_nonzero(probabilities))
        return int(order[min(place, num_kept - 1)])


class VectorisedSampler:
    """All rows in a handful of operators; only the rows that need one pay for it."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness

    def __call__(self, sequences: list[Sequence], logits: Tensor) -> list[int]:
        """One token for each sequence."""
        self._witness.count("sampler.vectorised")
        parameters = [sequence.parameters for sequence in sequences]
        penalised = [i for i, p in enumerate(parameters) if p.repetition_penalty != 1.0]
        if penalised:
            self._penalise([sequences[i] for i in penalised], penalised, logits)
        drawn = [i for i, p in enumerate(parameters) if p.temperature != 0.0]
        if len(drawn) == len(sequences):
            return self._draw(sequences, logits)
        tokens = self._greedy(logits)
        if drawn:
            chosen = self._draw([sequences[i] for i in drawn], logits[torch.tensor(drawn)])
            for row, token in zip(drawn, chosen, strict=True):
                tokens[row] = token
        return tokens

    def _penalise(self, sequences: list[Sequence], rows: list[int], logits: Tensor) -> None:
        """Divide or multiply what the sequences have seen; repeated tokens give one value."""
        lengths = [len(sequence.tokens) for sequence in sequences]
        penalties = [sequence.parameters.repetition_penalty for sequence in sequences]
        counts = torch.tensor(lengths)
        row = torch.tensor(rows).repeat_interleave(counts)
        penalty = torch.tensor(penalties).repeat_interleave(counts)
        token = torch.tensor(list(itertools.chain.from_iterable(s.tokens for s in sequences)))
        values = logits[row, token]
        logits[row, token] = torch.where(values > 0, values / penalty, values * penalty)

    def _greedy(self, logits: Tensor) -> list[int]:
        rows, width = logits.shape
        if width % _BLOCK:
            chosen: list[int] = logits.argmax(-1).tolist()
            return chosen
        blocks = logits.view(rows, -1, _BLOCK)
        best = blocks.amax(-1).argmax(-1)
        inside = blocks[torch.arange(rows), best].argmax(-1)
        tokens: list[int] = (best * _BLOCK + inside).tolist()
        return tokens

    def _draw(self, sequences: list[Sequence], logits: Tensor) -> list[int]:
        parameters = [sequence.parameters for sequence in sequences]
        limits = [_kept(p, logits.shape[1]) for p in parameters]
        ordered, order = self._largest(logits, max(limits))
        settings = torch.tensor(
            [
                (p.temperature, limit, p.top_p, p.uniform(sequence.num_generated))
                for p, limit, sequence in zip(parameters, limits, sequences, strict=True)
            ]
        )
        temperature, limit, top_p, uniform = settings.unsqueeze(-1).unbind(1)
        scaled = ordered / temperature
        rank = torch.arange(ordered.shape[1])
        probabilities = torch.softmax(scaled.masked_fill(rank >= limit, float("-inf")), dim=-1)
        before = probabilities.cumsum(-1) - probabilities
        probabilities.masked_fill_((before > top_p) & (top_p < 1.0), 0.0)
        cumulative = probabilities.cumsum(-1)
        place = torch.searchsorted(cumulative, uniform * cumulative[:, -1:], right=True)
        kept = torch.count_nonzero(probabilities, dim=-1).unsqueeze(-1)
        chosen: list[int] = order.gather(1, torch.minimum(place, kept - 1)).squeeze(1).tolist()
        return chosen

    def _largest(self, logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """The count largest logits of each row in order, and their tokens.

        The largest logits lie in as many blocks at most, those with the largest maxima.
        """
        rows, width = logits.shape
        if count >= width:
            return torch.sort(logits, dim=-1, descending=True)
        if width % _BLOCK or count * _BLOCK * 2 > width:
            return torch.topk(logits, count)
        blocks = logits.view(rows, -1, _BLOCK)
        _, best = torch.topk(blocks.amax(-1), count, sorted=False)
        candidates = blocks.gather(1, best.unsqueeze(-1).expand(-1, -1, _BLOCK))
        values, inside = torch.topk(candidates.view(rows, -1), count)
        tokens = best.gather(1, inside // _BLOCK) * _BLOCK + inside % _BLOCK
        return values, tokens


def _kept(parameters: SamplingParameters, vocab_size: int) -> int:
    return parameters.top_k if 0 < parameters.top_k < vocab_size else vocab_size


def make_sampler(kind: str, witness: Witness) -> Sampler:
    """The sampler that serve.yaml asks for."""
    if kind == "vectorised":
        return VectorisedSampler(witness)
    if kind == "native":
        return NativeSampler(VectorisedSampler(witness), witness)
    return PerSequenceSampler(witness)
