"""The Adviser asks each question once, bounded, and nothing that it appends decides."""

from pathlib import Path

import pytest

from arbor.actors.adviser import Adviser
from arbor.actors.ideas import Idea, Ideas
from arbor.actors.journal import Journal
from arbor.core.models import ModelError
from arbor.core.tree import ROOT_ID
from arbor.events.base import Event
from arbor.events.choice import ActionProposed, IdeasCollected
from arbor.events.evidence import ProfileTaken
from arbor.events.judgement import OpinionRecorded, RootCauseFound
from arbor.events.life import HealthReported
from arbor.events.outcome import Crashed
from arbor.events.requests import MeasurementRequested
from arbor.events.types import CategoryShare, Profile
from tests.fakes.patchable_landscape import ATTENTION, PatchSimulation, patch_campaign
from tests.fakes.scripted_model import Asked, Words
from tests.fakes.simulation import E


class Office:
    """An adviser on a campaign that waits for it."""

    def __init__(self, directory: Path, words: Words, **patches: int) -> None:
        self.words = words
        self.simulation = PatchSimulation(
            directory, campaign=patch_campaign(**patches), script=self._say
        )
        journal = Journal(self.simulation.log, Adviser.name, self.simulation.clock)
        journal.start()
        self.adviser = Adviser(self.simulation.place, journal, self.simulation.model)

    def _say(self, _asked: Asked) -> Words:
        return self.words

    def say(self, *events: Event) -> None:
        """Append what others say."""
        Journal(self.simulation.log, "others", self.simulation.clock).append(*events)

    def profile(self) -> None:
        """Have the baseline profiled."""
        root = self.simulation.state().root_commit
        self.say(
            MeasurementRequested(
                request_id="r001",
                purpose="profile",
                node_id=ROOT_ID,
                parent_commit=root,
                incumbent_commit=root,
                seed=1,
            )
        )
        shares = (CategoryShare(category="attention", share_ratio=1.0),)
        self.say(
            ProfileTaken(
                request_id="r001",
                node_id=ROOT_ID,
                commit="c",
                profile=Profile(shares=shares, window_s=1.0, source="test"),
            )
        )

    def work(self) -> int:
        """Let the adviser ask until it has nothing to ask; return how often it did."""
        num = 0
        while (question := self.adviser.next_task()) is not None:
            question()
            num += 1
        return num

    def events(self, kind: type[E]) -> list[E]:
        """Return the events of a kind."""
        return self.simulation.of_kind(kind)


def _ideas(num: int) -> Ideas:
    return Ideas(ideas=[Idea(title=f"Idea {n}", files=[ATTENTION]) for n in range(num)])


def test_ideas_are_asked_for_once_a_profile_is_there(tmp_path: Path) -> None:
    office = Office(tmp_path, _ideas(2))
    assert office.work() == 0
    office.profile()
    assert office.work() == 1
    assert office.work() == 0
    assert [e.action_id for e in office.events(ActionProposed)] == ["a001", "a002"]
    (collected,) = office.events(IdeasCollected)
    assert collected.proposed == ("a001", "a002")
    (asked,) = office.simulation.model.asked
    assert asked.role == "orchestrator"
    assert "attention: 100.0%" in asked.text
    assert f"{ATTENTION} (attention)" in asked.text


def test_their_number_is_bounded_at_a_node_and_in_all(tmp_path: Path) -> None:
    office = Office(tmp_path, _ideas(9), num_ideas=5, max_ideas=3)
    office.profile()
    office.work()
    (collected,) = office.events(IdeasCollected)
    assert len(collected.proposed) == 3
    assert len(collected.refused) == 6


def test_a_name_that_was_taken_meanwhile_is_not_used_twice(tmp_path: Path) -> None:
    office = Office(tmp_path, _ideas(1))
    office.profile()
    question = office.adviser.next_task()
    assert question is not None
    (template, *_) = office.simulation.state().tree.templates
    office.say(
        ActionProposed(action_id="a001", template_id=template, node_id=ROOT_ID, reason="new")
    )
    question()
    assert [e.action_id for e in office.events(ActionProposed)] == ["a001", "a002"]


@pytest.mark.parametrize("num_ideas", [0, 4])
def test_no_answer_is_noted_and_not_asked_again(tmp_path: Path, num_ideas: int) -> None:
    office = Office(tmp_path, ModelError("no provider answers"), num_ideas=num_ideas)
    office.profile()
    assert office.work() == min(num_ideas, 1)
    failures = [event.failure for event in office.events(IdeasCollected)]
    assert failures == ["no provider answers"][: min(num_ideas, 1)]
    assert office.events(ActionProposed) == []


def test_a_crash_gets_one_opinion_after_its_root_cause(tmp_path: Path) -> None:
    office = Office(tmp_path, "the table is empty")
    (template, *_) = office.simulation.state().tree.templates
    crash = Crashed(
        action_id="a001", phase="start", message="KeyError", log_tail=("KeyError: 'x'",)
    )
    office.say(
        ActionProposed(action_id="a001", template_id=template, node_id=ROOT_ID, reason="new"),
        crash,
    )
    assert office.work() == 0
    (event_id,) = [r.event_id for r in office.simulation.events() if isinstance(r.event, Crashed)]
    office.say(
        RootCauseFound(
            action_id="a001",
            causation_id=event_id,
            cause="unknown",
            cause_group="unknown",
            blames_idea=False,
            evidence=(),
            confidence_ratio=0.0,
            remedy="look at the log",
        )
    )
    assert office.work() == 1
    assert office.work() == 0
    (opinion,) = office.events(OpinionRecorded)
    assert (opinion.text, opinion.causation_id) == ("the table is empty", event_id)
    (asked,) = office.simulation.model.of_role("critic")
    assert "KeyError: 'x'" in asked.text
    assert asked.action == "a001"


def test_people_are_told_once_where_little_is_kept_apart(tmp_path: Path) -> None:
    office = Office(tmp_path, _ideas(1))
    simulation = office.simulation
    journal = Journal(simulation.log, Adviser.name, simulation.clock)
    journal.start()
    office.adviser = Adviser(simulation.place, journal, simulation.model, "no namespaces here")
    assert office.work() == 1
    (report,) = office.events(HealthReported)
    assert (report.subject, report.is_healthy) == ("sandbox", False)
    assert report.detail == "no namespaces here"
