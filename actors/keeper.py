"""The keeper: the single writer of the log, and the proxy through which others append."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from arbor.events.base import Condition, Draft, Recorded
from arbor.events.errors import ArborError, LogError
from arbor.events.log import Head
from arbor.events.parquet_log import ParquetLog
from arbor.events.parquet_reader import ParquetReader


class Keeper:
    """Owns the Parquet log; its methods return errors as values so that no wrapper hides them."""

    def __init__(self, directory: str, campaign_id: str) -> None:
        self._log = ParquetLog.open(Path(directory), campaign_id)

    def append(
        self, drafts: Sequence[Draft], condition: Condition | None
    ) -> tuple[int, ...] | ArborError:
        """Append all drafts or none; return their positions, or why not."""
        try:
            return self._log.append(drafts, condition)
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
            StorageFullError: the bytes could not be written.
            LogError: the keeper is gone.
        """
        answer = self._call("append", tuple(drafts), condition)
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
