"""A branch of a recorded campaign: the same reactors, other settings, recorded answers."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count

from arbor.actors.commands import HUMAN
from arbor.actors.critic import Critic
from arbor.actors.orchestrator import Orchestrator
from arbor.actors.supervisor import Supervisor
from arbor.core.budget import Budget
from arbor.core.reactor import Reactor
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.base import Event, Recorded
from arbor.events.campaign import CampaignPaused, CampaignResumed, CampaignStarted
from arbor.events.choice import ActionDispatched
from arbor.events.outcome import Crashed
from arbor.events.requests import MeasurementRequested
from arbor.events.settings import Settings
from arbor.replay.answers import Answer, Answers, Ask
from arbor.replay.refitting import NotRecordedError, refit

MAX_DECISIONS = 20_000
"""A branch that decides more often than this decides in a circle."""


@dataclass(frozen=True, slots=True)
class Decided:
    """One event that a reactor of the branch decided.

    Attributes:
        state: the branch just before it; it goes on changing, read it at once.
        event: the decision.
        actor: whose it is.
        active_s: active seconds of the campaign.
        batch: number of the batch that it came in.
    """

    state: CampaignState
    event: Event
    actor: str
    active_s: float
    batch: int


@dataclass(order=True, slots=True)
class _Due:
    """Something that the world will say."""

    at: datetime
    position: int
    """Where the recording has it; what is due at the same time keeps that order."""
    ask: Ask = field(compare=False)
    actor: str = field(compare=False)
    event: Event = field(compare=False)


class Branch:
    """Goes on from a position of a recording with other settings.

    Reactors decide at once; the world answers as it did when the same was asked, after as many
    active seconds. Only what was recorded is ever answered.

    Args:
        events: the whole recording.
        base: position to go on from; not inside a decision.
        settings: settings from there on.
    """

    def __init__(self, events: Sequence[Recorded], base: int, settings: Settings) -> None:
        prefix = [_with_settings(recorded, settings) for recorded in events[:base]]
        self._orchestrator = Orchestrator()
        self._reactors: tuple[Reactor, ...] = (self._orchestrator, Critic(), Supervisor())
        self._position = 0
        self.stopped = ""
        """Why it ended; empty while it goes on."""
        for recorded in prefix:
            self._fold(recorded)
        self._now = events[base - 1].recorded_at
        self._last = events[base - 1]
        self._due: list[_Due] = []
        self._batches = count(1)
        self._answers = Answers(events)
        for answer in self._answers.in_flight(base):
            self._schedule(answer, answer.ask, self.active_s, after=base)
        self._human = _first_human(events, base)
        recorded_settings = (
            r.event.settings for r in events[:base] if isinstance(r.event, CampaignStarted)
        )
        if settings not in recorded_settings:
            # What was scored under the old settings is scored again.
            self.state.scores_needed_after = base

    @property
    def state(self) -> CampaignState:
        """The branch as it is now."""
        return self._orchestrator.state

    @property
    def active_s(self) -> float:
        """Active seconds of the campaign so far."""
        return self.state.budget.elapsed_s(self._now)

    def _fold(self, recorded: Recorded) -> None:
        for reactor in self._reactors:
            reactor.apply(recorded)
        self._position = recorded.position

    def _append(self, event: Event, actor: str, decided_after: int | None) -> Recorded:
        position = self._position + 1
        recorded = replace(
            self._last,
            position=position,
            event_id=f"branch-{position}",
            recorded_at=self._now,
            actor=actor,
            decided_after=decided_after,
            decided_at=None if decided_after is None else self._now,
            event=event,
        )
        self._fold(recorded)
        return recorded

    def run(self) -> Iterator[Decided]:
        """Yield decisions until the campaign ends or nothing recorded answers."""
        if self.state.is_paused or self._has_ended():
            word = "paused" if self.state.is_paused else "over"
            self.stopped = f"the campaign was {word} at position {self._position}"
            return
        num_decided = 0
        while not self._is_over():
            for decided in self._decide():
                yield decided
                num_decided += 1
                if num_decided > MAX_DECISIONS:
                    self.stopped = f"it had decided {num_decided} times without an end"
            if self._is_over():
                return
            if self._has_ended():
                self.stopped = "the campaign ended"
            else:
                self._hear()

    def _decide(self) -> Iterator[Decided]:
        """Yield what the reactors decide until all wait; each decision lands at once."""
        is_moving = True
        while is_moving and not self._is_over():
            is_moving = False
            for reactor in self._reactors:
                batch = reactor.react(self._now)
                number, after = next(self._batches), self._position
                for event in batch:
                    is_moving = True
                    yield Decided(self.state, event, reactor.name, self.active_s, number)
                    self._append(event, reactor.name, after)
                    if isinstance(event, ActionDispatched | MeasurementRequested):
                        self._ask(event)
                if self._is_over():
                    return

    def _has_ended(self) -> bool:
        return self.state.is_ended

    def _is_over(self) -> bool:
        return self.stopped != ""

    def _ask(self, ask: Ask) -> None:
        """Let the world answer later as it did in the recording, or stop."""
        answer = self._answers.take(ask)
        if answer is None:
            self.stopped = f"no recorded result answers: {_wanted(self.state, ask)}"
        else:
            self._schedule(answer, ask, answer.active_s)

    def _schedule(self, answer: Answer, ask: Ask, from_s: float, after: int = 0) -> None:
        """Plan what an answer says, as many active seconds from now as it came after ``from_s``.

        Args:
            answer: what was recorded.
            ask: what the branch asks.
            from_s: active seconds of the recording that correspond to now.
            after: position up to which the answer has been heard already.
        """
        said = tuple(each.event for each in answer.said)
        if isinstance(ask, MeasurementRequested) and isinstance(answer.ask, MeasurementRequested):
            try:
                said = refit(said, answer.ask, ask, self.state.settings.measure)
            except NotRecordedError as error:
                self.stopped = f"the recorded results do not suffice: {error}"
                return
        kept = {id(event) for event in said}
        last = answer.said[-1]
        for each in answer.said:
            event = said[-1] if each is last else each.event
            if each.position <= after or (each is not last and id(event) not in kept):
                continue
            at = self._now + timedelta(seconds=max(0.0, each.active_s - from_s))
            own = _renamed(event, ask, self._ask_event_id(ask))
            heapq.heappush(self._due, _Due(at, each.position, ask, each.actor, own))

    def _ask_event_id(self, ask: Ask) -> str | None:
        request = (
            self.state.requests.by_id.get(ask.request_id)
            if isinstance(ask, MeasurementRequested)
            else None
        )
        return request.event_id if request is not None else None

    def _hear(self) -> None:
        """Let the next thing happen that the world still has to say, or stop."""
        while self._due:
            due = heapq.heappop(self._due)
            if not self._is_wanted(due.ask):
                continue
            self._now = max(self._now, due.at)
            if self._human is not None:
                said, active_s = self._human
                if self.active_s >= active_s:
                    self.stopped = (
                        f"at position {said.position} {said.actor} said {said.event.kind}; what"
                        " they would have said here is not known"
                    )
                    return
            self._append(due.event, due.actor, None)
            return
        is_waiting = self.state.requests.open() or self.state.tree.in_flight()
        self.stopped = (
            "the recording ends before what is waited for came"
            if is_waiting
            else "nobody has anything to do any more"
        )

    def _is_wanted(self, ask: Ask) -> bool:
        if isinstance(ask, ActionDispatched):
            node = self.state.tree.nodes.get(ask.node_id)
            return node is not None and node.status is Status.WORKING
        request = self.state.requests.by_id.get(ask.request_id)
        return request is not None and request.is_open


def _with_settings(recorded: Recorded, settings: Settings) -> Recorded:
    if not isinstance(recorded.event, CampaignStarted):
        return recorded
    return replace(recorded, event=recorded.event.model_copy(update={"settings": settings}))


def _first_human(events: Sequence[Recorded], base: int) -> tuple[Recorded, float] | None:
    """Return the first word of a human about the search beyond a position, with its active s."""
    budget = Budget()
    for recorded in events:
        budget.apply(recorded)
        is_human = recorded.actor.split(":")[0] == HUMAN
        is_pause = isinstance(recorded.event, CampaignPaused | CampaignResumed)
        if is_human and not is_pause and recorded.position > base:
            return recorded, budget.elapsed_s(recorded.recorded_at)
    return None


def _wanted(state: CampaignState, ask: Ask) -> str:
    if isinstance(ask, ActionDispatched):
        return f"{ask.template_id} was never tried on {ask.parent_id} ({ask.parent_commit[:10]})"
    node = state.tree.nodes.get(ask.node_id)
    name = node.template_id if node is not None and node.template_id else "the stack"
    return f"{ask.purpose} of {ask.node_id}, {name} on commit {ask.parent_commit[:10]}"


def _renamed(event: Event, ask: Ask, request_event_id: str | None) -> Event:
    """Return an answer with the ids of the branch."""
    changes: dict[str, object] = {}
    fields = type(event).model_fields
    if event.action_id is not None or not isinstance(event, Crashed):
        changes["action_id"] = ask.action_id
    if isinstance(ask, MeasurementRequested):
        changes |= {"causation_id": request_event_id, "request_id": ask.request_id}
    else:
        changes["causation_id"] = None
    if "node_id" in fields and getattr(event, "node_id", None) is not None:
        changes["node_id"] = ask.node_id
    return event.model_copy(
        update={name: value for name, value in changes.items() if name in fields}
    )
