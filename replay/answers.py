"""What the world answered in a recording, found again by what was asked."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from arbor.core.budget import Budget
from arbor.events.base import Event, Recorded, canonical_json
from arbor.events.choice import ActionDispatched
from arbor.events.evidence import EvidenceEvent, PairMeasured
from arbor.events.outcome import Crashed
from arbor.events.requests import MeasurementRequested
from arbor.events.types import Edit
from arbor.events.work import (
    AttemptStarted,
    FeedbackCollected,
    FeedbackRouted,
    PatchDrafted,
    PatchProposed,
    PatchRefused,
    PlanProposed,
    TrialMeasured,
)

Ask = ActionDispatched | MeasurementRequested
"""What the world answers."""
_WORK = (
    AttemptStarted,
    Crashed,
    FeedbackCollected,
    FeedbackRouted,
    PatchDrafted,
    PatchProposed,
    PatchRefused,
    PlanProposed,
    TrialMeasured,
)


@dataclass(frozen=True, slots=True)
class Said:
    """One event of an answer.

    Attributes:
        position: its position.
        active_s: active seconds of the campaign.
        actor: who said it.
        event: what was said.
    """

    position: int
    active_s: float
    actor: str
    event: Event


@dataclass(slots=True, eq=False)
class Answer:
    """One ask of the recording and what came of it.

    Attributes:
        ask: what was asked.
        position: position of the ask.
        active_s: active seconds of the campaign at the ask.
        said: what came, in order.
        is_complete: whether it came to an end that was not only the ask's withdrawal.
    """

    ask: Ask
    position: int
    active_s: float
    said: list[Said] = field(default_factory=list)
    is_complete: bool = False


Key = tuple[str, ...]


def _edits(edits: Sequence[Edit]) -> str:
    return canonical_json([[edit.key, edit.value] for edit in edits])


def key_of(ask: Ask) -> Key:
    """Return what an ask is about, without the ids of this or that campaign.

    Commits are made from content alone, so equal keys ask about equal stacks.
    """
    if isinstance(ask, ActionDispatched):
        return "work", ask.template_id, ask.parent_commit, _edits(ask.edits)
    return ask.purpose, ask.parent_commit, _edits(ask.edits), ask.incumbent_commit


class Answers:
    """All asks of a recording with their answers."""

    def __init__(self, events: Sequence[Recorded]) -> None:
        self._by_key: dict[Key, list[Answer]] = defaultdict(list)
        self._by_request: dict[str, Answer] = {}
        self._by_action: dict[str, Answer] = {}
        self._all: list[Answer] = []
        budget = Budget()
        for recorded in events:
            budget.apply(recorded)
            self._note(recorded, budget.elapsed_s(recorded.recorded_at))

    def _note(self, recorded: Recorded, active_s: float) -> None:
        event = recorded.event
        if isinstance(event, Ask):
            answer = Answer(event, recorded.position, active_s)
            self._by_key[key_of(event)].append(answer)
            self._all.append(answer)
            if isinstance(event, MeasurementRequested):
                self._by_request[event.request_id] = answer
            else:
                self._by_action[event.action_id or ""] = answer
            return
        found = self._answered(event)
        if found is not None and not found.is_complete:
            found.said.append(Said(recorded.position, active_s, recorded.actor, event))
            found.is_complete = isinstance(event, PatchProposed | PatchRefused | Crashed) or (
                isinstance(event, EvidenceEvent) and not isinstance(event, PairMeasured)
            )

    def _answered(self, event: Event) -> Answer | None:
        """Return what an event answers, if anything."""
        request_id = getattr(event, "request_id", None)
        if request_id is not None:
            is_answer = isinstance(event, EvidenceEvent | AttemptStarted | Crashed)
            return self._by_request.get(request_id) if is_answer else None
        return self._by_action.get(event.action_id or "") if isinstance(event, _WORK) else None

    def take(self, ask: Ask) -> Answer | None:
        """Return the next unused answer to an equal ask, or None."""
        waiting = self._by_key.get(key_of(ask), [])
        while waiting:
            answer = waiting.pop(0)
            if answer.is_complete:
                return answer
        return None

    def in_flight(self, position: int) -> list[Answer]:
        """Return the asks up to a position that were answered later, and use them up.

        Asks that were answered before are used up, too.
        """
        found = []
        for answer in self._all:
            if answer.position > position:
                continue
            own = self._by_key[key_of(answer.ask)]
            if answer in own:
                own.remove(answer)
            if answer.is_complete and answer.said[-1].position > position:
                found.append(answer)
        return found
