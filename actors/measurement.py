"""One attempt at one request: profile, calibration, accuracy, benchmark, final claim."""

import math
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypedDict

from arbor.actors.arms import Arms
from arbor.actors.journal import Journal
from arbor.actors.pairs import SEED_STRIDE, loads_of, planned, play_pair
from arbor.actors.place import Place
from arbor.core.accuracy import Gate
from arbor.core.measure.interval import Series, claim_effect, series_effect
from arbor.core.measure.planning import calibrated_mde_ratio
from arbor.core.measure.sequential import Stop, decide
from arbor.core.requests import Request
from arbor.core.witness import has_witness
from arbor.events.errors import ArborError
from arbor.events.evidence import (
    AccuracyMeasured,
    BenchmarkMeasured,
    NoiseCalibrated,
    PairMeasured,
    ProfileTaken,
    SoakMeasured,
)
from arbor.events.types import (
    Effect,
    Guard,
    GuardEffect,
    Load,
    SeriesPlan,
    WindowSample,
)
from arbor.targets.base import STANDARD_LOAD, ServerFailedError

MIN_VALID_PAIRS = 2
"""A standard deviation needs two."""

MIN_SOAK_WINDOWS = 3
"""Fewer windows of peak load show no trend."""


class CancelledError(Exception):
    """The request is not wanted any more, or another attempt must be made."""


class _Evidence(TypedDict):
    """Fields that all evidence shares."""

    action_id: str | None
    attempt_id: str
    causation_id: str
    request_id: str
    node_id: str
    commit: str


