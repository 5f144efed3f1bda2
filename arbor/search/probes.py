"""What tells a dense prior from a sparse one: pure statistics of an adviser's first answers."""

import math
import random
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

_Z95 = 1.959963984540054
"""Quantile of the normal distribution for a two-sided interval of 95 %."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval.

    Attributes:
        value: the estimate.
        low: lower end.
        high: upper end.
        num: observations behind it.
    """

    value: float
    low: float
    high: float
    num: int

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def rate(num_hits: int, num: int) -> Estimate:
    """Return a share of hits with Wilson's interval; without trials nothing is known.

    Such as the zero-shot correct rate: answers that worked at once, out of all, unreadable ones
    included.

    Raises:
        ValueError: there are more hits than trials.
    """
    if not 0 <= num_hits <= num:
        raise ValueError(f"{num_hits} hits of {num} trials")
    if num == 0:
        return Estimate(0.5, 0.0, 1.0, 0)
    share = num_hits / num
    scale = 1.0 + _Z95**2 / num
    middle = (share + _Z95**2 / (2 * num)) / scale
    half = _Z95 * math.sqrt(share * (1 - share) / num + _Z95**2 / (4 * num**2)) / scale
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half), num)


def entropy(values: Sequence[Hashable]) -> float:
    """Return the entropy of a sample in nats; 0 without values."""
    num = len(values)
    return math.fsum(-n / num * math.log(n / num) for n in Counter(values).values()) + 0.0


def normalised_mutual_information(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """Return ``2 I(X;Y) / (H(X) + H(Y))`` of a paired sample, between 0 and 1.

    0 when one of them never varies, which is what a collapsed prior looks like.

    Raises:
        ValueError: the samples are not paired.
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} values cannot be paired")
    alone = entropy(first), entropy(second)
    if min(alone) <= 0.0:
        return 0.0
    shared = alone[0] + alone[1] - entropy(list(zip(first, second, strict=True)))
    return min(max(2.0 * shared / (alone[0] + alone[1]), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Collapse:
    """How far answers follow what they should depend on.

    Attributes:
        nmi: normalised mutual information of sizes and answers; 0 is a collapsed prior.
        by_chance: mean of it when answers are shuffled: what this few samples give for nothing.
        p_value: share of shuffles that reach ``nmi``.
        num: samples.
    """

    nmi: float
    by_chance: float
    p_value: float
    num: int

    @property
    def above_chance(self) -> float:
        """What is left of the figure beyond chance, over what could be left; 0 to 1."""
        room = 1.0 - self.by_chance
        return max(0.0, (self.nmi - self.by_chance) / room) if room > 0 else 0.0


def collapse(
    sizes: Sequence[Hashable], answers: Sequence[Hashable], seed: int = 0, num_shuffles: int = 200
) -> Collapse:
    """Return how far answers follow sizes, beside what shuffled answers give.

    Raises:
        ValueError: the samples are not paired.
    """
    found = normalised_mutual_information(sizes, answers)
    source = random.Random(seed)  # noqa: S311 - a permutation test, not a secret
    shuffled = list(answers)
    chance = []
    for _ in range(num_shuffles):
        source.shuffle(shuffled)
        chance.append(normalised_mutual_information(sizes, shuffled))
    reached = sum(each >= found - 1e-12 for each in chance)
    return Collapse(
        nmi=found,
        by_chance=math.fsum(chance) / num_shuffles,
        p_value=(1 + reached) / (1 + num_shuffles),
        num=len(answers),
    )


def slope(values: Sequence[float | None]) -> float:
    """Return the gain of the best value per round over the first rounds, by least squares.

    Rounds before the first success count as that success: no gain, no loss. 0 below two rounds
    or without a success.
    """
    best: list[float] = []
    for value in values:
        known = [*best[-1:], *([] if value is None else [value])]
        best += [max(known)] if known else []
    best = [best[0]] * (len(values) - len(best)) + best if best else []
    num = len(best)
    if num < 2:
        return 0.0
    middle, mean = (num - 1) / 2, math.fsum(best) / num
    spread = math.fsum((n - middle) ** 2 for n in range(num))
    return math.fsum((n - middle) * (b - mean) for n, b in enumerate(best)) / spread


def size_shift(sizes: Sequence[float], common: Sequence[float]) -> float:
    """Return how far sizes lie from the nearest common one, as the mean of ``|log2|``.

    Raises:
        ValueError: a list is empty, or a size is not above 0.
    """
    if not sizes or not common or min(*sizes, *common) <= 0:
        raise ValueError(f"sizes {list(sizes)} and {list(common)} must be above 0, one at least")
    return math.fsum(min(abs(math.log2(s / c)) for c in common) for s in sizes) / len(sizes)
