"""A landscape that can screen trials on something else than a server."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from arbor.targets.landscape import LandscapeConfig, LandscapeServer
from tests.fakes.hooked_landscape import HookedLandscape


class ScreenedLandscape(HookedLandscape):
    """Counts what was asked for.

    Attributes:
        is_tested: whether a switch is started before it is proposed.
        num_screenings: how often something for screening was started.
    """

    def __init__(
        self, config: LandscapeConfig, sleep: Callable[[float], None], *, is_tested: bool
    ) -> None:
        super().__init__(config, sleep)
        self.is_tested = is_tested
        self.num_screenings = 0

    def has_smoke_test(self) -> bool:
        """Return what was said."""
        return self.is_tested

    def serve_for_screening(
        self, worktree: Path, log_path: Path
    ) -> AbstractContextManager[LandscapeServer]:
        """Count, and serve."""
        self.num_screenings += 1
        return self.serve(worktree, log_path)
