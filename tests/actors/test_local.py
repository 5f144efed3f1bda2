"""Whole campaigns in virtual time: they end, in time, with claims that are true."""

from collections import Counter
from pathlib import Path

import pytest

from arbor.actors.local import LocalCampaign
from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.tree import ROOT_ID, Status
from arbor.events.campaign import CampaignEnded, CampaignPaused
from arbor.events.choice import ActionDispatched
from arbor.events.errors import ArborError
from arbor.events.evidence import BenchmarkMeasured, PairMeasured
from arbor.events.limits import ActionVetoed, ConstraintPublished
from arbor.events.memory import MemoryLog
from arbor.events.outcome import ActionKept, ActionReverted, Crashed
from arbor.events.settings import SearchSettings
from arbor.events.types import ConstraintScope, Layer, Scalar
from arbor.events.work import PatchProposed
from arbor.targets.base import ServerFailedError
from arbor.targets.landscape_config import LandscapeConfig, Noise
from arbor.targets.landscape_samples import RandomShape, random_stream, random_surface
from tests.fakes.mortal_log import Killed, MortalLog
from tests.fakes.simulation import Simulation


def _landscape(seed: int, num_switches: int = 12, noise: Noise | None = None) -> LandscapeConfig:
    shape = RandomShape(seed=seed, num_switches=num_switches, num_crashes=4, harmful_ratio=0.3)
    return LandscapeConfig(surface=random_surface(shape), noise=noise or Noise(), seed=seed)


def _campaign(wall_s: float = 400.0, max_trials: int = 1000, **search: object) -> Campaign:
    return Campaign(
        target="landscape",
        budget=CampaignBudget(wall=wall_s, max_trials=max_trials),
        search=SearchSettings.model_validate(search),
    )


def _check(simulation: Simulation) -> None:
    """Check what must hold after every campaign, however it went."""
    state = simulation.state()
    assert state.is_ended
    assert not state.tree.in_flight()
    assert not state.requests.open()
    assert not state.leases.held
    assert state.noise is None or not state.tree.candidates()
    path = state.tree.path(state.tree.current_id)
    assert all(node.status is Status.KEPT for node in path)
    for node in path[1:]:
        assert node.action_id not in state.constraints.vetoed
        for purpose in ("accuracy", "benchmark"):
            request = state.measurement_of(node.node_id, purpose)
            assert request is not None
            assert request.judgement is not None
            assert request.judgement.is_accepted
    (*_, end) = simulation.of_kind(CampaignEnded)
    assert end.node_id == state.tree.current_id
    _check_nothing_happened_twice(simulation)


def _check_nothing_happened_twice(simulation: Simulation) -> None:
    counts = [
        Counter(e.node_id for e in simulation.of_kind(ActionKept)),
        Counter(e.node_id for e in simulation.of_kind(PatchProposed)),
        Counter(e.node_id for e in simulation.of_kind(ActionDispatched)),
        Counter(e.request_id for e in simulation.of_kind(BenchmarkMeasured)),
        Counter(f"{e.attempt_id}:{e.pair}" for e in simulation.of_kind(PairMeasured)),
    ]
    for count in counts:
        assert not [name for name, number in count.items() if number > 1]


def _final_effect(simulation: Simulation) -> BenchmarkMeasured:
    results = simulation.of_kind(BenchmarkMeasured)
    return [r for r in results if r.purpose == "revalidation"][-1]


@pytest.mark.parametrize("seed", range(12))
def test_random_landscapes_end_with_a_true_claim(tmp_path: Path, seed: int) -> None:
    campaign = _campaign(
        parallel=1 + seed % 4, score=("risk_averse", "as_printed")[seed % 2], max_attempts=2
    )
    simulation = Simulation(tmp_path, _landscape(seed), campaign)
    simulation.run()
    _check(simulation)
    claim = _final_effect(simulation).effect
    truth = simulation.true_ratio()
    assert claim.low <= truth <= claim.high
    assert truth >= 0.99
    state = simulation.state()
    assert state.budget.elapsed_s(simulation.clock.now()) <= state.budget.wall_s
    for node in state.tree.path(state.tree.current_id)[1:]:
        before = simulation.target.surface.true_ratio(state.tree.config_at(node.parent_id or ""))
        after = simulation.target.surface.true_ratio(state.tree.config_at(node.node_id))
        assert after > before, "with equal starts a keep is right but for 5 % of the intervals"


