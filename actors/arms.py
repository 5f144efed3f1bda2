"""The arms of a comparison: servers that stay up between measurements, and their windows."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import NamedTuple

from arbor.actors.pairs import Play, one_by_one
from arbor.actors.place import Place
from arbor.events.types import Load, Objective, WindowSample
from arbor.targets.base import (
    STANDARD_LOAD,
    ArmPlan,
    ArmWindows,
    CrowdedTarget,
    Server,
    TurnsTarget,
)

MAX_WINDOW_UNITS = 64
"""Longest window, in units of the target's smallest one."""
MAX_SLICE_RATIO = 4.0
"""The slower arm's turns are at most so much longer."""


class ArmSeeds(NamedTuple):
    """Windows of one arm: commit and slot of its server, and the windows' seeds."""

    commit: str
    slot: str
    seeds: Sequence[int]


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
            self._learn(commit, sample, num_requests)
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

    def can_take_turns(self, objective: Objective) -> bool:
        """Return whether both arms of a pair can be played at once, in turns of milliseconds.

        A sweep plays several loads, and energy cannot be told apart.
        """
        is_possible = self._limit > 1 and isinstance(self._place.target, TurnsTarget)
        return is_possible and objective.metric not in {"hypervolume", "tokens_per_joule"}

    def play(
        self,
        candidate: ArmSeeds,
        incumbent: ArmSeeds,
        num_requests: int,
        *,
        loads: Sequence[Load],
        objective: Objective,
        slice_s: float,
        on_incumbent: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Play:
        """Return how both arms of a pair are played: in turns where that can be.

        Args:
            candidate: its windows.
            incumbent: its windows.
            num_requests: requests of a window.
            loads: what is played; several are a sweep.
            objective: what a window is worth.
            slice_s: the shorter turn; 0 for whole windows, one arm after the other.
            on_incumbent: stands around all that the incumbent's server does.
        """

        def own() -> list[WindowSample]:
            return self.windows(*candidate, num_requests, loads)

        def other() -> list[WindowSample]:
            with on_incumbent():
                return self.windows(*incumbent, num_requests, loads)

        def together(
            is_candidate_first: bool,
        ) -> tuple[list[WindowSample], list[WindowSample]]:
            self.get(candidate.commit, candidate.slot)
            with on_incumbent():
                self.get(incumbent.commit, incumbent.slot)
            ours, theirs = self.in_turns(
                candidate,
                incumbent,
                num_requests,
                slice_s,
                is_candidate_first=is_candidate_first,
                load=loads[0],
            )
            with on_incumbent():
                played = theirs.result()
            return ours.result(), played

        is_in_turns = slice_s > 0 and self.can_take_turns(objective)
        return together if is_in_turns else one_by_one(own, other)

    def in_turns(
        self,
        candidate: ArmSeeds,
        incumbent: ArmSeeds,
        num_requests: int,
        slice_s: float,
        *,
        is_candidate_first: bool,
        load: Load = STANDARD_LOAD,
    ) -> tuple[ArmWindows, ArmWindows]:
        """Play both arms of a pair in turns; servers that do not run are started.

        The turns of the slower arm are longer, so that both end together as far as is known.

        Args:
            candidate: its windows.
            incumbent: its windows.
            num_requests: requests of a window.
            slice_s: the shorter turn.
            is_candidate_first: the candidate has the first turn.
            load: what is played.

        Returns:
            The candidate's windows and the incumbent's.

        Raises:
            TypeError: the target cannot.
            ServerFailedError: a server did not start; what fails later is in the result.
        """
        target = self._place.target
        if not isinstance(target, TurnsTarget):
            raise TypeError(f"target {target.name} cannot play servers in turns")
        own, other = self._arm_plans((candidate, incumbent), slice_s)
        if is_candidate_first:
            ours, theirs = target.benchmark_in_turns((own, other), num_requests, load)
        else:
            theirs, ours = target.benchmark_in_turns((other, own), num_requests, load)
        for arm, windows in ((candidate, ours), (incumbent, theirs)):
            if load == STANDARD_LOAD and windows.exception() is None:
                self._learn(arm.commit, windows.result()[-1], num_requests)
        return ours, theirs

    def _arm_plans(
        self, arms: tuple[ArmSeeds, ArmSeeds], slice_s: float
    ) -> tuple[ArmPlan, ArmPlan]:
        known_s = [self._unit_s.get(arm.commit, 0.0) * len(arm.seeds) for arm in arms]
        least_s = min(known_s)
        ratios = [min(each / least_s, MAX_SLICE_RATIO) if least_s else 1.0 for each in known_s]
        own, other = (
            ArmPlan(self.get(arm.commit, arm.slot), arm.seeds, slice_s * ratio)
            for arm, ratio in zip(arms, ratios, strict=True)
        )
        return own, other

    def _learn(self, commit: str, sample: WindowSample, num_requests: int) -> None:
        unit = self._place.target.default_num_requests()
        self._unit_s[commit] = sample.duration_s * unit / num_requests

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
