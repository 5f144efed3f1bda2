"""Drafts as they are stored: payload, tags and promoted fields; made by whoever appends."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from arbor.events.base import Condition, Draft, Event, payload_json, timestamp_us
from arbor.events.errors import InvalidInputError
from arbor.events.union import decode

PROMOTED = (
    "action_id",
    "attempt_id",
    "causation_id",
    "node_id",
    "parent_id",
    "template_id",
    "request_id",
    "specialist_id",
    "constraint_id",
)
"""Fields of payloads that have a column of their own, null where the payload has no such text."""

TAG_SEPARATOR = "\x1f"
"""Between the tags of an event in the text that digests cover."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A draft ready to be stored.

    Attributes:
        event_id: see ``Draft``.
        actor: see ``Draft``.
        incarnation: see ``Draft``.
        decided_after: see ``Draft``.
        decided_at_us: microseconds since 1970; None when not a decision.
        kind: kind of the event.
        tags: what conditional appends watch, sorted.
        promoted: values of the promoted columns.
        payload: JSON of the event, the truth.
        event: what the payload gives back, so that whoever folds it live sees what a replay
            will see; None once it came from another process.
    """

    event_id: str
    actor: str
    incarnation: int
    decided_after: int | None
    decided_at_us: int | None
    kind: str
    tags: tuple[str, ...]
    promoted: tuple[str | None, ...]
    payload: str
    event: Event | None = field(default=None, compare=False)

    def decoded(self) -> Event:
        """Return the event.

        Raises:
            pydantic.ValidationError: the payload is of no known kind or breaks its schema.
        """
        return decode(self.payload) if self.event is None else self.event

    def __reduce__(self) -> tuple[type["Encoded"], tuple[Any, ...]]:
        return Encoded, (
            self.event_id,
            self.actor,
            self.incarnation,
            self.decided_after,
            self.decided_at_us,
            self.kind,
            self.tags,
            self.promoted,
            self.payload,
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Drafts of one append, encoded once, and its condition."""

    drafts: tuple[Encoded, ...]
    condition: Condition | None

    @classmethod
    def encode(cls, drafts: Sequence[Draft], condition: Condition | None) -> "Batch":
        """Encode the payloads and check that everything can be read again.

        Raises:
            InvalidInputError: an event or its header could not be read again.
        """
        return cls(tuple(_encoded(drafts)), condition)


def promoted(fields: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Return the values of the promoted columns for the fields of a payload."""
    get = fields.get
    return tuple(
        [value if isinstance(value, str) else None for value in [get(name) for name in PROMOTED]]
    )


def _encoded(drafts: Sequence[Draft]) -> Iterator[Encoded]:
    for draft in drafts:
        try:
            _require_storable(draft)
            payload = payload_json(draft.event)
            event = decode(payload)
            tags = tuple(sorted(event.tags()))
            _require_text(*tags)
        except ValueError as error:
            what = f"event {draft.event_id!r} ({type(draft.event).__name__})"
            raise InvalidInputError(f"{what} cannot be stored: {_one_line(error)}") from error
        yield Encoded(
            draft.event_id,
            draft.actor,
            draft.incarnation,
            draft.decided_after,
            timestamp_us(draft.decided_at),
            event.kind,
            tags,
            promoted(vars(event)),
            payload,
            event,
        )


def _require_storable(draft: Draft) -> None:
    """Raise ValueError when a header does not fit its columns."""
    _require_text(draft.event_id, draft.actor)
    for number in (draft.incarnation, draft.decided_after or 0):
        if not 0 <= number < 2**63:
            raise ValueError(f"{number} is no position or incarnation")
    if draft.decided_at is not None and draft.decided_at.tzinfo is None:
        raise ValueError(f"decided_at {draft.decided_at} has no time zone")


def _require_text(*texts: str) -> None:
    """Raise ValueError when a text has no UTF-8, or what separates fields in digested text."""
    for text in texts:
        if not text.isprintable():
            text.encode()
            if any(character < " " for character in text):
                raise ValueError(f"{text!r} has control characters")


def _one_line(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{first['msg']} at {first['loc']}"
    return " ".join(str(error).split())
