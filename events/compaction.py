"""Many commits of the tail become one segment; their digests stay what they were."""

import logging
import threading
import time
from collections.abc import Iterator

import pyarrow as pa

from arbor.events.codec import Extent, encode_file
from arbor.events.durable import SyncFailedError, publish, sync_directory
from arbor.events.errors import ArborError, CorruptLogError
from arbor.events.layout import Layout
from arbor.events.log_file import LogFile

_MAX_SEGMENT_ROWS = 20_000
_LOGGER = logging.getLogger(__name__)


class Compactor:
    """Puts old commits into segments, in a thread of its own when enough have gathered.

    The tail's files stay for ``grace_s`` after their segment appeared, for readers that listed
    them before. Trouble here never harms appends: the tail simply stays.
    """

    def __init__(self, layout: Layout, epoch: int, *, compact_after: int, grace_s: float) -> None:
        self._layout = layout
        self._epoch = epoch
        self._compact_after = compact_after
        self._grace_s = grace_s
        self._num_commits = 0
        self._thread: threading.Thread | None = None
        self._running = threading.Lock()
        self._is_off = False

    def start(self) -> None:
        """Remove what has outlived its grace, and count what waits in the tail."""
        self._sweep()
        self._num_commits = len(self._waiting())

    def note_commit(self, position: int) -> None:
        """Count a commit and compact through it when it is time."""
        self._num_commits += 1
        is_busy = self._thread is not None and self._thread.is_alive()
        if self._num_commits >= self._compact_after and not is_busy and not self._is_off:
            self._num_commits = 0
            self._thread = threading.Thread(
                target=self._run_in_background,
                args=(position,),
                name="arbor-log-compaction",
            )
            self._thread.start()

    def join(self) -> None:
        """Wait for the thread."""
        if self._thread is not None:
            self._thread.join()

    def run(self, through: int) -> None:
        """Compact the commits up to a durable position.

        Raises:
            FencedError: the writer has a successor.
            StorageFullError: there is no space; the tail stays.
            CorruptLogError: a file is damaged; the tail stays.
            SyncFailedError: the disk did not confirm; nothing is compacted or removed any more.
        """
        with self._running:
            if self._is_off:
                return
            try:
                self._layout.require_newest(self._epoch)
                for files in self._groups(through):
                    self._write_segment(files)
                self._sweep()
            except SyncFailedError:
                self._is_off = True
                raise
            except (FileExistsError, FileNotFoundError):
                # A writer that was just fenced did the same; the next run sees it.
                return

    def _run_in_background(self, through: int) -> None:
        try:
            self.run(through)
        except (ArborError, OSError) as error:
            _LOGGER.warning("compaction of %s gave up: %s", self._layout.directory, error)

    def _waiting(self) -> list[int]:
        """Return the first positions of commits that are in no segment."""
        compacted = max((last for _, last in self._layout.segment_ranges()), default=0)
        return [first for first in self._layout.tails() if first > compacted]

    def _groups(self, through: int) -> Iterator[list[LogFile]]:
        files: list[LogFile] = []
        num_rows = 0
        for first in self._waiting():
            if first > through:
                break
            file = LogFile.load(self._layout.tail_path(first))
            before = files[-1] if files else None
            if before and (file.first, file.extent.previous) != (
                before.last + 1,
                before.extent.digest,
            ):
                raise CorruptLogError(f"{file.path} does not follow the commit before it")
            files.append(file)
            num_rows += file.last - file.first + 1
            if num_rows >= _MAX_SEGMENT_ROWS:
                yield files
                files, num_rows = [], 0
        if files:
            yield files

    def _write_segment(self, files: list[LogFile]) -> None:
        table = pa.concat_tables([file.table() for file in files])
        first, last = files[0].extent, files[-1].extent
        sizes = tuple(size for file in files for size in file.extent.sizes)
        extent = Extent(first.first, sizes, first.previous, last.digest)
        data = encode_file(table, extent, compression="zstd")
        path = self._layout.segment_path(files[0].first, files[-1].last)
        publish(data, path)
        if not LogFile.load(path).table().equals(table):
            raise CorruptLogError(f"{path} does not read back as it was written")

    def _sweep(self) -> None:
        """Remove commits of the tail whose segment is older than the grace."""
        tails = self._layout.tails()
        for first, last in self._layout.segment_ranges():
            covered = [tail for tail in tails if first <= tail <= last]
            path = self._layout.segment_path(first, last)
            if not covered or time.time() - path.stat().st_mtime < self._grace_s:
                continue
            LogFile.load(path)
            sync_directory(self._layout.segments)
            for tail in covered:
                self._layout.tail_path(tail).unlink(missing_ok=True)
