"""What events name must exist and fit: requests, attempts, nodes, leases, pairs, commits, code."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from arbor.actors.decision_code import decision_code
from arbor.core.layout import CampaignDirectory
from arbor.events.base import Recorded
from arbor.events.campaign import CampaignResumed, CampaignStarted
from arbor.events.choice import ActionDispatched
from arbor.events.evidence import AccuracyMeasured, BenchmarkMeasured, PairMeasured
from arbor.events.judgement import MeasurementJudged
from arbor.events.life import LeaseReleased
from arbor.events.limits import ConstraintLifted
from arbor.events.outcome import ActionReverted
from arbor.events.work import PatchProposed, TrialMeasured
from arbor.replay.audit import RULES, audit, run_rule
from arbor.replay.rules.base import Evidence
from arbor.replay.rules.code import code_spans
from tests.replay.recorded import changed, inserted, rewrite, without
from tests.replay.rules.test_forgeries import fails, first, rule_on

Events = tuple[Recorded, ...]


def by(events: Sequence[Recorded], position: int, actor: str) -> Events:
    """Return the events with another actor at a position."""
    return tuple(replace(r, actor=actor) if r.position == position else r for r in events)


def test_killed_and_parallel_campaigns_hold(history: Events, eventful_log: Events) -> None:
    for events in (history, eventful_log):
        for name in ("references", "pairs"):
            report = rule_on(name, events)
            assert report.is_sound, report.problems[0]
            assert report.num_checked > 10


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        (AccuracyMeasured, {"request_id": "r999"}, "nobody asked"),
        (AccuracyMeasured, {"attempt_id": "r003.9"}, "it was begun by None"),
        (AccuracyMeasured, {"node_id": "n000"}, "asked was n001"),
        (BenchmarkMeasured, {"incumbent_commit": "0" * 40}, "asked was another"),
        (BenchmarkMeasured, {"purpose": "revalidation"}, "asked was a benchmark"),
        (MeasurementJudged, {"purpose": "soak"}, "was judged as soak"),
        (ActionReverted, {"action_id": "a999"}, "nobody proposed"),
        (ActionReverted, {"node_id": "n999"}, "nobody made"),
        (ActionDispatched, {"template_id": "other"}, "was proposed as"),
        (PatchProposed, {"base_commit": "0" * 40}, "is not its specialist's"),
    ],
)
def test_what_does_not_fit_is_found(
    history: Events, kind: type, fields: dict[str, object], words: str
) -> None:
    position, _ = first(history, kind)
    fails("references", changed(history, position, **fields), position, words)


def test_evidence_by_another_worker(history: Events) -> None:
    position, _ = first(history, AccuracyMeasured)
    fails("references", by(history, position, "bench-2"), position, "it was begun by bench")
    position, _ = first(history, TrialMeasured)
    fails("references", by(history, position, "specialist-n009"), position, "came from")


def test_a_judgement_before_its_result(history: Events) -> None:
    result, _ = first(history, AccuracyMeasured)
    judged, event = first(history, MeasurementJudged)
    assert judged > result
    fails("references", inserted(history, result, event, "critic"), result, "before it had")


def test_leases_and_constraints_that_nobody_made(history: Events) -> None:
    position, _ = first(history, LeaseReleased)
    ghost = changed(history, position, lease_id="l999")
    fails("references", ghost, position, "of None")
    lifted = inserted(
        history, position, ConstraintLifted(constraint_id="c999", reason="x"), "critic"
    )
    fails("references", lifted, position, "never published")


def test_the_driver_may_give_up_what_a_lost_bench_held_and_nobody_else(history: Events) -> None:
    of = {r.position: r.actor for r in history if isinstance(r.event, LeaseReleased)}
    position = next(place for place, actor in of.items() if actor == "bench")
    assert rule_on("references", by(history, position, "supervisor")).is_sound
    fails("references", by(history, position, "critic"), position, "of bench")
    other = next(place for place, actor in of.items() if actor != "bench")
    fails("references", by(history, other, "supervisor"), other, f"of {of[other]}")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"is_candidate_first": False}, "in the other order"),
        ({"is_valid": False, "flaw": "too slow"}, "does not count (too slow)"),
        ({"pair": 3}, "are missing"),
        ({"start": 2}, "are missing"),
    ],
)
def test_pairs_that_were_picked(history: Events, fields: dict[str, object], words: str) -> None:
    position, pair = first(history, PairMeasured)
    assert pair.pair == 1
    fails("pairs", changed(history, position, **fields), position, words)


def test_a_pair_that_was_left_out(history: Events) -> None:
    position, pair = first(history, PairMeasured, 1)
    assert pair.pair == 2
    fails("pairs", without(history, position), position, "follows number 1")


def test_windows_of_another_seed_or_load(history: Events) -> None:
    position, pair = first(history, PairMeasured, 4)
    lucky = pair.candidate.model_copy(update={"seed": 12345})
    fails("pairs", changed(history, position, candidate=lucky), position, "with seeds [12345]")
    loaded = pair.incumbent.model_copy(update={"foreign_cpu_ratio": 0.99})
    fails("pairs", changed(history, position, incumbent=loaded), position, "foreign processes")


def _commits(directory: Path, events: Events) -> tuple[str, ...]:
    rule = next(rule for rule in RULES if rule.name == "commits")
    report = run_rule(rule, Evidence(CampaignDirectory(directory), events))
    return tuple(problem.text for problem in report.problems)


def test_commits_are_looked_up(finished: Path, history: Events) -> None:
    assert _commits(finished, history) == ()
    position, patch = first(history, PatchProposed)
    [text] = _commits(finished, changed(history, position, commit="1" * 40))
    assert "is not in" in text
    other = next(
        r.event.commit
        for r in history
        if isinstance(r.event, PatchProposed) and r.event.base_commit != patch.base_commit
    )
    [text] = _commits(finished, changed(history, position, commit=other))
    assert f"does not lie on {patch.base_commit}" in text


def test_a_missing_workspace_is_a_note(campaign: Path) -> None:
    shutil.rmtree(campaign / "workspace")
    report = audit(campaign)
    assert report.is_sound
    [notes] = [rule.notes for rule in report.rules if rule.notes]
    assert "no commit was looked up" in notes[0]


def test_own_code_is_recorded_and_needs_no_note(history: Events) -> None:
    _, started = first(history, CampaignStarted)
    assert started.decision_code == decision_code()
    assert rule_on("decisions", history).notes == ()


def test_other_code_is_said_clearly(history: Events, tmp_path: Path) -> None:
    position, _ = first(history, CampaignStarted)
    other = changed(history, position, decision_code="ab" * 32)
    report = rule_on("decisions", other)
    assert report.is_sound
    [note] = report.notes
    assert f"positions 1 to {len(history)} were decided by other code" in note
    assert "abababababab" in note
    dispatch, _ = first(history, ActionDispatched)
    forged = changed(other, dispatch, brief="do as you like")
    fails("decisions", forged, dispatch, "only the code that made a decision")
    rewrite(other, tmp_path)
    assert any("other code" in note for rule in audit(tmp_path).rules for note in rule.notes)


def test_code_may_change_when_a_campaign_is_resumed(history: Events) -> None:
    position, resumed = first(history, CampaignResumed)
    newer = changed(history, position, decision_code="cd" * 32)
    spans = list(code_spans(newer))
    assert [(span.first, span.last) for span in spans] == [
        (1, position - 1),
        (position, len(history)),
    ]
    assert [span.is_own for span in spans] == [True, False]
    assert len(list(code_spans(history))) == 1
    assert resumed.decision_code == ""
    start, _ = first(history, CampaignStarted)
    [silent] = code_spans(changed(history, start, decision_code=""))
    assert "does not say by which code" in silent.remark


def test_an_event_of_another_campaign(history: Events) -> None:
    forged = tuple(replace(r, campaign_id="other") if r.position == 50 else r for r in history)
    fails("causality", forged, 50, "belongs to campaign other")