def test_finds_most_of_what_the_small_engine_can_gain(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path, campaign=_campaign(600.0))
    simulation.run()
    _check(simulation)
    assert simulation.true_ratio() > 3.5
    assert simulation.of_kind(ActionReverted)


def test_a_budget_that_is_too_small_still_ends_with_a_claim(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path, campaign=_campaign(1.0))
    simulation.run()
    _check(simulation)
    assert not simulation.of_kind(ActionDispatched)
    assert _final_effect(simulation).node_id == ROOT_ID


@pytest.mark.parametrize("wall_s", [60.0, 90.0, 120.0, 200.0])
def test_small_budgets_are_kept(tmp_path: Path, wall_s: float) -> None:
    simulation = Simulation(tmp_path, _landscape(29, 20), _campaign(wall_s, parallel=4))
    state = simulation.run()
    _check(simulation)
    # A measurement that has begun cannot be stopped in a single thread.
    assert state.budget.elapsed_s(simulation.clock.now()) <= wall_s + 35.0


def test_noise_alone_keeps_nothing(tmp_path: Path) -> None:
    """Every switch is useless: what is kept is the statistics' error, and there is none here."""
    shape = RandomShape(seed=3, num_switches=16, num_numbers=0)
    surface = random_surface(shape)
    dull = tuple(
        s.model_copy(update={"log_gain": 0.0, "locked_log_gain": 0.0, "is_dead": False, "kl": 0.0})
        for s in surface.switches
    )
    surface = surface.model_copy(update={"switches": dull, "interactions": (), "crashes": ()})
    landscape = LandscapeConfig(surface=surface, noise=Noise(window_sd=0.04, drift=0.05))
    simulation = Simulation(tmp_path, landscape, _campaign(3000.0, parallel=3))
    simulation.run()
    _check(simulation)
    assert len(simulation.of_kind(ActionDispatched)) >= 16
    assert not simulation.of_kind(ActionKept)


def test_the_same_seed_is_the_same_campaign(tmp_path: Path) -> None:
    runs = []
    for name in ("first", "second"):
        simulation = Simulation(tmp_path / name, _landscape(5), _campaign(200.0, parallel=3))
        simulation.run()
        plain = ("position", "recorded_at", "actor", "decided_after", "decided_at")
        runs.append(
            [
                (*(getattr(r, field) for field in plain), r.event.kind, r.event.action_id)
                for r in simulation.events()
            ]
        )
    assert runs[0] == runs[1]


@pytest.mark.parametrize("lives", [3, 9, 20, 33, 57, 90, 140, 210])
@pytest.mark.parametrize("stores_last", [True, False])
def test_may_be_killed_at_any_append(tmp_path: Path, lives: int, *, stores_last: bool) -> None:
    simulation = Simulation(tmp_path, campaign=_campaign(250.0))
    with pytest.raises(Killed):
        simulation.run(MortalLog(simulation.log, lives, stores_last=stores_last))
    simulation.clock.sleep(10_000.0)
    state = simulation.resume()
    _check(simulation)
    assert state.budget.elapsed_s(simulation.clock.now()) <= 250.0 + 35.0
    assert simulation.of_kind(ActionKept), "the night between was not paid for"


def test_survives_being_killed_again_and_again(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path, campaign=_campaign(200.0))
    stream = random_stream("kills")
    num_deaths = 0
    while not simulation.state().is_ended:
        log = MortalLog(simulation.log, stream.randint(8, 30), stores_last=stream.random() < 0.5)
        try:
            simulation.resume(log=log)
        except Killed:
            num_deaths += 1
    _check(simulation)
    assert num_deaths > 5


def test_a_pause_stops_it_and_a_resumption_goes_on(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path, campaign=_campaign(250.0))
    simulation.local.start()
    for _ in range(8):
        assert simulation.local.step()
    simulation.say(CampaignPaused(reason="lunch"))
    before = len(simulation.of_kind(ActionDispatched))
    simulation.local.run()
    assert simulation.local.state.is_paused
    assert len(simulation.of_kind(ActionDispatched)) == before
    simulation.clock.sleep(5000.0)
    simulation.resume()
    _check(simulation)
    assert len(simulation.of_kind(ActionDispatched)) > before


