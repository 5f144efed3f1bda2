"""The shell of a reactor: fold, react, append with a condition, again."""

from arbor.actors.journal import Journal
from arbor.actors.snapshots import Snapshots
from arbor.core.clock import Clock
from arbor.core.reactor import Reactor
from arbor.events.errors import ConflictError
from arbor.events.log import EventLog


class ReactorShell:
    """Gives a pure reactor a log and a clock; holds no state of its own.

    Attributes:
        journal: the reactor's hold on the log.
        num_conflicts: decisions that came too late, since the process began.
    """

    def __init__(
        self, reactor: Reactor, log: EventLog, clock: Clock, snapshots: Snapshots | None = None
    ) -> None:
        self._reactor = reactor
        self._clock = clock
        self.journal = Journal(log, reactor.name, clock, snapshots, reactor.state)
        self.num_conflicts = 0

    def start(self) -> None:
        """Announce the incarnation and fold the log."""
        self.journal.start()

    def step(self) -> int:
        """Fold what is new and append one decision; return how many events were appended.

        A decision that came too late (``ConflictError``) is dropped: the next step folds on and
        decides again.

        Raises:
            FencedError: this incarnation has a successor.
            LogError: the log cannot be used.
        """
        self.journal.catch_up()
        now = self._clock.now()
        batch = self._reactor.react(now)
        if not batch:
            return 0
        try:
            self.journal.decide(batch, self._reactor.watched_tags(batch), now)
        except ConflictError:
            self.num_conflicts += 1
            return 0
        return len(batch)

    def run_until_quiet(self) -> int:
        """Step until there is nothing to decide; return how many events were appended."""
        total = 0
        while num := self.step():
            total += num
        return total

    def wait(self, timeout_s: float) -> bool:
        """Wait for news; return whether there are any."""
        return self.journal.wait(timeout_s)
