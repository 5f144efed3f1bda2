"""The ``kernel`` target: a campaign over one operator, shape by shape, or over one task file."""

import json
import math
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from arbor.core.accuracy import Gate
from arbor.events.errors import InvalidInputError
from arbor.events.types import (
    AccuracySample,
    ActionTemplate,
    CategoryShare,
    Counter,
    Hardware,
    Load,
    Profile,
    Scalar,
    WindowSample,
)
from arbor.targets.base import STANDARD_LOAD, Server
from arbor.targets.child import ChildProcess, clean_environment, free_port
from arbor.targets.kernel.accuracy import kernel_accuracy
from arbor.targets.kernel.catalog import baseline_of, catalog_of
from arbor.targets.kernel.config import KernelTargetConfig
from arbor.targets.serve_yaml import CONFIG_FILE, dump_config

__all__ = ["KernelTarget", "KernelTargetConfig"]

_ROOT = Path(__file__).resolve().parents[3]
_CANDIDATE_FILE = "candidate.py"
_ACCURACY_SEED = 7001
_PROFILE_PASSES = 3


class KernelServer:
    """A child program that runs one worktree's kernels.

    Attributes:
        child: its process.
    """

    def __init__(self, child: ChildProcess, port: int, timeout_s: float) -> None:
        self.child = child
        self._port = port
        self._timeout_s = timeout_s

    def resolved_config(self) -> dict[str, Scalar]:
        """Return the configuration that the program runs.

        Raises:
            ServerFailedError: it does not answer.
        """
        config: dict[str, Scalar] = self.ask("start", {"do": "state"})["config"]
        return config

    def is_ready(self) -> bool:
        """Return whether this very program answers."""
        try:
            answer = self._exchange({"do": "state"}, 5.0)
        except (OSError, ValueError):
            return False
        return bool(answer["pid"] == self.child.pid)

    def ask(self, phase: str, request: Mapping[str, Any]) -> Any:
        """Return the answer to a request.

        Raises:
            ServerFailedError: the program ended, or did not answer in time.
        """
        self.child.check(phase)
        try:
            return self._exchange(request, self._timeout_s)
        except (OSError, ValueError) as error:
            raise self.child.failure(phase, f"{request['do']} failed: {error}") from error

    def _exchange(self, request: Mapping[str, Any], timeout_s: float) -> Any:
        with socket.create_connection(("127.0.0.1", self._port), timeout_s) as connection:
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as answer:
                return json.loads(answer.readline())


