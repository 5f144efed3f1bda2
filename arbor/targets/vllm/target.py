"""The ``vllm`` target: ``vllm serve`` of a given environment, started as a server and measured."""

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path

from arbor.core.accuracy import Gate
from arbor.events.errors import InvalidInputError
from arbor.events.types import (
    AccuracySample,
    ActionTemplate,
    Hardware,
    Load,
    Profile,
    Scalar,
    WindowSample,
)
from arbor.targets.base import STANDARD_LOAD, Server
from arbor.targets.child import free_port
from arbor.targets.engine.model_cache import cache_folder
from arbor.targets.engine.trace import MIXES
from arbor.targets.profiles import profile_of_trace
from arbor.targets.serve_yaml import CONFIG_FILE, dump_config
from arbor.targets.vllm.accuracy_run import AccuracyRun
from arbor.targets.vllm.arguments import MODEL_KEY, BadOptionError, command_line
from arbor.targets.vllm.catalog_actions import vllm_actions
from arbor.targets.vllm.checkpoints import check_checkpoints, checkpoint_actions
from arbor.targets.vllm.config import DEFAULT_ENVIRONMENT, VllmTargetConfig
from arbor.targets.vllm.device_memory import DeviceMemory
from arbor.targets.vllm.devices import Devices, find_devices
from arbor.targets.vllm.installation import Installation, find_installation
from arbor.targets.vllm.model_facts import Model, has_tokeniser, read_model
from arbor.targets.vllm.own_actions import own_templates
from arbor.targets.vllm.profiling import profile_under, profiler_words, trace_folder
from arbor.targets.vllm.screening import ScreeningServer, ScreeningStarter, can_show
from arbor.targets.vllm.server import VllmServer
from arbor.targets.vllm.starting import VllmStarter
from arbor.targets.vllm.windows import Windows

__all__ = ["VllmTarget", "VllmTargetConfig"]

_MEMORY_SHARE = 0.9
"""Of an accelerator's memory, all its servers together; vLLM's own default for one."""
_CPU_CACHE_GIB = "1"
_PARALLEL_OPTIONS = ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size")


