"""Whatever people say and whoever dies: the campaign ends, and nothing unjustified is kept."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.layout import CampaignDirectory
from arbor.core.standing import forbidden_keeps, vetoed_keeps
from arbor.core.state import CampaignState
from arbor.core.tree import Action, Status
from arbor.events.choice import ActionProposed
from arbor.events.judgement import KeepRevoked
from arbor.events.outcome import ActionKept
from arbor.events.settings import SearchSettings
from arbor.replay.audit import RULES, run_rule
from arbor.replay.rules.base import Evidence
from arbor.targets.landscape_config import LandscapeConfig
from arbor.targets.landscape_samples import RandomShape, random_surface
from tests.fakes.unruly import Mishap, Unruly

KINDS = (
    "slow",
    "kill",
    "die",
    "die",
    "veto",
    "veto_keep",
    "constraint",
    "lift",
    "pause",
    "approve",
    "propose",
)
MISHAPS = st.lists(
    st.builds(Mishap, st.integers(1, 300), st.sampled_from(KINDS), st.integers(0, 60)),
    max_size=24,
)


def _campaign(wall: float = 300.0, **search: object) -> Campaign:
    return Campaign(
        target="landscape",
        budget=CampaignBudget(wall=wall),
        search=SearchSettings.model_validate({"tuning_trials": 2} | search),
    )


def _landscape(seed: int) -> LandscapeConfig:
    shape = RandomShape(seed=seed, num_switches=8, num_crashes=2, harmful_ratio=0.2)
    return LandscapeConfig(surface=random_surface(shape), seed=seed)


def check(unruly: Unruly, state: CampaignState) -> None:
    """Check what must hold after every campaign, then the whole audit."""
    assert not state.tree.in_flight()
    # Without a calibration there is no trial and no claim: the end comes as it is.
    assert state.noise is None or not state.tree.candidates()
    assert not state.requests.open()
    assert not state.leases.held
    assert not list(vetoed_keeps(state))
    assert not list(forbidden_keeps(state))
    for node in state.tree.path(state.tree.current_id)[1:]:
        assert node.status is Status.KEPT
        for purpose in ("accuracy", "benchmark"):
            request = state.measurement_of(node.node_id, purpose)
            assert request is not None
            assert request.judgement is not None
            assert request.judgement.is_accepted
    evidence = Evidence(CampaignDirectory(unruly.directory), unruly.simulation.events())
    for rule in RULES:
        report = run_rule(rule, evidence)
        assert report.is_sound, f"{rule.name}: {report.problems[0]}"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mishaps=MISHAPS, seed=st.integers(0, 30), parallel=st.integers(1, 3))
def test_it_always_ends_with_nothing_unjustified(
    mishaps: list[Mishap], seed: int, parallel: int
) -> None:
    with TemporaryDirectory() as folder:
        campaign = _campaign(parallel=parallel)
        unruly = Unruly(Path(folder), _landscape(seed), campaign, mishaps)
        check(unruly, unruly.run())


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mishaps=MISHAPS, seed=st.integers(0, 30))
@example(mishaps=[Mishap(moment, "die", 0) for moment in range(1, 12)], seed=0)
def test_it_ends_also_when_people_have_to_approve(mishaps: list[Mishap], seed: int) -> None:
    with TemporaryDirectory() as folder:
        campaign = _campaign(require_approval=("application", "switch_001"), max_attempts=1)
        said = [*mishaps, *(Mishap(moment, "approve", moment) for moment in range(60, 260, 20))]
        unruly = Unruly(Path(folder), _landscape(seed), campaign, said)
        check(unruly, unruly.run())


def test_a_critic_that_sleeps_through_vetoes_wakes_up_and_revokes(tmp_path: Path) -> None:
    """The vetoes of kept actions land while nobody revokes; the paths are rebuilt later."""
    unruly = Unruly(tmp_path, _landscape(1), _campaign(wall=600.0), [])
    unruly.go_on(lambda state: len(state.tree.path(state.tree.current_id)) > 4)
    below, *_, top = unruly.simulation.of_kind(ActionKept)
    kept = [a.action_id for a in _kept(unruly)]
    unruly.expect(
        Mishap(1, "slow", 60),
        Mishap(2, "veto_keep", kept.index(top.action_id or "")),
        Mishap(3, "veto_keep", kept.index(below.action_id or "")),
        Mishap(15, "kill", 1),
        Mishap(25, "kill", 0),
    )
    check(unruly, unruly.run())
    assert unruly.num_heard == 2
    assert unruly.simulation.of_kind(KeepRevoked)
    rebuilt = {e.action_id for e in unruly.simulation.of_kind(ActionProposed) if e.parts}
    assert rebuilt & {e.action_id for e in unruly.simulation.of_kind(ActionKept)}


def _kept(unruly: Unruly) -> list[Action]:
    actions = unruly.simulation.state().tree.actions.values()
    return [action for action in actions if action.outcome is Status.KEPT]
