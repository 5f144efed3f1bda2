"""The envelope: events without a place, and recorded events with one."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 0
"""Version of the event schema; 0 may change until the first vLLM campaign is recorded."""


class Event(BaseModel):
    """Base of all events: frozen facts in the past tense.

    Subclasses add ``kind: Literal["Name"] = "Name"`` and their payload. ``tags`` names what a
    conditional append can watch.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants"
    )

    area: ClassVar[str] = ""
    """Group of events in the documentation."""

    kind: str
    action_id: str | None = None
    """Action that the event belongs to."""
    attempt_id: str | None = None
    """Attempt at the action or request."""
    causation_id: str | None = None
    """``event_id`` of the event that caused this one."""

    def tags(self) -> frozenset[str]:
        """Return the tags that conditional appends watch."""
        return frozenset({f"action:{self.action_id}"}) if self.action_id else frozenset()


EPOCH_START = datetime(1970, 1, 1, tzinfo=UTC)
"""Times are stored as microseconds since then."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that wants to be appended.

    Attributes:
        event: the payload.
        event_id: UUIDv7; a repeated id is the same event and is stored once.
        actor: name of the appending actor.
        incarnation: the appender's incarnation; older ones than the latest are refused.
        decided_after: position up to which the decider had folded; None when not a decision.
        decided_at: clock that the decider was given; None when not a decision.
    """

    event: Event
    event_id: str
    actor: str
    incarnation: int = 0
    decided_after: int | None = None
    decided_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """Refuse an append when an event with one of ``tags`` lies beyond position ``after``."""

    after: int
    tags: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event in the log: the header given by the log, and the payload.

    Attributes:
        position: place in the log, from 1, without gaps.
        event_id: UUIDv7 given by the appender.
        recorded_at: when the log accepted it, UTC.
        campaign_id: campaign of the log.
        actor: who appended it.
        incarnation: incarnation of the actor.
        epoch: epoch of the log's writer.
        decided_after: see ``Draft``.
        decided_at: see ``Draft``.
        schema_version: version of the payload's schema.
        event: the payload.
    """

    position: int
    event_id: str
    recorded_at: datetime
    campaign_id: str
    actor: str
    incarnation: int
    epoch: int
    decided_after: int | None
    decided_at: datetime | None
    schema_version: int
    event: Event


def canonical_json(value: Any) -> str:
    """Serialise to JSON with sorted keys, no spaces, no NaN: equal values give equal text."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def payload_json(event: Event) -> str:
    """Return an event's payload as it is stored: compact JSON, fields in the order of the class.

    Raises:
        ValueError: the event has a text without UTF-8.
    """
    return event.model_dump_json()


def timestamp_us(moment: datetime | None) -> int | None:
    """Return microseconds since the epoch, the form in which times are stored and digested."""
    if moment is None:
        return None
    delta = moment.astimezone(UTC) - EPOCH_START
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def moment_of(time_us: int) -> datetime:
    """Return the UTC time of microseconds since the epoch."""
    return EPOCH_START + timedelta(microseconds=time_us)
