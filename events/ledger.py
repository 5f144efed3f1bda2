"""What a log must know to accept events: ids, tags, incarnations and the head; no storage."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256

from arbor.events.base import SCHEMA_VERSION, Condition, Recorded, moment_of, timestamp_us
from arbor.events.encoding import TAG_SEPARATOR, Batch, Encoded
from arbor.events.errors import ArborError, ConflictError, FencedError, LogError
from arbor.events.life import IncarnationStarted
from arbor.events.log import GENESIS_DIGEST, Head

Clock = Callable[[], datetime]
ANNOUNCEMENT = IncarnationStarted.__name__
"""Kind of the event that fences older incarnations of its actor."""


def utc_now() -> datetime:
    """Return the time of the system's clock."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Rows:
    """Events of one commit at their positions.

    Attributes:
        first: position of the first one.
        recorded_at_us: when the log accepted them, microseconds since 1970.
        campaign_id: campaign of the log.
        epoch: epoch of the log's writer.
        drafts: the events.
    """

    first: int
    recorded_at_us: int
    campaign_id: str
    epoch: int
    drafts: Sequence[Encoded]

    @property
    def last(self) -> int:
        """Position of the last event."""
        return self.first + len(self.drafts) - 1

    def canonical_text(self) -> str:
        """Return the text that the digest chain covers, one line an event: docs/design/log.md."""
        shared = f"\t{self.recorded_at_us}\t{self.campaign_id}\t"
        return "".join(
            [
                f"{position}\t{each.event_id}{shared}{each.actor}\t{each.incarnation}\t{self.epoch}"
                f"\t{_text(each.decided_after)}\t{_text(each.decided_at_us)}\t{SCHEMA_VERSION}"
                f"\t{TAG_SEPARATOR.join(each.tags)}\t{each.payload}\t\n"
                for position, each in enumerate(self.drafts, start=self.first)
            ]
        )

    def recorded(self, position: int) -> Recorded:
        """Return the event at a position."""
        draft = self.drafts[position - self.first]
        return Recorded(
            position=position,
            event_id=draft.event_id,
            recorded_at=moment_of(self.recorded_at_us),
            campaign_id=self.campaign_id,
            actor=draft.actor,
            incarnation=draft.incarnation,
            epoch=self.epoch,
            decided_after=draft.decided_after,
            decided_at=None if draft.decided_at_us is None else moment_of(draft.decided_at_us),
            schema_version=SCHEMA_VERSION,
            event=draft.decoded(),
        )


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


def chain_digest(previous: str, canonical: bytes | memoryview) -> str:
    """Return the digest of a commit: SHA-256 of the previous digest and its canonical text."""
    digest = sha256(bytes.fromhex(previous))
    digest.update(canonical)
    return digest.hexdigest()


@dataclass(slots=True)
class Index:
    """Where ids and tags were last seen, and the latest incarnation of every actor."""

    positions: dict[str, int] = field(default_factory=dict)
    tags: dict[str, int] = field(default_factory=dict)
    incarnations: dict[str, int] = field(default_factory=dict)

    def update(self, newer: "Index") -> None:
        """Put what lies further on in the log on top."""
        self.positions.update(newer.positions)
        self.tags.update(newer.tags)
        for actor, incarnation in newer.incarnations.items():
            self.announce(actor, incarnation)

    def announce(self, actor: str, incarnation: int) -> None:
        """Note that an incarnation started."""
        self.incarnations[actor] = max(self.incarnations.get(actor, 0), incarnation)


class Ledger:
    """The folded state of a log up to its durable head."""

    def __init__(self, campaign_id: str) -> None:
        self.campaign_id = campaign_id
        self.index = Index()
        self.head = Head(0, GENESIS_DIGEST)
        self.recorded_at_us = 0
        """Time of the last event; times never run backwards."""

    def apply(self, newer: Index, head: Head, recorded_at_us: int) -> None:
        """Fold durable events up to a head."""
        self.index.update(newer)
        self.recorded_at_us = max(self.recorded_at_us, recorded_at_us)
        self.head = head


class Stage:
    """Batches on their way into one commit, on top of a ledger that does not change yet."""

    def __init__(self, ledger: Ledger, epoch: int, now: datetime) -> None:
        self.index = Index()
        self._base = ledger.index
        self._drafts: list[Encoded] = []
        self.rows = Rows(
            ledger.head.position + 1,
            max(timestamp_us(now) or 0, ledger.recorded_at_us),
            ledger.campaign_id,
            epoch,
            self._drafts,
        )

    def decide(self, batches: Iterable[Batch]) -> list[tuple[int, ...] | ArborError]:
        """Stage what can be staged, in order; return positions or the reason a batch."""
        outcomes: list[tuple[int, ...] | ArborError] = []
        for batch in batches:
            try:
                outcomes.append(self.add(batch))
            except LogError as error:
                outcomes.append(error)
        return outcomes

    def add(self, batch: Batch) -> tuple[int, ...]:
        """Stage all drafts of a batch or none, and return their positions.

        Raises:
            ConflictError: the condition does not hold.
            FencedError: a draft's incarnation has a successor.
        """
        old, new = self._base.positions, self.index.positions
        fresh = [
            each for each in batch.drafts if each.event_id not in old and each.event_id not in new
        ]
        if fresh:
            self._require_current(fresh)
            self._require_condition(batch.condition)
            self._stage(fresh)
        return tuple([new.get(each.event_id) or old[each.event_id] for each in batch.drafts])

    def _require_current(self, drafts: Sequence[Encoded]) -> None:
        latest: dict[str, int] = {}
        for draft in drafts:
            if draft.incarnation == 0:
                continue
            newest = latest.get(draft.actor)
            if newest is None:
                newest = latest[draft.actor] = self._latest(draft.actor)
            if draft.incarnation < newest:
                raise FencedError(
                    f"actor {draft.actor!r} incarnation {draft.incarnation} must stop:"
                    f" incarnation {newest} has started"
                )
            if draft.kind == ANNOUNCEMENT:
                latest[draft.actor] = draft.incarnation

    def _latest(self, actor: str) -> int:
        staged, old = self.index.incarnations, self._base.incarnations
        return max(staged.get(actor, 0), old.get(actor, 0))

    def _require_condition(self, condition: Condition | None) -> None:
        if condition is None:
            return
        old, new = self._base.tags, self.index.tags
        seen = [(new.get(tag) or old.get(tag, 0), tag) for tag in condition.tags]
        moved = [each for each in seen if each[0] > max(condition.after, 0)]
        if moved:
            position, tag = max(moved)
            raise ConflictError(tag, position)

    def _stage(self, drafts: Iterable[Encoded]) -> None:
        index = self.index
        position = self.rows.last
        for draft in drafts:
            if draft.event_id in index.positions:
                continue
            position += 1
            index.positions[draft.event_id] = position
            for tag in draft.tags:
                index.tags[tag] = position
            if draft.kind == ANNOUNCEMENT:
                index.announce(draft.actor, draft.incarnation)
            self._drafts.append(draft)
