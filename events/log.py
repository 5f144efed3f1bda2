"""What every event log offers; one contract test runs on all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from arbor.events.base import Condition, Draft, Recorded

GENESIS_DIGEST = "0" * 64
"""Digest before the first commit."""


@dataclass(frozen=True, slots=True)
class Head:
    """End of a log: the last position (0 when empty) and the chain digest there."""

    position: int
    digest: str


class EventReader(Protocol):
    """Reads durable events in order."""

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Recorded]:
        """Yield durable events beyond ``after`` in order.

        Raises:
            CorruptLogError: a stored event cannot be read or breaks the order.
        """
        ...

    def head(self) -> Head:
        """Return the durable end of the log."""
        ...

    def wait_beyond(self, position: int, timeout_s: float) -> bool:
        """Wait until the durable head lies beyond ``position``; return whether it does."""
        ...


@runtime_checkable
class EventLog(EventReader, Protocol):
    """Appends and reads events."""

    def append(
        self, drafts: Sequence[Draft], condition: Condition | None = None
    ) -> tuple[int, ...]:
        """Append all drafts or none, durably, and return their positions in order.

        A draft whose ``event_id`` is in the log already is not stored again; its old position is
        returned, and the condition is not applied to a batch that is stored already.

        Raises:
            ConflictError: the condition does not hold.
            FencedError: this writer, or the draft's incarnation, has a successor.
            InvalidInputError: a draft could not be read again.
            StorageFullError: the bytes could not be written; nothing was acknowledged.
            LogError: the log cannot be used any more.
        """
        ...

    def close(self) -> None:
        """Flush and give up ownership; closing twice is harmless."""
        ...
