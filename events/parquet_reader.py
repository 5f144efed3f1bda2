"""The follower of a Parquet log: any process, read-only, never ahead of the disk."""

import threading
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from arbor.events.base import Recorded
from arbor.events.durable import sync_directory
from arbor.events.errors import CorruptLogError
from arbor.events.layout import Layout
from arbor.events.log import GENESIS_DIGEST, Head
from arbor.events.log_file import LogFile

_CACHE_BYTES = 32 * 2**20
_CACHE_FILES = 64
_SHORTEST_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.05


class ParquetReader:
    """Reads a log by its files; safe for threads.

    A new commit is found by its name, which is the position after the last one: following costs
    one failed look per poll, however long the log is. The directory is synced before a new commit
    is shown, so that nothing is acted upon that a power loss takes back.

    Raises:
        NotFoundError: there is no log here.
        InvalidInputError: the log has another format.
        CorruptLogError: the directory is damaged.
    """

    def __init__(self, directory: Path) -> None:
        self._layout = Layout(directory)
        self.campaign_id = self._layout.campaign_id()
        self._lock = threading.Lock()
        self._segments: list[tuple[int, int]] = []
        self._cache: OrderedDict[Path, LogFile] = OrderedDict()
        self._head = Head(0, GENESIS_DIGEST)

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Recorded]:
        """Yield durable events beyond ``after`` in order.

        Raises:
            CorruptLogError: a stored event cannot be read or breaks the order.
            LogError: the disk did not confirm.
        """
        return islice(self._read(after), limit)

    def _read(self, after: int) -> Iterator[Recorded]:
        position = max(after, 0)
        for file in self.files(position):
            # A segment that appeared meanwhile may begin before what was read already.
            yield from file.events(position)
            position = file.last

    def head(self) -> Head:
        """Return the durable end of the log.

        Raises:
            CorruptLogError: a file is damaged.
            LogError: the disk did not confirm.
        """
        with self._lock:
            if self._head.position == 0:
                self._jump()
            while self._file_at(self._head.position + 1) is not None:
                pass
            return self._head

    def wait_beyond(self, position: int, timeout_s: float) -> bool:
        """Poll until the durable head lies beyond ``position``; return whether it does.

        Raises:
            CorruptLogError: a file is damaged.
            LogError: the disk did not confirm.
        """
        deadline = time.monotonic() + timeout_s
        pause_s = _SHORTEST_PAUSE_S
        while self.head().position <= position:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            time.sleep(min(pause_s, left_s))
            pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)
        return True

    def digest_at(self, position: int) -> str | None:
        """Return the chain digest after a position, or None when no commit ends there.

        Raises:
            CorruptLogError: the content of its file does not give its digests.
            LogError: the disk did not confirm.
        """
        if position == 0:
            return GENESIS_DIGEST
        file = next(self.files(position - 1), None)
        if file is None:
            return None
        return {each.last: each.digest for each in file.commits(file.table())}.get(position)

    def files(self, after: int = 0) -> Iterator[LogFile]:
        """Yield the files that hold the events beyond a position.

        A file may begin before the end of the one before it, where a segment replaced the tail.

        Raises:
            CorruptLogError: a file is damaged.
            LogError: the disk did not confirm.
        """
        position = max(after, 0)
        while True:
            with self._lock:
                if self._head.position == 0:
                    self._jump()
                file = self._file_at(position + 1)
            if file is None:
                return
            yield file
            position = file.last

    def _jump(self) -> None:
        """Go near the end without reading what lies before."""
        while True:
            self._segments = self._layout.segment_ranges()
            tails = self._layout.tails()
            try:
                if tails and (not self._segments or tails[-1] > self._segments[-1][1]):
                    self._load(self._layout.tail_path(tails[-1]))
                elif self._segments:
                    self._load(self._layout.segment_path(*self._segments[-1]))
            except FileNotFoundError:
                # Compacted in this moment: the segment has it.
                continue
            return

    def _file_at(self, position: int) -> LogFile | None:
        """Return a file that holds a position, or None when there is none yet."""
        while True:
            if file := self._in_segment(position):
                return file
            try:
                return self._load(self._layout.tail_path(position))
            except FileNotFoundError:
                self._segments = self._layout.segment_ranges()
            if file := self._in_segment(position):
                return file
            if position == self._head.position + 1:
                return None
            # In the middle of a commit, or far beyond the end.
            tails = self._layout.tails()
            at = bisect_right(tails, position) - 1
            try:
                file = self._load(self._layout.tail_path(tails[at])) if at >= 0 else None
            except FileNotFoundError:
                continue
            if file is not None and file.last >= position:
                return file
            if position <= self._head.position:
                raise CorruptLogError(
                    f"{self._layout.directory} has no file with position {position}:"
                    " restore it from a copy of the campaign"
                )
            return None

    def _in_segment(self, position: int) -> LogFile | None:
        # Writers that took over from each other may have left overlapping segments.
        covering = [(last, first) for first, last in self._segments if first <= position <= last]
        if not covering:
            return None
        last, first = max(covering)
        path = self._layout.segment_path(first, last)
        try:
            return self._load(path)
        except FileNotFoundError as error:
            raise CorruptLogError(f"{path} is gone: restore it from a copy") from error

    def _load(self, path: Path) -> LogFile:
        """Return a file from the cache or the disk, and note where the log ends."""
        file = self._cache.pop(path, None)
        if file is None:
            file = LogFile.load(path)
            self._note(file)
        self._cache[path] = file
        while len(self._cache) > 1 and (
            len(self._cache) > _CACHE_FILES
            or sum(cached.num_bytes for cached in self._cache.values()) > _CACHE_BYTES
        ):
            self._cache.popitem(last=False)
        return file

    def _note(self, file: LogFile) -> None:
        if file.last <= self._head.position:
            return
        if file.first == self._head.position + 1 and file.extent.previous != self._head.digest:
            raise CorruptLogError(
                f"{file.path} does not follow the commit before it: restore it from a copy"
            )
        sync_directory(file.path.parent, tolerates_read_only=True)
        self._head = Head(file.last, file.extent.digest)
