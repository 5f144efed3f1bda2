"""What a log must know to accept events: ids, tags, incarnations and the head; no storage."""

from collections import ChainMap
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256

from pydantic import ValidationError

from arbor.events.base import (
    SCHEMA_VERSION,
    Condition,
    Draft,
    Recorded,
    canonical_bytes,
    payload_json,
)
from arbor.events.errors import ConflictError, FencedError, InvalidInputError
from arbor.events.life import IncarnationStarted
from arbor.events.log import GENESIS_DIGEST, Head
from arbor.events.union import decode

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time of the system's clock."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Entry:
    """A recorded event and its payload exactly as it is stored."""

    recorded: Recorded
    payload: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Drafts of one append, encoded once, and its condition.

    The events are those that the payloads give back, so that whoever folds them live sees exactly
    what a replay will see.
    """

    drafts: tuple[Draft, ...]
    payloads: tuple[str, ...]
    condition: Condition | None

    @classmethod
    def encode(cls, drafts: Sequence[Draft], condition: Condition | None) -> "Batch":
        """Encode the payloads and check that everything can be read again.

        Raises:
            InvalidInputError: an event or its header could not be read again.
        """
        stored: list[Draft] = []
        payloads: list[str] = []
        for draft in drafts:
            try:
                _require_storable(draft)
                payload = payload_json(draft.event)
                stored.append(replace(draft, event=decode(payload)))
            except ValueError as error:
                what = f"event {draft.event_id!r} ({type(draft.event).__name__})"
                raise InvalidInputError(f"{what} cannot be stored: {_one_line(error)}") from error
            payloads.append(payload)
        return cls(tuple(stored), tuple(payloads), condition)


def _require_storable(draft: Draft) -> None:
    """Raise ValueError when a header does not fit its columns."""
    for text in (draft.event_id, draft.actor):
        # Lone surrogates have no UTF-8.
        text.encode()
    for number in (draft.incarnation, draft.decided_after or 0):
        if not 0 <= number < 2**63:
            raise ValueError(f"{number} is no position or incarnation")
    if draft.decided_at is not None and draft.decided_at.tzinfo is None:
        raise ValueError(f"decided_at {draft.decided_at} has no time zone")


def _one_line(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{first['msg']} at {first['loc']}"
    return str(error)


def chain_digest(previous: str, entries: Iterable[Entry]) -> str:
    """Return the digest of a commit: SHA-256 of the previous digest and its canonical bytes."""
    digest = sha256(bytes.fromhex(previous))
    for entry in entries:
        digest.update(canonical_bytes(entry.recorded, entry.payload))
    return digest.hexdigest()


@dataclass(slots=True)
class Index:
    """Where ids and tags were last seen, and the latest incarnation of every actor."""

    positions: MutableMapping[str, int] = field(default_factory=dict)
    tags: MutableMapping[str, int] = field(default_factory=dict)
    incarnations: MutableMapping[str, int] = field(default_factory=dict)

    def child(self) -> "Index":
        """Return an index on top of this one that can be thrown away."""
        return Index(
            ChainMap({}, self.positions),
            ChainMap({}, self.tags),
            ChainMap({}, self.incarnations),
        )

    def add(self, recorded: Recorded) -> None:
        """Fold one event."""
        self.positions[recorded.event_id] = recorded.position
        for tag in recorded.event.tags():
            self.tags[tag] = recorded.position
        if isinstance(recorded.event, IncarnationStarted):
            latest = self.incarnations.get(recorded.actor, 0)
            self.incarnations[recorded.actor] = max(latest, recorded.incarnation)


class Ledger:
    """The folded state of a log up to its durable head."""

    def __init__(self, campaign_id: str) -> None:
        self.campaign_id = campaign_id
        self.index = Index()
        self.head = Head(0, GENESIS_DIGEST)
        self.recorded_at = datetime(1970, 1, 1, tzinfo=UTC)
        """Time of the last event; times never run backwards."""

    def apply(self, recorded: Iterable[Recorded], digest: str) -> None:
        """Fold the events of one durable commit that ends the chain at ``digest``."""
        position = self.head.position
        for each in recorded:
            self.index.add(each)
            self.recorded_at = max(self.recorded_at, each.recorded_at)
            position = each.position
        self.head = Head(position, digest)


class Stage:
    """Batches on their way into one commit, on top of a ledger that does not change yet."""

    def __init__(self, ledger: Ledger, epoch: int, now: datetime) -> None:
        self.entries: list[Entry] = []
        self._campaign_id = ledger.campaign_id
        self._index = ledger.index.child()
        self._position = ledger.head.position
        self._epoch = epoch
        self._recorded_at = max(now.astimezone(UTC), ledger.recorded_at)

    def add(self, batch: Batch) -> tuple[int, ...]:
        """Stage all drafts of a batch or none, and return their positions.

        Raises:
            ConflictError: the condition does not hold.
            FencedError: a draft's incarnation has a successor.
        """
        known = self._index.positions
        if any(draft.event_id not in known for draft in batch.drafts):
            self._require_current(batch.drafts)
            self._require_condition(batch.condition)
            for draft, payload in zip(batch.drafts, batch.payloads, strict=True):
                if draft.event_id not in known:
                    self._stage(draft, payload)
        return tuple(known[draft.event_id] for draft in batch.drafts)

    def _require_current(self, drafts: Sequence[Draft]) -> None:
        latest = ChainMap({}, self._index.incarnations)
        for draft in drafts:
            if draft.incarnation == 0 or draft.event_id in self._index.positions:
                continue
            newest = latest.get(draft.actor, 0)
            if draft.incarnation < newest:
                raise FencedError(
                    f"actor {draft.actor!r} incarnation {draft.incarnation} must stop:"
                    f" incarnation {newest} has started"
                )
            if isinstance(draft.event, IncarnationStarted):
                latest[draft.actor] = draft.incarnation

    def _require_condition(self, condition: Condition | None) -> None:
        if condition is None:
            return
        tags = self._index.tags
        moved = [(tags[t], t) for t in condition.tags if tags.get(t, 0) > max(condition.after, 0)]
        if moved:
            position, tag = max(moved)
            raise ConflictError(tag, position)

    def _stage(self, draft: Draft, payload: str) -> None:
        self._position += 1
        recorded = Recorded(
            position=self._position,
            event_id=draft.event_id,
            recorded_at=self._recorded_at,
            campaign_id=self._campaign_id,
            actor=draft.actor,
            incarnation=draft.incarnation,
            epoch=self._epoch,
            decided_after=draft.decided_after,
            decided_at=draft.decided_at and draft.decided_at.astimezone(UTC),
            schema_version=SCHEMA_VERSION,
            event=draft.event,
        )
        self._index.add(recorded)
        self.entries.append(Entry(recorded, payload))
