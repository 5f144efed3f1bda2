"""Everything that a decision may depend on, as one fold."""

from dataclasses import dataclass, field, fields
from datetime import datetime

from arbor.core.applying import Dispatcher
from arbor.core.budget import Budget
from arbor.core.constraints import Constraints
from arbor.core.leases import LeaseTable
from arbor.core.measure.noise import NoisePool
from arbor.core.measure.planning import claim_pair_s, claim_plan
from arbor.core.rebuilds import Rebuilds
from arbor.core.requests import Request, Requests
from arbor.core.tree import Status, Tree
from arbor.core.workers import Workers
from arbor.events.base import Recorded
from arbor.events.campaign import CampaignEnded, CampaignPaused, CampaignResumed, CampaignStarted
from arbor.events.choice import (
    ActionDispatched,
    ActionProposed,
    ActionScored,
    ActionWithdrawn,
    FrontierMoved,
    RouteDecided,
)
from arbor.events.evidence import (
    BenchmarkMeasured,
    NoiseCalibrated,
    PairMeasured,
    ProfileTaken,
)
from arbor.events.judgement import IntrospectionRecorded, KeepRevoked, RootCauseFound
from arbor.events.life import IncarnationStarted
from arbor.events.limits import ActionVetoed, ConstraintLifted, ConstraintPublished
from arbor.events.outcome import ActionKept, ActionReverted, Crashed
from arbor.events.requests import Purpose
from arbor.events.settings import Settings
from arbor.events.types import SeriesPlan
from arbor.events.work import AttemptStarted, TrialMeasured

_CHANGES_SCORES = (
    ActionProposed,
    ProfileTaken,
    NoiseCalibrated,
    ActionKept,
    FrontierMoved,
    ActionReverted,
    RootCauseFound,
    ActionWithdrawn,
    ActionVetoed,
    KeepRevoked,
    ConstraintPublished,
    ConstraintLifted,
)
"""Events after which remaining candidates are scored again."""

FINAL_RESERVE_FACTOR = 1.1
"""Slack in the time kept for the final claim."""


@dataclass(slots=True)
class CrashRecord:
    """A crash, of an action or of the incumbent, that may still wait for its root cause."""

    crash: Crashed
    event_id: str
    root_cause: RootCauseFound | None = None


