"""fast_p: the share of tasks that are right and more than p times as fast as the rival."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """What a candidate did on one task at one size.

    Attributes:
        task: name.
        shrink: factor by which sizes were divided.
        candidate_us: its time; None when it was refused.
        eager_us: time of the task's model; None when it was not timed.
        compiled_us: time of it under ``torch.compile``; None when it was not timed.
        problem: why there is no time.
    """

    task: str
    shrink: int
    candidate_us: float | None
    eager_us: float | None
    compiled_us: float | None
    problem: str = ""

    def speedup(self, rival: str) -> float:
        """Return the rival's time over the candidate's; 0 for a refused candidate.

        Args:
            rival: ``eager`` or ``compiled``.

        Raises:
            ValueError: that rival has no time.
        """
        rival_us = self.eager_us if rival == "eager" else self.compiled_us
        if rival_us is None:
            raise ValueError(f"{self.task}: {rival} was not timed")
        return 0.0 if self.candidate_us is None else rival_us / self.candidate_us


def fast_p(outcomes: Sequence[TaskOutcome], p: float, rival: str) -> float:
    """Return the share of outcomes whose speed-up exceeds ``p``.

    Source: Ouyang et al., "KernelBench", 2025, section 3.3. Refused candidates stay in the
    denominator.

    Raises:
        ValueError: there are no outcomes, or one has no time of the rival.
    """
    if not outcomes:
        raise ValueError("fast_p of no outcomes")
    return sum(each.speedup(rival) > p for each in outcomes) / len(outcomes)


def geometric_mean_speedup(outcomes: Sequence[TaskOutcome], rival: str) -> float:
    """Return the geometric mean over accepted candidates; NaN when there is none."""
    logs = [math.log(each.speedup(rival)) for each in outcomes if each.candidate_us is not None]
    return math.exp(math.fsum(logs) / len(logs)) if logs else math.nan