class KernelTarget:
    """Implements ``Target``; one request is one call of every shape or size."""

    name = "kernel"

    def __init__(self, config: KernelTargetConfig) -> None:
        self.config = config

    def check(self, hardware: Hardware) -> None:
        """Check that kernels can run here.

        Raises:
            InvalidInputError: the extra is not installed, or there is no accelerator.
        """
        if find_spec("triton") is None or find_spec("torch") is None:
            raise InvalidInputError(
                "target kernel needs torch and triton: pip install 'arbor-inference[kernels]'"
            )
        if not hardware.num_devices and not self.config.interpret and self.config.operator:
            raise InvalidInputError(
                "target kernel: no accelerator is here; interpret: true runs Triton's interpreter"
            )

    def create_workspace(self, path: Path) -> None:
        """Write the shipped configurations, and the candidate's file of a task."""
        (path / CONFIG_FILE).write_bytes(dump_config(self.baseline_config()))
        if self.config.task is not None:
            source = self.config.candidate or self.config.task
            (path / _CANDIDATE_FILE).write_bytes(source.read_bytes())

    def baseline_config(self) -> dict[str, Scalar]:
        """Return the shipped configuration of every shape, or eager PyTorch for a task."""
        return baseline_of(self.config)

    def actions(self, hardware: Hardware) -> Sequence[ActionTemplate]:  # noqa: ARG002 - the local device
        """Return one tuning action for each shape, or the ways to run a task."""
        return catalog_of(self.config)

    @contextmanager
    def serve(self, worktree: Path, log_path: Path) -> Iterator[KernelServer]:
        """Start the program, which checks every kernel before it is ready.

        Raises:
            ServerFailedError: a kernel is wrong or cheats, or a configuration cannot run.
        """
        port = free_port()
        options = self.config.model_dump_json()
        program = ("-m", "arbor.targets.kernel.server", str(worktree), options, str(port))
        environment = clean_environment({"PYTHONPATH": str(_ROOT)})
        argv = (sys.executable, *program)
        with ChildProcess(argv, environment, _ROOT, log_path) as child:
            server = KernelServer(child, port, self.config.request_timeout_s)
            child.wait_ready(server.is_ready, self.config.start_timeout_s)
            yield server

    def warmup(self, server: Server, seed: int) -> None:
        """Run every part once.

        Raises:
            ServerFailedError: the program ended.
        """
        _own(server).ask("benchmark", {"do": "window", "seed": seed, "num_requests": 1})

    def profile(self, server: Server, seed: int) -> Profile:
        """Return the share of time of every shape or size.

        Raises:
            ServerFailedError: the program ended.
        """
        request = {"do": "window", "seed": seed, "num_requests": _PROFILE_PASSES}
        window = _own(server).ask("profile", request)
        times_us = {name: each["us"] for name, each in window["parts"].items()}
        total_us = math.fsum(times_us.values())
        return Profile(
            shares=tuple(
                CategoryShare(category=name, share_ratio=min(time_us / total_us, 1.0))
                for name, time_us in times_us.items()
            ),
            window_s=total_us * _PROFILE_PASSES / 1e6,
            source="arbor.kernels.harness",
        )

    def workloads(self) -> Sequence[str]:
        """Return nothing: the shapes are the workload."""
        return ()

    def benchmark(
        self,
        server: Server,
        seed: int,
        num_requests: int,
        load: Load = STANDARD_LOAD,  # noqa: ARG002 - there is one load
    ) -> WindowSample:
        """Time all parts; a request is one call of each, a token one call.

        The duration is device time: the median of one call of each part, times the requests.

        Raises:
            ServerFailedError: the program ended, or a timed result was wrong.
        """
        own = _own(server)
        request = {"do": "window", "seed": seed, "num_requests": num_requests}
        window = own.ask("benchmark", request)
        if window["refusals"]:
            raise own.child.failure("benchmark", window["refusals"][0])
        times_us = [each["us"] for each in window["parts"].values()]
        duration_s = math.fsum(times_us) * num_requests / 1e6
        num_calls = num_requests * len(times_us)
        return WindowSample(
            num_completed=num_requests,
            num_failed=0,
            num_input_tokens=num_calls,
            num_output_tokens=num_calls,
            duration_s=duration_s,
            throughput_tok_s=num_calls / duration_s,
            num_planned_requests=num_requests,
            num_planned_input_tokens=num_calls,
            num_planned_output_tokens=num_calls,
            output_digest=window["digest"],
            seed=seed,
            counters=(
                Counter(key="calls", value=num_calls),
                *(
                    Counter(key=f"{name}.changed", value=num_requests)
                    for name in window["changed"]
                ),
            ),
        )

    def reference(self, server: Server) -> bytes:
        """Return the baseline's errors; float64 is the oracle, so only its size is needed.

        Raises:
            ServerFailedError: the program ended.
        """
        request = {"do": "distances", "seed": _ACCURACY_SEED}
        return json.dumps(_own(server).ask("accuracy", request)).encode()

    def accuracy(
        self,
        server: Server,
        reference: bytes,
        gate: Gate | None = None,  # noqa: ARG002 - all of it takes little
    ) -> AccuracySample:
        """Return the distance from float64 on fresh inputs.

        Raises:
            ServerFailedError: the program ended.
        """
        request = {"do": "distances", "seed": _ACCURACY_SEED}
        found = _own(server).ask("accuracy", request)
        return kernel_accuracy(found, len(json.loads(reference)))

    def default_num_requests(self) -> int:
        """Return the passes of a window to begin with."""
        return self.config.num_requests

    def default_concurrency(self) -> int:
        """Return 1: kernels run one after the other."""
        return 1

    def rss_bytes(self, server: Server) -> int | None:
        """Return the resident memory of the program; None once it has ended."""
        try:
            return int(psutil.Process(_own(server).child.pid).memory_info().rss)
        except psutil.Error:
            return None


def _own(server: Server) -> KernelServer:
    if not isinstance(server, KernelServer):
        raise TypeError(f"{type(server).__name__} was not started by the kernel target")
    return server
