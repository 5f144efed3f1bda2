"""Branches: the same settings give the same campaign, others go on until nothing is recorded."""

import pytest

from arbor.events.base import Recorded
from arbor.events.campaign import CampaignStarted
from arbor.events.choice import ActionDispatched, ActionScored
from arbor.events.errors import InvalidInputError
from arbor.events.evidence import BenchmarkMeasured, PairMeasured
from arbor.events.limits import ActionVetoed
from arbor.events.outcome import ActionKept
from arbor.events.requests import MeasurementRequested
from arbor.events.settings import Settings
from arbor.replay.refitting import NotRecordedError, refit
from arbor.replay.settings_change import changed_settings, settings_difference
from arbor.replay.whatif import what_if
from tests.replay.recorded import inserted

Events = tuple[Recorded, ...]


def settings_of(events: Events) -> Settings:
    return next(r.event.settings for r in events if isinstance(r.event, CampaignStarted))


def first(events: Events, kind: type) -> int:
    return next(r.position for r in events if isinstance(r.event, kind))


@pytest.mark.parametrize("place", [30, 60, 140, 250])
def test_the_same_settings_give_the_recorded_campaign(history: Events, place: int) -> None:
    found = what_if(history, place, settings_of(history))
    assert found.changes == ()
    assert found.is_complete, found.stopped
    assert all(step.is_recorded for step in found.steps), [
        step.what for step in found.steps if not step.is_recorded
    ]
    assert found.branch.kept_templates == found.recorded.kept_templates
    assert found.branch.gain_ratio == found.recorded.gain_ratio


def test_another_score_ranks_anew_and_goes_on_with_recorded_results(history: Events) -> None:
    changed = changed_settings(settings_of(history), ["score=as_printed"])
    found = what_if(history, 60, changed)
    assert found.changes == (("search.score", "risk_averse", "as_printed"),)
    assert found.ranking
    assert any(r.changed_score != r.recorded_score for r in found.ranking)
    scored = [step for step in found.steps if step.kind == "ActionScored"]
    assert not any(step.is_recorded for step in scored)
    assert {step.kind for step in found.steps} >= {"ActionKept", "ActionDispatched"}


def test_it_stops_where_nothing_was_recorded(history: Events) -> None:
    changed = changed_settings(settings_of(history), ["search.parallel=1"])
    found = what_if(history, first(history, ActionScored), changed)
    assert not found.is_complete
    assert "no recorded result answers" in found.stopped
    kinds = [step.kind for step in found.steps]
    assert kinds[-1] in {"ActionDispatched", "MeasurementRequested"}


def test_a_stricter_level_wants_more_pairs_than_there_are(history: Events) -> None:
    changed = changed_settings(settings_of(history), ["false_discovery_ratio=0.0001"])
    found = what_if(history, first(history, ActionDispatched), changed)
    assert "do not suffice" in found.stopped
    assert not found.is_complete


def test_a_smaller_budget_ends_sooner(history: Events) -> None:
    changed = changed_settings(settings_of(history), ["wall_s=140"])
    found = what_if(history, 60, changed)
    assert any(
        step.kind == "ActionWithdrawn" and "budget" in step.what for step in found.steps
    ) or (len(found.steps) < len(what_if(history, 60, settings_of(history)).steps))


def test_a_humans_word_ends_the_branch(history: Events) -> None:
    keep = first(history, ActionKept)
    action_id = history[keep - 1].event.action_id
    veto = ActionVetoed(action_id=action_id, reason="no", by="human:ann")
    spoken = inserted(history, keep + 5, veto, "human:ann")
    found = what_if(spoken, 60, settings_of(history))
    assert "human:ann said ActionVetoed" in found.stopped


def test_a_position_inside_of_a_decision_moves_to_its_end(history: Events) -> None:
    scores = [r.position for r in history if isinstance(r.event, ActionScored)]
    assert scores[1] == scores[0] + 1
    found = what_if(history, scores[0], settings_of(history))
    assert found.position > scores[0]
    assert not isinstance(history[found.position].event, ActionScored)


def test_no_branch_before_the_start_or_after_the_end(history: Events) -> None:
    with pytest.raises(InvalidInputError, match="had not begun"):
        what_if(history, 1, settings_of(history))
    found = what_if(history, len(history), settings_of(history))
    assert "over" in found.stopped
    assert found.steps == ()


def answer_of(history: Events) -> tuple[MeasurementRequested, list[object]]:
    """Return the request of a kept benchmark and the events of its attempt."""
    result = next(
        r.event
        for r in history
        if isinstance(r.event, BenchmarkMeasured)
        and r.event.purpose == "benchmark"
        and r.event.stop == "gain"
    )
    asked = next(
        r.event
        for r in history
        if isinstance(r.event, MeasurementRequested) and r.event.request_id == result.request_id
    )
    own = [
        r.event
        for r in history
        if isinstance(r.event, PairMeasured | BenchmarkMeasured)
        and r.event.request_id == result.request_id
    ]
    return asked, list(own)


def test_an_equal_plan_changes_no_answer(history: Events) -> None:
    asked, events = answer_of(history)
    measure = settings_of(history).measure
    assert list(refit(events, asked, asked, measure)) == events  # type: ignore[arg-type]


def test_an_easier_plan_stops_at_an_earlier_pair(history: Events) -> None:
    asked, events = answer_of(history)
    assert asked.plan is not None
    easy = asked.plan.model_copy(update={"alpha": 0.4, "min_pairs": 2})
    other = asked.model_copy(update={"plan": easy})
    again = refit(events, asked, other, settings_of(history).measure)  # type: ignore[arg-type]
    result = again[-1]
    assert isinstance(result, BenchmarkMeasured)
    assert result.stop == "gain"
    assert result.effect.num_pairs == 2
    assert len(again) == 3


def test_a_plan_that_is_not_decided_says_so(history: Events) -> None:
    asked, events = answer_of(history)
    assert asked.plan is not None
    strict = asked.plan.model_copy(update={"min_pairs": 20, "max_pairs": 40})
    other = asked.model_copy(update={"plan": strict})
    with pytest.raises(NotRecordedError, match="not decided by them"):
        refit(events, asked, other, settings_of(history).measure)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ([], "say what changes"),
        (["score"], "write --set KEY=VALUE"),
        (["scor=1"], "near it: .*score"),
        (["alpha=0.1"], "write measure.alpha or gate.alpha"),
        (["score=best"], "--set: search.score"),
        (["measure.window_s=3"], "were not measured"),
        (["parallel=[1"], "is no value"),
    ],
)
def test_wrong_changes_are_one_line(texts: list[str], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words) as caught:
        changed_settings(Settings(), texts)
    assert "\n" not in str(caught.value)


def test_changes_are_typed_and_listed() -> None:
    changed = changed_settings(Settings(), ["parallel=3", "search.exploration=0.5"])
    assert changed.search.parallel == 3
    assert settings_difference(Settings(), changed) == (
        ("search.exploration", "0.05", "0.5"),
        ("search.parallel", "2", "3"),
    )
