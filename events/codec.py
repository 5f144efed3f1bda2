"""Events as rows of Parquet, and files whose seal covers every byte."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from arbor.events.base import Recorded, canonical_json, timestamp_us
from arbor.events.ledger import Entry
from arbor.events.union import decode

FORMAT_VERSION = 1
"""Version of the directory and of the files in it; another version is refused."""

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

_TIME = pa.timestamp("us", tz="UTC")
_HEADER = [
    pa.field("position", pa.int64(), nullable=False),
    pa.field("event_id", pa.string(), nullable=False),
    pa.field("recorded_at", _TIME, nullable=False),
    pa.field("campaign_id", pa.string(), nullable=False),
    pa.field("actor", pa.string(), nullable=False),
    pa.field("incarnation", pa.int64(), nullable=False),
    pa.field("epoch", pa.int64(), nullable=False),
    pa.field("decided_after", pa.int64()),
    pa.field("decided_at", _TIME),
    pa.field("schema_version", pa.int32(), nullable=False),
    pa.field("kind", pa.string(), nullable=False),
]
SCHEMA = pa.schema(
    [
        *_HEADER,
        *(pa.field(name, pa.string()) for name in PROMOTED),
        pa.field("payload", pa.string(), nullable=False),
    ]
)
NEEDED = [field.name for field in _HEADER if field.name != "kind"] + ["payload"]
"""Columns that make a recorded event; the others repeat what the payload says."""
_EPOCH_START = datetime(1970, 1, 1, tzinfo=UTC)
_SEAL = b"arbor-sha256:"
_UNSEALED = b"0" * 64


@dataclass(frozen=True, slots=True)
class Commit:
    """One atomic append: its range of positions, the writer's epoch and the chain after it."""

    first: int
    last: int
    epoch: int
    digest: str


def promoted(fields: Mapping[str, Any]) -> list[str | None]:
    """Return the values of the promoted columns for the fields of a payload."""
    values = (fields.get(name) for name in PROMOTED)
    return [value if isinstance(value, str) else None for value in values]


def to_table(entries: Sequence[Entry]) -> pa.Table:
    """Return the rows of entries."""
    rows = [_row(entry) for entry in entries]
    columns = zip(*rows, strict=True) if rows else [()] * len(SCHEMA)
    arrays = [
        pa.array(column, type=field.type) for column, field in zip(columns, SCHEMA, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _row(entry: Entry) -> list[Any]:
    recorded = entry.recorded
    return [
        recorded.position,
        recorded.event_id,
        timestamp_us(recorded.recorded_at),
        recorded.campaign_id,
        recorded.actor,
        recorded.incarnation,
        recorded.epoch,
        recorded.decided_after,
        timestamp_us(recorded.decided_at),
        recorded.schema_version,
        recorded.event.kind,
        *promoted(vars(recorded.event)),
        entry.payload,
    ]


def encode_file(
    table: pa.Table, commits: Sequence[Commit], previous: str, *, compression: str = "snappy"
) -> bytes:
    """Return the sealed bytes of a file that holds whole commits.

    Args:
        table: rows of all commits, in order.
        commits: the commits, without gaps.
        previous: chain digest before the first commit.
        compression: codec of the pages.
    """
    buffer = pa.BufferOutputStream()
    with pq.ParquetWriter(
        buffer,
        SCHEMA,
        compression=compression,
        use_dictionary=compression == "zstd",
        write_page_checksum=True,
        write_statistics=["position", "recorded_at", "kind"],
        store_schema=False,
    ) as writer:
        if table.num_rows:
            writer.write_table(table, row_group_size=65_536)
        writer.add_key_value_metadata(
            {
                "arbor.format": str(FORMAT_VERSION),
                "arbor.commits": canonical_json(
                    [[c.first, c.last, c.epoch, c.digest] for c in commits]
                ),
                "arbor.previous": previous,
                # Last, so that the seal is the last of its kind in the file.
                "arbor.seal": (_SEAL + _UNSEALED).decode(),
            }
        )
    return _seal(buffer.getvalue().to_pybytes())


def _seal(data: bytes) -> bytes:
    """Fill in the digest of all bytes of the file, taken with zeros in the digest's place."""
    at = data.rindex(_SEAL + _UNSEALED) + len(_SEAL)
    return data[:at] + sha256(data).hexdigest().encode() + data[at + 64 :]


def is_sealed(data: bytes) -> bool:
    """Return whether no byte of a file changed since it was written."""
    at = data.rfind(_SEAL)
    if at < 0:
        return False
    at += len(_SEAL)
    digest = sha256(data[:at])
    digest.update(_UNSEALED)
    digest.update(data[at + 64 :])
    return data[at : at + 64] == digest.hexdigest().encode()


def from_rows(rows: pa.Table) -> Iterator[Entry]:
    """Yield the entries of rows that have the needed columns.

    Raises:
        pydantic.ValidationError: a payload is of no known kind or breaks its schema.
    """
    columns = [_values(rows.column(name)) for name in NEEDED]
    for row in zip(*columns, strict=True):
        yield _entry(row)


def _entry(row: tuple[Any, ...]) -> Entry:
    position, event_id, recorded_at, campaign_id, actor, incarnation, epoch, *rest = row
    decided_after, decided_at, schema_version, payload = rest
    recorded = Recorded(
        position=position,
        event_id=event_id,
        recorded_at=_moment(recorded_at),
        campaign_id=campaign_id,
        actor=actor,
        incarnation=incarnation,
        epoch=epoch,
        decided_after=decided_after,
        decided_at=None if decided_at is None else _moment(decided_at),
        schema_version=schema_version,
        event=decode(payload),
    )
    return Entry(recorded, payload)


def _moment(time_us: int) -> datetime:
    return _EPOCH_START + timedelta(microseconds=time_us)


def _values(column: pa.ChunkedArray) -> list[Any]:
    # Times come out as integers: pyarrow's own conversion takes several times as long.
    values: list[Any] = (
        column.cast(pa.int64()).to_pylist() if column.type == _TIME else column.to_pylist()
    )
    return values
