"""The ends of a bigram model: the numbers that their construction promises."""

import torch

from benchmarks.models.bigrams import (
    UNSEEN_LOG_PROB,
    count_pairs,
    deviations,
    make_ends,
    perplexity,
    token_log_probs,
)

KNOWN = 48
VOCAB = 60
HIDDEN = 32


def tokens() -> torch.Tensor:
    """Return a text in which token t is mostly followed by t + 1."""
    generator = torch.Generator().manual_seed(3)
    steps = torch.randint(0, 10, (6000,), generator=generator)
    jumps = torch.where(steps < 8, torch.ones_like(steps), 7 * steps)
    return torch.cumsum(jumps, dim=0) % KNOWN


def test_counts_are_of_adjacent_tokens() -> None:
    counts = count_pairs(torch.tensor([0, 1, 1, 0, 1]), 3)
    assert counts.tolist() == [[0, 2, 0], [1, 1, 0], [0, 0, 0]]


def test_every_row_of_the_embedding_has_the_length_that_the_norm_keeps() -> None:
    ends = make_ends(count_pairs(tokens(), KNOWN), VOCAB, HIDDEN, rank=24, seed=0)
    lengths = ends.embedding.norm(dim=1)
    assert torch.allclose(lengths, torch.full((VOCAB,), HIDDEN**0.5), rtol=0.05)
    assert torch.allclose(lengths[:KNOWN], torch.full((KNOWN,), HIDDEN**0.5), rtol=1e-4)


def test_full_rank_gives_the_smoothed_log_probs() -> None:
    counts = count_pairs(tokens(), KNOWN)
    ends = make_ends(counts, VOCAB, 48, rank=40, seed=0)
    wanted = token_log_probs(counts) + deviations(counts, token_log_probs(counts))
    found = ends.embedding[:KNOWN] @ ends.head[:KNOWN].T
    # long rows are shortened, which flattens their distribution; the others are nearly kept
    kept = (wanted - found).square().mean(dim=1).sqrt().sort().values[: KNOWN // 2]
    assert kept.max() < 0.3 * (wanted - token_log_probs(counts)).std()


def test_pairs_predict_better_than_single_tokens() -> None:
    ids = tokens()
    ends = make_ends(count_pairs(ids, KNOWN), VOCAB, HIDDEN, rank=24, seed=0)
    assert perplexity(ends, ids[:2000]) < 0.5 * KNOWN


def test_tokens_that_the_tokenizer_lacks_are_never_predicted() -> None:
    ends = make_ends(count_pairs(tokens(), KNOWN), VOCAB, HIDDEN, rank=24, seed=0)
    logits = ends.embedding @ ends.head.T
    assert torch.allclose(logits[:, KNOWN:], torch.tensor(UNSEEN_LOG_PROB), atol=1e-2)


def test_no_channel_stands_out() -> None:
    ends = make_ends(count_pairs(tokens(), KNOWN), VOCAB, HIDDEN, rank=24, seed=0)
    rms = ends.embedding[:KNOWN].square().mean(dim=0).sqrt()
    assert rms.max() < 4 * rms.mean()
