"""Disobedience is found: no approval, work in a pause, revoked ground, forged rebuilds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from arbor.core.layout import CampaignDirectory
from arbor.events.base import Event, Recorded
from arbor.events.campaign import CampaignEnded, CampaignPaused, CampaignResumed, CampaignStarted
from arbor.events.choice import ActionDispatched, ActionProposed
from arbor.events.limits import ActionApproved, ActionVetoed
from arbor.events.outcome import ActionKept
from arbor.events.settings import SearchSettings, Settings
from arbor.replay.audit import RULES, RuleReport, run_rule
from arbor.replay.rules.base import Evidence
from tests.fakes.stage import WITHOUT_SOAK, Stage, template
from tests.replay.recorded import changed, inserted

Events = tuple[Recorded, ...]
OTHERS = {"blobs", "effects", "leases", "causality", "roles"}
"""Rules about bytes, windows and workers, which a stage does not have."""


def _report(name: str, events: Sequence[Recorded]) -> RuleReport:
    rule = next(rule for rule in RULES if rule.name == name)
    return run_rule(rule, Evidence(CampaignDirectory(Path("nowhere")), tuple(events)))


def _fails(name: str, events: Sequence[Recorded], words: str) -> None:
    report = _report(name, events)
    assert report.problems, f"{name} accepts the forgery"
    assert words in report.problems[0].text


def _at(events: Sequence[Recorded], holds: Callable[[Event], object]) -> int:
    return next(r.position for r in events if holds(r.event))


@pytest.fixture(scope="module")
def events() -> Events:
    """A campaign with an approval, a pause, a revocation and a rebuilt path."""
    settings = WITHOUT_SOAK.model_copy(
        update={"search": SearchSettings(parallel=1, require_approval=("b",))}
    )
    stage = Stage(
        template("a", prior_speedup_ratio=3.0),
        template("b", prior_speedup_ratio=2.0),
        template("c", prior_speedup_ratio=1.5),
        settings=settings,
    )
    stage.open()
    stage.keep("a", ratio=1.3)
    stage.say(CampaignPaused(reason="lunch"), actor="human:ann")
    stage.say(ActionApproved(action_id=stage.action_of("b"), by="ann"), actor="human:ann")
    stage.say(CampaignResumed(reason="back"), actor="human:ann")
    stage.turn()
    for name in ("c", "b"):
        stage.keep(name, ratio=1.3)
    veto = ActionVetoed(action_id=stage.action_of("a"), reason="no", by="human:ann")
    stage.say(veto, actor="human:ann")
    stage.turn()
    (rebuilt,) = (name for name in stage.state.tree.templates if name.startswith("rebuild"))
    stage.keep(rebuilt, ratio=1.6)
    stage.measure(1.6, "revalidation")
    stage.turn()
    assert stage.state.is_ended
    return stage.events()


def test_an_honest_campaign_passes(events: Events) -> None:
    for rule in RULES:
        if rule.name not in OTHERS:
            report = _report(rule.name, events)
            assert report.is_sound, f"{rule.name}: {report.problems[0]}"
    for name in ("people", "revoked"):
        assert _report(name, events).num_checked > 3


def test_a_dispatch_without_the_approval(events: Events) -> None:
    approved = _at(events, lambda e: isinstance(e, ActionApproved))
    _fails("people", changed(events, approved, action_id="a999"), "without the approval")
    started = _at(events, lambda e: isinstance(e, CampaignStarted))
    strict = Settings(search=SearchSettings(require_approval=("kernel",)))
    _fails("people", changed(events, started, settings=strict), "a001 was dispatched without")


def test_an_approval_by_no_human(events: Events) -> None:
    position = _at(events, lambda e: isinstance(e, ActionApproved))
    forged = [replace(r, actor="critic") if r.position == position else r for r in events]
    _fails("people", forged, "'critic' approved")
    _fails("roles", forged, "may not")


def test_a_veto_in_anothers_name(events: Events) -> None:
    position = _at(events, lambda e: isinstance(e, ActionVetoed))
    _fails("people", changed(events, position, by="critic"), "names 'critic'")


def test_a_proposal_in_anothers_name(events: Events) -> None:
    position = _at(events, lambda e: isinstance(e, ActionProposed) and e.source == "orchestrator")
    _fails("people", changed(events, position, source="human"), "claims to come from human")
    forged = [replace(r, actor="human:ann") if r.position == position else r for r in events]
    _fails("people", forged, "claims to come from orchestrator")


def test_work_that_starts_in_a_pause(events: Events) -> None:
    position = _at(events, lambda e: isinstance(e, ActionDispatched))
    paused = inserted(events, position, CampaignPaused(reason="x"), "human:ann")
    _fails("people", paused, "ActionDispatched while the campaign was paused")


def test_what_stands_on_a_revoked_commit(events: Events) -> None:
    kept = _at(events, lambda e: isinstance(e, ActionKept) and e.action_id == "a001")
    revoked = next(r for r in events if r.event.kind == "KeepRevoked")
    early = inserted(events, kept + 1, revoked.event, "critic")
    _fails("revoked", early, "stands on n001, which was revoked")
    end = _at(events, lambda e: isinstance(e, CampaignEnded))
    _fails("revoked", changed(events, end, node_id="n001"), "stands on n001")


def test_an_end_with_a_vetoed_keep(events: Events) -> None:
    end = _at(events, lambda e: isinstance(e, CampaignEnded))
    rebuilt = _at(events, lambda e: isinstance(e, ActionProposed) and e.parts)
    action_id = events[rebuilt - 1].event.action_id
    veto = ActionVetoed(action_id=action_id, reason="no", by="human:ann")
    _fails("revoked", inserted(events, end, veto, "human:ann"), "kept against a veto")


def test_forged_rebuilds(events: Events) -> None:
    position = _at(events, lambda e: isinstance(e, ActionProposed) and e.parts)
    proposed = events[position - 1].event
    assert isinstance(proposed, ActionProposed)
    assert proposed.template is not None
    swapped = changed(events, position, parts=tuple(reversed(proposed.parts)))
    _fails("revoked", swapped, "not made of what survived, in its order")
    fewer = proposed.template.model_copy(update={"edits": proposed.template.edits[:1]})
    _fails("revoked", changed(events, position, template=fewer), "other edits than its parts")
    _fails("revoked", changed(events, position, source="human"), "does not say what")
    veto = _at(events, lambda e: isinstance(e, ActionVetoed))
    part = proposed.parts[0].action_id
    other = ActionVetoed(action_id=part, reason="no", by="human:ann")
    _fails("revoked", inserted(events, position, other, "human:ann"), "which was vetoed")
    early = inserted(events, veto, proposed, "orchestrator")
    _fails("revoked", early, "answers no revocation")


def test_forged_bundles() -> None:
    stage = Stage(template("a"), template("b"), template("c"))
    stage.open()
    for name, ratio in (("a", 1.02), ("b", 1.03), ("c", 0.9)):
        stage.revert(name, ratio)
    log = stage.events()
    position = _at(log, lambda e: isinstance(e, ActionProposed) and e.source == "bundle")
    assert not _report("revoked", log).problems
    bundle = log[position - 1].event
    assert isinstance(bundle, ActionProposed)
    assert bundle.template is not None
    first, second = bundle.parts
    _fails("revoked", changed(log, position, parts=(first,)), "does not say what")
    unknown = first.model_copy(update={"action_id": "a099"})
    _fails(
        "revoked", changed(log, position, parts=(unknown, second)), "was not tried and reverted"
    )
    other = first.model_copy(update={"edits": second.edits})
    _fails("revoked", changed(log, position, parts=(other, second)), "holds other edits")
    fewer = bundle.template.model_copy(update={"edits": bundle.template.edits[:1]})
    _fails("revoked", changed(log, position, template=fewer), "other edits than its parts")
