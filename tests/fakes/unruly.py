"""A campaign among people and mishaps: a slow or dead Critic, vetoes at any moment."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from arbor.actors.bench import Bench
from arbor.actors.commands import refusal
from arbor.actors.crew import DispatchBoard, build_specialist
from arbor.actors.critic import Critic
from arbor.actors.journal import Journal
from arbor.actors.orchestrator import Orchestrator
from arbor.actors.shell import ReactorShell
from arbor.actors.supervisor import Supervisor
from arbor.core.approval import awaits_approval
from arbor.core.campaign import Campaign
from arbor.core.names import specialist_name
from arbor.core.reactor import Reactor
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.base import Event
from arbor.events.campaign import CampaignPaused, CampaignResumed
from arbor.events.choice import ActionProposed
from arbor.events.errors import ConflictError, InvalidInputError
from arbor.events.limits import (
    ActionApproved,
    ActionVetoed,
    ConstraintLifted,
    ConstraintPublished,
)
from arbor.events.types import ConstraintScope, Scalar
from arbor.targets.landscape_config import LandscapeConfig
from tests.fakes.mortal_log import Killed, MortalLog
from tests.fakes.simulation import Simulation

REACTORS: dict[str, Callable[[], Reactor]] = {
    "orchestrator": Orchestrator,
    "critic": Critic,
    "supervisor": Supervisor,
}
MAX_STEPS = 20_000
"""No campaign of a few minutes takes this many turns."""


@dataclass(frozen=True)
class Mishap:
    """Something that happens at a moment.

    Attributes:
        moment: turn of the campaign, or call of the target, at which it happens.
        kind: ``slow`` (the Critic sleeps for ``number`` events), ``kill`` (a reactor is rebuilt
            from the log), ``die`` (the worker whose window begins is killed), ``veto``,
            ``veto_keep``, ``constraint``, ``lift``, ``pause``, ``approve``, ``propose``.
        number: which one, or how many.
    """

    moment: int
    kind: str
    number: int


@dataclass
class Unruly:
    """Runs a simulated campaign in one thread while mishaps happen, and counts them."""

    directory: Path
    landscape: LandscapeConfig
    campaign: Campaign
    mishaps: Sequence[Mishap]
    num_heard: int = 0
    """Events that people said and the campaign took."""
    simulation: Simulation = field(init=False)
    _moment: int = 0
    _asleep_until: int = 0
    _shells: dict[str, ReactorShell] = field(default_factory=dict)
    _mortals: dict[str, MortalLog] = field(default_factory=dict)
    _at_work: str = ""

    def __post_init__(self) -> None:
        self.simulation = Simulation(self.directory, self.landscape, self.campaign)
        self.simulation.target.hook = self._called
        self._waiting = sorted(self.mishaps, key=lambda mishap: mishap.moment)
        for name in REACTORS:
            self._revive(name)
        self._hire_bench()

    def _hire_bench(self) -> None:
        self._bench = Bench(self.simulation.place, self._born(Bench.name))

    def _born(self, name: str) -> Journal:
        """Return the journal of a worker that may be killed without a last word."""
        self._mortals[name] = MortalLog(self.simulation.log)
        journal = Journal(self._mortals[name], name, self.simulation.clock)
        journal.start()
        return journal

    def _revive(self, name: str) -> None:
        shell = ReactorShell(REACTORS[name](), self.simulation.log, self.simulation.clock)
        if name == "supervisor":
            self._board = DispatchBoard(shell.journal.state)
        shell.start()
        self._shells[name] = shell

    def go_on(self, until: Callable[[CampaignState], bool]) -> None:
        """Take turns until a condition holds."""
        while not until(self.simulation.state()):
            self._pass()
            self._step()

    def expect(self, *mishaps: Mishap) -> None:
        """Let further mishaps happen, at moments counted from now."""
        new = (replace(mishap, moment=self._moment + mishap.moment) for mishap in mishaps)
        self._waiting = sorted((*self._waiting, *new), key=lambda mishap: mishap.moment)

    def run(self) -> CampaignState:
        """Run to the end.

        Raises:
            AssertionError: it stands still, or goes on for ever.
        """
        for _ in range(MAX_STEPS):
            self._pass()
            is_moving = self._step()
            state = self.simulation.state()
            if state.is_ended:
                self._bench.close()
                return state
            if not is_moving and not self._help(state):
                raise AssertionError(f"it stands still at position {state.position}")
        raise AssertionError(f"no end after {MAX_STEPS} turns")

    def _step(self) -> bool:
        """Let the reactors that are awake decide at once, then one worker act.

        All decide from the same log; then their decisions land one after the other, in an order
        that changes, with what people say in between: as on a cluster, some come too late.
        """
        now = self.simulation.clock.now()
        is_asleep = self.simulation.log.head().position < self._asleep_until
        decisions = []
        for name, shell in self._shells.items():
            if name != "critic" or not is_asleep:
                shell.journal.catch_up()
                decisions.append((shell, shell._reactor.react(now)))
        turn = self._moment % len(decisions)
        num_landed = sum(
            self._land(shell, batch) for shell, batch in (*decisions[turn:], *decisions[:turn])
        )
        return self._work() or num_landed > 0

    def _land(self, shell: ReactorShell, batch: Sequence[Event]) -> int:
        """Append a decision unless its ground moved; return the number of events it had."""
        if not batch:
            return 0
        self._pass()
        if shell not in self._shells.values():
            # It was killed before it could speak.
            return len(batch)
        now = self.simulation.clock.now()
        with suppress(ConflictError):
            shell.journal.decide(batch, shell._reactor.watched_tags(batch), now)
        return len(batch)

    def _work(self) -> bool:
        """Let one worker act; one that dies is born again, as Ray does it."""
        for dispatch in self._board.waiting():
            self._at_work = specialist_name(dispatch.node_id)
            journal = self._born(self._at_work)
            specialist = build_specialist(self.simulation.place, journal, dispatch, "local")
            try:
                specialist.perform()
            except Killed:
                self._born(self._at_work)
            return True
        request = self._bench.next_request()
        if request is None:
            return False
        self._at_work = Bench.name
        try:
            self._bench.perform(request)
        except Killed:
            self._bench.close()
            self._hire_bench()
        return True

    def _help(self, state: CampaignState) -> bool:
        """Do what ends a standstill that is none: wake the Critic, wait, or resume."""
        if self._asleep_until > self.simulation.log.head().position:
            self._asleep_until = 0
            return True
        if state.is_paused:
            self.simulation.clock.sleep(100.0)
            self.simulation.say(CampaignResumed(reason="back"))
            return True
        if any(awaits_approval(state, action) for action in state.tree.candidates()):
            self.simulation.clock.sleep(5.0)
            return True
        return False

    def _called(self, _config: dict[str, Scalar], _phase: str) -> None:
        happened = self._pass()
        if any(mishap.kind == "die" for mishap in happened):
            self._mortals[self._at_work].kill()

    def _pass(self) -> list[Mishap]:
        """Let happen what is due; return what did."""
        self._moment += 1
        happened = []
        while self._waiting and self._waiting[0].moment <= self._moment:
            happened.append(self._waiting.pop(0))
            self._happen(happened[-1])
        return happened

    def _happen(self, mishap: Mishap) -> None:
        if mishap.kind == "slow":
            self._asleep_until = self.simulation.log.head().position + mishap.number
        elif mishap.kind == "kill":
            # The driver and everybody else live: only this one folds the log again.
            self._revive(("orchestrator", "critic")[mishap.number % 2])
        elif mishap.kind != "die":
            self._say(mishap)

    def _say(self, mishap: Mishap) -> None:
        """Say something as people do: checked before, and not when it makes no sense now."""
        state = self.simulation.state()
        event = _event(state, mishap)
        if event is None:
            return
        try:
            is_refused = refusal(state, event) is not None
        except InvalidInputError:
            is_refused = True
        if not is_refused or isinstance(event, ConstraintPublished):
            self.simulation.say(event)
            self.num_heard += 1


def _event(state: CampaignState, mishap: Mishap) -> Event | None:
    number = mishap.number
    templates = [t.template_id for t in state.started.actions] if state.started else [""]
    actions = [*state.tree.actions]
    awaiting = [a.action_id for a in state.tree.candidates() if awaits_approval(state, a)]
    standing = [
        a.action_id for a in state.tree.actions.values() if a.outcome in {None, Status.KEPT}
    ]
    kept = [a.action_id for a in state.tree.actions.values() if a.outcome is Status.KEPT]
    match mishap.kind:
        case "veto" if standing:
            chosen = standing[number % len(standing)]
            return ActionVetoed(action_id=chosen, reason="no", by="human")
        case "veto_keep" if kept:
            return ActionVetoed(action_id=kept[number % len(kept)], reason="no", by="human")
        case "approve" if awaiting:
            return ActionApproved(action_id=awaiting[number % len(awaiting)], by="ann")
        case "constraint":
            scope = ConstraintScope(template_id=templates[number % len(templates)])
            name = f"h{state.constraints.num_published}"
            return ConstraintPublished(constraint_id=name, scope=scope, reason="no")
        case "lift" if state.constraints.in_force:
            known = [*state.constraints.in_force]
            return ConstraintLifted(constraint_id=known[number % len(known)], reason="fixed")
        case "pause":
            return CampaignPaused(reason="lunch")
        case "propose":
            return ActionProposed(
                action_id=f"h{len(actions)}",
                template_id=templates[number % len(templates)],
                node_id=state.tree.current_id,
                reason="try this",
                source="human",
            )
        case _:
            return None
