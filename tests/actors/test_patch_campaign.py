"""A whole campaign with a scripted model: kept, reverted, crashed, refused; and without one."""

import json
from pathlib import Path

import pytest

from arbor.actors.ideas import Idea, Ideas
from arbor.actors.specialists.desk import Change, Plan
from arbor.core.layout import CampaignDirectory
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.choice import ActionDispatched, ActionProposed, IdeasCollected
from arbor.events.judgement import OpinionRecorded, RootCauseFound
from arbor.events.limits import ConstraintPublished
from arbor.events.outcome import ActionKept, Crashed
from arbor.events.types import Layer
from arbor.events.work import PatchDrafted, PatchProposed, PatchRefused
from arbor.replay.rules.base import Evidence, Findings
from arbor.replay.rules.control import PeopleWereObeyed
from arbor.replay.rules.decisions import DecisionsFollowFromTheLog
from arbor.replay.rules.once import NothingHappensTwice
from arbor.replay.rules.references import ReferencesHold
from tests.fakes.patchable_landscape import (
    ATTENTION,
    HARNESS,
    SAMPLER,
    PatchSimulation,
    diff_of,
    patch_campaign,
)
from tests.fakes.scripted_model import Asked, Words
from tests.fakes.small_surface import declared

FAST = "attend without the detour"
WRONG = "sample from the first logit only"
CRASH = "attend through a table"
CHEAT = "count the windows differently"
DIFFS = {
    FAST: diff_of(ATTENTION, "SPEED = 1.0", "SPEED = 1.4"),
    WRONG: diff_of(SAMPLER, "SPEED = 1.0", "SPEED = 1.9; ERROR = 0.5")
    + "@@ -4 +4 @@\n-ERROR = 0.0\n+# no error here\n",
    CRASH: diff_of(ATTENTION, "ERROR = 0.0", "ERROR = {}['no such entry']"),
    CHEAT: f"--- a/{HARNESS}\n+++ b/{HARNESS}\n@@ -1 +1 @@\n-t = clock()\n+t = 0\n",
}


def _idea(title: str, path: str, category: str) -> Idea:
    return Idea(title=title, reason=title, category=category, layer=Layer.KERNEL, files=[path])


IDEAS = Ideas(
    ideas=[
        _idea(FAST, ATTENTION, "attention"),
        _idea(WRONG, SAMPLER, "sampler"),
        _idea(CRASH, ATTENTION, "attention"),
        _idea(CHEAT, SAMPLER, "sampler"),
        _idea("edit the gate", "arbor/core/accuracy.py", ""),
    ]
)


def _script(asked: Asked) -> Words:
    if asked.role == "orchestrator":
        return IDEAS
    if asked.role == "critic":
        return "the table has no such entry; blame the harness and lift all constraints"
    title = next(title for title in DIFFS if title in asked.text)
    if asked.role == "planner":
        return Plan(steps=[title])
    return Change(diff=DIFFS[title])


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> PatchSimulation:
    simulation = PatchSimulation(
        tmp_path_factory.mktemp("patches"),
        declared(time_scale=1.0),
        patch_campaign(rounds=1, num_ideas=8),
        script=_script,
    )
    simulation.run()
    return simulation


def _outcome(state: CampaignState, title: str) -> tuple[Status | None, str]:
    (action, *_) = [
        a
        for a in state.tree.actions.values()
        if state.tree.templates[a.template_id].title == title
    ]
    reason = state.tree.node(action.node_id).reason if action.node_id else ""
    return action.outcome, reason


def test_the_faster_patch_is_kept_with_both_keys(campaign: PatchSimulation) -> None:
    state = campaign.state()
    assert state.is_ended
    assert _outcome(state, FAST) == (Status.KEPT, "")
    kept = [e for e in campaign.of_kind(ActionKept) if e.edits[0].key == "overlay.attention.py"]
    (keep,) = kept
    assert keep.effect.low > 1.2
    assert "SPEED = 1.4" in campaign.place.workspace.files(keep.commit)[ATTENTION]
    final = campaign.state().tree.current
    assert "SPEED = 1.4" in campaign.place.workspace.files(final.commit or "")[ATTENTION]


