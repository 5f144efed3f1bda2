"""The bench answers requests with evidence, raw as it comes, and never with stale pairs."""

import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from arbor.actors.bench import Bench
from arbor.actors.journal import Journal
from arbor.core.campaign import Campaign
from arbor.core.measure.interval import Series, claim_effect, series_effect
from arbor.core.measure.objective import objective_value
from arbor.core.measure.soak import soak_violation
from arbor.core.rca import Incident, diagnose
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID, Status
from arbor.events.base import Event
from arbor.events.campaign import CampaignPaused, CampaignResumed, CampaignStarted
from arbor.events.choice import ActionDispatched, ActionProposed, ActionWithdrawn
from arbor.events.evidence import (
    AccuracyMeasured,
    BenchmarkMeasured,
    NoiseCalibrated,
    PairMeasured,
    ProfileTaken,
    SoakMeasured,
)
from arbor.events.life import LeaseTaken
from arbor.events.limits import ActionVetoed
from arbor.events.log import EventLog
from arbor.events.outcome import Crashed
from arbor.events.requests import MeasurementRequested, Purpose
from arbor.events.settings import MeasureSettings
from arbor.events.types import ActionTemplate, Effect, Guard, Load, Objective, Scalar, SeriesPlan
from arbor.events.work import AttemptStarted, PatchProposed
from arbor.targets.base import ServerFailedError
from arbor.targets.landscape import LandscapeConfig
from arbor.targets.landscape_config import Noise
from tests.fakes.mortal_log import Killed, MortalLog
from tests.fakes.simulation import E, Simulation

MEASURE = MeasureSettings(final_starts=2, final_pairs=3)


class Lab:
    """A bench, and a test that asks it for evidence about one switch."""

    def __init__(
        self,
        directory: Path,
        template_id: str = "vectorised",
        noise: Noise | None = None,
        measure: MeasureSettings = MEASURE,
        seed: int = 0,
    ) -> None:
        self._measure = measure
        self.simulation = Simulation(
            directory,
            LandscapeConfig(noise=noise or Noise(), seed=seed),
            Campaign(target="landscape", measure=measure),
        )
        (self.started,) = self.events(CampaignStarted)
        self.template: ActionTemplate = next(
            t for t in self.started.actions if t.template_id == template_id
        )
        self.root = self.started.root_commit
        self._orchestrator = Journal(self.simulation.log, "orchestrator", self.simulation.clock)
        self._orchestrator.append(
            ActionProposed(
                action_id="a001", template_id=template_id, node_id=ROOT_ID, reason="new"
            ),
            ActionDispatched(
                action_id="a001",
                node_id="n001",
                parent_id=ROOT_ID,
                parent_commit=self.root,
                template_id=template_id,
                specialist="config",
                edits=self.template.edits,
                brief="",
            ),
            PatchProposed(
                action_id="a001",
                node_id="n001",
                base_commit=self.root,
                commit="c",
                edits=self.template.edits,
                diff_digest="d",
                validation="",
            ),
        )

    def ask(self, purpose: Purpose) -> None:
        """Ask for evidence about the switch, or about the root."""
        is_about_root = purpose in {"profile", "noise"}
        number = len(self.events(MeasurementRequested)) + 1
        self._orchestrator.append(
            MeasurementRequested(
                action_id=None if is_about_root else "a001",
                request_id=f"r{number}",
                purpose=purpose,
                node_id=ROOT_ID if is_about_root else "n001",
                parent_commit=self.root,
                edits=() if is_about_root else self.template.edits,
                incumbent_commit=self.root,
                witness=None if is_about_root else self.template.witness,
                plan=None if is_about_root else self.plan(purpose),
                seed=number * 1009,
            )
        )

    noise_sd_high = 0.03
    candidate_windows = 1

    def plan(self, purpose: Purpose) -> SeriesPlan:
        """Return a plan of the campaign's settings, the noise known."""
        measure = self._measure
        is_claim = purpose == "revalidation"
        return SeriesPlan(
            alpha=measure.alpha,
            min_pairs=measure.min_pairs,
            max_pairs=measure.final_pairs if is_claim else measure.max_pairs,
            max_starts=measure.final_starts if is_claim else measure.max_starts,
            candidate_windows=self.candidate_windows,
            min_gain_ratio=measure.min_gain_ratio,
            start_sd=measure.start_sd,
            noise_sd=0.7 * self.noise_sd_high,
            noise_sd_high=self.noise_sd_high,
        )

    def answer(self, log: EventLog | None = None) -> None:
        """Let a new bench answer all that is open."""
        journal = Journal(log or self.simulation.log, Bench.name, self.simulation.clock)
        journal.start()
        bench = Bench(self.simulation.place, journal)
        try:
            while (request := bench.next_request()) is not None:
                bench.perform(request)
        finally:
            bench.close()

    def at(self, call: int, what: Callable[[dict[str, Scalar], str], None]) -> None:
        """Have something happen before a window or a profile, counted from 1."""
        num = 0

        def hook(config: dict[str, Scalar], phase: str) -> None:
            nonlocal num
            num += 1
            if num == call:
                what(config, phase)

        self.simulation.target.hook = hook

    def events(self, kind: type[E]) -> list[E]:
        return self.simulation.of_kind(kind)

    @property
    def state(self) -> CampaignState:
        return self.simulation.state()


