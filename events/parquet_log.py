"""The event log on disk: one writer, group commit, one immutable Parquet file per flush."""

from collections.abc import Iterator
from pathlib import Path

from arbor.events.compaction import Compactor
from arbor.events.durable import publish, sync_directory
from arbor.events.errors import InvalidInputError
from arbor.events.layout import Layout
from arbor.events.ledger import Clock, utc_now
from arbor.events.log_file import LogFile
from arbor.events.parquet_reader import ParquetReader
from arbor.events.single_writer import SingleWriter

COMPACT_AFTER_COMMITS = 512
GRACE_S = 60.0


class ParquetLog(SingleWriter):
    """The single writer of a log directory; build it with ``open``."""

    def __init__(
        self, layout: Layout, reader: ParquetReader, epoch: int, clock: Clock, compactor: Compactor
    ) -> None:
        super().__init__(reader.campaign_id, reader, epoch, clock)
        self._layout = layout
        self._reader = reader
        self._compactor = compactor

    @classmethod
    def open(
        cls,
        directory: Path,
        campaign_id: str,
        clock: Clock = utc_now,
        *,
        create: bool = True,
        compact_after: int = COMPACT_AFTER_COMMITS,
        grace_s: float = GRACE_S,
    ) -> "ParquetLog":
        """Take the log over from whoever wrote it, check all of it, and fold it.

        Args:
            directory: the log's own directory, ``<campaign>/log``.
            campaign_id: campaign that the log must belong to.
            clock: gives ``recorded_at``.
            create: make a new log where there is none.
            compact_after: number of commits in the tail that are put into one segment.
            grace_s: how long a commit's file outlives its segment.

        Raises:
            NotFoundError: there is no log and none may be created.
            InvalidInputError: another format or campaign, or the directory cannot be written.
            StorageFullError: there is no space.
            FencedError: yet another writer took over meanwhile.
            CorruptLogError: stored events do not match their digests or positions.
        """
        layout = Layout(directory)
        if create:
            layout.create(campaign_id)
        reader = ParquetReader(directory)
        if reader.campaign_id != campaign_id:
            raise InvalidInputError(
                f"{directory} belongs to campaign {reader.campaign_id!r}, not {campaign_id!r}:"
                " name that one or choose another directory"
            )
        epoch = layout.claim_epoch(clock)
        compactor = Compactor(layout, epoch, compact_after=compact_after, grace_s=grace_s)
        log = cls(layout, reader, epoch, clock, compactor)
        log._adopt()
        compactor.start()
        return log

    def compact(self) -> None:
        """Move the tail into segments now, and remove what has outlived its grace.

        Raises:
            StorageFullError: there is no space; the tail stays.
            CorruptLogError: a file of the tail is damaged; it stays.
            LogError: the log is closed or the disk failed.
        """
        self._group.require_open()
        self._compactor.run(self.head().position)

    def close(self) -> None:
        """Wait for appends and compaction, then refuse appends; closing twice is harmless."""
        super().close()
        self._compactor.join()

    def _publish(self, first: int, data: bytes) -> bool:
        try:
            publish(data, self._layout.tail_path(first))
        except (FileExistsError, FileNotFoundError):
            return False
        return True

    def _require_newest(self) -> None:
        self._layout.require_newest(self.epoch)

    def _files(self, after: int) -> Iterator[LogFile]:
        sync_directory(self._layout.tail)
        return self._reader.files(after)

    def _committed(self, position: int) -> None:
        self._compactor.note_commit(position)