class Measurement:
    """Measures what a request asks for and appends what it sees as it sees it."""

    def __init__(
        self, place: Place, journal: Journal, arms: Arms, request: Request, attempt_id: str
    ) -> None:
        self._place = place
        self._journal = journal
        self._arms = arms
        self._asked = request.asked
        self._settings = journal.state.settings.measure
        self._commit = place.commit(self._asked.parent_commit, self._asked.edits)
        self._incumbent = self._asked.incumbent_commit
        self._evidence: _Evidence = {
            "action_id": self._asked.action_id,
            "attempt_id": attempt_id,
            "causation_id": request.event_id,
            "request_id": self._asked.request_id,
            "node_id": self._asked.node_id,
            "commit": self._commit,
        }

    def run(self) -> None:
        """Measure; a failed server becomes a Crashed event.

        Raises:
            CancelledError: the request was cancelled, or the incumbent failed.
            LogError: the log cannot be used.
        """
        work = {
            "profile": self._profile,
            "noise": self._noise,
            "accuracy": self._accuracy,
            "benchmark": self._benchmark,
            "revalidation": self._revalidation,
            "soak": self._soak,
        }[self._asked.purpose]
        # The incumbent stays up beside the candidate: an accuracy check needs no baseline server
        # once the reference is taken, and the parent is what the benchmark compares with next.
        is_compared = self._asked.purpose != "accuracy"
        # a claim is about servers that were started afresh
        self._arms.is_quick = self._asked.purpose not in {"revalidation", "soak"}
        self._arms.retain(
            self._commit, self._asked.parent_commit, *((self._incumbent,) if is_compared else ())
        )
        try:
            work()
        except ServerFailedError as error:
            self._arms.drop(self._commit)
            self._record_crash(error, self._asked.action_id)

    def _record_crash(self, error: ServerFailedError, action_id: str | None) -> None:
        self._journal.append(
            self._place.crashed(
                error,
                action_id=action_id,
                attempt_id=self._evidence["attempt_id"],
                node_id=self._asked.node_id,
                request_id=self._asked.request_id,
            )
        )

    @contextmanager
    def _lease(self, *, exclusive: bool) -> Iterator[None]:
        with self._journal.lease(
            self._place.host,
            self._asked.purpose,
            exclusive=exclusive,
            action_id=self._asked.action_id,
        ):
            self._check_wanted()
            yield

    def _check_wanted(self) -> None:
        self._journal.catch_up()
        if self._journal.state.requests.by_id[self._asked.request_id].is_cancelled:
            raise CancelledError

    @contextmanager
    def _on_incumbent(self) -> Iterator[None]:
        """Blame a failure on the incumbent, not on the action."""
        try:
            yield
        except ServerFailedError as error:
            self._arms.drop(self._incumbent, "b")
            self._arms.drop(self._incumbent)
            self._record_crash(error, None)
            raise CancelledError from error

    def _profile(self) -> None:
        with self._lease(exclusive=True):
            server = self._arms.get(self._commit)
            profile = self._place.target.profile(server, self._asked.seed)
        self._journal.append(ProfileTaken(**self._evidence, profile=profile))

    def _reference(self) -> bytes:
        """Return the baseline's answers, taken once and kept beside the log."""
        path = self._place.directory / "reference"
        if path.exists():
            return self._place.blobs.get(path.read_text(encoding="ascii").strip())
        with self._on_incumbent():
            reference = self._place.target.reference(self._arms.get(self._incumbent))
        partial = path.with_suffix(".partial")
        partial.write_text(self._place.blobs.put(reference), encoding="ascii")
        partial.replace(path)
        return reference

    def _accuracy(self) -> None:
        with self._lease(exclusive=False):
            reference = self._reference()
            state = self._journal.state
            gate = Gate(state.settings.gate, state.tree.claims_exact(self._asked.node_id))
            sample = self._place.target.accuracy(self._arms.get(self._commit), reference, gate)
        self._journal.append(AccuracyMeasured(**self._evidence, sample=sample))

    # Pairs of windows

    def _pair(
        self, number: int, start: int, num_requests: int, slot: str, guard: Guard | None = None
    ) -> float | None:
        """Measure one pair and append it; return its log ratio when it is valid."""
        self._check_wanted()
        seed = self._asked.seed + SEED_STRIDE * number
        objective = self._settings.objective if guard is None else guard.objective
        loads = loads_of(objective, STANDARD_LOAD if guard is None else guard.load)

        def candidate() -> list[WindowSample]:
            return [self._arms.window(self._commit, "a", seed, num_requests, x) for x in loads]

        def incumbent() -> list[WindowSample]:
            with self._on_incumbent():
                return [
                    self._arms.window(self._incumbent, slot, seed, num_requests, x) for x in loads
                ]

        started = self._journal.state.started
        played = play_pair(
            number,
            start,
            candidate,
            incumbent,
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

    def _noise(self) -> None:
        commit, window_s = self._commit, self._settings.window_s
        with self._lease(exclusive=True):
            self._arms.window(
                commit, "a", self._asked.seed, self._arms.num_requests(commit, window_s)
            )
            num_requests = self._arms.num_requests(commit, window_s)
            values = self._planned(self._settings.noise_pairs, 1, 1, num_requests)
            self._arms.drop(commit, "b")
        series = self._enough(Series.of(values))
        # Two servers of one commit differ by no more than starts do, so only noise is asked here.
        effect = series_effect(series, self._settings.alpha, start_sd=0.0)
        self._journal.append(
            NoiseCalibrated(
                **self._evidence,
                effect=effect,
                mde_ratio=calibrated_mde_ratio(self._settings, effect),
                num_requests=num_requests,
            )
        )

    def _plan(self) -> SeriesPlan:
        """Return the request's plan.

        Raises:
            ArborError: it has none: a defect.
        """
        if self._asked.plan is None:
            raise ArborError(f"{self._asked.request_id} ({self._asked.purpose}) has no plan")
        return self._asked.plan

    def _benchmark(self) -> None:
        plan = self._plan()
        with self._lease(exclusive=False):
            with self._on_incumbent():
                self._arms.get(self._incumbent)
            self._arms.get(self._commit)
        guards: tuple[GuardEffect, ...] = ()
        with self._lease(exclusive=True):
            series, stop = self._series(plan)
            if stop == "gain":
                guards = self._guards(2 * plan.max_pairs, len(series.starts), "a")
        effect = series_effect(
            series,
            self._settings.alpha,
            start_sd=plan.start_sd,
            noise_sd_high=plan.noise_sd_high,
        )
        self._report("benchmark", effect, stop, guards)

    def _revalidation(self) -> None:
        plan = self._plan()
        starts: list[list[float]] = []
        with self._lease(exclusive=True):
            for start in range(1, plan.max_starts + 1):
                self._arms.close()
                num_requests = self._arms.num_requests(self._incumbent, self._settings.window_s)
                first = 1 + (start - 1) * 2 * plan.max_pairs
                starts.append(self._planned(plan.max_pairs, first, start, num_requests))
            guards = self._guards(1 + plan.max_starts * 2 * plan.max_pairs, plan.max_starts, "b")
        series = self._enough(Series.of(*starts))
        effect = claim_effect(series, self._settings.alpha, start_sd=plan.start_sd)
        self._report("revalidation", effect, "planned", guards)

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

    def _soak(self) -> None:
        """Keep a fresh server of the stack under peak load for a while."""
        target = self._place.target
        concurrency = math.ceil(
            target.default_concurrency() * self._settings.soak_concurrency_ratio
        )
        load = Load(concurrency=concurrency)
        windows: list[WindowSample] = []
        rss_bytes: list[int] = []
        with self._lease(exclusive=True):
            self._arms.close()
            server = self._arms.get(self._commit)
            num_requests = max(2 * concurrency, target.default_num_requests())
            while len(windows) < MIN_SOAK_WINDOWS or (
                math.fsum(w.duration_s for w in windows) < self._settings.soak_s
            ):
                self._check_wanted()
                seed = self._asked.seed + SEED_STRIDE * len(windows)
                windows.append(target.benchmark(server, seed, num_requests, load))
                rss = target.rss_bytes(server)
                rss_bytes += [] if rss is None else [rss]
        self._journal.append(
            SoakMeasured(
                **self._evidence,
                windows=tuple(windows),
                concurrency=concurrency,
                server_rss_bytes=tuple(rss_bytes),
            )
        )

    def _report(
        self,
        purpose: Literal["benchmark", "revalidation"],
        effect: Effect,
        stop: Stop | Literal["planned"],
        guards: tuple[GuardEffect, ...],
    ) -> None:
        self._journal.catch_up()
        request = self._journal.state.requests.by_id[self._asked.request_id]
        windows = [p.candidate for p in request.pairs if p.is_valid and not p.guard]
        is_witnessed, detail = True, "no witness asked"
        if purpose == "benchmark" and self._asked.witness is not None:
            resolved = self._arms.get(self._commit).resolved_config()
            is_witnessed, detail = has_witness(
                self._asked.witness, self._asked.edits, windows, resolved
            )
        self._journal.append(
            BenchmarkMeasured(
                **self._evidence,
                purpose=purpose,
                incumbent_commit=self._incumbent,
                effect=effect,
                guards=guards,
                stop=stop,
                has_witness=is_witnessed,
                witness_detail=detail,
                mean_throughput_tok_s=statistics.geometric_mean(
                    [max(w.throughput_tok_s, 1e-9) for w in windows]
                ),
            )
        )