def _effect(pairs: list[PairMeasured]) -> Effect:
    """Return the effect of valid pairs of one start."""
    return series_effect(
        Series.of([p.log_ratio for p in pairs]),
        MEASURE.alpha,
        start_sd=MEASURE.start_sd,
        noise_sd_high=0.03,
        max_pairs=MEASURE.max_pairs,
    )


def test_takes_a_profile_alone(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.ask("profile")
    lab.answer()
    (taken,) = lab.events(ProfileTaken)
    assert taken.commit == lab.root
    assert math.isclose(sum(s.share_ratio for s in taken.profile.shares), 1.0, rel_tol=1e-6)
    (lease,) = lab.events(LeaseTaken)
    assert lease.is_exclusive


def test_calibrates_between_two_servers_of_the_baseline(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.ask("noise")
    lab.answer()
    (noise,) = lab.events(NoiseCalibrated)
    pairs = lab.events(PairMeasured)
    assert len(pairs) == MEASURE.noise_pairs
    assert noise.effect == series_effect(
        Series.of([p.log_ratio for p in pairs]), MEASURE.alpha, start_sd=0.0
    )
    assert noise.effect.low < 1.0 < noise.effect.high
    assert noise.mde_ratio > MEASURE.min_gain_ratio


def test_measures_accuracy_against_the_baseline(tmp_path: Path) -> None:
    lab = Lab(tmp_path, "int4")
    lab.ask("accuracy")
    lab.answer()
    (measured,) = lab.events(AccuracyMeasured)
    assert measured.sample.kl_mean == pytest.approx(0.08)
    exact = Lab(tmp_path / "exact")
    exact.ask("accuracy")
    exact.answer()
    assert exact.events(AccuracyMeasured)[0].sample.kl_mean == 0.0


def test_measures_pairs_until_they_decide(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.ask("benchmark")
    lab.answer()
    (result,) = lab.events(BenchmarkMeasured)
    pairs = lab.events(PairMeasured)
    assert result.stop == "gain"
    assert result.has_witness
    assert len(pairs) < MEASURE.max_pairs
    assert result.effect == _effect(pairs)
    assert [p.pair for p in pairs] == list(range(1, len(pairs) + 1))
    assert [p.is_candidate_first for p in pairs] == [n % 2 == 1 for n in range(1, len(pairs) + 1)]
    assert len({p.candidate.seed for p in pairs}) == len(pairs)
    assert all(p.candidate.seed == p.incumbent.seed for p in pairs)
    assert all(p.commit == result.commit != lab.root for p in pairs)
    truth = lab.simulation.target.surface.true_ratio(
        lab.simulation.place.workspace.config(result.commit)
    )
    assert result.effect.low <= truth <= result.effect.high


def test_what_had_no_effect_has_no_witness(tmp_path: Path) -> None:
    lab = Lab(tmp_path, "legacy_flag")
    lab.ask("benchmark")
    lab.answer()
    (result,) = lab.events(BenchmarkMeasured)
    assert not result.has_witness
    assert "did not grow" in result.witness_detail


def test_the_final_claim_has_fresh_starts(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.ask("revalidation")
    lab.answer()
    (result,) = lab.events(BenchmarkMeasured)
    pairs = lab.events(PairMeasured)
    by_start = [[p.log_ratio for p in pairs if p.start == start] for start in (1, 2)]
    assert [len(start) for start in by_start] == [MEASURE.final_pairs] * 2
    assert result.effect == claim_effect(
        Series.of(*by_start), MEASURE.alpha, start_sd=MEASURE.start_sd
    )
    assert (result.purpose, result.effect.num_starts_per_arm) == ("revalidation", 2)
    assert lab.simulation.target.num_quick_starts == 0


def test_a_trial_may_start_from_what_is_prepared(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.ask("benchmark")
    lab.answer()
    assert lab.simulation.target.num_quick_starts == 2


def test_a_server_that_stayed_up_since_it_was_chosen_is_started_anew(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.ask("benchmark")
    lab.ask("benchmark")
    lab.answer()
    assert [len(lab.events(BenchmarkMeasured)), lab.simulation.target.num_quick_starts] == [2, 3]


def test_pairs_under_unequal_load_are_measured_again(tmp_path: Path) -> None:
    noise = Noise(outlier_ratio=0.25, outlier_log_loss=1.0)
    lab = Lab(tmp_path, noise=noise)
    lab.ask("benchmark")
    lab.answer()
    pairs = lab.events(PairMeasured)
    flawed = [p for p in pairs if not p.is_valid]
    (result,) = lab.events(BenchmarkMeasured)
    assert flawed, "the landscape makes a quarter of the windows slow"
    assert all("foreign processes took" in (p.flaw or "") for p in flawed)
    assert result.effect == _effect([p for p in pairs if p.is_valid])


def test_a_machine_that_is_never_quiet_is_not_the_candidates_fault(tmp_path: Path) -> None:
    """When too few pairs count there is no effect; the analysis must blame the environment."""
    noise = Noise(outlier_ratio=0.5, outlier_foreign_cpu_ratio=1.0)
    measure = MeasureSettings(min_pairs=2, max_pairs=2)
    crashes: list[Crashed] = []
    for number in range(20):
        lab = Lab(tmp_path / str(number), noise=noise, measure=measure, seed=number)
        lab.ask("benchmark")
        lab.answer()
        crashes += lab.events(Crashed)
    assert crashes
    assert {diagnose(Incident(message=crash.message)).cause for crash in crashes} == {
        "foreign_load"
    }


def test_a_candidate_that_crashes_is_the_actions_crash(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    key = lab.template.edits[0].key

    def fall(config: dict[str, Scalar], phase: str) -> None:
        if config[key]:
            raise ServerFailedError(phase, "it fell", 1, None, ("RuntimeError: no",))

    lab.simulation.target.hook = fall
    lab.ask("accuracy")
    lab.ask("benchmark")
    lab.answer()
    (crash,) = lab.events(Crashed)
    assert (crash.action_id, crash.request_id, crash.phase) == ("a001", "r2", "benchmark")
    assert crash.node_id == "n001"
    assert not lab.state.leases.held
    assert not lab.events(BenchmarkMeasured)


def test_an_incumbent_that_crashes_is_not(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    key = lab.template.edits[0].key

    def fall(config: dict[str, Scalar], phase: str) -> None:
        if not config[key]:
            raise ServerFailedError(phase, "it fell")

    lab.simulation.target.hook = fall
    lab.ask("benchmark")
    lab.answer()
    (crash,) = lab.events(Crashed)
    assert (crash.action_id, crash.request_id) == (None, "r1")
    assert lab.state.tree.node("n001").status is not Status.CRASHED


@pytest.mark.parametrize(
    "end",
    [
        ActionVetoed(action_id="a001", reason="no", by="human"),
        ActionWithdrawn(action_id="a001", reason="no time"),
    ],
)
def test_stops_within_a_pair_when_it_is_not_wanted(tmp_path: Path, end: Event) -> None:
    lab = Lab(tmp_path)
    lab.at(3, lambda _config, _phase: lab.simulation.say(end))
    lab.ask("benchmark")
    lab.answer()
    assert len(lab.events(PairMeasured)) == 2
    assert not lab.events(BenchmarkMeasured)
    assert not lab.state.leases.held


@pytest.mark.parametrize("purpose", ["noise", "benchmark", "revalidation"])
def test_a_restart_uses_no_pairs_of_the_dead_attempt(tmp_path: Path, purpose: Purpose) -> None:
    lab = Lab(tmp_path)
    log = MortalLog(lab.simulation.log)
    lab.ask(purpose)
    lab.at(6, lambda _config, _phase: log.kill())
    with pytest.raises(Killed):
        lab.answer(log)
    num_stale = len(lab.events(PairMeasured))
    assert num_stale >= 2
    assert lab.state.leases.held, "it died with the host in its hands"
    lab.answer()
    pairs = lab.events(PairMeasured)
    fresh = [p for p in pairs if p.attempt_id == "r1.2"]
    assert len(fresh) == len(pairs) - num_stale
    assert fresh[0].pair == 1
    request = lab.state.requests.by_id["r1"]
    assert request.pairs == fresh
    assert isinstance(request.result, NoiseCalibrated | BenchmarkMeasured)
    assert request.result.effect.num_pairs == len(fresh)
    assert not lab.state.leases.held


@pytest.mark.parametrize("stores_last", [True, False])
@pytest.mark.parametrize("lives", range(1, 10))
def test_may_be_killed_at_any_append(tmp_path: Path, lives: int, *, stores_last: bool) -> None:
    lab = Lab(tmp_path)
    lab.ask("accuracy")
    lab.ask("benchmark")
    with suppress(Killed):
        lab.answer(MortalLog(lab.simulation.log, lives, stores_last=stores_last))
    lab.answer()
    assert len(lab.events(AccuracyMeasured)) == len(lab.events(BenchmarkMeasured)) == 1
    assert all(not r.is_open for r in lab.state.requests.by_id.values())
    assert not lab.state.leases.held


def test_an_attempt_is_not_begun_on_what_moved_meanwhile(tmp_path: Path) -> None:
    """The veto lands between the look at the request and the attempt."""
    lab = Lab(tmp_path)
    lab.ask("benchmark")
    journal = Journal(lab.simulation.log, Bench.name, lab.simulation.clock)
    journal.start()
    bench = Bench(lab.simulation.place, journal)
    request = bench.next_request()
    assert request is not None
    lab.simulation.say(ActionVetoed(action_id="a001", reason="no", by="human"))
    bench.perform(request)
    bench.close()
    assert bench.next_request() is None
    assert not lab.events(PairMeasured)
    assert len(lab.events(AttemptStarted)) <= 1


def test_a_small_gain_is_measured_on_fresh_starts(tmp_path: Path) -> None:
    """What the bias of one start could explain is measured on others before it is believed."""
    measure = MeasureSettings(max_pairs=30, max_starts=3)
    lab = Lab(tmp_path, "prefix_cache", noise=Noise(window_sd=0.002), measure=measure)
    lab.noise_sd_high = 0.005
    switch = next(s for s in lab.simulation.target.surface.switches if s.name == "prefix_cache")
    small = switch.model_copy(update={"log_gain": 0.12})
    others = [s for s in lab.simulation.target.surface.switches if s.name != "prefix_cache"]
    lab.simulation.target.surface = lab.simulation.target.surface.model_copy(
        update={"switches": (*others, small)}
    )
    lab.ask("benchmark")
    lab.answer()
    (result,) = lab.events(BenchmarkMeasured)
    pairs = lab.events(PairMeasured)
    assert result.stop == "gain"
    assert result.effect.num_starts_per_arm == len({p.start for p in pairs}) > 1
    assert [p.start for p in pairs] == sorted(p.start for p in pairs)
    truth = lab.simulation.target.surface.true_ratio(
        lab.simulation.place.workspace.config(result.commit)
    )
    assert 1.015 < truth < 1.03
    assert result.effect.low < truth < result.effect.high


def test_a_fast_stack_plays_several_windows_of_a_pair(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.candidate_windows = 3
    lab.ask("revalidation")
    lab.answer()
    for pair in lab.events(PairMeasured):
        own = [pair.candidate, *pair.candidate_sweep]
        assert len({window.seed for window in own}) == 3
        assert pair.incumbent_sweep == ()
        speeds = [window.throughput_tok_s for window in own]
        expected = math.prod(speeds) ** (1 / 3) / pair.incumbent.throughput_tok_s
        assert pair.log_ratio == pytest.approx(math.log(expected))


def test_a_gain_is_shown_on_the_workloads_that_must_not_get_worse(tmp_path: Path) -> None:
    guard = Guard(name="long", load=Load(workload="long"), num_pairs=3)
    lab = Lab(tmp_path, measure=MEASURE.model_copy(update={"guards": (guard,)}))
    surface = lab.simulation.target.surface
    switches = tuple(
        s.model_copy(update={"workload_log_gains": {"long": -0.9}})
        if s.name == "vectorised"
        else s
        for s in surface.switches
    )
    lab.simulation.target.surface = surface.model_copy(update={"switches": switches})
    lab.ask("benchmark")
    lab.answer()
    (result,) = lab.events(BenchmarkMeasured)
    pairs = lab.events(PairMeasured)
    assert result.stop == "gain"
    assert [g.name for g in result.guards] == ["long"]
    assert result.guards[0].effect.ratio < 0.8
    assert result.effect.ratio > 1.15
    assert result.effect.num_pairs == sum(not p.guard for p in pairs)
    assert sum(p.guard == "long" for p in pairs) == 3


def test_a_sweep_measures_every_concurrency_in_both_arms(tmp_path: Path) -> None:
    objective = Objective(metric="hypervolume", sweep=(2, 16, 64), max_latency_ms=400.0)
    lab = Lab(tmp_path, measure=MEASURE.model_copy(update={"objective": objective}))
    lab.ask("benchmark")
    lab.answer()
    (result,) = lab.events(BenchmarkMeasured)
    for pair in lab.events(PairMeasured):
        assert len(pair.candidate_sweep) == len(pair.incumbent_sweep) == 2
        own = objective_value([pair.candidate, *pair.candidate_sweep], objective)
        other = objective_value([pair.incumbent, *pair.incumbent_sweep], objective)
        assert pair.log_ratio == pytest.approx(math.log(own / other))
    assert result.effect.ratio > 1.1


def test_a_soak_keeps_a_fresh_server_under_peak_load(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.ask("soak")
    lab.answer()
    (soak,) = lab.events(SoakMeasured)
    assert soak.concurrency == 2 * lab.simulation.target.default_concurrency()
    assert sum(w.duration_s for w in soak.windows) >= MEASURE.soak_s
    assert soak_violation(soak) is None


def test_begins_nothing_while_the_campaign_is_paused(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.ask("profile")
    lab.simulation.say(CampaignPaused(reason="lunch"))
    lab.answer()
    assert not lab.events(AttemptStarted)
    lab.simulation.say(CampaignResumed(reason="back"))
    lab.answer()
    assert lab.events(ProfileTaken)


def test_what_it_measures_ends_although_the_campaign_is_paused(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.ask("noise")
    lab.at(2, lambda *_: lab.simulation.say(CampaignPaused(reason="lunch")))
    lab.answer()
    assert lab.events(NoiseCalibrated)


def test_leaves_alone_what_ended_it_too_often(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    lab.ask("noise")
    lab.ask("profile")
    for _ in range(2):
        with suppress(Killed):
            lab.answer(MortalLog(lab.simulation.log, lives=6))
    lab.answer()
    attempts = [event.request_id for event in lab.events(AttemptStarted)]
    assert attempts == ["r1", "r1", "r2"]
    assert lab.state.requests.by_id["r1"].num_lost == 2
