"""A whole campaign in one thread, without Ray: for simulations and tests."""

from arbor.actors.adviser import Adviser
from arbor.actors.bench import Bench
from arbor.actors.crew import DispatchBoard, build_specialist
from arbor.actors.critic import Critic
from arbor.actors.journal import Journal
from arbor.actors.orchestrator import Orchestrator
from arbor.actors.place import Place
from arbor.actors.shell import ReactorShell
from arbor.actors.supervisor import Supervisor
from arbor.core.approval import awaits_approval
from arbor.core.clock import Clock
from arbor.core.names import specialist_name
from arbor.core.state import CampaignState
from arbor.events.errors import ArborError
from arbor.events.log import EventLog

PATIENCE_S = 1.0
"""How long it waits for a human before it looks again."""


class LocalCampaign:
    """Runs reactors and workers in turn until the campaign ends.

    The order is fixed, so with a virtual clock and a simulated target a campaign is
    deterministic.
    """

    def __init__(self, place: Place, log: EventLog, clock: Clock) -> None:
        self._place = place
        self._log = log
        self._clock = clock
        self._supervisor = ReactorShell(Supervisor(), log, clock)
        self._reactors = [
            ReactorShell(Orchestrator(), log, clock),
            ReactorShell(Critic(), log, clock),
            self._supervisor,
        ]
        self._board = DispatchBoard(self._supervisor.journal.state)
        self._bench_journal = Journal(log, Bench.name, clock)
        self._bench = Bench(place, self._bench_journal)
        self._adviser_journal = Journal(log, Adviser.name, clock)
        self._adviser: Adviser | None = None
        if place.create_model is not None:
            model = place.create_model(self._adviser_journal)
            self._adviser = Adviser(place, self._adviser_journal, model)

    @property
    def state(self) -> CampaignState:
        """The campaign's state as the supervisor folded it last."""
        return self._supervisor.journal.state

    def start(self) -> None:
        """Announce all actors and fold the log."""
        for shell in self._reactors:
            shell.start()
        self._bench_journal.start()
        if self._adviser is not None:
            self._adviser_journal.start()

    def step(self) -> bool:
        """Let every reactor decide, then one worker act; return False when nothing is left."""
        decided = sum(shell.run_until_quiet() for shell in self._reactors)
        if self.state.is_ended:
            return False
        question = self._adviser.next_task() if self._adviser is not None else None
        if question is not None:
            question()
            return True
        request = self._bench.next_request()
        for dispatch in self._board.waiting():
            journal = Journal(self._log, specialist_name(dispatch.node_id), self._clock)
            journal.start()
            build_specialist(self._place, journal, dispatch, "local").perform()
            return True
        if request is not None:
            self._bench.perform(request)
            return True
        if not decided and self._waits_for_a_human():
            self._clock.sleep(PATIENCE_S)
            return True
        return decided > 0

    def _waits_for_a_human(self) -> bool:
        state = self.state
        if state.is_paused:
            return False
        return any(awaits_approval(state, action) for action in state.tree.candidates())

    def run(self) -> None:
        """Run to the end.

        Raises:
            ArborError: the campaign stopped without an end: a defect.
        """
        self.start()
        try:
            while self.step():
                pass
        finally:
            self._bench.close()
        if not self.state.is_ended and not self.state.is_paused:
            raise ArborError(
                f"campaign stalled at position {self.state.position}: nobody has anything to do"
            )
