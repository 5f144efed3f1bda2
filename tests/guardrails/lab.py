"""A tiny engine on which guardrail cases are provoked, and windows with little foreign load."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from arbor.events.types import Edit, WindowSample
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.target import EngineTarget, EngineTargetConfig
from arbor.targets.engine.trace import TraceRequest, build_trace
from arbor.targets.engine.window import measure_window
from arbor.targets.load_window import RequestLoad
from arbor.targets.workspace import Workspace

VOCAB_SIZE = 512
CONCURRENCY = 8
SMALL: dict[str, Any] = {
    "synthetic": {
        "seed": 3,
        "vocab_size": VOCAB_SIZE,
        "width": 64,
        "num_layers": 2,
        "ffn_width": 96,
        "max_positions": 256,
    },
    "concurrency": CONCURRENCY,
    "num_requests": 24,
    "length_scale": 0.3,
    # the compiler is slow on a busy machine
    "start_limit_s": 300.0,
}
QUIET_FOREIGN_RATIO = 0.2
PATIENCE_S = 20.0

Trace = tuple[TraceRequest, ...]


class Lab:
    """An engine target with a tiny model, its workspace, and a server of the baseline."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.target = EngineTarget(EngineTargetConfig.model_validate(SMALL))
        self.workspace = Workspace(folder / "workspace")
        self.root = self.workspace.create(self.target.create_workspace)
        self._num_starts = 0

    @contextmanager
    def serve(
        self,
        *edits: Edit,
        is_warm: bool = True,
        target: EngineTarget | None = None,
    ) -> Iterator[EngineServer]:
        """Start the baseline with some edits."""
        target = target or self.target
        self._num_starts += 1
        commit = self.workspace.commit_edits(self.root, edits, "Try") if edits else self.root
        worktree = self.workspace.checkout(commit, self.folder / "trees" / commit)
        with target.serve(worktree, self.folder / f"{self._num_starts}.log") as server:
            if is_warm:
                target.warmup(server, seed=1)
            yield server

    def trace(self, seed: int, **options: Any) -> Trace:
        """Return the requests of a window."""
        own = {"num_requests": 24, "vocab_size": VOCAB_SIZE, "length_scale": 0.3}
        return build_trace(seed, **(own | options))

    def window(
        self,
        server: EngineServer,
        trace: Trace | None = None,
        *,
        seed: int = 9,
        is_reset: bool = True,
        concurrency: int = CONCURRENCY,
        request_limit_s: float = 600.0,
    ) -> WindowSample:
        """Play a window now."""
        if is_reset:
            server.ask("benchmark", "POST", "/reset")
        requests = trace or self.trace(seed)
        load = RequestLoad(requests, concurrency, 120.0, request_limit_s)
        return measure_window(server, requests, load, seed)


def quiet(play: Callable[[], WindowSample]) -> WindowSample:
    """Play windows until one saw little foreign load; after a while take the one with the least.

    A shared machine may never be quiet. What was tolerated is stored with the case.
    """
    deadline_s = time.monotonic() + PATIENCE_S
    best = play()
    while _foreign(best) > QUIET_FOREIGN_RATIO and time.monotonic() < deadline_s:
        wait_for_quiet(deadline_s)
        best = min(best, play(), key=_foreign)
    return best


def wait_for_quiet(deadline_s: float) -> None:
    """Wait until the machine is idle for a moment, at most until a deadline."""
    while psutil.cpu_percent(interval=0.1) > 100 * QUIET_FOREIGN_RATIO:
        if time.monotonic() > deadline_s:
            return


def _foreign(window: WindowSample) -> float:
    return window.foreign_cpu_ratio or 0.0
