"""Which engine searches next: probes of a prior, thresholds, then a bandit on gain per cost.

Source: "Prior knowledge or search?" (arXiv 2605.19782) finds that models are strong where the
prior is dense and weak where it is sparse or sizes shifted; it gives no rule, so this one is ours.
Everything is a pure function of what was recorded.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from arbor.events.types import ArmReading, ProbeReading
from arbor.search.probes import Collapse, Estimate

Density = Literal["dense", "sparse", "mixed", "unknown"]
_Says = Literal["dense", "sparse", "nothing"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where a probe speaks for a dense or a sparse prior; between both it says nothing.

    Attributes:
        dense_correct: rate of correct first answers at and above which the prior is dense.
        sparse_correct: and at and below which it is sparse.
        collapsed: mutual information beyond chance at and below which answers ignore sizes.
        following: and at and above which they follow them.
        max_p: a figure of chance is no evidence: largest p-value that counts as following.
        far: mean ``|log2|`` to the nearest common size at and above which sizes are shifted.
        min_slope: log gain per round of the first rounds at which advice is still improving.
        min_num: observations below which a probe says nothing.
    """

    dense_correct: float = 0.6
    sparse_correct: float = 0.3
    collapsed: float = 0.1
    following: float = 0.3
    max_p: float = 0.05
    far: float = 2.0
    min_slope: float = 0.01
    min_num: int = 5


@dataclass(frozen=True, slots=True)
class Probes:
    """What is known about an adviser in one layer and language; None: not probed.

    Attributes:
        correct: zero-shot correct rate; unreadable answers count as wrong.
        collapse: how far answers follow the sizes that were asked about.
        slope: log gain of the best value per round over the first rounds.
        num_rounds: rounds behind ``slope``.
        size_shift: mean ``|log2|`` between the sizes at hand and the nearest common one.
    """

    correct: Estimate | None = None
    collapse: Collapse | None = None
    slope: float | None = None
    num_rounds: int = 0
    size_shift: float | None = None


def readings(probes: Probes, limits: Thresholds) -> tuple[ProbeReading, ...]:
    """Return what each probe says; those that were not made are left out."""
    found = []
    if (correct := probes.correct) is not None:
        # The whole interval must lie on one side: five answers of five prove little.
        is_dense = correct.low >= limits.dense_correct
        is_sparse = correct.high <= limits.sparse_correct
        says = _says(correct.num >= limits.min_num, is_dense, is_sparse)
        found.append(
            ProbeReading(
                probe="correct_rate",
                value=correct.value,
                low=correct.low,
                high=correct.high,
                num=correct.num,
                says=says,
            )
        )
    if (seen := probes.collapse) is not None:
        follows = seen.above_chance >= limits.following and seen.p_value <= limits.max_p
        says = _says(seen.num >= limits.min_num, follows, seen.above_chance <= limits.collapsed)
        found.append(
            ProbeReading(probe="collapse", value=seen.above_chance, num=seen.num, says=says)
        )
    if probes.slope is not None:
        is_stuck = probes.slope < limits.min_slope
        says = _says(probes.num_rounds >= limits.min_num, False, is_stuck)
        found.append(
            ProbeReading(probe="slope", value=probes.slope, num=probes.num_rounds, says=says)
        )
    if probes.size_shift is not None:
        says = "sparse" if probes.size_shift >= limits.far else "nothing"
        found.append(ProbeReading(probe="size_shift", value=probes.size_shift, num=1, says=says))
    return tuple(found)


def _says(is_enough: bool, is_dense: bool, is_sparse: bool) -> _Says:
    if not is_enough:
        return "nothing"
    return "dense" if is_dense else "sparse" if is_sparse else "nothing"


def density(found: Sequence[ProbeReading]) -> Density:
    """Return the verdict of all probes: one side alone decides, both sides are mixed."""
    said = {reading.says for reading in found} - {"nothing"}
    if not said:
        return "unknown"
    if len(said) > 1:
        return "mixed"
    return "dense" if said == {"dense"} else "sparse"


