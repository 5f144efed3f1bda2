"""Every decision is made again by the same pure reactor, from what it knew then."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from arbor.actors.critic import Critic
from arbor.actors.orchestrator import Orchestrator
from arbor.actors.supervisor import Supervisor
from arbor.core.reactor import Reactor
from arbor.events.base import Event, Recorded
from arbor.replay.rules.base import Evidence, Findings, UnfoldableError, difference, fold
from arbor.replay.rules.causality import UNDECIDED
from arbor.replay.rules.code import CodeSpan, code_spans

REACTORS: tuple[Callable[[], Reactor], ...] = (Orchestrator, Critic, Supervisor)
"""Whose decisions can be made again; a new reactor is one entry here."""


@dataclass(slots=True)
class _Batch:
    """Events that were decided and appended together."""

    first: Recorded
    events: list[Event] = field(default_factory=list)


class DecisionsFollowFromTheLog:
    """The reactor, folded up to ``decided_after`` and given ``decided_at``, decides the same."""

    name = "decisions"
    title = "every recorded decision is what its reactor decides again, event by event"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Replay the reactors; each stops at its first divergence."""
        foreign = [span for span in code_spans(evidence.events) if not span.is_own]
        for span in foreign:
            findings.notes.append(f"positions {span.first} to {span.last} were {span.remark}")
        for make in REACTORS:
            self._replay(make(), evidence.events, findings, foreign)

    def _replay(
        self,
        reactor: Reactor,
        events: Sequence[Recorded],
        findings: Findings,
        foreign: Sequence[CodeSpan],
    ) -> None:
        position = 0
        for batch in _batches(reactor.name, events):
            first = batch.first
            if first.decided_after is None or first.decided_at is None:
                text = f"{first.event.kind} by {reactor.name} was not decided from a state"
                findings.require(isinstance(first.event, UNDECIDED), first.position, text)
                continue
            if first.decided_after < position:
                text = f"{reactor.name} decides after {first.decided_after}, behind {position}"
                findings.require(False, first.position, text)
                return
            for recorded in events[position : first.decided_after]:
                fold(reactor, recorded)
            position = max(position, first.decided_after)
            problem = _divergence(reactor, batch)
            text = f"{problem}{_hint(foreign, first.position)}"
            findings.require(problem is None, first.position, text)
            if problem is not None:
                return


def _hint(foreign: Sequence[CodeSpan], position: int) -> str:
    """Return a remark when other code than the one at hand may explain a divergence."""
    found = (span for span in foreign if span.first <= position <= span.last)
    return next((f" ({span.remark})" for span in found), "")


def _batches(actor: str, events: Sequence[Recorded]) -> Iterator[_Batch]:
    """Yield the actor's events grouped as they were decided."""
    batch: _Batch | None = None
    for recorded in events:
        is_same = (
            batch is not None
            and recorded.actor == actor
            and recorded.decided_after is not None
            and recorded.position == batch.first.position + len(batch.events)
            and recorded.decided_after == batch.first.decided_after
            and recorded.decided_at == batch.first.decided_at
        )
        if batch is not None and is_same:
            batch.events.append(recorded.event)
            continue
        if batch is not None:
            yield batch
        batch = _Batch(recorded, [recorded.event]) if recorded.actor == actor else None
    if batch is not None:
        yield batch


def _divergence(reactor: Reactor, batch: _Batch) -> str | None:
    """Return how the recorded decision differs from the one made again, or None."""
    first = batch.first
    if first.decided_at is None:
        return "the decision has no time"
    try:
        decided = list(reactor.react(first.decided_at))
    except (LookupError, ValueError, TypeError, ArithmeticError) as error:
        raise UnfoldableError(
            first.position, f"{reactor.name} cannot decide again ({error!r})"
        ) from error
    where = f"{reactor.name} after position {first.decided_after}"
    for number, (again, recorded) in enumerate(zip(decided, batch.events, strict=False)):
        if again.kind != recorded.kind:
            return f"{where}, event {number}: recorded {recorded.kind}, decides {again.kind}"
        text = difference(again.model_dump(mode="json"), recorded.model_dump(mode="json"))
        if text is not None:
            return f"{where}, {again.kind}: recorded {text}, as decided again"
    if len(decided) != len(batch.events):
        kinds = [event.kind for event in decided[len(batch.events) :]]
        rest = f"decides also {kinds}" if kinds else f"decides only {len(decided)}"
        return f"{where}: recorded {len(batch.events)} events, {rest}"
    return None
