"""One benchmark window of an engine, with the engine's own counters beside the client's."""

from collections.abc import Mapping, Sequence
from typing import Any

from arbor.events.types import Counter, WindowSample
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.trace import TraceRequest, shared_prefix_tokens
from arbor.targets.load_window import RequestLoad, observe
from arbor.targets.turns import Timeline, wall


def measure_window(
    server: EngineServer,
    trace: Sequence[TraceRequest],
    load: RequestLoad,
    seed: int,
    *,
    timeline: Timeline = wall,
    beside: EngineServer | None = None,
) -> WindowSample:
    """Play a load and return all that was seen, on both sides; no cache is emptied before.

    Args:
        server: the server.
        trace: requests of the load.
        load: what is played.
        seed: seed of the trace.
        timeline: what counts of the time.
        beside: the server that takes turns with it.

    Raises:
        ServerFailedError: the server failed, hung, or completed nothing.
    """
    before = server.state("benchmark")
    seen = observe(server, load, timeline, beside)
    after = server.state("benchmark")
    seen["num_compilations"] += _graphs(after) - _graphs(before)
    return WindowSample(
        **seen,
        **_server_side(before, after, 1.0 - seen["stopped_ratio"]),
        num_shared_input_tokens=shared_prefix_tokens(trace),
        seed=seed,
    )


def _server_side(
    before: Mapping[str, Any], after: Mapping[str, Any], active_ratio: float
) -> dict[str, Any]:
    """Return the fields that the server counts itself; its clock knows no stops."""
    served, earlier = after["served"], before["served"]
    num_served = served["num_requests"] - earlier["num_requests"]
    e2e_s = (served["e2e_s"] - earlier["e2e_s"]) * active_ratio
    compiled = after["compilations"]
    old = _totals(before)
    growth = {name: count - old.get(name, 0) for name, count in _totals(after).items()}
    return {
        "num_served_requests": num_served,
        "num_served_output_tokens": served["num_output_tokens"] - earlier["num_output_tokens"],
        "server_e2e_ms_mean": e2e_s * 1e3 / num_served if num_served else None,
        "num_preemptions": growth["num_preemptions"],
        "num_reused_input_tokens": growth["prefix_cache.hit_tokens"],
        "is_code_cached": compiled["num_cache_misses"] == 0 if compiled["num_graphs"] else None,
        "debug_switches": tuple(after["debug_switches"]),
        "peaks": _counters(after["peaks"]),
        "counters": _counters(growth),
    }


def _totals(state: Mapping[str, Any]) -> dict[str, float]:
    """Return all counters of a server's state by name."""
    prefix = {f"prefix_cache.{name}": count for name, count in state["prefix_cache"].items()}
    totals = {name: state[name] for name in ("num_steps", "num_preemptions")}
    return {**state["counters"], **prefix, **totals}


def _graphs(state: Mapping[str, Any]) -> int:
    return int(state["compilations"]["num_graphs"])


def _counters(values: Mapping[str, float]) -> tuple[Counter, ...]:
    return tuple(Counter(key=key, value=value) for key, value in sorted(values.items()))
