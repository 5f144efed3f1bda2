"""The state of a campaign: a fold that any reader may cut, repeat and rebuild."""

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arbor.actors.critic import Critic
from arbor.actors.journal import Journal
from arbor.actors.orchestrator import Orchestrator
from arbor.actors.supervisor import Supervisor
from arbor.core.clock import VirtualClock
from arbor.core.scoring import score
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID, Tree
from arbor.events.base import Draft, Recorded
from arbor.events.campaign import CampaignEnded, CampaignPaused, CampaignResumed
from arbor.events.choice import ActionScored
from arbor.events.memory import MemoryLog
from arbor.events.requests import MeasurementRequested
from tests.fakes.recording import feed
from tests.fakes.simulation import Simulation
from tests.fakes.stage import Stage, template

UNSEEN = {
    "BudgetReserved",
    "BudgetSpent",
    "FeedbackCollected",
    "HealthReported",
    "KnowledgeImported",
    "LessonRecorded",
    "ModelCalled",
    "LeaseRequested",
}
"""Kinds that no campaign without a language model, or on a single thread, appends."""


def _fold(events: tuple[Recorded, ...]) -> CampaignState:
    state = CampaignState()
    for recorded in events:
        state.apply(recorded)
    return state


def test_the_story_holds_nearly_every_kind(eventful_log: tuple[Recorded, ...]) -> None:
    seen = Counter(recorded.event.kind for recorded in eventful_log)
    for kind in ("KeepRevoked", "ActionVetoed", "Crashed", "ActionRebased", "ConstraintLifted"):
        assert seen[kind]
    assert not UNSEEN & set(seen)


def test_every_prefix_folds_and_every_reactor_can_think(
    eventful_log: tuple[Recorded, ...],
) -> None:
    reactors = (Orchestrator(), Critic(), Supervisor())
    for recorded in eventful_log:
        for reactor in reactors:
            reactor.apply(recorded)
            batch = reactor.react(recorded.recorded_at)
            assert all(isinstance(tag, str) for tag in reactor.watched_tags(batch))
        state = reactors[0].state
        assert state.position == recorded.position
        if state.started is not None:
            path = state.tree.path(state.tree.current_id)
            assert path[0].node_id == ROOT_ID
            assert all(node.commit for node in path)


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_reading_an_event_twice_changes_nothing(
    eventful_log: tuple[Recorded, ...], data: st.DataObject
) -> None:
    state = CampaignState()
    for recorded in eventful_log:
        state.apply(recorded)
        back = data.draw(st.integers(0, 40))
        if back < 3:
            for repeated in eventful_log[max(0, recorded.position - 1 - back) : recorded.position]:
                state.apply(repeated)
    assert state == _fold(eventful_log)


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(1, 120), min_size=1, max_size=30))
def test_folding_in_pieces_is_folding_at_once(
    eventful_log: tuple[Recorded, ...], cuts: list[int]
) -> None:
    """A journal that catches up whenever a few more events are there sees what a late one sees."""
    clock = VirtualClock(eventful_log[0].recorded_at)
    log = MemoryLog("c", clock.now)
    early = Journal(log, "early", clock)
    sizes = iter(cuts * len(eventful_log))
    left = list(eventful_log)
    while left:
        size = next(sizes)
        for recorded in left[:size]:
            clock.sleep((recorded.recorded_at - clock.now()).total_seconds())
            draft = Draft(
                recorded.event,
                recorded.event_id,
                recorded.actor,
                recorded.incarnation,
                recorded.decided_after,
                recorded.decided_at,
            )
            log.append([draft])
        del left[:size]
        early.catch_up()
    late = Journal(log, "late", clock)
    assert late.catch_up() == len(eventful_log)
    assert early.state == late.state == _fold(eventful_log)


def test_scores_in_the_log_follow_from_their_terms(eventful_log: tuple[Recorded, ...]) -> None:
    scored = [r.event for r in eventful_log if isinstance(r.event, ActionScored)]
    assert len(scored) > 30
    for event in scored:
        assert event.score == score(event.form, event.terms)


def test_the_final_node_holds_what_its_path_says(eventful: Simulation) -> None:
    tree = eventful.state().tree
    config = tree.config_at(tree.current_id)
    assert config == eventful.place.workspace.config(tree.current.commit or "")


def _resumed(*events: object) -> CampaignState:
    stage = Stage(template("a"))
    state = CampaignState()
    for recorded in stage.events():
        state.apply(recorded)
    feed(state, [e for e in events if e is not None], first=state.position + 1)  # type: ignore[misc]
    return state