@dataclass(slots=True)
class CampaignState:
    """Fold of the whole log; the same for every reactor and worker."""

    started: CampaignStarted | None = None
    started_event_id: str = ""
    is_paused: bool = False
    paused_position: int = 0
    """Position of the latest pause."""
    is_ended: bool = False
    position: int = 0
    session_position: int = 0
    """Position at which the campaign was started or last resumed with new budget."""
    tree: Tree = field(default_factory=Tree)
    rebuilds: Rebuilds = field(default_factory=Rebuilds)
    requests: Requests = field(default_factory=Requests)
    constraints: Constraints = field(default_factory=Constraints)
    budget: Budget = field(default_factory=Budget)
    leases: LeaseTable = field(default_factory=LeaseTable)
    workers: Workers = field(default_factory=Workers)
    noise: NoiseCalibrated | None = None
    noise_pool: NoisePool = field(default_factory=NoisePool)
    """What all pairs so far say about the noise of the next one."""
    crashes: list[CrashRecord] = field(default_factory=list)
    introspected: set[str] = field(default_factory=set)
    """Actions whose latest outcome has been looked at."""
    outcome_event_ids: dict[str, str] = field(default_factory=dict)
    """Action to the event of its latest outcome."""
    scores_needed_after: int = 0
    scored_after: int = 0
    attempted_at: dict[str, datetime] = field(default_factory=dict)
    """Request to the start of its latest attempt."""
    setup_s: float | None = None
    """Seconds of the calibration of noise beside its pairs: starts and warm-ups of two servers."""
    root_pair_s: float | None = None
    """Seconds of both windows of a pair on the frozen baseline."""
    trial_seconds: list[float] = field(default_factory=list)
    """Seconds that finished actions took, over their expected cost; waiting is not counted."""
    outcome_s: float = 0.0
    """Active seconds at the latest outcome of an action."""
    pair_s: float | None = None
    """Seconds of both windows of the latest pair."""
    dispatched_at: dict[str, datetime] = field(default_factory=dict)
    """Action to the time of its latest dispatch."""
    dispatched_s: dict[str, float] = field(default_factory=dict)
    """Action to the active seconds at its latest dispatch."""
    incarnations: dict[str, int] = field(default_factory=dict)
    """Actor to its latest incarnation."""
    dispatches: dict[str, ActionDispatched] = field(default_factory=dict)
    """Node to the dispatch that made it, oldest first."""
    num_work_attempts: dict[str, int] = field(default_factory=dict)
    """Node to the number of attempts that specialists began at it."""
    trials: dict[str, list[TrialMeasured]] = field(default_factory=dict)
    """Node to its screening trials, in order."""
    routes: dict[str, RouteDecided] = field(default_factory=dict)
    """Action to the latest choice of an engine for its numbers."""

    def apply(self, recorded: Recorded) -> None:
        """Fold one event; one that was folded already changes nothing."""
        if recorded.position <= self.position:
            return
        self.rebuilds.apply(recorded, self.tree, self.constraints)
        self.tree.apply(recorded)
        self.requests.apply(recorded)
        self.constraints.apply(recorded)
        self.budget.apply(recorded)
        self.leases.apply(recorded)
        self.workers.apply(recorded)
        _HANDLERS.apply(self, recorded)
        if isinstance(recorded.event, _CHANGES_SCORES):
            self.scores_needed_after = recorded.position
        self.position = recorded.position

    def adopt(self, other: "CampaignState") -> None:
        """Become what another fold of the same log is; the other one must not go on."""
        for each in fields(self):
            setattr(self, each.name, getattr(other, each.name))

    def _node_of(self, action_id: str | None) -> str:
        action = self.tree.actions.get(action_id or "")
        return (action.node_id if action is not None else None) or ""

    def _note_duration(self, action_id: str, ended: datetime) -> None:
        begun_s = self.dispatched_s.get(action_id)
        action = self.tree.actions.get(action_id)
        if begun_s is not None and action is not None:
            expected_s = self.tree.templates[action.template_id].cost_s
            # Active seconds: a night between kill and resumption is no part of a trial. Actions
            # are prepared side by side and measured one by one: what this one waited for was
            # the time of another.
            ended_s = self.budget.elapsed_s(ended)
            self.trial_seconds.append((ended_s - max(begun_s, self.outcome_s)) / expected_s)
            self.outcome_s = ended_s

    @property
    def settings(self) -> Settings:
        """Settings of the campaign; the defaults before it started."""
        return self.started.settings if self.started is not None else Settings()

    @property
    def root_commit(self) -> str:
        """Commit of the frozen baseline."""
        return self.started.root_commit if self.started is not None else ""

    def measurement_of(self, node_id: str, purpose: str) -> Request | None:
        """Return the latest request of a purpose about a node."""
        found = [r for r in self.requests.of_node(node_id) if r.asked.purpose == purpose]
        return found[-1] if found else None

    def requests_of_session(self, purpose: Purpose) -> tuple[Request, ...]:
        """Return the requests of a purpose since the start or the last new budget."""
        return tuple(
            r
            for r in self.requests.by_id.values()
            if r.asked.purpose == purpose and r.position > self.session_position
        )

    def final_claims(self) -> tuple[Request, ...]:
        """Return this session's requests for a final claim about the stack that stands now."""
        return tuple(
            r
            for r in self.requests_of_session("revalidation")
            if r.asked.node_id == self.tree.current_id
        )

    def soaks(self) -> tuple[Request, ...]:
        """Return this session's requests for a soak of the stack that stands now."""
        return tuple(
            r for r in self.requests_of_session("soak") if r.asked.node_id == self.tree.current_id
        )

    def is_soak_due(self) -> bool:
        """Return whether the final claim holds and the stack has not stood peak load yet."""
        finals, soaks = self.final_claims(), self.soaks()
        if self.settings.measure.soak_s <= 0 or not finals:
            return False
        judgement = finals[-1].judgement
        if judgement is None or not judgement.is_accepted:
            return False
        last = soaks[-1] if soaks else None
        if last is None:
            return True
        # A crash under peak load is the answer to a soak.
        return last.judgement is None and last.crash is None

    def claim_plan(self, left_s: float | None = None) -> SeriesPlan:
        """Return how the final claim about the stack that stands now is measured.

        Args:
            left_s: seconds that are left for it and its soak; None while that is not known.
        """
        measure = self.settings.measure
        longest_s = measure.final_share_ratio * self.budget.wall_s
        if left_s is not None:
            starts_s = measure.final_starts * self._setup_s() + self._soak_s()
            longest_s = min(longest_s, left_s / FINAL_RESERVE_FACTOR - starts_s)
        return claim_plan(
            measure,
            self.noise_pool,
            root_window_s=self._root_window_s(),
            gain_ratio=self._gain_ratio(),
            longest_s=longest_s,
        )

    def _setup_s(self) -> float:
        return 5.0 if self.setup_s is None else self.setup_s

    def _soak_s(self) -> float:
        soak_s = self.settings.measure.soak_s
        return soak_s + self._setup_s() / 2.0 if soak_s > 0 else 0.0

    def _root_window_s(self) -> float:
        return 2.0 if self.root_pair_s is None else self.root_pair_s / 2.0

    def _gain_ratio(self) -> float:
        return max(1.0, self.tree.gain_ratio(self.tree.current_id)) if self.started else 1.0

    def final_claim_s(self) -> float:
        """Return the seconds that the final claim should take, from what the calibration took."""
        plan = self.claim_plan()
        pair_s = claim_pair_s(self._root_window_s(), self._gain_ratio())
        return plan.max_starts * (self._setup_s() + plan.max_pairs * pair_s) + self._soak_s()

    def final_reserve_s(self) -> float:
        """Return the seconds to keep for the final claim when new work starts."""
        return FINAL_RESERVE_FACTOR * self.final_claim_s()

    def in_flight_s(self, now: datetime) -> float:
        """Return the seconds that the actions in flight should still take, one after another."""
        nodes = self.tree.in_flight()
        if not nodes:
            return 0.0
        begun_s = min(self.dispatched_s.get(node.action_id or "", 0.0) for node in nodes)
        spent_s = self.budget.elapsed_s(now) - max(begun_s, self.outcome_s)
        expected_s = sum(self.trial_cost_s(node.template_id or "") for node in nodes)
        return max(0.0, expected_s - spent_s)

    def trial_cost_s(self, template_id: str) -> float:
        """Return the expected seconds of a trial, scaled by what trials took so far."""
        expected = self.tree.templates[template_id].cost_s
        recent = self.trial_seconds[-8:]
        scale = sum(recent) / len(recent) if recent else 1.0
        return expected * min(4.0, max(0.25, scale))