def test_without_anybody_to_approve_it_waits_and_ends(tmp_path: Path) -> None:
    campaign = _campaign(250.0, require_approval=tuple(Layer))
    simulation = Simulation(tmp_path, campaign=campaign)
    state = simulation.run()
    _check(simulation)
    assert not simulation.of_kind(ActionDispatched)
    assert 150.0 < state.budget.elapsed_s(simulation.clock.now()) <= 250.0


def test_new_budget_goes_on_and_makes_a_new_claim(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path, campaign=_campaign(150.0))
    simulation.run()
    _check(simulation)
    first = simulation.true_ratio()
    num_kept = len(simulation.of_kind(ActionKept))
    simulation.clock.sleep(5000.0)
    state = simulation.resume(added_wall_s=300.0)
    _check(simulation)
    assert len(simulation.of_kind(ActionKept)) > num_kept
    assert simulation.true_ratio() > first
    assert len(simulation.of_kind(CampaignEnded)) == 2
    assert len(state.requests_of_session("revalidation")) == 1
    assert _final_effect(simulation).node_id == state.tree.current_id


class Weather:
    """Fails like a bad machine and a bad idea, and interferes like a human."""

    def __init__(self, simulation: Simulation, seed: int) -> None:
        self._simulation = simulation
        self._stream = random_stream("weather", seed)
        self._num_published = 0

    def __call__(self, _config: dict[str, Scalar], phase: str) -> None:
        """Do something now and then."""
        draw = self._stream.random()
        if draw < 0.02:
            raise ServerFailedError(phase, "[Errno 28] no space left on device")
        if draw < 0.03:
            raise ServerFailedError(phase, "RuntimeError: no such kernel", 1)
        state = self._simulation.state()
        if draw < 0.06 and state.tree.actions:
            action = self._stream.choice(list(state.tree.actions))
            self._simulation.say(ActionVetoed(action_id=action, reason="no", by="human"))
        elif draw < 0.08:
            self._num_published += 1
            scope = ConstraintScope(template_id=self._stream.choice(list(state.tree.templates)))
            self._simulation.say(
                ConstraintPublished(
                    constraint_id=f"h{self._num_published}", scope=scope, reason="no"
                )
            )


@pytest.mark.parametrize("seed", range(8))
def test_bad_weather_stalls_nothing_and_keeps_nothing_unjustified(
    tmp_path: Path, seed: int
) -> None:
    campaign = _campaign(400.0, parallel=1 + seed % 4, max_attempts=1 + seed % 3)
    simulation = Simulation(tmp_path, _landscape(seed + 100), campaign)
    simulation.target.hook = Weather(simulation, seed)
    simulation.run()
    _check(simulation)


def test_a_crash_that_a_restart_cures_is_cured(tmp_path: Path) -> None:
    simulation = Simulation(tmp_path, campaign=_campaign(400.0, max_attempts=2))
    has_failed = False

    def hook(config: dict[str, Scalar], phase: str) -> None:
        nonlocal has_failed
        if config["batching.batched_decode"] and not has_failed:
            has_failed = True
            raise ServerFailedError(phase, "[Errno 98] address already in use")

    simulation.target.hook = hook
    simulation.run()
    _check(simulation)
    (crash,) = simulation.of_kind(Crashed)
    dispatched = [
        e for e in simulation.of_kind(ActionDispatched) if e.action_id == crash.action_id
    ]
    assert len(dispatched) == 2
    assert "batched_decode" in {
        n.template_id for n in simulation.state().tree.path(simulation.state().tree.current_id)
    }


def test_a_stall_is_reported(tmp_path: Path) -> None:
    """Nobody has anything to do on a log that no campaign was founded in."""
    simulation = Simulation(tmp_path)
    with pytest.raises(ArborError, match="stalled at position"):
        LocalCampaign(simulation.place, MemoryLog("empty"), simulation.clock).run()
