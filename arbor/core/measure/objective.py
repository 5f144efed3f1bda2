"""What a window is worth under an objective."""

import statistics
from collections.abc import Sequence

from arbor.core.measure.pareto import hypervolume
from arbor.events.errors import InvalidInputError
from arbor.events.types import Guard, Objective, WindowSample

MIN_VALUE = 1e-9
"""Value of a window without tokens, so that its logarithm exists."""


def objective_value(
    windows: Sequence[WindowSample], objective: Objective, num_devices: int = 1
) -> float:
    """Return what the windows of one arm are worth, above 0; more is better.

    Args:
        windows: one for every concurrency of a hypervolume; else one or more of equal work,
            which count by the geometric mean of their values.
        objective: what is made larger.
        num_devices: accelerators of the stack; a machine without any counts as one.

    Raises:
        InvalidInputError: the target does not measure what the objective asks for.
    """
    if objective.metric == "hypervolume":
        points = [(w.throughput_tok_s, _known(w, objective.latency)) for w in windows]
        value = hypervolume(points, objective.max_latency_ms)
        return max(_within_slos(value, windows[0], objective), MIN_VALUE)
    values = [
        max(_within_slos(_value(w, objective, num_devices), w, objective), MIN_VALUE)
        for w in windows
    ]
    return values[0] if len(values) == 1 else statistics.geometric_mean(values)


def _value(window: WindowSample, objective: Objective, num_devices: int) -> float:
    match objective.metric:
        case "throughput_tok_s" | "hypervolume":
            return window.throughput_tok_s
        case "request_throughput_req_s":
            return window.num_completed / window.duration_s
        case "throughput_tok_s_per_device":
            return window.throughput_tok_s / max(1, num_devices)
        case "tokens_per_joule":
            return window.num_output_tokens / _known(window, "energy_j")
        case latency:
            return 1.0 / _known(window, latency)


def _within_slos(value: float, window: WindowSample, objective: Objective) -> float:
    for slo in objective.slos:
        value /= max(1.0, _known(window, slo.metric) / slo.max_ms)
    return value


def require_workloads(guards: Sequence[Guard], workloads: Sequence[str]) -> None:
    """Check that guards play workloads that the target has.

    Raises:
        InvalidInputError: one does not exist; the message lists those that do.
    """
    for guard in guards:
        if guard.load.workload and guard.load.workload not in workloads:
            known = ", ".join(workloads) or "none besides its standard one"
            raise InvalidInputError(
                f"measure.guards: {guard.name!r} plays an unknown workload "
                f"{guard.load.workload!r}; the target has: {known}"
            )


def _known(window: WindowSample, name: str) -> float:
    value = getattr(window, name, None)
    if not value:
        raise InvalidInputError(
            f"measure.objective asks for {name}, which this target does not measure; "
            "choose another metric or SLO"
        )
    return float(value)
