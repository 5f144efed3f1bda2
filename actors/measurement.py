"""One attempt at one request: profile, calibration, accuracy, benchmark, final claim."""

import math
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypedDict

from arbor.actors.arms import Arms
from arbor.actors.journal import Journal
from arbor.actors.place import Place
from arbor.core.measure.interval import START_SD, clustered_effect, effect_of
from arbor.core.measure.sequential import Stop, decide, mde_ratio
from arbor.core.requests import Request
from arbor.core.witness import has_witness
from arbor.events.evidence import (
    AccuracyMeasured,
    BenchmarkMeasured,
    NoiseCalibrated,
    PairMeasured,
    ProfileTaken,
)
from arbor.events.types import Effect, WindowSample
from arbor.targets.base import ServerFailedError

MIN_VALID_PAIRS = 2
"""A standard deviation needs two."""
SEED_STRIDE = 7919
"""Distance of the seeds of adjacent pairs: both arms of a pair share one, no two pairs do."""


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
        self._settings = journal.state.settings.measure.with_max_pairs(self._asked.max_pairs)
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
        }[self._asked.purpose]
        # The incumbent stays up beside the candidate: an accuracy check needs no baseline server
        # once the reference is taken, and the parent is what the benchmark compares with next.
        is_compared = self._asked.purpose != "accuracy"
        # a claim is about servers that were started afresh
        self._arms.is_quick = self._asked.purpose != "revalidation"
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
            sample = self._place.target.accuracy(self._arms.get(self._commit), reference)
        self._journal.append(AccuracyMeasured(**self._evidence, sample=sample))

    # Pairs of windows

    def _pair(self, number: int, start: int, num_requests: int, slot: str) -> float | None:
        """Measure one pair and append it; return its log ratio when it is valid."""
        self._check_wanted()
        seed = self._asked.seed + SEED_STRIDE * number
        is_candidate_first = number % 2 == 1
        if is_candidate_first:
            candidate = self._arms.window(self._commit, "a", seed, num_requests)
            incumbent = self._incumbent_window(slot, seed, num_requests)
        else:
            incumbent = self._incumbent_window(slot, seed, num_requests)
            candidate = self._arms.window(self._commit, "a", seed, num_requests)
        flaw = self._flaw(candidate, incumbent)
        log_ratio = math.log(
            max(candidate.throughput_tok_s, 1e-9) / max(incumbent.throughput_tok_s, 1e-9)
        )
        self._journal.append(
            PairMeasured(
                **self._evidence,
                pair=number,
                start=start,
                is_candidate_first=is_candidate_first,
                candidate=candidate,
                incumbent=incumbent,
                log_ratio=log_ratio,
                is_valid=flaw is None,
                flaw=flaw,
            )
        )
        return log_ratio if flaw is None else None

    def _incumbent_window(self, slot: str, seed: int, num_requests: int) -> WindowSample:
        with self._on_incumbent():
            return self._arms.window(self._incumbent, slot, seed, num_requests)

    def _flaw(self, candidate: WindowSample, incumbent: WindowSample) -> str | None:
        """Return why a pair does not count, judged by load alone and never by its ratio.

        Load that both arms saw alike cancels out of the ratio; load on one arm does not.
        """
        seen = candidate.foreign_cpu_ratio or 0.0, incumbent.foreign_cpu_ratio or 0.0
        if abs(seen[0] - seen[1]) <= self._settings.max_foreign_cpu_difference:
            return None
        return f"foreign processes took {seen[0]:.0%} and {seen[1]:.0%} of the cores"

    def _planned(self, num_pairs: int, first: int, start: int, num_requests: int) -> list[float]:
        """Measure a planned number of valid pairs; flawed ones are repeated once each."""
        values: list[float] = []
        for number in range(first, first + 2 * num_pairs):
            value = self._pair(number, start, num_requests, "b")
            values += [] if value is None else [value]
            if len(values) >= num_pairs:
                break
        return values

    def _series(self, num_requests: int) -> tuple[list[float], Stop]:
        """Measure pairs until they decide; flawed ones are repeated up to half as many."""
        values: list[float] = []
        for number in range(1, self._settings.max_pairs * 3 // 2 + 1):
            value = self._pair(number, 1, num_requests, "a")
            values += [] if value is None else [value]
            stop = decide(values, self._settings)
            if stop is not None:
                return values, stop
        return self._enough(values), "max_pairs"

    def _enough(self, values: list[float]) -> list[float]:
        """Return the ratios when a deviation can be had from them.

        Raises:
            ServerFailedError: too few pairs were valid.
        """
        if len(values) >= MIN_VALID_PAIRS:
            return values
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
        effect = effect_of(self._enough(values), self._settings.alpha)
        self._journal.append(
            NoiseCalibrated(
                **self._evidence,
                effect=effect,
                mde_ratio=mde_ratio(max(effect.sd_log_ratio, 1e-4), self._settings),
                num_requests=num_requests,
            )
        )

    def _benchmark(self) -> None:
        with self._lease(exclusive=False):
            with self._on_incumbent():
                self._arms.get(self._incumbent)
            self._arms.get(self._commit)
        with self._lease(exclusive=True):
            num_requests = self._arms.num_requests(self._incumbent, self._settings.window_s)
            values, stop = self._series(num_requests)
        self._report("benchmark", effect_of(values, self._settings.alpha), stop)

    def _revalidation(self) -> None:
        starts: list[list[float]] = []
        with self._lease(exclusive=True):
            for start in range(1, self._settings.final_starts + 1):
                self._arms.close()
                num_requests = self._arms.num_requests(self._incumbent, self._settings.window_s)
                first = 1 + (start - 1) * 2 * self._settings.final_pairs
                starts.append(
                    self._planned(self._settings.final_pairs, first, start, num_requests)
                )
        self._enough([value for values in starts for value in values])
        effect = clustered_effect(
            [values for values in starts if values], self._settings.alpha, start_sd=START_SD
        )
        self._report("revalidation", effect, "planned")

    def _report(
        self,
        purpose: Literal["benchmark", "revalidation"],
        effect: Effect,
        stop: Stop | Literal["planned"],
    ) -> None:
        self._journal.catch_up()
        request = self._journal.state.requests.by_id[self._asked.request_id]
        windows = [pair.candidate for pair in request.pairs if pair.is_valid]
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
                stop=stop,
                has_witness=is_witnessed,
                witness_detail=detail,
                mean_throughput_tok_s=statistics.geometric_mean(
                    [max(w.throughput_tok_s, 1e-9) for w in windows]
                ),
            )
        )
