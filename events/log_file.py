"""One file of a log: whole commits with their digests, rows on demand."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import compute
from pydantic import ValidationError

from arbor.events.base import Recorded
from arbor.events.codec import (
    FORMAT_VERSION,
    NEEDED,
    Extent,
    canonical_lines,
    is_sealed,
    text_of,
    to_recorded,
)
from arbor.events.errors import CorruptLogError, LogError
from arbor.events.ledger import ANNOUNCEMENT, Index, chain_digest

_CHUNK_ROWS = 1024
_WHAT_TO_DO = "restore it from a copy of the campaign"


@dataclass(frozen=True, slots=True)
class Commit:
    """One atomic append: its range of positions, the writer's epoch and the chain after it."""

    first: int
    last: int
    epoch: int
    digest: str


class LogFile:
    """A file of whole commits, its seal checked; rows are read when they are asked for.

    Attributes:
        path: where it was read from.
        extent: where its commits lie, and the chain before and after them.
        num_bytes: size of the file.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.num_bytes = len(data)
        self._lock = threading.Lock()
        self._rows: pa.Table | None = None
        if not is_sealed(data):
            raise CorruptLogError(
                f"{path} is damaged (its bytes do not match its seal): {_WHAT_TO_DO}"
            )
        try:
            self._file = pq.ParquetFile(
                pa.BufferReader(data), page_checksum_verification=True, pre_buffer=False
            )
            metadata = self._file.metadata.metadata or {}
            found = int(metadata[b"arbor.format"])
            if found != FORMAT_VERSION:
                raise CorruptLogError(f"{path} has log format {found}, not {FORMAT_VERSION}")
            self.extent = Extent.from_metadata(metadata)
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            raise CorruptLogError(f"{path} is no file of an event log ({error})") from error

    @classmethod
    def load(cls, path: Path) -> "LogFile":
        """Read a file.

        Raises:
            FileNotFoundError: there is none.
            CorruptLogError: its bytes do not match its seal, or it is of another kind.
            LogError: it cannot be read.
        """
        try:
            return cls(path, path.read_bytes())
        except FileNotFoundError:
            raise
        except OSError as error:
            raise LogError(
                f"{path} cannot be read ({error.strerror}): check the disk and the permissions"
            ) from error

    @property
    def first(self) -> int:
        """First position, 0 without commits."""
        return self.extent.first

    @property
    def last(self) -> int:
        """Last position, 0 without commits."""
        return self.extent.last

    def table(self, columns: list[str] | None = None) -> pa.Table:
        """Return the rows, with page checksums verified.

        Raises:
            CorruptLogError: the rows cannot be read, or are not at their positions.
        """
        try:
            table = self._file.read(columns=columns, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise CorruptLogError(
                f"{self.path} cannot be read ({error}): {_WHAT_TO_DO}"
            ) from error
        if table.num_rows != sum(self.extent.sizes):
            raise CorruptLogError(f"{self.path} misses rows at position {self.first}")
        return table

    def _needed(self) -> pa.Table:
        # Readers share a file, and pyarrow's reader is not made for several threads.
        with self._lock:
            if self._rows is None:
                self._rows = self.table(NEEDED)
        return self._rows

    def events(self, after: int = 0) -> Iterator[Recorded]:
        """Yield the events beyond a position.

        Raises:
            CorruptLogError: a row cannot be decoded or has the wrong position.
        """
        rows = self._needed()
        position = max(after + 1, self.first)
        while position <= self.last:
            chunk = rows.slice(position - self.first, _CHUNK_ROWS)
            try:
                for recorded in to_recorded(chunk):
                    if recorded.position != position:
                        raise self._misplaced(recorded.position, position)
                    yield recorded
                    position += 1
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                raise CorruptLogError(
                    f"{self.path} position {position}: the event cannot be read ({first['msg']}"
                    f" at {first['loc']}); use the Arbor version that wrote it"
                ) from error

    def commits(self, table: pa.Table) -> list[Commit]:
        """Return every commit, after recomputing the chain from the content.

        Args:
            table: all rows.

        Raises:
            CorruptLogError: the content does not give the digest that is stored.
        """
        if not self.extent.sizes:
            return []
        positions = table.column("position").to_numpy()
        expected = np.arange(self.first, self.last + 1)
        if (wrong := np.flatnonzero(positions != expected)).size:
            raise self._misplaced(int(positions[wrong[0]]), int(expected[wrong[0]]))
        lines = canonical_lines(table)
        ends = np.cumsum(self.extent.sizes)
        text, starts = text_of(lines)
        cuts = starts[[0, *ends.tolist()]].tolist()
        epochs = table.column("epoch").to_numpy()
        digest = self.extent.previous
        found: list[Commit] = []
        first = self.first
        for (begin, end), size in zip(pairwise(cuts), self.extent.sizes, strict=True):
            digest = chain_digest(digest, text[begin:end])
            epoch = int(epochs[first - self.first])
            found.append(Commit(first, first + size - 1, epoch, digest))
            first += size
        if digest != self.extent.digest:
            raise CorruptLogError(
                f"{self.path} was changed: events {self.first} to {self.last} do not give"
                f" the digest of their commits; {_WHAT_TO_DO}"
            )
        return found

    def index(self, table: pa.Table, after: int = 0) -> tuple[Index, int]:
        """Return what a writer must know of the events beyond a position, and their latest time.

        Args:
            table: all rows.
            after: position from which on they count.

        Returns:
            The index, and microseconds since 1970 (0 without such events).

        """
        rows = table.slice(max(after + 1 - self.first, 0))
        if rows.num_rows == 0:
            return Index(), 0
        begin = max(after + 1, self.first)
        ids = rows.column("event_id").to_pylist()
        index = Index(dict(zip(ids, range(begin, self.last + 1), strict=True)))
        tags = rows.column("tags").combine_chunks()
        named = tags.flatten().dictionary_encode()
        latest = np.zeros(len(named.dictionary), np.int64)
        # Positions ascend, and of equal indices the last assignment stands.
        latest[named.indices.to_numpy()] = begin + tags.value_parent_indices().to_numpy()
        index.tags.update(zip(named.dictionary.to_pylist(), latest.tolist(), strict=True))
        announced = rows.filter(compute.equal(rows.column("kind"), ANNOUNCEMENT))
        columns = (announced.column(name).to_pylist() for name in ("actor", "incarnation"))
        for actor, incarnation in zip(*columns, strict=True):
            index.announce(actor, incarnation)
        times_us = rows.column("recorded_at").cast(pa.int64())
        return index, int(compute.max(times_us).as_py())

    def _misplaced(self, found: int, expected: int) -> CorruptLogError:
        return CorruptLogError(f"{self.path} has position {found} where {expected} belongs")