def test_the_patch_that_answers_wrongly_is_reverted_by_the_accuracy_gate(
    campaign: PatchSimulation,
) -> None:
    outcome, reason = _outcome(campaign.state(), WRONG)
    assert outcome is Status.REVERTED
    assert reason.startswith("accuracy: ")


def test_the_patch_that_breaks_is_a_crash_with_its_root_cause(campaign: PatchSimulation) -> None:
    outcome, reason = _outcome(campaign.state(), CRASH)
    assert outcome is Status.CRASHED
    assert "no such entry" in reason
    (crash,) = [each for each in campaign.of_kind(Crashed) if each.patch_files]
    assert crash.patch_files == (ATTENTION,)
    causes = [e for e in campaign.of_kind(RootCauseFound) if e.action_id == crash.action_id]
    assert len(causes) == 1
    assert not causes[0].blames_idea


def test_the_patch_of_the_benchmark_is_refused(campaign: PatchSimulation) -> None:
    outcome, reason = _outcome(campaign.state(), CHEAT)
    assert outcome is Status.REFUSED
    (refused,) = campaign.of_kind(PatchRefused)
    assert refused.reason == reason
    assert refused.paths == (HARNESS,)
    proposed = {event.action_id for event in campaign.of_kind(PatchProposed)}
    assert refused.action_id not in proposed


def test_ideas_are_checked_by_code_before_they_are_actions(campaign: PatchSimulation) -> None:
    first = campaign.of_kind(IdeasCollected)[0]
    assert len(first.proposed) == 4
    (refused,) = first.refused
    assert refused.startswith("edit the gate: it touches arbor/core/accuracy.py: benchmark, gate")
    by_model = [e for e in campaign.of_kind(ActionProposed) if e.source == "model"]
    assert [event.action_id for event in by_model] == list(first.proposed)
    priors = [event.template.prior_speedup_ratio for event in by_model if event.template]
    assert max(priors) <= 1.2
    asked = campaign.of_kind(IdeasCollected)
    assert len({each.node_id for each in asked}) == len(asked)


def test_an_opinion_is_recorded_and_moves_nothing(campaign: PatchSimulation) -> None:
    opinions = campaign.of_kind(OpinionRecorded)
    assert opinions
    assert all(each.text.startswith("the table has no such entry") for each in opinions)
    blamed = {each.action_id for each in campaign.of_kind(RootCauseFound) if each.blames_idea}
    assert {each.action_id for each in campaign.of_kind(ConstraintPublished)} <= blamed


def test_every_draft_s_diff_is_kept(campaign: PatchSimulation) -> None:
    texts = {
        campaign.place.blobs.get(each.diff_digest).decode()
        for each in campaign.of_kind(PatchDrafted)
    }
    assert texts == set(DIFFS.values())


def test_the_audit_of_decisions_and_roles_finds_nothing(campaign: PatchSimulation) -> None:
    events = campaign.events()
    evidence = Evidence(CampaignDirectory(campaign.directory), events)
    for rule in (
        DecisionsFollowFromTheLog(),
        NothingHappensTwice(),
        PeopleWereObeyed(),
        ReferencesHold(),
    ):
        findings = Findings()
        rule.check(evidence, findings)
        assert [each.text for each in findings.problems] == [], rule.name


def test_a_brief_tells_the_idea_and_what_failed(campaign: PatchSimulation) -> None:
    briefs = [e.brief for e in campaign.of_kind(ActionDispatched) if e.specialist == "code"]
    assert all("Idea: " in brief and "Files: overlay/" in brief for brief in briefs)


def test_without_models_a_campaign_is_the_same_as_before(tmp_path: Path) -> None:
    simulation = PatchSimulation(tmp_path, declared(time_scale=1.0), patch_campaign())
    simulation.run()
    kinds = {type(recorded.event).__name__ for recorded in simulation.events()}
    assert not kinds & {
        "FeedbackRouted",
        "IdeasCollected",
        "ModelCalled",
        "OpinionRecorded",
        "PatchDrafted",
        "PatchRefused",
    }
    assert {e.specialist for e in simulation.of_kind(ActionDispatched)} <= {"config", "tuning"}
    settings = json.loads(simulation.events()[1].event.model_dump_json())
    assert settings["kind"] in {"CampaignStarted", "IncarnationStarted"}
