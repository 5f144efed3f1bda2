"""The ``engine`` target: the embedded inference engine, started as a server and measured."""

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

from arbor import __version__
from arbor.core.accuracy import Gate
from arbor.events.errors import InvalidInputError
from arbor.events.types import (
    AccuracySample,
    ActionTemplate,
    CategoryShare,
    Hardware,
    Load,
    Profile,
    Scalar,
    WindowSample,
)
from arbor.targets.base import (
    STANDARD_LOAD,
    ArmPlan,
    ArmWindows,
    LocalCheck,
    Server,
    Windows,
)
from arbor.targets.child import free_port
from arbor.targets.engine.accuracy import AccuracyCheck
from arbor.targets.engine.catalog import engine_catalog
from arbor.targets.engine.catalog_placebo import placebo_actions
from arbor.targets.engine.config import EngineTargetConfig
from arbor.targets.engine.model_cache import cache_folder, import_root, synthetic_model
from arbor.targets.engine.model_folder import inspect_model, planted_successors
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.server.environment import installed_allocators
from arbor.targets.engine.server.errors import ModelFolderError
from arbor.targets.engine.server.overlay import CATEGORIES, EDITABLE, FOLDER, editable_sources
from arbor.targets.engine.server.settings import switches
from arbor.targets.engine.starting import EngineStarter
from arbor.targets.engine.trace import MIXES, TraceRequest, build_trace
from arbor.targets.engine.window import measure_window
from arbor.targets.load_window import RequestLoad, play
from arbor.targets.serve_yaml import CONFIG_FILE, dump_config
from arbor.targets.turns import Timeline, Turn, take_turns, wall

__all__ = ["EngineTarget", "EngineTargetConfig"]

_WARMUP_LOADS = 3
_WARMUP_PART = 3
"""Every request of a warm-up asks for this part of its tokens."""
_WARMUP_S = 0.5


