"""One window that Arbor's own client plays, with everything that guardrails read."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from arbor.events.types import Counter, Scalar, WindowSample
from arbor.targets.engine.client import LoadResult
from arbor.targets.hardware.reading import Reader
from arbor.targets.hardware.telemetry import Telemetry
from arbor.targets.load_window import TraceLoad, latency_fields, play, work_fields
from arbor.targets.machine_counters import read_machine_counters
from arbor.targets.processor_clock import ProcessorClock
from arbor.targets.server_log import LogMark
from arbor.targets.vllm.metrics import (
    FINISHED,
    LATENCY,
    OUTPUT_TOKENS,
    PREEMPTIONS,
    PREFIX_HITS,
    growth,
    mean_ms,
    whole,
)
from arbor.targets.vllm.requests import CompletionRequest
from arbor.targets.vllm.server import VllmServer

_SETTLE_TRIES = 20
_SETTLE_S = 0.1
_DEBUG_VARIABLES: Mapping[str, frozenset[str]] = {
    "CUDA_LAUNCH_BLOCKING": frozenset(("1",)),
    "AMD_SERIALIZE_KERNEL": frozenset(("1", "2", "3")),
    "HIP_LAUNCH_BLOCKING": frozenset(("1",)),
    "VLLM_TRACE_FUNCTION": frozenset(("1",)),
    "VLLM_LOGGING_LEVEL": frozenset(("DEBUG",)),
    "NCCL_DEBUG": frozenset(("TRACE", "INFO")),
}
_DEBUG_ALWAYS = ("HSA_TOOLS_LIB", "ROCPROFILER_REGISTER_FORCE_LOAD")


class WindowWatch:
    """Looks at a server and its machine from before a window to after it.

    A context manager: what is played goes inside; ``fields`` tells afterwards.

    Args:
        server: the server.
        read: looks at the accelerators' sensors.
        devices: numbers of the accelerators in use; the processor's own counters when none.
    """

    def __init__(self, server: VllmServer, read: Reader, devices: Sequence[int]) -> None:
        self._server = server
        self._log = LogMark(server.child.log_path)
        self._before: Mapping[str, float] = {}
        self._telemetry = Telemetry(read, devices) if devices else None
        self._stack = ExitStack()
        self._cpu: tuple[float, float] = (0.0, 0.0)
        self._machine: dict[str, float | int | None] = {}

    def __enter__(self) -> "WindowWatch":
        """Begin to look.

        Raises:
            ServerFailedError: the server does not answer.
        """
        self._before = self._server.counters("benchmark")
        self._machine_before = read_machine_counters()
        if self._telemetry is not None:
            self._stack.enter_context(self._telemetry)
        self._clock = ProcessorClock(self._server.child)
        return self

    def __exit__(self, *_: object) -> None:
        """End looking."""
        self._cpu = self._clock.read()
        self._stack.close()
        if self._telemetry is not None:
            self._machine = self._telemetry.result().window_fields()
        else:
            machine = read_machine_counters().since(self._machine_before)
            self._machine = {
                "num_throttlings": machine.num_throttlings,
                "energy_j": machine.energy_j,
            }

    def fields(self, num_completed: int, foreign_offset_s: float = 0.0) -> dict[str, Any]:
        """Return the fields that the server and the machine tell.

        Args:
            num_completed: requests that ended well at the client; the server may count later.
            foreign_offset_s: processor seconds of a client that is a program of its own, per
                second of the cores: not foreign load.

        Raises:
            ServerFailedError: the server does not answer.
        """
        grown = self._settled(num_completed)
        logged = self._log.read()
        server_cpu_s, foreign = self._cpu
        return {
            "num_served_requests": whole(grown, *FINISHED),
            "num_served_output_tokens": whole(grown, OUTPUT_TOKENS),
            "server_e2e_ms_mean": mean_ms(grown, LATENCY),
            "num_preemptions": whole(grown, PREEMPTIONS),
            "num_reused_input_tokens": whole(grown, PREFIX_HITS),
            "num_compilations": logged.num_compilations,
            "num_log_warnings": logged.num_warnings,
            "is_code_cached": self._server.log.is_code_cached,
            "debug_switches": debug_switches(self._server.config),
            "server_cpu_s": server_cpu_s,
            "foreign_cpu_ratio": max(foreign - foreign_offset_s, 0.0),
            "counters": tuple(Counter(key=k, value=v) for k, v in sorted(grown.items())),
            **self._machine,
        }

    def _settled(self, num_completed: int) -> dict[str, float]:
        """Return the growth of the counters once the server has counted what the client saw."""
        grown: dict[str, float] = {}
        for _ in range(_SETTLE_TRIES):
            grown = growth(self._before, self._server.counters("benchmark"))
            served = whole(grown, *FINISHED)
            if served is None or served >= num_completed:
                break
            # the server counts a request after it has sent its last token
            self._server.child.wait(_SETTLE_S)
        return grown


def measure_window(
    server: VllmServer,
    load: TraceLoad[CompletionRequest],
    seed: int,
    watch: WindowWatch,
    *,
    is_batch_invariant: bool,
) -> WindowSample:
    """Play a load and return all that was seen, on both sides.

    Args:
        server: the server.
        load: what is played.
        seed: seed of its prompts.
        watch: looks at the server meanwhile.
        is_batch_invariant: tokens do not depend on the batch, so their digest means something.

    Raises:
        ServerFailedError: the server failed, hung, or completed nothing.
    """
    with watch:
        result = play(server, "benchmark", load)
    return WindowSample(
        duration_s=result.duration_s,
        throughput_tok_s=result.output_throughput_tok_s,
        **work_fields(load, result),
        **latency_fields(result),
        **watch.fields(result.completed),
        client_cpu_s=result.client_cpu_s,
        output_digest=_digest(result) if is_batch_invariant else "",
        seed=seed,
    )


def debug_switches(config: Mapping[str, Scalar]) -> tuple[str, ...]:
    """Return what a configuration leaves on that slows a server for the sake of looking at it."""
    found = [
        f"{name}={config[f'env.{name}']}"
        for name, values in _DEBUG_VARIABLES.items()
        if str(config.get(f"env.{name}", "")).upper() in values
    ]
    found += [name for name in _DEBUG_ALWAYS if config.get(f"env.{name}")]
    return tuple(found)


def _digest(result: LoadResult) -> str:
    return hashlib.sha256(" ".join(result.token_digests).encode()).hexdigest()
