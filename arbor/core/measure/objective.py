"""What a window is worth under an objective."""

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
        windows: one window, or one for every concurrency of a hypervolume.
        objective: what is made larger.
        num_devices: accelerators of the stack; a machine without any counts as one.

    Raises:
        InvalidInputError: the target does not measure what the objective asks for.
    """
    first = windows[0]
    match objective.metric:
        case "throughput_tok_s":
            value = first.throughput_tok_s
        case "request_throughput_req_s":
            value = first.num_completed / first.duration_s
        case "throughput_tok_s_per_device":
            value = first.throughput_tok_s / max(1, num_devices)
        case "tokens_per_joule":
            value = first.num_output_tokens / _known(first, "energy_j")
        case "hypervolume":
            points = [(w.throughput_tok_s, _known(w, objective.latency)) for w in windows]
            value = hypervolume(points, objective.max_latency_ms)
        case latency:
            value = 1.0 / _known(first, latency)
    for slo in objective.slos:
        value /= max(1.0, _known(first, slo.metric) / slo.max_ms)
    return max(value, MIN_VALUE)


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
