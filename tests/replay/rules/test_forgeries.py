"""Every kind of forgery is found by its rule, at the position where it shows."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from arbor.core.layout import CampaignDirectory
from arbor.events.base import Event, Recorded
from arbor.events.campaign import CampaignStarted
from arbor.events.choice import ActionDispatched, ActionScored
from arbor.events.evidence import (
    AccuracyMeasured,
    BenchmarkMeasured,
    NoiseCalibrated,
    PairMeasured,
)
from arbor.events.judgement import MeasurementJudged
from arbor.events.life import IncarnationStarted, LeaseTaken
from arbor.events.limits import ActionVetoed, ConstraintPublished
from arbor.events.money import BudgetReserved, BudgetSpent
from arbor.events.outcome import ActionKept, ActionReverted
from arbor.events.types import ConstraintScope
from arbor.events.work import PatchProposed
from arbor.replay.audit import RULES, RuleReport, run_rule
from arbor.replay.rules.base import Evidence
from tests.replay.recorded import changed, inserted, renumbered, without

E = TypeVar("E", bound=Event)
Events = tuple[Recorded, ...]


def rule_on(name: str, events: Sequence[Recorded]) -> RuleReport:
    """Return what one rule finds in events that never were on a disk."""
    rule = next(rule for rule in RULES if rule.name == name)
    return run_rule(rule, Evidence(CampaignDirectory(Path("nowhere")), tuple(events)))


def first(events: Sequence[Recorded], kind: type[E], number: int = 0) -> tuple[int, E]:
    """Return position and payload of an event of a kind."""
    found = [(r.position, r.event) for r in events if isinstance(r.event, kind)]
    return found[number]


def fails(name: str, events: Sequence[Recorded], position: int, words: str) -> None:
    """Require that a rule fails first at a position and says why."""
    report = rule_on(name, events)
    assert report.problems, f"{name} accepts the forgery"
    assert report.problems[0].position == position
    assert words in report.problems[0].text


def test_keep_without_judgement(history: Events) -> None:
    position, keep = first(history, ActionKept)
    judged = [
        r.position
        for r in history
        if isinstance(r.event, MeasurementJudged)
        and r.event.action_id == keep.action_id
        and r.event.purpose == "benchmark"
    ]
    fails("two_keys", without(history, judged[0]), position - 1, "no judgement of benchmark")
    refused = changed(history, judged[0], is_accepted=False)
    fails("two_keys", refused, position, "no benchmark that the critic accepted")


def test_keep_without_patch_or_by_another(history: Events) -> None:
    position, keep = first(history, ActionKept)
    patch = next(
        r.position
        for r in history
        if isinstance(r.event, PatchProposed) and r.event.action_id == keep.action_id
    )
    report = rule_on("two_keys", without(history, patch))
    assert report.problems
    usurped = tuple(replace(r, actor="critic") if r.position == position else r for r in history)
    fails("two_keys", usurped, position, "not by the orchestrator")
    fails("roles", usurped, position, "may not")


def test_keep_of_another_commit(history: Events) -> None:
    position, _ = first(history, ActionKept)
    fails("two_keys", changed(history, position, commit="0" * 40), position, "another commit")


def test_judgement_by_the_orchestrator(history: Events) -> None:
    position, _ = first(history, MeasurementJudged)
    forged = tuple(
        replace(r, actor="orchestrator") if r.position == position else r for r in history
    )
    fails("roles", forged, position, "may not")


def test_wrong_score(history: Events) -> None:
    position, scored = first(history, ActionScored)
    forged = changed(history, position, score=scored.score + 0.01)
    fails("scores", forged, position, "its terms give")
    fails("scores", changed(history, position, form="as_printed"), position, "the campaign says")


def test_duplicate_outcome_and_judgement(history: Events) -> None:
    position, reverted = first(history, ActionReverted)
    fails("once", inserted(history, position, reverted, "orchestrator"), position + 1, "outcome")
    position, judged = first(history, MeasurementJudged)
    fails("once", inserted(history, position, judged, "critic"), position + 1, "judgement")


@pytest.mark.parametrize("kind", [BenchmarkMeasured, NoiseCalibrated])
def test_effect_that_its_pairs_do_not_give(
    history: Events, kind: type[BenchmarkMeasured | NoiseCalibrated]
) -> None:
    position, result = first(history, kind)
    better = result.effect.model_copy(update={"low": result.effect.low * 1.02})
    fails("effects", changed(history, position, effect=better), position, "as its pairs give")


@pytest.mark.parametrize(
    ("field", "better"),
    [("kl_mean_high", 0.0), ("top1_agreement_low_ratio", 1.0), ("num_tokens", 99), ("task", None)],
)
def test_accuracy_that_its_prompts_do_not_give(
    history: Events, field: str, better: float | None
) -> None:
    found = [(r.position, r.event) for r in history if isinstance(r.event, AccuracyMeasured)]
    position, measured = next((p, e) for p, e in found if e.sample.kl_mean > 0)
    forged = measured.sample.model_copy(update={field: better})
    if field == "task":
        forged = measured.sample.model_copy(
            update={"task": measured.sample.task.model_copy(update={"drop_high": -1.0})}
            if measured.sample.task is not None
            else {}
        )
    forgery = changed(history, position, sample=forged)
    fails("accuracy", forgery, position, f"accuracy.{field}")


def test_changed_window(history: Events) -> None:
    position, pair = first(history, PairMeasured, 6)
    faster = pair.candidate.model_copy(update={"throughput_tok_s": 1e4})
    fails("effects", changed(history, position, candidate=faster), position, "its windows give")
    ratio = math.log(1e4 / pair.incumbent.throughput_tok_s)
    both = changed(history, position, candidate=faster, log_ratio=ratio)
    report = rule_on("effects", both)
    assert report.problems
    assert report.problems[0].position > position


def test_stop_and_witness_are_recomputed(history: Events) -> None:
    results = [(r.position, r.event) for r in history if isinstance(r.event, BenchmarkMeasured)]
    position = next(p for p, e in results if e.stop == "gain")
    forged = changed(history, position, stop="max_pairs")
    fails("effects", forged, position, "stopped for max_pairs, not for gain")
    position = next(p for p, e in results if not e.has_witness)
    forged = changed(history, position, has_witness=True)
    fails("effects", forged, position, "the counters of its windows say False")


def test_causes_in_the_future(history: Events) -> None:
    position, _ = first(history, MeasurementJudged)
    forged = changed(history, position, causation_id=history[-1].event_id)
    fails("causality", forged, position, "does not lie before it")
    forged = tuple(
        replace(r, decided_after=r.position) if r.position == position else r for r in history
    )
    fails("causality", forged, position, "was decided after")
    forged = tuple(replace(r, incarnation=9) if r.position == position else r for r in history)
    fails("causality", forged, position, "is not the latest")


def test_dispatch_against_a_constraint(history: Events) -> None:
    position, dispatch = first(history, ActionDispatched)
    limit = ConstraintPublished(
        constraint_id="c900",
        scope=ConstraintScope(template_id=dispatch.template_id),
        reason="never",
    )
    fails("limits", inserted(history, position, limit, "critic"), position + 1, "c900")


def test_keep_after_a_veto(history: Events) -> None:
    position, keep = first(history, ActionKept)
    veto = ActionVetoed(action_id=keep.action_id, reason="no", by="human")
    fails("limits", inserted(history, position, veto, "human"), position + 1, "after its veto")


def test_overlapping_leases(history: Events) -> None:
    pair, _ = first(history, PairMeasured)
    other = LeaseTaken(lease_id="l900", host="h", is_exclusive=False, purpose="screening")
    fails("leases", inserted(history, pair, other, "specialist-n001"), pair, "not free")
    taken = max(
        r.position for r in history if isinstance(r.event, LeaseTaken) and r.position < pair
    )
    fails("leases", without(history, taken), pair - 1, "without the host alone")


def test_devices_that_were_not_held(history: Events) -> None:
    born = next(
        r.position
        for r in history
        if r.actor == "bench" and isinstance(r.event, IncarnationStarted)
    )
    pair, _ = first(history, PairMeasured)
    forged = changed(history, born, devices=("n:0",))
    fails("leases", forged, pair, "without the devices n:0 alone")
    taken = LeaseTaken(
        lease_id="l900", host="h", is_exclusive=True, purpose="bench", devices=("n:0",)
    )
    held = inserted(forged, pair, taken, "bench")
    assert rule_on("leases", held).is_sound
    again = taken.model_copy(update={"lease_id": "l901"})
    fails("leases", inserted(held, pair + 1, again, "specialist-n001"), pair + 1, "not free")


def test_budget(history: Events) -> None:
    spent = BudgetSpent(reservation_id="b1", usd_micro=5)
    fails("budget", inserted(history, 20, spent, "bench"), 20, "without a reservation")
    reserved = BudgetReserved(reservation_id="b1", usd_micro=5)
    fails("budget", inserted(history, 20, reserved, "bench"), 20, "exceed 0")
    started, event = first(history, CampaignStarted)
    tight = event.settings.model_copy(
        update={"budget": event.settings.budget.model_copy(update={"max_trials": 1})}
    )
    second, _ = first(history, ActionDispatched, 1)
    fails("budget", changed(history, started, settings=tight), second, "0 trials left")


def test_other_decision(history: Events) -> None:
    position, _ = first(history, ActionDispatched)
    forged = changed(history, position, brief="do as you like")
    fails("decisions", forged, position, "brief: 'do as you like'")
    position, _ = first(history, ActionReverted)
    fails("decisions", changed(history, position, reason="x"), position, "orchestrator after")


def test_other_version_of_the_reactors_is_named(history: Events) -> None:
    position, _ = first(history, ActionDispatched)
    started, _ = first(history, CampaignStarted)
    forged = changed(history, started, arbor_version="0.0.1", decision_code="ab" * 32)
    assert rule_on("decisions", forged).is_sound
    forged = changed(forged, position, brief="do as you like")
    fails("decisions", forged, position, "decided by other code (Arbor 0.0.1")


def test_decision_that_was_not_decided(history: Events) -> None:
    position, _ = first(history, ActionDispatched)
    forged = tuple(
        replace(r, decided_after=None, decided_at=None) if r.position == position else r
        for r in history
    )
    fails("decisions", forged, position, "was not decided")


def test_decision_from_another_state(history: Events) -> None:
    position, _ = first(history, ActionKept)
    early = history[position - 1].decided_after
    assert early is not None
    forged = tuple(
        replace(r, decided_after=early - 2) if r.position == position else r for r in history
    )
    assert not rule_on("decisions", forged).is_sound


def test_batch_with_a_missing_event(history: Events) -> None:
    first_scores = [r.position for r in history if isinstance(r.event, ActionScored)][:3]
    report = rule_on("decisions", without(history, first_scores[1]))
    assert not report.is_sound


def test_event_about_nothing_is_a_problem_and_no_crash(history: Events) -> None:
    _, keep = first(history, ActionKept)
    ghost = keep.model_copy(update={"node_id": "n999"})
    forged = inserted(history, 30, ghost, "orchestrator")
    report = rule_on("two_keys", forged)
    assert report.problems[0].position == 30
    assert "contradicts" in rule_on("scores", forged).problems[0].text


def test_renumbering_alone_changes_nothing(history: Events) -> None:
    assert renumbered((r, r.position) for r in history) == history


def test_second_campaign_start(history: Events) -> None:
    position, started = first(history, CampaignStarted)
    fails("budget", inserted(history, position + 5, started, "supervisor"), position + 5, "twice")
