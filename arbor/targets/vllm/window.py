"""One window that Arbor's own client plays, with everything that guardrails read."""

from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Any, Self

from arbor.events.types import Counter, Scalar, WindowSample
from arbor.targets.hardware.reading import Reader
from arbor.targets.hardware.telemetry import Telemetry
from arbor.targets.load_window import RequestLoad, observe
from arbor.targets.prometheus import (
    FINISHED,
    LATENCY,
    OUTPUT_TOKENS,
    PREEMPTIONS,
    PREFIX_HITS,
    growth,
    mean_ms,
    whole,
)
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
# what the web framework and the interpreter count
_NOT_OF_THE_MODEL = ("http_", "process_", "python_")
_DEBUG_ALWAYS = ("HSA_TOOLS_LIB", "ROCPROFILER_REGISTER_FORCE_LOAD")


class ServerSide:
    """What a server counts and the accelerators show from before a window to after it.

    A context manager: what is played goes inside; ``fields`` tells afterwards.

    Args:
        server: the server.
        read: looks at the accelerators' sensors.
        devices: numbers of the accelerators in use.
    """

    def __init__(self, server: VllmServer, read: Reader, devices: Collection[int]) -> None:
        self._server = server
        self._before: Mapping[str, float] = {}
        self._telemetry = Telemetry(read, devices) if devices else None

    def __enter__(self) -> Self:
        """Begin to look.

        Raises:
            ServerFailedError: the server does not answer.
        """
        self._before = self._server.counters("benchmark")
        if self._telemetry is not None:
            self._telemetry.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End looking."""
        if self._telemetry is not None:
            self._telemetry.__exit__(kind, error, trace)

    def fields(self, num_completed: int) -> dict[str, Any]:
        """Return the fields that the server and its accelerators tell.

        Args:
            num_completed: requests that ended well at the client; the server may count later.

        Raises:
            ServerFailedError: the server does not answer.
        """
        grown = self._settled(num_completed)
        devices = {} if self._telemetry is None else self._telemetry.result().window_fields()
        return {
            "num_served_requests": whole(grown, *FINISHED),
            "num_served_output_tokens": whole(grown, OUTPUT_TOKENS),
            "server_e2e_ms_mean": mean_ms(grown, LATENCY),
            "num_preemptions": whole(grown, PREEMPTIONS),
            "num_reused_input_tokens": whole(grown, PREFIX_HITS),
            "is_code_cached": self._server.log.is_code_cached,
            "debug_switches": debug_switches(self._server.config),
            "counters": tuple(
                Counter(key=k, value=v)
                for k, v in sorted(grown.items())
                if v and not k.startswith(_NOT_OF_THE_MODEL)
            ),
            **devices,
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
    load: RequestLoad,
    seed: int,
    side: ServerSide,
    *,
    is_batch_invariant: bool,
) -> WindowSample:
    """Play a load with Arbor's own client and return all that was seen, on both sides.

    Args:
        server: the server.
        load: what is played.
        seed: seed of its prompts.
        side: looks at the server meanwhile.
        is_batch_invariant: tokens do not depend on the batch, so their digest means something.

    Raises:
        ServerFailedError: the server failed, hung, or completed nothing.
    """
    with side:
        seen = observe(server, load)
    if not is_batch_invariant:
        seen["output_digest"] = ""
    return WindowSample(**{**seen, **side.fields(seen["num_completed"])}, seed=seed)


def debug_switches(config: Mapping[str, Scalar]) -> tuple[str, ...]:
    """Return what a configuration leaves on that slows a server for the sake of looking at it."""
    found = [
        f"{name}={config[f'env.{name}']}"
        for name, values in _DEBUG_VARIABLES.items()
        if str(config.get(f"env.{name}", "")).upper() in values
    ]
    found += [name for name in _DEBUG_ALWAYS if config.get(f"env.{name}")]
    return tuple(found)
