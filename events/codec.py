"""Events as rows of Parquet, and files whose seal covers every byte."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import compute

from arbor.events.base import SCHEMA_VERSION, Recorded, moment_of
from arbor.events.encoding import PROMOTED, TAG_SEPARATOR
from arbor.events.ledger import Rows
from arbor.events.union import decode

FORMAT_VERSION = 2
"""Version of the directory and of the files in it; another version is refused."""

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
]
_TAGS = pa.field("tags", pa.list_(pa.field("element", pa.string())), nullable=False)
_PAYLOAD = pa.field("payload", pa.string(), nullable=False)
SCHEMA = pa.schema(
    [
        *_HEADER,
        pa.field("kind", pa.string(), nullable=False),
        _TAGS,
        *(pa.field(name, pa.string()) for name in PROMOTED),
        _PAYLOAD,
    ]
)
NEEDED = [*(field.name for field in _HEADER), "payload"]
"""Columns that make a recorded event."""
DIGESTED = [*NEEDED[:-1], "tags", "payload"]
"""Columns that the digest chain covers, in the order of their text."""
_SEAL = b"arbor-sha256:"
_UNSEALED = b"0" * 64


@dataclass(frozen=True, slots=True)
class Extent:
    """What a file says about the commits in it.

    Attributes:
        first: first position; 0 in a file without rows.
        sizes: number of events of each commit, in order.
        previous: chain digest before the first commit.
        digest: chain digest after the last commit.
    """

    first: int
    sizes: tuple[int, ...]
    previous: str
    digest: str

    @property
    def last(self) -> int:
        """Last position, 0 in a file without rows."""
        return self.first + sum(self.sizes) - 1 if self.sizes else 0

    def to_metadata(self) -> dict[str, str]:
        """Return the entries of a file's metadata."""
        return {
            "arbor.format": str(FORMAT_VERSION),
            "arbor.first": str(self.first),
            "arbor.sizes": json.dumps(self.sizes, separators=(",", ":")),
            "arbor.previous": self.previous,
            "arbor.digest": self.digest,
        }

    @classmethod
    def from_metadata(cls, metadata: dict[bytes, bytes]) -> "Extent":
        """Return what the metadata of a file says.

        Raises:
            KeyError: an entry is missing.
            ValueError: an entry is not what it should be.
        """
        sizes = tuple(int(size) for size in json.loads(metadata[b"arbor.sizes"]))
        if any(size < 1 for size in sizes):
            raise ValueError("a commit without events")
        return cls(
            int(metadata[b"arbor.first"]),
            sizes,
            metadata[b"arbor.previous"].decode(),
            metadata[b"arbor.digest"].decode(),
        )


def to_table(rows: Rows) -> pa.Table:
    """Return the rows of a commit."""
    drafts, num = rows.drafts, len(rows.drafts)
    offsets = [0, *accumulate([len(draft.tags) for draft in drafts])]
    tags = pa.array([tag for draft in drafts for tag in draft.tags], pa.string())
    columns: list[Any] = [
        range(rows.first, rows.first + num),
        [draft.event_id for draft in drafts],
        [rows.recorded_at_us] * num,
        [rows.campaign_id] * num,
        [draft.actor for draft in drafts],
        [draft.incarnation for draft in drafts],
        [rows.epoch] * num,
        [draft.decided_after for draft in drafts],
        [draft.decided_at_us for draft in drafts],
        [SCHEMA_VERSION] * num,
        [draft.kind for draft in drafts],
        pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), tags, type=_TAGS.type),
        *zip(*[draft.promoted for draft in drafts], strict=True),
        [draft.payload for draft in drafts],
    ]
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, type=field.type)
        for column, field in zip(columns, SCHEMA, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def encode_file(table: pa.Table, extent: Extent, *, compression: str = "snappy") -> bytes:
    """Return the sealed bytes of a file that holds whole commits.

    Args:
        table: rows of all commits, in order.
        extent: where its commits lie.
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
        # The seal last, so that it is the last of its kind in the file.
        writer.add_key_value_metadata(
            {**extent.to_metadata(), "arbor.seal": (_SEAL + _UNSEALED).decode()}
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
    view = memoryview(data)
    digest = sha256(view[:at])
    digest.update(_UNSEALED)
    digest.update(view[at + 64 :])
    return data[at : at + 64] == digest.hexdigest().encode()


def canonical_lines(table: pa.Table) -> Any:
    """Return the text that the digest chain covers, one line a row, as a large string array."""
    texts: list[Any] = [_as_text(table.column(name).combine_chunks()) for name in DIGESTED]
    line = pa.scalar("\n", pa.large_string())
    separator = pa.scalar("\t", pa.large_string())
    return compute.binary_join_element_wise(
        *texts, line, separator, null_handling="replace", null_replacement=""
    )


def text_of(lines: Any) -> tuple[memoryview, Any]:
    """Return the bytes of such lines in one piece, and where each begins and the last one ends."""
    _, offsets, data = lines.buffers()
    starts = np.frombuffer(offsets, np.int64)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(data)[starts[0] : starts[-1]], starts - starts[0]


def _as_text(column: Any) -> Any:
    if pa.types.is_list(column.type):
        column = compute.binary_join(column, TAG_SEPARATOR)
    elif column.type == _TIME:
        column = column.cast(pa.int64())
    return column.cast(pa.large_string())


def to_recorded(rows: pa.Table) -> Iterator[Recorded]:
    """Yield the events of rows that have the needed columns.

    Raises:
        pydantic.ValidationError: a payload is of no known kind or breaks its schema.
    """
    columns = [_values(rows.column(name)) for name in NEEDED]
    for row in zip(*columns, strict=True):
        yield _recorded(row)


def _recorded(row: tuple[Any, ...]) -> Recorded:
    position, event_id, recorded_at, campaign_id, actor, incarnation, epoch, *rest = row
    decided_after, decided_at, schema_version, payload = rest
    return Recorded(
        position=position,
        event_id=event_id,
        recorded_at=moment_of(recorded_at),
        campaign_id=campaign_id,
        actor=actor,
        incarnation=incarnation,
        epoch=epoch,
        decided_after=decided_after,
        decided_at=None if decided_at is None else moment_of(decided_at),
        schema_version=schema_version,
        event=decode(payload),
    )


def _values(column: pa.ChunkedArray) -> list[Any]:
    # Times come out as integers: pyarrow's own conversion takes several times as long.
    values: list[Any] = (
        column.cast(pa.int64()).to_pylist() if column.type == _TIME else column.to_pylist()
    )
    return values
