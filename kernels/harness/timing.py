"""Times a candidate: rotating buffers beyond the cache, graph replay, and its results checked."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from arbor.kernels.base import Tensors, Work
from arbor.kernels.harness.examining import Refusal
from arbor.kernels.harness.percentile import percentiles
from arbor.kernels.harness.problem import Candidate, Problem
from arbor.kernels.harness.relative_error import RelativeError, relative_error
from arbor.kernels.harness.roofline import Peak, timing_events
from arbor.kernels.harness.watching import Tripwire

_MAX_BUFFERS = 2048
_NUM_DRAWN = 8
"""Sets that are drawn; the others are copies of them elsewhere, which cost less to make."""
_CACHE_FACTOR = 3
"""Rotating buffers hold this many caches, so that little of one is left at its next turn."""
_WARMUP_PASSES = 3
_PLAUSIBLE = 1.05
"""A time this much below the roofline's is measurement noise; below that it is impossible."""


@dataclass(frozen=True, slots=True)
class TimingSettings:
    """How long and over how much memory is timed.

    Attributes:
        cache_bytes: last-level cache of the device.
        memory_bytes: most that the rotating buffers may take.
        num_passes: timed passes over all buffers.
        seed: of the inputs.
    """

    cache_bytes: int
    memory_bytes: int = 32 << 30
    num_passes: int = 20
    seed: int = 1

    def num_buffers(self, bytes_per_call: int) -> int:
        """Return how many sets of inputs and outputs are rotated."""
        wanted = _CACHE_FACTOR * self.cache_bytes // max(bytes_per_call, 1) + 1
        affordable = max(self.memory_bytes // max(bytes_per_call, 1), 1)
        return max(1, min(wanted, affordable, _MAX_BUFFERS))


@dataclass(frozen=True, slots=True)
class Timing:
    """Time of one call, and whether it may be believed.

    Attributes:
        median_us: of the passes, each being the mean over all buffers.
        p20_us: its 20th percentile.
        p80_us: its 80th percentile.
        num_buffers: sets of inputs and outputs that were rotated.
        rotated_bytes: their size.
        method: ``graph`` (device time), ``events`` (with gaps between launches) or ``wall``; with
            ``in cache`` where calls are so small that their data cannot leave it.
        error: worst error of the timed results.
        refusals: broken rules; a time with one is not a result.
    """

    median_us: float
    p20_us: float
    p80_us: float
    num_buffers: int
    rotated_bytes: int
    method: str
    error: RelativeError
    refusals: tuple[Refusal, ...]


def measure(
    candidate: Candidate,
    problem: Problem,
    settings: TimingSettings,
    tripwire: Tripwire,
    peak: Peak | None = None,
) -> Timing:
    """Time a candidate and check what it wrote meanwhile.

    Args:
        candidate: the solution under test; ``examine`` should have accepted it.
        problem: what it solves.
        settings: how long and over how much memory.
        tripwire: made before the candidate's code was loaded.
        peak: what the device can do at most, to refuse impossible times; None checks nothing.
    """
    sets = _buffers(problem, settings)
    timed = _time_on_device if problem.device.type == "cuda" else _time_on_processor
    passes_us, results, method = timed(candidate, sets, settings.num_passes)
    error, refusals = _checked(problem, sets, results)
    rotated = len(sets) * sum(_num_bytes(each) for each in sets[0])
    is_cached = rotated < 2 * settings.cache_bytes
    if is_cached and len(sets) == _MAX_BUFFERS:
        method += ", in cache"
    elif is_cached:
        detail = f"{rotated} bytes are rotated; the cache has {settings.cache_bytes}"
        refusals.append(Refusal("cache_resident", detail))
    replaced = tripwire.replaced()
    if replaced:
        refusals.append(Refusal("patched_function", f"replaced: {', '.join(replaced)}"))
    p20, median, p80 = percentiles(passes_us, (0.2, 0.5, 0.8))
    refusals += impossible(median, problem.work(), peak)
    return Timing(median, p20, p80, len(sets), rotated, method, error, tuple(refusals))


def impossible(median_us: float, work: Work | None, peak: Peak | None) -> list[Refusal]:
    """Return a refusal when a time is shorter than the device can be."""
    if peak is None or work is None:
        return []
    least_us = peak.least_us(work)
    if median_us * _PLAUSIBLE >= least_us:
        return []
    detail = f"{median_us:.2f} us; the device needs {least_us:.2f} us at least"
    return [Refusal("faster_than_hardware", detail)]


_Set = tuple[Tensors, Tensors]


def _buffers(problem: Problem, settings: TimingSettings) -> list[_Set]:
    first = problem.inputs(settings.seed, "normal")
    outputs = problem.outputs(first)
    num = settings.num_buffers(_num_bytes(first) + _num_bytes(outputs))
    sets: list[_Set] = [(first, outputs)]
    for number in range(1, num):
        if number < _NUM_DRAWN:
            inputs = problem.inputs(settings.seed + number, "normal")
        else:
            inputs = tuple(each.clone() for each in sets[number % _NUM_DRAWN][0])
        sets.append((inputs, problem.outputs(inputs)))
    return sets


def _num_bytes(tensors: Tensors) -> int:
    return sum(each.numel() * each.element_size() for each in tensors)


def _call(candidate: Candidate, buffers: _Set) -> Tensors:
    returned = candidate(*buffers)
    return buffers[1] if returned is None else tuple(returned)


def _poison(sets: Sequence[_Set]) -> None:
    """Make every result of earlier calls unusable."""
    for _, outputs in sets:
        for output in outputs:
            output.fill_(float("nan") if output.is_floating_point() else -1)


def _time_on_processor(
    candidate: Candidate, sets: Sequence[_Set], num_passes: int
) -> tuple[list[float], list[Tensors], str]:
    for buffers in sets[:_WARMUP_PASSES]:
        _call(candidate, buffers)
    _poison(sets)
    passes_us: list[float] = []
    results: list[Tensors] = []
    for _ in range(num_passes):
        start = time.perf_counter_ns()
        results = [_call(candidate, buffers) for buffers in sets]
        passes_us.append((time.perf_counter_ns() - start) / 1e3 / len(sets))
    return passes_us, results, "wall"


def _time_on_device(
    candidate: Candidate, sets: Sequence[_Set], num_passes: int
) -> tuple[list[float], list[Tensors], str]:
    if getattr(candidate, "waits_for_device", False):
        return _time_by_events(candidate, sets, num_passes)
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for buffers in sets[: _WARMUP_PASSES * 2]:
            _call(candidate, buffers)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            results = [_call(candidate, buffers) for buffers in sets]
    except RuntimeError:
        # a candidate that waits for the device cannot be captured; its launches are timed instead
        torch.cuda.synchronize()
        return _time_by_events(candidate, sets, num_passes)
    for _ in range(_WARMUP_PASSES):
        graph.replay()
    _poison([*sets, *((each, each) for each in results)])
    torch.cuda.synchronize()
    pairs = [timing_events() for _ in range(num_passes)]
    for start, end in pairs:
        start.record()
        graph.replay()
        end.record()
    torch.cuda.synchronize()
    return [1e3 * start.elapsed_time(end) / len(sets) for start, end in pairs], results, "graph"


def _time_by_events(
    candidate: Candidate, sets: Sequence[_Set], num_passes: int
) -> tuple[list[float], list[Tensors], str]:
    _poison(sets)
    torch.cuda.synchronize()
    passes_us: list[float] = []
    results: list[Tensors] = []
    for _ in range(num_passes):
        start, end = timing_events()
        start.record()
        results = [_call(candidate, buffers) for buffers in sets]
        end.record()
        end.synchronize()
        passes_us.append(1e3 * start.elapsed_time(end) / len(sets))
    return passes_us, results, "events"


def _checked(
    problem: Problem, sets: Sequence[_Set], results: Sequence[Tensors]
) -> tuple[RelativeError, list[Refusal]]:
    """Compare timed results with the oracle: the first, the last and some between."""
    worst = RelativeError(0.0, 0.0)
    for index in sorted({0, len(sets) // 3, 2 * len(sets) // 3, len(sets) - 1}):
        inputs = sets[index][0]
        for result, oracle in zip(results[index], problem.expected(inputs), strict=True):
            error = relative_error(result, oracle)
            worst = max(worst, error, key=lambda each: each.whole)
            tolerance = problem.tolerance(result, inputs)
            if error.exceeds(tolerance):
                detail = f"timed result {index}: {error.whole:.2e}, tolerance {tolerance:.2e}"
                return worst, [Refusal("wrong", detail)]
    return worst, []
