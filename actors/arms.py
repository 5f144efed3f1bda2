"""The arms of a comparison: servers that stay up between measurements, and their windows."""

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack

from arbor.actors.place import Place
from arbor.events.types import Load, WindowSample
from arbor.targets.base import STANDARD_LOAD, CrowdedTarget, Server

MAX_WINDOW_UNITS = 64
"""Longest window, in units of the target's smallest one."""


class Arms:
    """A small cache of running servers by commit and slot; the oldest unused one is ended.

    The incumbent stays up beside the candidate where a target's memory holds both; else they are
    started in turn, and as pairs alternate their order, one start makes a pair. Two servers of
    the same commit are told apart by their slot.

    Attributes:
        is_quick: servers may be started from what a target has prepared.
    """

    def __init__(self, place: Place, limit: int = 2) -> None:
        self._place = place
        target = place.target
        num_fitting = target.max_servers() if isinstance(target, CrowdedTarget) else limit
        self._limit = max(1, min(num_fitting, limit))
        self._is_kept = num_fitting > 0
        self.is_quick = False
        self._running: OrderedDict[tuple[str, str], tuple[ExitStack, Server]] = OrderedDict()
        self._unit_s: dict[str, float] = {}

    def get(self, commit: str, slot: str = "a") -> Server:
        """Return a running, warmed server of a commit, started when there is none.

        Raises:
            ServerFailedError: the server did not become ready.
        """
        key = (commit, slot)
        if key in self._running:
            self._running.move_to_end(key)
            return self._running[key][1]
        while len(self._running) >= self._limit:
            self.drop(*next(iter(self._running)))
        stack = ExitStack()
        server = stack.enter_context(
            self._place.serve(commit, f"bench-{slot}", is_quick=self.is_quick)
        )
        try:
            self._place.target.warmup(server, seed=1)
        except BaseException:
            stack.close()
            raise
        self._running[key] = (stack, server)
        return server

    def num_requests(self, commit: str, window_s: float) -> int:
        """Return how many requests make a window of about ``window_s`` on a commit.

        One unit of the target until the commit's speed is known from a window.
        """
        unit = self._place.target.default_num_requests()
        seconds = self._unit_s.get(commit)
        if seconds is None:
            return unit
        return unit * max(1, min(MAX_WINDOW_UNITS, round(window_s / seconds)))

    def window(
        self, commit: str, slot: str, seed: int, num_requests: int, load: Load = STANDARD_LOAD
    ) -> WindowSample:
        """Play one window on an arm.

        Raises:
            ServerFailedError: the server did not start, or failed.
        """
        server = self.get(commit, slot)
        sample = self._place.target.benchmark(server, seed, num_requests, load)
        if load == STANDARD_LOAD:
            unit = self._place.target.default_num_requests()
            self._unit_s[commit] = sample.duration_s * unit / num_requests
        return sample

    def windows(
        self,
        commit: str,
        slot: str,
        seeds: Sequence[int],
        num_requests: int,
        loads: Sequence[Load],
    ) -> list[WindowSample]:
        """Play one arm of a pair: every load with every seed.

        Raises:
            ServerFailedError: the server did not start, or failed.
        """
        return [
            self.window(commit, slot, seed, num_requests, load) for seed in seeds for load in loads
        ]

    def retain(self, *commits: str) -> None:
        """End the servers of all other commits, so that none of these has to make room."""
        for commit, slot in list(self._running):
            if commit not in commits:
                self.drop(commit, slot)

    def drop(self, commit: str, slot: str = "a") -> None:
        """End a server; harmless when it does not run."""
        entry = self._running.pop((commit, slot), None)
        if entry is not None:
            entry[0].close()

    def rest(self) -> None:
        """End all servers where others need their memory between measurements."""
        if not self._is_kept:
            self.close()

    def close(self) -> None:
        """End all servers."""
        while self._running:
            self.drop(*next(iter(self._running)))
