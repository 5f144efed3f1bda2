"""The keeper: the single writer of the log, and the proxy through which others append."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from arbor.events.base import Condition, Draft, Recorded
from arbor.events.encoding import Batch
from arbor.events.errors import ArborError, LogError
from arbor.events.log import Head
from arbor.events.parquet_log import COMPACT_AFTER_COMMITS, GRACE_S, ParquetLog
from arbor.events.parquet_reader import ParquetReader


class Keeper:
    """Owns the Parquet log; its methods return errors as values so that no wrapper hides them."""

    def __init__(
        self,
        directory: str,
        campaign_id: str,
        *,
        compact_after: int = COMPACT_AFTER_COMMITS,
        grace_s: float = GRACE_S,
    ) -> None:
        self._log = ParquetLog.open(
            Path(directory), campaign_id, compact_after=compact_after, grace_s=grace_s
        )

    def append(self, batch: Batch) -> tuple[int, ...] | ArborError:
        """Append a whole batch or none of it; return its positions, or why not."""
        try:
            return self._log.append_batch(batch)
        except ArborError as error:
            return error

    def wait_beyond(self, position: int, timeout_s: float) -> bool:
        """Wait until the durable head lies beyond a position."""
        return self._log.wait_beyond(position, timeout_s)

    def head(self) -> Head:
        """Return the durable end of the log."""
        return self._log.head()

    def process_id(self) -> int:
        """Return the keeper's process id; answers once the log is open."""
        import os  # noqa: PLC0415 - a probe only

        return os.getpid()


class Call(Protocol):
    """Calls a method of the keeper, wherever it lives, and returns its value."""

    def __call__(self, method: str, *args: Any) -> Any:
        """Return what ``method`` returned.

        Raises:
            LogError: the keeper is gone for good.
        """
        ...


class KeptLog:
    """An ``EventLog`` for everybody but the keeper: appends by call, reads the files."""

    def __init__(self, directory: Path, call: Call) -> None:
        self._call = call
        self._directory = directory
        self._files: ParquetReader | None = None

    def _reader(self) -> ParquetReader:
        if self._files is None:
            self._files = ParquetReader(self._directory)
        return self._files

    def append(
        self, drafts: Sequence[Draft], condition: Condition | None = None
    ) -> tuple[int, ...]:
        """Append all drafts or none; see ``EventLog.append``.

        Raises:
            ConflictError: the condition does not hold.
            FencedError: the draft's incarnation has a successor.
            InvalidInputError: a draft could not be read again.
            StorageFullError: the bytes could not be written.
            LogError: the keeper is gone.
        """
        # Encoded here, so that the one keeper has the least to do.
        return self.append_batch(Batch.encode(drafts, condition))

    def append_batch(self, batch: Batch) -> tuple[int, ...]:
        """Append a batch that is encoded already; see ``append``."""
        answer = self._call("append", batch)
        if isinstance(answer, ArborError):
            raise answer
        if not isinstance(answer, tuple):
            raise LogError(f"the keeper answered {type(answer).__name__}, expected positions")
        return answer

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Recorded]:
        """Yield durable events beyond ``after`` in order.

        Raises:
            CorruptLogError: a stored event cannot be read.
        """
        return self._reader().read(after, limit)

    def head(self) -> Head:
        """Return the durable end of the log."""
        return self._reader().head()

    def wait_beyond(self, position: int, timeout_s: float) -> bool:
        """Wait until the durable head lies beyond ``position``."""
        return bool(self._call("wait_beyond", position, timeout_s))

    def close(self) -> None:
        """Nothing to give up: the keeper owns the log."""
