"""Two methods on the same problems: who was better how often, with an interval."""

import random
from collections.abc import Sequence

NUM_RESAMPLES = 4000


def scores(mine: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> list[float]:
    """Return for each problem the mean over seeds of 1 for better, 1/2 for equal, 0 for worse."""
    found = []
    for own, others in zip(mine, theirs, strict=True):
        pairs = list(zip(own, others, strict=True))
        found.append(sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs))
    return found


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean and its 95 % bootstrap interval."""
    source = random.Random(0)  # noqa: S311 - a sample, not a secret
    means = sorted(
        sum(source.choices(values, k=len(values))) / len(values) for _ in range(NUM_RESAMPLES)
    )
    ends = means[int(0.025 * NUM_RESAMPLES)], means[int(0.975 * NUM_RESAMPLES) - 1]
    return sum(values) / len(values), *ends
