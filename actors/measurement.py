"""One attempt at one request: profile, calibration, accuracy, benchmark, final claim."""

import math
import statistics
from collections.abc import Mapping
from typing import Literal

from arbor.actors.comparison import Comparison
from arbor.actors.pairs import SEED_STRIDE
from arbor.core.accuracy import Gate
from arbor.core.measure.foreign import foreign_ratio
from arbor.core.measure.interval import Series, claim_effect, series_effect
from arbor.core.measure.planning import calibrated_mde_ratio
from arbor.core.measure.sequential import Stop
from arbor.core.witness import has_witness
from arbor.events.evidence import (
    AccuracyMeasured,
    BenchmarkMeasured,
    NoiseCalibrated,
    ProfileTaken,
    SoakMeasured,
)
from arbor.events.types import Edit, Effect, GuardEffect, Load, Scalar, WindowSample
from arbor.targets.base import ServerFailedError

MIN_SOAK_WINDOWS = 3
"""Fewer windows of peak load show no trend."""


class Measurement(Comparison):
    """Measures what a request asks for and appends what it sees as it sees it."""

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
        # once the reference is taken, and the parent is what the benchmark compares with next,
        # unless it starts anew there.
        is_compared = self._asked.purpose != "accuracy"
        # A claim is about servers that were started afresh, and the calibration is its yardstick.
        self._arms.is_quick = self._asked.purpose not in {"noise", "revalidation", "soak"}
        self._arms.retain(
            self._commit, self._asked.parent_commit, *((self._incumbent,) if is_compared else ())
        )
        try:
            work()
        except ServerFailedError as error:
            self._arms.drop(self._commit)
            self._record_crash(error, self._asked.action_id)

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

    def _benchmark(self) -> None:
        plan = self._plan()
        with self._lease(exclusive=False):
            with self._on_incumbent():
                if self._place.has_quick_starts():
                    # The server that was kept was chosen for its speed, the luck of its start
                    # included; beside it, what changes nothing looks slower.
                    self._arms.drop(self._incumbent)
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
            max_pairs=plan.max_pairs,
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
        self._journal.catch_up()
        pairs = self._journal.state.requests.by_id[self._asked.request_id].pairs
        effect = claim_effect(
            series,
            self._settings.alpha,
            start_sd=plan.start_sd,
            foreign=foreign_ratio(p for p in pairs if not p.guard),
        )
        self._report("revalidation", effect, "planned", guards)

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
        resolved: Mapping[str, Scalar] = {}
        if purpose == "benchmark":
            resolved = self._arms.get(self._commit).resolved_config()
        if purpose == "benchmark" and self._asked.witness is not None:
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
                resolved_config=tuple(Edit(key=k, value=v) for k, v in sorted(resolved.items())),
            )
        )