class EngineTarget:
    """Implements ``Target`` over the embedded engine.

    Attributes:
        config: what it was made from.
    """

    name = "engine"

    def __init__(
        self, config: EngineTargetConfig, choose_port: Callable[[str], int] = free_port
    ) -> None:
        self.config = config
        self._cache = cache_folder(config.cache)
        self._starter = EngineStarter(config, self._cache, choose_port)

    @cached_property
    def model(self) -> Path:
        """Folder of the model, checked.

        Raises:
            InvalidInputError: the engine cannot load it, or it cannot be made.
        """
        path = self.config.model or synthetic_model(self.config.synthetic, self._cache)
        try:
            inspect_model(path)
        except ModelFolderError as error:
            raise InvalidInputError(str(error)) from error
        return path

    def check(self, hardware: Hardware) -> None:  # noqa: ARG002 - the engine runs on any CPU
        """Check torch, the compiler and the model before anything starts.

        Raises:
            InvalidInputError: something is missing; one line with the fix.
        """
        if find_spec("torch") is None:
            raise InvalidInputError(
                "the engine needs torch: pip install 'arbor-inference[engine]'"
            )
        compiler = os.environ.get("CXX", "g++")
        if which(compiler) is None:
            raise InvalidInputError(
                f"no C++ compiler {compiler!r} for the engine's operators: apt-get install g++, "
                "or set CXX"
            )
        _ = self.model

    def create_workspace(self, path: Path) -> None:
        """Write all switches at their defaults, and what the baseline's numbers depend on.

        ``overlay/`` gets a copy of every editable source of the engine: a commit that changes one
        runs the changed one.

        Raises:
            InvalidInputError: the model cannot be loaded or made.
        """
        (path / CONFIG_FILE).write_bytes(dump_config(self.baseline_config()))
        for name, source in editable_sources().items():
            copy = path / FOLDER / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(source)
        with (self.model / "config.json").open("rb") as file:
            model_digest = hashlib.file_digest(file, "sha256").hexdigest()
        lock = {
            "python": ".".join(map(str, sys.version_info[:3])),
            "torch": version("torch"),
            "model": self.model.name,
            "model_config_sha256": model_digest,
        }
        (path / "environment.lock").write_text(json.dumps(lock, indent=2) + "\n")

    def versions(self) -> Sequence[str]:
        """Return the versions of the engine and of what brings its kernels."""
        return f"arbor {__version__}", f"torch {version('torch')}"

    def baseline_config(self) -> dict[str, Scalar]:
        """Return every switch at its default, with the head's number format spelt out."""
        config = {f"{switch.section}.{switch.name}": switch.default for switch in switches()}
        # "same" would let an action on the layers change the head too
        return {**config, "kernel.head_weights": "float32"}

    def actions(self, hardware: Hardware) -> Sequence[ActionTemplate]:
        """Return the engine's catalog, or placebos."""
        if self.config.catalog == "placebo":
            return placebo_actions()
        return engine_catalog(
            hardware.num_cores, self.config.concurrency, sorted(installed_allocators())
        )

    def serve(self, worktree: Path, log_path: Path) -> AbstractContextManager[EngineServer]:
        """Start the engine as a new program, with the ``serve.yaml`` of a worktree.

        Raises:
            InvalidInputError: the model cannot be loaded or made.
            ServerFailedError: the engine ended or was not ready in time.
        """
        return self._starter.start(self.model, worktree, log_path)

    def serve_quickly(
        self, worktree: Path, log_path: Path
    ) -> AbstractContextManager[EngineServer]:
        """Fork the engine from a process that holds the libraries, which saves their import.

        The log's first line tells a forked server. One that needs another environment starts
        itself again as a new program.

        Raises:
            InvalidInputError: the model cannot be loaded or made.
            ServerFailedError: the engine ended or was not ready in time.
        """
        return self._starter.start(self.model, worktree, log_path, is_quick=True)

    def close(self) -> None:
        """End the prepared process and the servers that were forked from it; idempotent."""
        self._starter.close()

    def warmup(self, server: Server, seed: int) -> None:
        """Play short requests, one per place of the client's concurrency and load.

        Every size of a batch is met as requests end one by one. A slow stack is warm after one
        load, a fast one needs more of them, which cost it little.

        Raises:
            ServerFailedError: the server failed or hung.
        """
        own = _own(server)
        started_s = time.monotonic()
        for number in range(_WARMUP_LOADS):
            trace = self._trace(seed + number, self.config.concurrency)
            play(own, "start", self._load([r.shortened(_WARMUP_PART) for r in trace]))
            if time.monotonic() - started_s > _WARMUP_S:
                return

    def profile(self, server: Server, seed: int) -> Profile:
        """Return the engine's own thread-time shares under the benchmark's load.

        Raises:
            ServerFailedError: the server failed or hung.
        """
        own = _own(server)
        own.ask("profile", "POST", "/reset")
        own.ask("profile", "POST", "/profile/start")
        play(own, "profile", self._load(self._trace(seed, self.config.num_requests)))
        profile = own.ask("profile", "POST", "/profile/stop")
        return Profile(
            shares=tuple(
                CategoryShare(category=category, share_ratio=min(max(share, 0.0), 1.0))
                for category, share in profile["shares"].items()
            ),
            window_s=profile["wall_s"],
            source="engine thread time",
        )

    def workloads(self) -> Sequence[str]:
        """Return the names of the trace's other mixes."""
        return sorted(name for name in MIXES if name)

    def benchmark(
        self, server: Server, seed: int, num_requests: int, load: Load = STANDARD_LOAD
    ) -> WindowSample:
        """Play one window from an empty prefix cache.

        Raises:
            ServerFailedError: the server failed, hung, or completed nothing.
        """
        return self._window(_own(server), seed, num_requests, load)

    def benchmark_in_turns(
        self, arms: tuple[ArmPlan, ArmPlan], num_requests: int, load: Load = STANDARD_LOAD
    ) -> tuple[ArmWindows, ArmWindows]:
        """Play the windows of two servers in turns, the first one's turn first.

        Latencies and durations are of the time in which the server was let run.
        """
        servers = tuple(_own(arm.server) for arm in arms)
        turns = tuple(Turn(s.child, a.slice_s) for s, a in zip(servers, arms, strict=True))
        round_s = sum(arm.slice_s for arm in arms)

        def windows(own: EngineServer, other: EngineServer, arm: ArmPlan, turn: Turn) -> Windows:
            limit_s = self.config.load_limit_s * round_s / arm.slice_s
            try:
                return [
                    self._window(
                        own,
                        seed,
                        num_requests,
                        load,
                        limit_s=limit_s,
                        timeline=turn.clock,
                        beside=other,
                    )
                    for seed in arm.seeds
                ]
            finally:
                turn.is_done.set()

        with ThreadPoolExecutor(len(arms)) as pool:
            first, second = (
                pool.submit(windows, servers[i], servers[1 - i], arms[i], turns[i])
                for i in range(len(arms))
            )
            take_turns(*turns)
        return first, second

    def _window(
        self,
        own: EngineServer,
        seed: int,
        num_requests: int,
        load: Load,
        *,
        limit_s: float | None = None,
        timeline: Timeline = wall,
        beside: EngineServer | None = None,
    ) -> WindowSample:
        own.ask("benchmark", "POST", "/reset")
        trace = self._trace(seed, num_requests, load.workload)
        played = self._load(trace, load.concurrency)
        if limit_s is not None:
            played = replace(played, limit_s=limit_s)
        return measure_window(own, trace, played, seed, timeline=timeline, beside=beside)

    def reference(self, server: Server) -> bytes:
        """Return the server's scores, one sequence at a time, and greedy answers.

        Raises:
            ServerFailedError: the server failed or hung.
        """
        return self._accuracy_check.reference(_own(server))

    def accuracy(
        self, server: Server, reference: bytes, gate: Gate | None = None
    ) -> AccuracySample:
        """Return the distances one by one, at the benchmark's batch and in long contexts.

        Raises:
            InvalidInputError: the reference belongs to another model or other prompts.
            ServerFailedError: the server failed or hung.
        """
        return self._accuracy_check.accuracy(_own(server), reference, gate)

    def default_concurrency(self) -> int:
        """Return the configured number of open requests."""
        return self.config.concurrency

    def rss_bytes(self, server: Server) -> int | None:
        """Return the resident memory of the server's process; None once it has ended."""
        return _own(server).rss_bytes()

    def patchable(self) -> Mapping[str, str]:
        """Return the editable sources below ``overlay/`` and what each takes time of."""
        return {f"{FOLDER}/{name}": CATEGORIES[name] for name in EDITABLE}

    def local_checks(self) -> Sequence[LocalCheck]:
        """Return one check: the changed modules import, and C++ sources are C++."""
        words = (sys.executable, "-m", "arbor.targets.engine.server.try_sources", FOLDER)
        return (LocalCheck("import", words, {"PYTHONPATH": str(import_root(self._cache))}),)

    def cache_folders(self) -> Sequence[Path]:
        """Return where native operators and compiled graphs are kept."""
        return self._cache / "operators", self._cache / "inductor"

    def default_num_requests(self) -> int:
        """Return the configured number, which lasts about three seconds on the baseline."""
        return self.config.num_requests

    @cached_property
    def _successors(self) -> Any:
        return planted_successors(self.model)

    @cached_property
    def _accuracy_check(self) -> AccuracyCheck:
        return AccuracyCheck(
            self.config.check, self.model, self._successors, self.config.concurrency
        )

    def _trace(self, seed: int, num_requests: int, workload: str = "") -> tuple[TraceRequest, ...]:
        return build_trace(
            seed,
            mix=MIXES[workload],
            num_requests=num_requests,
            vocab_size=inspect_model(self.model).vocab_size,
            successors=self._successors,
            length_scale=self.config.length_scale,
        )

    def _load(self, trace: Sequence[TraceRequest], concurrency: int | None = None) -> RequestLoad:
        return RequestLoad(trace, concurrency or self.config.concurrency, self.config.load_limit_s)


def _own(server: Server) -> EngineServer:
    if not isinstance(server, EngineServer):
        raise TypeError(f"{type(server).__name__} was not started by the engine target")
    return server
