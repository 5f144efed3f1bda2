"""Checks and times the parts of a worktree inside the child program."""

import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any

from arbor.kernels.checking import compute_device
from arbor.kernels.drawing import VARIATIONS
from arbor.kernels.harness.examining import Verdict, examine
from arbor.kernels.harness.timing import Timing, TimingSettings, measure
from arbor.kernels.harness.watching import Tripwire
from arbor.targets.kernel.server.parts import Part

_START_SEEDS = (101, 102, 103)


class KernelBench:
    """All parts of one worktree.

    Attributes:
        parts: shapes of an operator, or sizes of a task.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self._tripwire = Tripwire()

    def refusals(self) -> list[str]:
        """Return one line for each broken rule of each part."""
        found = []
        for part in self.parts:
            verdict = examine(part.candidate, part.problem, _START_SEEDS, self._tripwire)
            found += [f"{part.problem.name}: {each}" for each in verdict.refusals]
        return found

    def window(self, seed: int, num_requests: int) -> dict[str, Any]:
        """Time ``num_requests`` passes of every part, with fresh inputs of ``seed``.

        Returns:
            Per part: ``us`` (median of one call) and ``error``; ``refusals`` of all; ``digest``,
            equal for equal work that was done within the tolerance of float64.
        """
        timings = {part.name: self._timed(part, seed, num_requests) for part in self.parts}
        refusals = [f"{name}: {r}" for name, each in timings.items() for r in each.refusals]
        outcome = [seed, num_requests, sorted(timings), refusals]
        return {
            "parts": {
                name: {"us": each.median_us, "error": _finite(each.error.whole)}
                for name, each in timings.items()
            },
            "changed": [part.name for part in self.parts if part.is_changed],
            "method": sorted({each.method for each in timings.values()}),
            "refusals": refusals,
            "digest": hashlib.sha256(json.dumps(outcome).encode()).hexdigest(),
        }

    def distances(self, seed: int) -> list[dict[str, Any]]:
        """Return the errors of each part on fresh inputs of each distribution."""
        found = []
        for variation in VARIATIONS:
            for part in self.parts:
                verdict = self._verdict(part, seed, variation)
                found.append(
                    {
                        "variation": variation,
                        "part": part.name,
                        "error": _finite(verdict.error.whole),
                        "is_accepted": verdict.is_accepted,
                        "size": max(each.numel() for each in part.problem.inputs(seed, variation)),
                    }
                )
        return found

    def _verdict(self, part: Part, seed: int, variation: Any) -> Verdict:
        seeds = (seed, seed + 1)
        return examine(part.candidate, part.problem, seeds, self._tripwire, (variation,))

    def _timed(self, part: Part, seed: int, num_passes: int) -> Timing:
        is_device = compute_device().type == "cuda"
        settings = TimingSettings(
            # interpreted kernels are slower than any cache
            cache_bytes=_cache_bytes() if is_device else 1,
            num_passes=num_passes,
            seed=seed,
        )
        return measure(part.candidate, part.problem, settings, self._tripwire)


def _cache_bytes() -> int:
    from arbor.kernels.architectures import local_architecture  # noqa: PLC0415 - on devices only

    return local_architecture().cache_bytes


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