def open_arms(
    arms: Sequence[str], advised: frozenset[str] | set[str], verdict: Density
) -> tuple[str, ...]:
    """Return the engines that a verdict leaves; all of them where it would leave none."""
    if verdict == "dense":
        left = tuple(arm for arm in arms if arm in advised)
    elif verdict == "sparse":
        left = tuple(arm for arm in arms if arm not in advised)
    else:
        left = tuple(arms)
    return left or tuple(arms)


@dataclass(frozen=True, slots=True)
class Play:
    """One earlier search.

    Attributes:
        engine: that searched.
        gain: log gain of its best trial over its first.
        cost: trials, or whatever unit all plays share.
    """

    engine: str
    gain: float
    cost: float


WINDOW = 24
"""Plays that count; what was long ago was another stack."""
CURIOSITY = 0.5
"""Weight of the confidence bound, in deviations of what plays gain per cost."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A routed decision with its evidence.

    Attributes:
        engine: that searches.
        density: verdict about the adviser's prior.
        probes: what each probe said.
        arms: all engines that were open, with what their plays gained.
    """

    engine: str
    density: Density
    probes: tuple[ProbeReading, ...]
    arms: tuple[ArmReading, ...]

    def evidence(self) -> str:
        """Return the decision in one line."""
        said = [f"{p.probe} {p.value:.2f} says {p.says}" for p in self.probes]
        chosen = next(arm for arm in self.arms if arm.engine == self.engine)
        record = (
            "never played here"
            if chosen.bound is None
            else f"{chosen.num_plays} plays gained {chosen.gain_per_cost:.4f} per trial"
        )
        return "; ".join([f"prior {self.density}", *said, f"{self.engine}: {record}"])


def choose(
    arms: Sequence[str],
    advised: frozenset[str] | set[str],
    probes: Probes,
    plays: Sequence[Play],
    limits: Thresholds | None = None,
) -> Choice:
    """Return which engine searches next in one layer and language.

    Args:
        arms: engines that exist here, the first one first while nothing is known.
        advised: those among them that ask an adviser.
        probes: what is known about the adviser.
        plays: earlier searches of this layer and language, oldest first.
        limits: thresholds of the probes.

    Raises:
        ValueError: there are no engines.
    """
    if not arms:
        raise ValueError("a router needs one engine at least")
    found = readings(probes, limits or Thresholds())
    verdict = density(found)
    left = open_arms(arms, advised, verdict)
    rated = _rated(left, plays)
    # max() keeps the first of equals, so that the order of the arms decides
    best = max(rated, key=lambda arm: math.inf if arm.bound is None else arm.bound)
    return Choice(best.engine, verdict, found, rated)


def _rated(arms: Sequence[str], plays: Sequence[Play]) -> tuple[ArmReading, ...]:
    """Return sliding-window upper confidence bounds (Garivier and Moulines, 2011)."""
    recent = [play for play in plays if play.engine in set(arms)][-WINDOW:]
    rates = [play.gain / max(play.cost, 1e-9) for play in recent]
    scale = _deviation(rates)
    own: Mapping[str, list[float]] = {
        arm: [rate for play, rate in zip(recent, rates, strict=True) if play.engine == arm]
        for arm in arms
    }
    found = []
    for arm, values in own.items():
        if not values:
            found.append(ArmReading(engine=arm))
            continue
        mean = math.fsum(values) / len(values)
        bonus = CURIOSITY * scale * math.sqrt(2.0 * math.log(len(recent)) / len(values))
        found.append(
            ArmReading(engine=arm, num_plays=len(values), gain_per_cost=mean, bound=mean + bonus)
        )
    return tuple(found)


def _deviation(values: Sequence[float]) -> float:
    """Return the deviation of values; their size where there is one value alone."""
    if not values:
        return 0.0
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return abs(mean)
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))
