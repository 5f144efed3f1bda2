"""Events with a place, for folds that are fed by hand."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from arbor.core.reactor import Fold
from arbor.events.base import SCHEMA_VERSION, Event, Recorded

START = datetime(2026, 1, 1, tzinfo=UTC)


def record(
    event: Event,
    position: int = 1,
    *,
    at_s: float = 0.0,
    actor: str = "test",
    decided_after: int | None = None,
) -> Recorded:
    """Return an event recorded ``at_s`` seconds after the start."""
    moment = START + timedelta(seconds=at_s)
    return Recorded(
        position=position,
        event_id=f"e{position}",
        recorded_at=moment,
        campaign_id="c",
        actor=actor,
        incarnation=1,
        epoch=1,
        decided_after=decided_after,
        decided_at=None if decided_after is None else moment,
        schema_version=SCHEMA_VERSION,
        event=event,
    )


def feed(fold: Fold, events: Sequence[Event | tuple[str, Event]], first: int = 1) -> None:
    """Apply events in order, one a second; a pair names the actor."""
    for number, each in enumerate(events, start=first):
        actor, event = each if isinstance(each, tuple) else ("test", each)
        fold.apply(record(event, number, at_s=number, actor=actor))