def _started(state: CampaignState, event: CampaignStarted, recorded: Recorded) -> None:
    state.started = event
    state.started_event_id = recorded.event_id


def _paused(state: CampaignState, _event: CampaignPaused, recorded: Recorded) -> None:
    state.is_paused = True
    state.paused_position = recorded.position


def _resumed(state: CampaignState, event: CampaignResumed, recorded: Recorded) -> None:
    state.is_paused = False
    if state.is_ended or event.added_wall_s > 0:
        state.session_position = recorded.position
    state.is_ended = False


def _ended(state: CampaignState, _event: CampaignEnded, _recorded: Recorded) -> None:
    state.is_ended = True


def _calibrated(state: CampaignState, event: NoiseCalibrated, recorded: Recorded) -> None:
    state.noise = event
    state.noise_pool.add(event.effect)
    begun = state.attempted_at.get(event.request_id)
    if begun is not None and state.pair_s is not None:
        took_s = (recorded.recorded_at - begun).total_seconds()
        state.root_pair_s = state.pair_s
        state.setup_s = max(0.0, took_s - event.effect.num_pairs * state.pair_s)


def _benchmarked(state: CampaignState, event: BenchmarkMeasured, _recorded: Recorded) -> None:
    state.noise_pool.add(event.effect)


def _paired(state: CampaignState, event: PairMeasured, _recorded: Recorded) -> None:
    state.pair_s = event.candidate.duration_s + event.incumbent.duration_s


