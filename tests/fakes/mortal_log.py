"""A log whose user is killed at a chosen append: nothing after it gets through."""

from collections.abc import Iterator, Sequence

from arbor.events.base import Condition, Draft, Recorded
from arbor.events.log import EventLog, Head


class Killed(BaseException):
    """The process is gone; nobody catches this."""


class MortalLog:
    """Passes appends on until death, like a process that ``kill -9`` meets.

    Attributes:
        is_dead: True once killed; every later append raises ``Killed``.
    """

    def __init__(self, log: EventLog, lives: int = 1_000_000, *, stores_last: bool = True) -> None:
        self._log = log
        self._lives = lives
        self._stores_last = stores_last
        self.is_dead = False

    def kill(self) -> None:
        """Die now.

        Raises:
            Killed: always.
        """
        self.is_dead = True
        raise Killed

    def append(
        self, drafts: Sequence[Draft], condition: Condition | None = None
    ) -> tuple[int, ...]:
        """Append, or die before or after the append was stored."""
        if self.is_dead:
            raise Killed
        self._lives -= 1
        if self._lives > 0:
            return self._log.append(drafts, condition)
        if self._stores_last:
            self._log.append(drafts, condition)
        return self._die()

    def _die(self) -> tuple[int, ...]:
        self.is_dead = True
        raise Killed

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Recorded]:
        """Yield events beyond ``after``."""
        return self._log.read(after, limit)

    def head(self) -> Head:
        """Return the end of the log."""
        return self._log.head()

    def wait_beyond(self, position: int, timeout_s: float) -> bool:
        """Wait for news."""
        return self._log.wait_beyond(position, timeout_s)

    def close(self) -> None:
        """Nothing to give up."""
