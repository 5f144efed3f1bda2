"""A landscape that calls back before every window, to fail, to die or to be interfered with."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from arbor.events.types import Load, Profile, Scalar, WindowSample
from arbor.targets.base import STANDARD_LOAD, Server
from arbor.targets.landscape import LandscapeConfig, LandscapeServer, LandscapeTarget

Hook = Callable[[dict[str, Scalar], str], None]
"""Gets the server's configuration and the phase; raises what should happen there."""


def no_hook(_config: dict[str, Scalar], _phase: str) -> None:
    """Let everything pass."""


class HookedLandscape(LandscapeTarget):
    """Calls ``hook`` before a profile and before every window.

    Attributes:
        hook: what is called; may be replaced at any time.
        num_quick_starts: how often a quick start was asked for.
    """

    def __init__(self, config: LandscapeConfig, sleep: Callable[[float], None]) -> None:
        super().__init__(config, sleep)
        self.hook: Hook = no_hook
        self.num_quick_starts = 0

    def serve_quickly(
        self, worktree: Path, log_path: Path
    ) -> AbstractContextManager[LandscapeServer]:
        """Count, and serve."""
        self.num_quick_starts += 1
        return self.serve(worktree, log_path)

    def _call(self, server: Server, phase: str) -> None:
        if isinstance(server, LandscapeServer):
            self.hook(dict(server.config), phase)

    def profile(self, server: Server, seed: int) -> Profile:
        """Call back, then profile."""
        self._call(server, "profile")
        return super().profile(server, seed)

    def benchmark(
        self, server: Server, seed: int, num_requests: int, load: Load = STANDARD_LOAD
    ) -> WindowSample:
        """Call back, then play the window."""
        self._call(server, "benchmark")
        return super().benchmark(server, seed, num_requests, load)