def test_a_resumption_with_new_budget_is_a_new_session() -> None:
    paused = CampaignPaused(reason="x")
    plain = CampaignResumed(reason="x")
    more = CampaignResumed(reason="x", added_wall_s=5.0)
    ended = CampaignEnded(reason="x", node_id=ROOT_ID)
    assert _resumed(paused).is_paused
    state = _resumed(paused, plain)
    assert (state.is_paused, state.session_position) == (False, 0)
    assert _resumed(paused, more).session_position == _resumed(paused, more).position
    assert _resumed(ended).is_ended
    state = _resumed(ended, plain)
    assert (state.is_ended, state.session_position) == (False, state.position)


def _final(number: int, node: str = ROOT_ID) -> MeasurementRequested:
    return MeasurementRequested(
        request_id=f"r{number}",
        purpose="revalidation",
        node_id=node,
        parent_commit="c",
        incumbent_commit="c",
        seed=1,
    )


def test_final_claims_are_those_of_the_session_and_of_the_stack_that_stands() -> None:
    more = CampaignResumed(reason="x", added_wall_s=5.0)
    state = _resumed(_final(1), more, _final(2), _final(3, "n001"))
    assert [r.asked.request_id for r in state.final_claims()] == ["r2"]
    assert [r.asked.request_id for r in state.requests_of_session("revalidation")] == ["r2", "r3"]
    assert state.requests_of_session("noise") == ()


def test_the_reserve_follows_the_calibration() -> None:
    stage = Stage(template("a"))
    before = stage.state.final_reserve_s()
    stage.turn()
    stage.take_profile()
    stage.clock.sleep(5.0)
    stage.calibrate(duration_s=20.0)
    state = stage.state
    assert before > 0
    assert state.root_pair_s == 2.0
    assert state.setup_s == 14.0, "20 s without three pairs and without waiting for the bench"
    assert state.claim_plan().max_pairs == 6
    assert state.final_claim_s() == pytest.approx(2 * (14.0 + 6 * 2.0))
    assert state.final_reserve_s() == pytest.approx(1.1 * 52.0)


def test_a_calibration_that_was_killed_is_timed_from_its_last_attempt() -> None:
    stage = Stage(template("a"))
    stage.turn()
    stage.begin("noise")
    stage.clock.sleep(10_000.0)
    stage.restart()
    stage.calibrate(duration_s=20.0)
    assert stage.state.setup_s == 14.0


def test_a_night_is_no_part_of_a_trial() -> None:
    stage = Stage(template("a", cost_s=10.0), template("b", cost_s=20.0))
    stage.open()
    stage.clock.sleep(2.0)
    stage.say(CampaignPaused(reason="x"), actor="supervisor")
    stage.clock.sleep(10_000.0)
    stage.say(CampaignResumed(reason="x"), actor="supervisor")
    stage.clock.sleep(13.0)
    stage.break_work("a", "RuntimeError: x")
    assert stage.state.trial_cost_s("b") == pytest.approx(20.0 * 15.0 / 10.0)


def test_trials_are_expected_to_take_what_they_took() -> None:
    stage = Stage(template("a", cost_s=10.0), template("b", cost_s=20.0))
    stage.open()
    assert stage.state.trial_cost_s("b") == 20.0
    stage.clock.sleep(12.0)
    stage.revert("a")
    assert stage.state.trial_cost_s("b") == pytest.approx(20.0 * 15.0 / 10.0)
    assert stage.state.trial_cost_s("a") == pytest.approx(15.0)


def test_the_wait_for_another_trial_is_no_part_of_a_trial() -> None:
    stage = Stage(template("a", cost_s=10.0), template("b", cost_s=20.0))
    stage.open()
    stage.clock.sleep(12.0)
    stage.revert("a")
    took_s = 15.0
    in_flight = stage.state.tree.in_flight()
    assert [node.template_id for node in in_flight] == ["b"]
    now = stage.clock.now()
    expected_s = stage.state.trial_cost_s("b")
    assert stage.state.in_flight_s(now) == pytest.approx(expected_s)
    stage.clock.sleep(7.0)
    assert stage.state.in_flight_s(stage.clock.now()) == pytest.approx(expected_s - 7.0)
    stage.revert("b")
    assert stage.state.trial_seconds[0] == pytest.approx(took_s / 10.0)
    assert stage.state.trial_seconds[1] < took_s / 20.0
    assert stage.state.in_flight_s(stage.clock.now()) == 0.0


def test_an_expectation_stays_within_a_factor_of_four() -> None:
    stage = Stage(template("a", cost_s=10.0))
    stage.open()
    stage.clock.sleep(timedelta(days=1).total_seconds())
    stage.break_work("a", "RuntimeError: x")
    assert stage.state.trial_cost_s("a") == 40.0


def test_a_tree_alone_ignores_what_does_not_concern_it() -> None:
    tree = Tree()
    feed(tree, [CampaignPaused(reason="x")])
    assert tree == Tree()
