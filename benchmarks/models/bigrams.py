"""A language model of pairs of tokens, as an embedding and a head of a transformer.

With C the counts of pairs, N their row sums and p the shares of tokens, smoothed by ``alpha``::

    log p(w | v) = log p(w) + M[v, w],   M[v, w] = log((C[v, w] / p(w) + alpha) / (N[v] + alpha))

M is replaced by its best product of low rank, ``M = left @ right.T``. A row of the embedding is
``(left[v], constant, padding)``, a row of the head ``(right[w], log p(w) / constant, 0)``; the
padding gives every row of the embedding the norm sqrt(hidden), which the final RMS norm leaves
as it is. A rotation of the hidden space then spreads constant and padding over all channels: no
channel stands out, as it would to a quantiser of activations.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

SMOOTHING = 2.0
CONSTANT_SHARE = 0.2
"""Share of an embedding's norm that carries log p(w)."""
LARGEST_QUANTILE = 0.95
"""Longer rows of ``left`` are shortened to this one's length."""
UNSEEN_LOG_PROB = -30.0
"""Of tokens that the tokenizer does not have."""
_EXTRA_RANK = 8
_POWER_ITERATIONS = 2


@dataclass(frozen=True)
class Ends:
    """Both ends of a transformer.

    Attributes:
        embedding: [vocab, hidden].
        head: [vocab, hidden].
        reserved: [hidden, 2], orthonormal: directions that layers must leave alone.
    """

    embedding: Tensor
    head: Tensor
    reserved: Tensor


def count_pairs(ids: Tensor, vocab_size: int) -> Tensor:
    """Return the counts of adjacent tokens, float32 [vocab, vocab]."""
    flat = torch.bincount(ids[:-1] * vocab_size + ids[1:], minlength=vocab_size**2)
    return flat.reshape(vocab_size, vocab_size).float()


def token_log_probs(counts: Tensor) -> Tensor:
    """Return log p(w), add-one smoothed, [vocab]."""
    totals = counts.sum(dim=0) + 1.0
    return (totals / totals.sum()).log()


def deviations(counts: Tensor, log_probs: Tensor) -> Tensor:
    """Return M of the module's formula, [vocab, vocab]."""
    num_after = counts.sum(dim=1, keepdim=True)
    return ((counts / log_probs.exp() + SMOOTHING) / (num_after + SMOOTHING)).log()


def make_ends(counts: Tensor, vocab_size: int, hidden: int, rank: int, seed: int) -> Ends:
    """Return embedding and head for counts of pairs.

    Args:
        counts: [known, known].
        vocab_size: rows of both ends; those past the known tokens are never predicted.
        hidden: width.
        rank: of the product that stands for M; at most ``hidden - 2``.
        seed: of the SVD, the rotation and the unknown tokens' embedding.

    Raises:
        ValueError: the rank or the vocabulary does not fit.
    """
    known = len(counts)
    if rank > min(hidden - 2, known - _EXTRA_RANK) or known > vocab_size:
        raise ValueError(f"rank {rank} or {known} tokens do not fit {vocab_size} x {hidden}")
    torch.manual_seed(seed)
    log_probs = token_log_probs(counts)
    u, s, v = torch.svd_lowrank(
        deviations(counts, log_probs), q=rank + _EXTRA_RANK, niter=_POWER_ITERATIONS
    )
    left, right = u[:, :rank] * s[:rank].sqrt(), v[:, :rank] * s[:rank].sqrt()
    constant = CONSTANT_SHARE * hidden**0.5
    longest = (hidden * (1.0 - CONSTANT_SHARE**2)) ** 0.5
    norms = left.norm(dim=1, keepdim=True)
    scale = longest / torch.quantile(norms, LARGEST_QUANTILE)
    left = left * scale * (longest / (norms * scale).clamp(min=1e-6)).clamp(max=1.0)
    right = right / scale
    embedding = torch.randn(vocab_size, hidden, device=counts.device)
    embedding *= hidden**0.5 / embedding.norm(dim=1, keepdim=True)
    embedding[:known] = 0.0
    embedding[:known, :rank] = left
    embedding[:known, -2] = constant
    padding = (hidden - embedding[:known].square().sum(dim=1)).clamp(min=0.0).sqrt()
    embedding[:known, -1] = padding
    head = torch.zeros(vocab_size, hidden, device=counts.device)
    head[:, -2] = UNSEEN_LOG_PROB / constant
    head[:known, :rank] = right
    head[:known, -2] = log_probs / constant
    embedding[known:, -2] = constant
    rotation = torch.linalg.qr(torch.randn(hidden, hidden, device=counts.device)).Q
    return Ends(embedding @ rotation, head @ rotation, rotation[-2:].T.contiguous())


def perplexity(ends: Ends, ids: Tensor) -> float:
    """Return the perplexity of tokens under both ends without layers between them."""
    total = 0.0
    for begin in range(0, len(ids) - 1, 1024):
        before = ids[begin : begin + 1024]
        after = ids[begin + 1 : begin + 1025]
        log_probs = (ends.embedding[before[: len(after)]] @ ends.head.T).log_softmax(dim=1)
        total -= float(log_probs.gather(1, after[:, None]).sum())
    return float(torch.tensor(total / (len(ids) - 1)).exp())
