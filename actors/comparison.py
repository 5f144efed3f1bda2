"""Pairs of windows of the candidate and the incumbent, appended as they are measured."""

from arbor.actors.arms import ArmSeeds
from arbor.actors.attempt import Attempt
from arbor.actors.pairs import (
    SEED_STRIDE,
    WINDOW_SEED_STRIDE,
    loads_of,
    planned,
    play_pair,
)
from arbor.core.measure.interval import Series, series_effect
from arbor.core.measure.sequential import Stop, decide
from arbor.events.evidence import PairMeasured
from arbor.events.types import Guard, GuardEffect, SeriesPlan
from arbor.targets.base import STANDARD_LOAD, ServerFailedError

MIN_VALID_PAIRS = 2
"""A standard deviation needs two."""


class Comparison(Attempt):
    """Measures pairs: until they decide, as many as planned, or on guard workloads."""

    def _pair(
        self, number: int, start: int, num_requests: int, slot: str, guard: Guard | None = None
    ) -> float | None:
        """Measure one pair and append it; return its log ratio when it is valid."""
        self._check_wanted()
        seed = self._asked.seed + SEED_STRIDE * number
        objective = self._settings.objective if guard is None else guard.objective
        loads = loads_of(objective, STANDARD_LOAD if guard is None else guard.load)

        num_windows = 1
        if guard is None and self._asked.plan is not None and len(loads) == 1:
            num_windows = self._asked.plan.candidate_windows

        own_seeds = [seed + WINDOW_SEED_STRIDE * repeat for repeat in range(num_windows)]

        play = self._arms.play(
            ArmSeeds(self._commit, "a", own_seeds),
            ArmSeeds(self._incumbent, slot, [seed]),
            num_requests,
            loads=loads,
            objective=objective,
            slice_s=self._settings.slice_s,
            on_incumbent=self._on_incumbent,
        )
        started = self._journal.state.started
        played = play_pair(
            number,
            start,
            play,
            objective=objective,
            num_devices=started.hardware.num_devices if started is not None else 1,
            max_foreign_cpu_difference=self._settings.max_foreign_cpu_difference,
        )
        name = "" if guard is None else guard.name
        self._journal.append(PairMeasured(**self._evidence, **dict(played), guard=name))
        return played.log_ratio if played.is_valid else None

    def _planned(
        self,
        num_pairs: int,
        first: int,
        start: int,
        num_requests: int,
        *,
        slot: str = "b",
        guard: Guard | None = None,
    ) -> list[float]:
        return planned(
            num_pairs,
            first,
            lambda number: self._pair(number, start, num_requests, slot, guard),
        )

    def _series(self, plan: SeriesPlan) -> tuple[Series, Stop]:
        """Measure pairs until they decide; flawed ones are repeated up to half as many."""
        starts: list[list[float]] = [[]]
        for number in range(1, plan.max_pairs * 3 // 2 + 1):
            # Of fresh servers as well, what is known about the incumbent's speed holds.
            num_requests = self._arms.num_requests(self._incumbent, self._settings.window_s)
            value = self._pair(number, len(starts), num_requests, "a")
            starts[-1] += [] if value is None else [value]
            series = Series.of(*starts)
            then = decide(series, plan)
            if then == "restart":
                if starts[-1]:
                    # Servers forked from one process would share what differs between starts.
                    self._arms.is_quick = False
                    self._arms.close()
                    starts.append([])
            elif then is not None:
                return series, then
        return self._enough(Series.of(*starts)), "max_pairs"

    def _enough(self, series: Series) -> Series:
        """Return a series when a deviation can be had from it.

        Raises:
            ServerFailedError: too few pairs were valid.
        """
        if series.num_pairs >= MIN_VALID_PAIRS:
            return series
        raise ServerFailedError(
            self._asked.purpose,
            "foreign load came and went: the arms of nearly every pair saw different loads",
        )

    def _guards(self, first: int, start: int, slot: str) -> tuple[GuardEffect, ...]:
        """Measure what the candidate does to the workloads that must not get worse."""
        effects = []
        for guard in self._settings.guards:
            num_requests = self._place.target.default_num_requests()
            values = self._planned(
                guard.num_pairs, first, start, num_requests, slot=slot, guard=guard
            )
            effect = series_effect(
                self._enough(Series.of(values)),
                self._settings.alpha,
                start_sd=self._settings.start_sd,
            )
            effects.append(
                GuardEffect(name=guard.name, effect=effect, max_loss_ratio=guard.max_loss_ratio)
            )
            first += 2 * guard.num_pairs
        return tuple(effects)
