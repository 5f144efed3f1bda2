"""Checks and times configurations of an operator where kernels run in this process."""

from dataclasses import dataclass

from arbor.events.types import Accelerator
from arbor.kernels.architectures import Architecture
from arbor.kernels.base import Operator, Shape
from arbor.kernels.checking import NUM_TRIALS, compute_device
from arbor.kernels.harness.examining import examine
from arbor.kernels.harness.problem import Candidate, OperatorCandidate, OperatorProblem, Problem
from arbor.kernels.harness.roofline import Peak
from arbor.kernels.harness.timing import TimingSettings, measure
from arbor.kernels.harness.watching import Tripwire
from arbor.kernels.launching import Config
from arbor.targets.hardware.peaks import peaks_of
from arbor.targets.kernel.tuning import Measured

_INTERPRETED_CACHE_BYTES = 1
"""Interpreted kernels are far slower than any cache; nothing has to be rotated."""


@dataclass(frozen=True, slots=True)
class Bench:
    """How candidates of this process are measured.

    Attributes:
        settings: of the timing.
        peak: of the device; None when no figures are known.
        tripwire: made before candidates were loaded.
        seed: of inputs.
    """

    settings: TimingSettings
    peak: Peak | None
    tripwire: Tripwire
    seed: int

    def measured(self, candidate: Candidate, problem: Problem, config: Config) -> Measured:
        """Examine a candidate, and time it when it is honest: what is wrong prints no time."""
        seeds = range(self.seed, self.seed + NUM_TRIALS)
        verdict = examine(candidate, problem, seeds, self.tripwire)
        if not verdict.is_accepted:
            return Measured(config, None, problem=str(verdict.refusals[0]))
        timing = measure(candidate, problem, self.settings, self.tripwire, self.peak)
        if timing.refusals:
            return Measured(config, None, problem=str(timing.refusals[0]))
        return Measured(
            config,
            timing.median_us,
            timing.p20_us,
            timing.p80_us,
            max(timing.error.whole, verdict.error.whole),
            timing.method,
        )


def local_bench(architecture: Architecture, seed: int, num_passes: int = 20) -> Bench:
    """Return how to measure on this machine."""
    is_device = compute_device().type == "cuda"
    cache = architecture.cache_bytes if is_device else _INTERPRETED_CACHE_BYTES
    settings = TimingSettings(cache_bytes=cache, num_passes=num_passes, seed=seed + 1_000_000)
    return Bench(settings, local_peak(architecture) if is_device else None, Tripwire(), seed)


def local_peak(architecture: Architecture) -> Peak | None:
    """Return the figures of this machine's accelerator; None when the file has none."""
    accelerator = Accelerator(index=0, name=device_name(), architecture=architecture.name)
    peaks = peaks_of(accelerator)
    return None if peaks is None else Peak(peaks.memory_bytes_per_s, peaks.flop_per_s)


def device_name() -> str:
    """Return the name of what kernels run on in this process."""
    if compute_device().type == "cpu":
        return "interpreter"
    import torch  # noqa: PLC0415 - only on devices

    name: str = torch.cuda.get_device_name()
    return name


def operator_evaluation(
    operator: Operator, shape: Shape, dtype: str, architecture: Architecture, bench: Bench
) -> "OperatorEvaluation":
    """Return what evaluates configurations of one shape."""
    problem = OperatorProblem(operator, shape, dtype, compute_device(), architecture)
    return OperatorEvaluation(problem, bench)


@dataclass(frozen=True, slots=True)
class OperatorEvaluation:
    """Evaluates configurations of an operator on one shape."""

    problem: OperatorProblem
    bench: Bench

    def __call__(self, config: Config) -> Measured:
        """Check and time one configuration."""
        candidate = OperatorCandidate(self.problem.operator, config)
        return self.bench.measured(candidate, self.problem, config)
