"""A campaign told for people: the state and what the state forgets, as one fold."""

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from arbor.core.measure.shrinkage import shrunk_ratios
from arbor.core.requests import Request
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID, Node, Status
from arbor.events.base import Recorded
from arbor.events.campaign import CampaignEnded, CampaignResumed, CampaignStarted
from arbor.events.choice import ActionDispatched, ActionWithdrawn
from arbor.events.evidence import BenchmarkMeasured, PairMeasured
from arbor.events.judgement import MeasurementJudged
from arbor.events.limits import ActionVetoed
from arbor.events.outcome import ActionKept, ActionReverted, Crashed
from arbor.events.requests import ActionRebased
from arbor.events.types import WindowSample
from arbor.replay.spans import TimeSpent

_OUTCOMES = (ActionKept, ActionReverted, Crashed, ActionWithdrawn, ActionVetoed)


@dataclass(slots=True)
class Story:
    """Everything that the result and the reports say."""

    state: CampaignState = field(default_factory=CampaignState)
    time: TimeSpent = field(default_factory=TimeSpent)
    num_events: int = 0
    started_at: datetime | None = None
    last_at: datetime | None = None
    ended: CampaignEnded | None = None
    begun_at: dict[str, datetime] = field(default_factory=dict)
    """Node to its dispatch, or to the rebase that made it."""
    ended_at: dict[str, datetime] = field(default_factory=dict)
    """Node to its outcome, or to the rebase that replaced it."""
    judged_at: dict[str, int] = field(default_factory=dict)
    """Request to the position of its judgement, the Critic's key."""
    kept_at: dict[str, int] = field(default_factory=dict)
    """Node to the position of its keep, the Orchestrator's key."""

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        self.state.apply(recorded)
        self.time.apply(recorded)
        self.num_events += 1
        self.last_at = recorded.recorded_at
        self._note_times(recorded)
        self._note_keys(recorded)

    def _note_times(self, recorded: Recorded) -> None:
        event, at = recorded.event, recorded.recorded_at
        if isinstance(event, CampaignStarted):
            self.started_at = at
            self.begun_at[ROOT_ID] = at
        elif isinstance(event, CampaignEnded | CampaignResumed):
            self.ended = event if isinstance(event, CampaignEnded) else None
        elif isinstance(event, ActionDispatched):
            self.begun_at[event.node_id] = at
        elif isinstance(event, ActionRebased):
            self.ended_at[event.from_node_id] = at
            self.begun_at[event.node_id] = at
        elif isinstance(event, _OUTCOMES):
            action = self.state.tree.actions.get(event.action_id or "")
            if action is not None and action.node_id is not None:
                self.ended_at[action.node_id] = at

    def _note_keys(self, recorded: Recorded) -> None:
        event = recorded.event
        if isinstance(event, MeasurementJudged):
            self.judged_at[event.request_id] = recorded.position
        elif isinstance(event, ActionKept):
            self.kept_at[event.node_id] = recorded.position

    def seconds_of(self, node_id: str) -> float | None:
        """Return the seconds that a node took, None while it is not decided."""
        begun, ended = self.begun_at.get(node_id), self.ended_at.get(node_id)
        if begun is None or ended is None:
            return None
        return (ended - begun).total_seconds()

    def path(self) -> tuple[Node, ...]:
        """Return the nodes from the baseline to the final stack."""
        tree = self.state.tree
        return tree.path(tree.current_id) if tree.nodes else ()

    def in_tree_order(self) -> tuple[Node, ...]:
        """Return all nodes, each followed by what hangs below it, the path in force last."""
        on_path = {node.node_id for node in self.path()}
        below: dict[str | None, list[Node]] = {}
        for node in self.state.tree.nodes.values():
            below.setdefault(node.parent_id, []).append(node)
        found: list[Node] = []
        waiting = below.get(None, [])[:]
        while waiting:
            node = waiting.pop()
            found.append(node)
            children = sorted(below.get(node.node_id, ()), key=lambda n: n.node_id in on_path)
            waiting += reversed(children)
        return tuple(found)

    def shrunk_ratios(self) -> dict[str, float]:
        """Return node to its measured ratio without the luck of having been selected."""
        measured = [
            (request.asked.node_id, request.result.effect)
            for request in self.state.requests.by_id.values()
            if request.asked.purpose == "benchmark"
            and isinstance(request.result, BenchmarkMeasured)
        ]
        start_sd = self.state.settings.measure.start_sd
        ratios = shrunk_ratios([effect for _, effect in measured], start_sd=start_sd)
        return {node_id: ratio for (node_id, _), ratio in zip(measured, ratios, strict=True)}

    def final_request(self) -> Request | None:
        """Return the last re-validation that was asked for."""
        asked = [
            r for r in self.state.requests.by_id.values() if r.asked.purpose == "revalidation"
        ]
        return asked[-1] if asked else None

    def benchmark_of(self, node_id: str) -> tuple[Request, BenchmarkMeasured] | None:
        """Return the latest benchmark of a node that has a result."""
        request = self.state.measurement_of(node_id, "benchmark")
        if request is None or not isinstance(request.result, BenchmarkMeasured):
            return None
        return request, request.result

    def baseline_throughput_tok_s(self) -> float | None:
        """Return the baseline's throughput in the calibration of noise."""
        request = self.state.measurement_of(ROOT_ID, "noise")
        return (
            None
            if request is None
            else mean_throughput_tok_s(
                window
                for pair in valid(request.pairs)
                for window in (pair.candidate, pair.incumbent)
            )
        )

    def steps(self) -> tuple[tuple[Node, float], ...]:
        """Return the path in force with each node's throughput, where it was measured."""
        baseline = self.baseline_throughput_tok_s()
        found: list[tuple[Node, float]] = []
        for node in self.path():
            value = baseline if node.node_id == ROOT_ID else node.throughput_tok_s
            if value is not None and node.status is Status.KEPT:
                found.append((node, value))
        return tuple(found)


def valid(pairs: Iterable[PairMeasured]) -> list[PairMeasured]:
    """Return the pairs of the objective's own workload that count."""
    return [pair for pair in pairs if pair.is_valid and not pair.guard]


def mean_throughput_tok_s(windows: Iterable[WindowSample]) -> float | None:
    """Return the geometric mean of windows, None without a window that produced tokens."""
    rates = [w.throughput_tok_s for w in windows if w.throughput_tok_s > 0]
    return math.exp(statistics.fmean(map(math.log, rates))) if rates else None
