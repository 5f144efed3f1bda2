"""One file of a log: whole commits with their digests, rows on demand."""

import json
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from arbor.events.codec import FORMAT_VERSION, NEEDED, Commit, from_rows, is_sealed
from arbor.events.errors import CorruptLogError, LogError
from arbor.events.ledger import Entry, chain_digest

_CHUNK_ROWS = 1024
_WHAT_TO_DO = "restore it from a copy of the campaign"


class LogFile:
    """A file of whole commits, its seal checked; rows are read when they are asked for.

    Attributes:
        path: where it was read from.
        commits: its commits in order; none in the file that only carries the schema.
        previous: chain digest before its first commit.
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
            listed = json.loads(metadata[b"arbor.commits"])
            self.commits = tuple(Commit(*each) for each in listed)
            self.previous = metadata[b"arbor.previous"].decode()
            firsts = [commit.first for commit in self.commits]
            if firsts[1:] != [commit.last + 1 for commit in self.commits[:-1]]:
                raise CorruptLogError(f"{path} has commits that do not follow each other")
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
        return self.commits[0].first if self.commits else 0

    @property
    def last(self) -> int:
        """Last position, 0 without commits."""
        return self.commits[-1].last if self.commits else 0

    @property
    def digest(self) -> str:
        """Chain digest after the last commit."""
        return self.commits[-1].digest if self.commits else self.previous

    def table(self, columns: list[str] | None = None) -> pa.Table:
        """Return the rows, with page checksums verified.

        Raises:
            CorruptLogError: the rows cannot be read.
        """
        try:
            return self._file.read(columns=columns, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise CorruptLogError(
                f"{self.path} cannot be read ({error}): {_WHAT_TO_DO}"
            ) from error

    def _needed(self) -> pa.Table:
        # Readers share a file, and pyarrow's reader is not made for several threads.
        with self._lock:
            if self._rows is None:
                self._rows = self.table(NEEDED)
        if self._rows.num_rows != (self.last - self.first + 1 if self.commits else 0):
            raise CorruptLogError(f"{self.path} misses rows at position {self.first}")
        return self._rows

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yield the events beyond a position.

        Raises:
            CorruptLogError: a row cannot be decoded or has the wrong position.
        """
        rows = self._needed()
        position = max(after + 1, self.first)
        while position <= self.last:
            chunk = rows.slice(position - self.first, _CHUNK_ROWS)
            try:
                for entry in from_rows(chunk):
                    if entry.recorded.position != position:
                        raise CorruptLogError(
                            f"{self.path} has position {entry.recorded.position} where"
                            f" {position} belongs"
                        )
                    yield entry
                    position += 1
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                raise CorruptLogError(
                    f"{self.path} position {position}: the event cannot be read ({first['msg']}"
                    f" at {first['loc']}); use the Arbor version that wrote it"
                ) from error

    def checked(self) -> Iterator[tuple[Commit, list[Entry]]]:
        """Yield every commit with its events, after recomputing its digest.

        Raises:
            CorruptLogError: the content does not give the digest that is stored.
        """
        previous = self.previous
        entries = self.entries()
        for commit in self.commits:
            own = list(islice(entries, commit.last - commit.first + 1))
            if chain_digest(previous, own) != commit.digest:
                raise CorruptLogError(
                    f"{self.path} was changed: events {commit.first} to {commit.last} do not give"
                    f" the digest of their commit; {_WHAT_TO_DO}"
                )
            previous = commit.digest
            yield commit, own
