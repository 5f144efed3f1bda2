"""A log on which, by a random schedule, others get in between and users are killed."""

import random
from collections.abc import Callable, Iterator, Sequence

from arbor.events.base import Condition, Draft, Recorded
from arbor.events.log import EventLog, Head
from tests.fakes.mortal_log import Killed


class RacingLog:
    """Passes appends on; before one, others may append first, and around one its user may die.

    Attributes:
        num_races: times that others got in between.
        num_deaths: times that a user died.

    Args:
        log: where events go.
        draw: the schedule.
        race_ratio: how often others get in between.
        death_ratio: how often the user dies, half of the time after the append was stored.
    """

    def __init__(
        self, log: EventLog, draw: random.Random, *, race_ratio: float, death_ratio: float
    ) -> None:
        self.num_races = 0
        self.num_deaths = 0
        self._log = log
        self._draw = draw
        self._race_ratio = race_ratio
        self._death_ratio = death_ratio
        self._others: Callable[[], None] | None = None

    def let_in(self, others: Callable[[], None] | None) -> None:
        """Set who gets in between."""
        self._others = others

    def append(
        self, drafts: Sequence[Draft], condition: Condition | None = None
    ) -> tuple[int, ...]:
        """Append, after others did, or die before or after it."""
        others = self._others
        if others is not None and self._draw.random() < self._race_ratio:
            # those that get in are not disturbed themselves
            self._others = None
            self.num_races += 1
            others()
            self._others = others
        fate = self._draw.random()
        if fate < self._death_ratio / 2:
            self._die()
        positions = self._log.append(drafts, condition)
        if fate < self._death_ratio:
            self._die()
        return positions

    def _die(self) -> None:
        self.num_deaths += 1
        raise Killed

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Recorded]:
        """Yield events beyond ``after`` in order."""
        return self._log.read(after, limit)

    def head(self) -> Head:
        """Return the end of the log."""
        return self._log.head()

    def wait_beyond(self, position: int, timeout_s: float) -> bool:
        """Return at once whether the head lies beyond ``position``."""
        del timeout_s
        return self._log.head().position > position

    def close(self) -> None:
        """Close the log."""
        self._log.close()