class VllmTarget:
    """Implements ``Target`` over vLLM.

    Args:
        config: what is served, and how it is measured.
        choose_port: returns a port that is free on a host.
        devices: accelerators in use; looked for when not given.
        parse_trace: reads the traces of a profile.

    Attributes:
        config: as above.
    """

    name = "vllm"

    def __init__(
        self,
        config: VllmTargetConfig,
        choose_port: Callable[[str], int] = free_port,
        devices: Devices | None = None,
        parse_trace: Callable[[Path], Profile] = profile_of_trace,
    ) -> None:
        self.config = config
        self._choose_port = choose_port
        self._given_devices = devices
        self._parse_trace = parse_trace

    @cached_property
    def model(self) -> Model:
        """The model folder, checked.

        Raises:
            InvalidInputError: it is no folder of a model.
        """
        return read_model(self.config.model, self.config.load_format, self.config.traits)

    @cached_property
    def installation(self) -> Installation:
        """The vLLM that is started.

        Raises:
            InvalidInputError: there is none, or it does not tell its options.
        """
        return find_installation(self.config, cache_folder(self.config.cache))

    def check(self, hardware: Hardware) -> None:
        """Check the machine, the model, vLLM and the baseline's options before anything starts.

        Raises:
            InvalidInputError: something is missing; one line with the fix.
        """
        wanted = self.config.device
        if wanted is not None and hardware.kind != wanted:
            raise InvalidInputError(
                f"device: {wanted} is asked for, this machine has {hardware.kind}; run it where "
                "such a device is, or leave device out"
            )
        baseline = self.baseline_config()
        needed = self.num_devices(baseline)
        if hardware.num_devices and needed > hardware.num_devices:
            raise InvalidInputError(
                f"a server needs {needed} devices, this machine has {hardware.num_devices}; lower "
                "tensor-parallel-size, pipeline-parallel-size or data-parallel-size"
            )
        self._check_tokeniser()
        try:
            command_line(baseline, self.installation.options, self.installation.version)
        except BadOptionError as error:
            raise InvalidInputError(f"args: {error}") from error
        self._starter.environment(baseline)
        check_checkpoints(self.model.path, self.config.checkpoints)

    def create_workspace(self, path: Path) -> None:
        """Write the baseline's options and variables, and what its numbers depend on.

        Raises:
            InvalidInputError: the model or vLLM is missing.
        """
        (path / CONFIG_FILE).write_bytes(dump_config(self.baseline_config()))
        with (self.model.path / "config.json").open("rb") as file:
            model_digest = hashlib.file_digest(file, "sha256").hexdigest()
        lock = {
            "vllm": self.installation.version,
            "command": list(self.installation.command),
            "model": self.model.path.name,
            "model_config_sha256": model_digest,
        }
        (path / "environment.lock").write_text(json.dumps(lock, indent=2) + "\n")

    def versions(self) -> Sequence[str]:
        """Return the version of vLLM, whose releases pin what brings its kernels."""
        return (f"vllm {self.installation.version}",)

    def baseline_config(self) -> dict[str, Scalar]:
        """Return the baseline's options and variables, with the memory that a server may take."""
        args: dict[str, Scalar] = {MODEL_KEY: str(self.config.model.resolve())}
        if self.config.load_format != "auto":
            args["args.load-format"] = self.config.load_format
        args |= {f"args.{name}": value for name, value in self.config.args.items()}
        env = {**DEFAULT_ENVIRONMENT, **self.config.env}
        if self._devices.numbers:
            share = math.floor(100 * _MEMORY_SHARE / self.config.servers_per_device) / 100
            args.setdefault("args.gpu-memory-utilization", share)
        else:
            # else one server takes most of the machine's memory
            env.setdefault("VLLM_CPU_KVCACHE_SPACE", _CPU_CACHE_GIB)
        return {**args, **{f"env.{name}": value for name, value in env.items()}}

    def actions(self, hardware: Hardware) -> Sequence[ActionTemplate]:
        """Return the catalog's actions that this vLLM knows, and the model's other forms.

        Raises:
            InvalidInputError: the model or vLLM is missing, or an action that is named.
        """
        found = vllm_actions(
            self.config, hardware, self.model.facts, self.installation, self.baseline_config()
        )
        cost_ratio = self.config.cost_ratio
        found = (*checkpoint_actions(self.config.checkpoints, cost_ratio), *found)
        taken = {action.template_id for action in found}
        return (*own_templates(self.config.own_actions, taken, cost_ratio), *found)

    def serve(self, worktree: Path, log_path: Path) -> AbstractContextManager[VllmServer]:
        """Start vLLM with the ``serve.yaml`` of a worktree.

        Raises:
            InvalidInputError: vLLM is missing.
            ServerFailedError: the configuration is refused, a device is busy, or vLLM ended or
                was not ready in time.
        """
        return self._starter.start(worktree, log_path)

    def has_smoke_test(self) -> bool:
        """Return whether what has no numbers to search is started before it is proposed."""
        return self.config.screening != "none"

    def serve_for_screening(
        self, worktree: Path, log_path: Path
    ) -> AbstractContextManager[Server]:
        """Start an engine inside one process, if that is wanted and can show the changes.

        Raises:
            InvalidInputError: vLLM is missing.
            ServerFailedError: as ``serve`` does.
        """
        is_wanted = self.config.screening == "in_process"
        if is_wanted and can_show(worktree, self.baseline_config()):
            return self._screener.start(worktree, log_path)
        return self.serve(worktree, log_path)

    def warmup(self, server: Server, seed: int) -> None:
        """Play short requests, one per place of the client's concurrency and load.

        Raises:
            ServerFailedError: the server failed or hung.
        """
        self._windows.warmup(_own(server), seed)

    def profile(self, server: Server, seed: int) -> Profile:
        """Return the time shares of a server of the same worktree, started with the profiler.

        The measured server never has one.

        Raises:
            ServerFailedError: vLLM failed or hung, or left no trace that can be read.
        """
        own = _own(server)
        log_path = own.child.log_path.with_suffix(".profile.log")
        with (
            trace_folder() as folder,
            self._starter.start(own.worktree, log_path, profiler_words(folder)) as traced,
        ):
            self._windows.warmup(traced, seed)
            num_requests = self.config.profile_requests or self.config.workload.concurrency
            return profile_under(
                traced,
                folder,
                lambda: self._windows.play(traced, "profile", seed + 1, num_requests),
                self._parse_trace,
                self.config.load_limit_s,
            )

    def workloads(self) -> Sequence[str]:
        """Return the names of the workload's other mixes."""
        return sorted(name for name in MIXES if name)

    def benchmark(
        self, server: Server, seed: int, num_requests: int, load: Load = STANDARD_LOAD
    ) -> WindowSample:
        """Play one window whose prompts no prefix cache knows.

        Raises:
            ServerFailedError: the server failed, hung, or completed nothing.
        """
        if isinstance(server, ScreeningServer):
            return self._windows.screen(server, seed, num_requests, load)
        return self._windows.measure(_own(server), seed, num_requests, load)

    def reference(self, server: Server) -> bytes:
        """Return the baseline's log-probabilities and greedy answers, and its score of a task.

        Raises:
            ServerFailedError: the server failed or hung.
        """
        return self._accuracy.reference(_own(server))

    def accuracy(
        self, server: Server, reference: bytes, gate: Gate | None = None
    ) -> AccuracySample:
        """Return the distances one by one, at the benchmark's batch and in long contexts.

        Raises:
            InvalidInputError: the reference was taken with other prompts.
            ServerFailedError: the server failed or hung.
        """
        return self._accuracy.accuracy(_own(server), reference, gate)

    def default_concurrency(self) -> int:
        """Return the configured number of open requests."""
        return self.config.workload.concurrency

    def rss_bytes(self, server: Server) -> int | None:
        """Return the resident memory of the server's processes; None once they have ended."""
        return _own(server).rss_bytes()

    def default_num_requests(self) -> int:
        """Return the requests of the smallest window."""
        return self.config.workload.unit

    def max_servers(self) -> int:
        """Return how many servers the bench may keep up, beside one of a specialist."""
        return min(self.config.servers_per_device - 1, 2) if self._devices.numbers else 2

    def num_devices(self, config: Mapping[str, Scalar]) -> int:
        """Return the accelerators that a server of a configuration needs.

        None where ``device`` says so, or where it says nothing and this machine has none.
        """
        device = self.config.device
        if device == "cpu" or (device is None and not self._devices.numbers):
            return 0
        sizes = (config.get(f"args.{name}", 1) for name in _PARALLEL_OPTIONS)
        return math.prod(size if isinstance(size, int) else 1 for size in sizes)

    @cached_property
    def _devices(self) -> Devices:
        return find_devices(os.environ) if self._given_devices is None else self._given_devices

    @cached_property
    def _starter(self) -> VllmStarter:
        memory = DeviceMemory(
            self._devices.read,
            self._devices.numbers,
            self.config.max_foreign_memory_bytes,
            self.config.memory_limit_s,
        )
        return VllmStarter(self.config, self.installation, memory, self._choose_port)

    @cached_property
    def _screener(self) -> ScreeningStarter:
        return ScreeningStarter(
            self.config, self.installation, self._starter.environment, self._choose_port
        )

    @cached_property
    def _windows(self) -> Windows:
        return Windows(
            self.config,
            self.model,
            self._devices,
            self.installation.command,
            self._starter.environment(self.baseline_config()),
        )

    @cached_property
    def _accuracy(self) -> AccuracyRun:
        return AccuracyRun(
            self.config,
            self._windows,
            self.model.path,
            Path(self.installation.command[0]).parent,
            self._starter.environment(self.baseline_config()),
        )

    def _check_tokeniser(self) -> None:
        """Check that the model has a tokeniser where one is needed.

        Raises:
            InvalidInputError: it has none.
        """
        needs = {
            "client: bench": self.config.client == "bench",
            "workload.dataset: text": self.config.workload.dataset == "text",
            "check.dataset: text": self.config.check.dataset == "text",
            "lm_eval": self.config.lm_eval is not None,
        }
        named = [name for name, is_needed in needs.items() if is_needed]
        path = self.model.path
        if named and not has_tokeniser(path):
            raise InvalidInputError(
                f"model {path} has no tokenizer, which {', '.join(named)} needs; add "
                "one, or use the random dataset and the built-in client"
            )


def _own(server: Server) -> VllmServer:
    if not isinstance(server, VllmServer):
        raise TypeError(f"{type(server).__name__} was not started by the vllm target")
    return server