def _scored(state: CampaignState, _event: ActionScored, recorded: Recorded) -> None:
    # What was folded when it was scored, not when it landed.
    state.scored_after = max(state.scored_after, recorded.decided_after or 0)


def _announced(state: CampaignState, _event: IncarnationStarted, recorded: Recorded) -> None:
    latest = state.incarnations.get(recorded.actor, 0)
    state.incarnations[recorded.actor] = max(latest, recorded.incarnation)


def _dispatched(state: CampaignState, event: ActionDispatched, recorded: Recorded) -> None:
    action_id = event.action_id or ""
    state.dispatches[event.node_id] = event
    state.dispatched_at[action_id] = recorded.recorded_at
    state.dispatched_s[action_id] = state.budget.elapsed_s(recorded.recorded_at)
    state.introspected.discard(action_id)


def _attempted(state: CampaignState, event: AttemptStarted, recorded: Recorded) -> None:
    if event.request_id is None:
        state.num_work_attempts[state._node_of(event.action_id)] = event.attempt
    else:
        state.attempted_at[event.request_id] = recorded.recorded_at


def _tried(state: CampaignState, event: TrialMeasured, _recorded: Recorded) -> None:
    state.trials.setdefault(state._node_of(event.action_id), []).append(event)


def _routed(state: CampaignState, event: RouteDecided, _recorded: Recorded) -> None:
    state.routes[event.action_id or ""] = event


def _concluded(
    state: CampaignState, event: ActionKept | ActionReverted | Crashed, recorded: Recorded
) -> None:
    if isinstance(event, Crashed):
        state.crashes.append(CrashRecord(event, recorded.event_id))
    if event.action_id is None:
        return
    if isinstance(event, Crashed):
        action = state.tree.actions.get(event.action_id)
        if action is None or action.outcome is not Status.CRASHED:
            # It came after another outcome, which stands.
            return
    state.outcome_event_ids[event.action_id] = recorded.event_id
    state._note_duration(event.action_id, recorded.recorded_at)


def _explained(state: CampaignState, event: RootCauseFound, _recorded: Recorded) -> None:
    for record in state.crashes:
        if record.event_id == event.causation_id:
            record.root_cause = event


def _revoked(state: CampaignState, _event: KeepRevoked, _recorded: Recorded) -> None:
    # A claim about a stack that stands no longer is worth nothing.
    for request in state.requests.open():
        if state.tree.node(request.asked.node_id).status is Status.REVOKED:
            request.is_cancelled = True


def _introspected(state: CampaignState, event: IntrospectionRecorded, _recorded: Recorded) -> None:
    state.introspected.add(event.action_id or "")


_HANDLERS: Dispatcher[CampaignState] = Dispatcher(
    {
        CampaignStarted: _started,
        IncarnationStarted: _announced,
        CampaignPaused: _paused,
        CampaignResumed: _resumed,
        CampaignEnded: _ended,
        NoiseCalibrated: _calibrated,
        PairMeasured: _paired,
        BenchmarkMeasured: _benchmarked,
        ActionScored: _scored,
        ActionDispatched: _dispatched,
        RouteDecided: _routed,
        AttemptStarted: _attempted,
        TrialMeasured: _tried,
        ActionKept: _concluded,
        ActionReverted: _concluded,
        Crashed: _concluded,
        RootCauseFound: _explained,
        IntrospectionRecorded: _introspected,
        KeepRevoked: _revoked,
    }
)
