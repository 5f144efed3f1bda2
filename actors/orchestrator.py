"""The Orchestrator: profiles, scores, dispatches, asks for evidence, keeps or reverts."""

from collections.abc import Sequence
from datetime import datetime

from arbor.actors import choosing
from arbor.core.requests import Request
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID, Action, Node, Status
from arbor.events.base import Event, Recorded
from arbor.events.choice import ActionDispatched, ActionWithdrawn, RouteDecided
from arbor.events.evidence import BenchmarkMeasured
from arbor.events.outcome import ActionKept, ActionReverted
from arbor.events.requests import ActionRebased, MeasurementRequested, Purpose
from arbor.events.types import ActionTemplate, SeriesPlan

WATCHED = frozenset({"campaign", "constraints", "budget"})
"""Every decision depends on these; tags of its own events are added."""


class Orchestrator:
    """A reactor: pure, deterministic, one small batch at a time."""

    name = "orchestrator"

    def __init__(self) -> None:
        self.state = CampaignState()

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        self.state.apply(recorded)

    def watched_tags(self, batch: Sequence[Event]) -> frozenset[str]:
        """Return the tags that must not have moved for ``batch`` to still be right."""
        # What is built or kept on a node depends on that node's keep.
        parents = {
            f"node:{event.parent_id}"
            for event in batch
            if isinstance(event, ActionDispatched | ActionKept | ActionRebased)
        }
        return WATCHED.union(parents, *(event.tags() for event in batch))

    def react(self, now: datetime) -> Sequence[Event]:
        """Return the next decision; empty while waiting for others."""
        state = self.state
        if state.started is None or state.is_paused or state.is_ended:
            return ()
        for decide in (
            self._outcomes,
            self._overdue,
            self._retries,
            self._measurements,
            self._calibration,
            self._withdrawals,
            self._proposals,
            self._scores,
            self._dispatch,
            self._finish,
        ):
            batch = decide(now)
            if batch:
                return batch
        return ()

    # Outcomes of nodes that are being measured

    def _measuring(self) -> Node | None:
        return next((n for n in self.state.tree.in_flight() if n.status is Status.MEASURING), None)

    def _outcomes(self, _: datetime) -> Sequence[Event]:
        node = self._measuring()
        if node is None:
            return ()
        for purpose in ("accuracy", "benchmark"):
            request = self.state.measurement_of(node.node_id, purpose)
            if request is None:
                return ()
            if request.crash is not None and request.crash.action_id is None:
                return self._again(node, request)
            if request.judgement is None:
                return ()
            if not request.judgement.is_accepted:
                return (self._revert(node, request),)
            if purpose == "benchmark":
                return (self._keep(node, request),)
        return ()

    def _revert(self, node: Node, request: Request) -> ActionReverted:
        judgement = request.judgement
        result = request.result
        reason = judgement.reason if judgement is not None else "not judged"
        return ActionReverted(
            action_id=node.action_id,
            causation_id=request.event_id,
            node_id=node.node_id,
            reason=f"{request.asked.purpose}: {reason}",
            effect=result.effect if isinstance(result, BenchmarkMeasured) else None,
        )

    def _keep(self, node: Node, request: Request) -> Event:
        result = request.result
        if not isinstance(result, BenchmarkMeasured) or node.parent_id is None:
            return self._revert(node, request)
        if node.parent_id != self.state.tree.current_id:
            # The path changed while it was measured; evidence is not carried across a rebase.
            return ActionWithdrawn(action_id=node.action_id, reason="its base was revoked")
        parent_config = self.state.tree.config_at(node.parent_id)
        constraint = self.state.constraints.blocking(
            node.template_id or "", node.edits, parent_config
        )
        if constraint is not None:
            return ActionReverted(
                action_id=node.action_id,
                causation_id=request.event_id,
                node_id=node.node_id,
                reason=f"constraint {constraint.constraint_id}: {constraint.reason}",
                effect=result.effect,
            )
        return ActionKept(
            action_id=node.action_id,
            causation_id=request.event_id,
            node_id=node.node_id,
            parent_id=node.parent_id,
            commit=result.commit,
            edits=node.edits,
            effect=result.effect,
        )

    def _again(self, node: Node, request: Request) -> Sequence[Event]:
        """Ask again when something other than the candidate failed, within limits."""
        purpose = request.asked.purpose
        asked = [
            r for r in self.state.requests.of_node(node.node_id) if r.asked.purpose == purpose
        ]
        if len(asked) < self.state.settings.search.max_attempts:
            return (self._request(purpose, node, cause=request.event_id),)
        message = request.crash.message if request.crash is not None else ""
        return (
            ActionReverted(
                action_id=node.action_id,
                node_id=node.node_id,
                reason=f"could not be measured ({purpose}): {message}",
            ),
        )

    def _is_out_of_time(self, now: datetime) -> bool:
        """True once the final claim needs all that is left."""
        state = self.state
        left_s = state.budget.remaining_s(now)
        return state.noise is not None and left_s < state.final_claim_s()

    def _overdue(self, now: datetime) -> Sequence[Event]:
        """Stop what would use the time of the final claim; what waits for a verdict may stay."""
        state = self.state
        if not self._is_out_of_time(now):
            return ()
        left_s = max(0.0, state.budget.remaining_s(now))
        judging = {
            r.asked.node_id
            for r in state.requests.by_id.values()
            if r.result is not None and r.judgement is None
        }
        return tuple(
            ActionWithdrawn(
                action_id=node.action_id,
                reason=f"budget: {left_s:.0f} s left, which the final claim needs",
            )
            for node in state.tree.in_flight()
            if node.node_id not in judging
        )

    def _retries(self, now: datetime) -> Sequence[Event]:
        """Dispatch an action again whose environment failed, not its idea."""
        for action in self.state.tree.actions.values():
            if (
                action.outcome is Status.CRASHED
                and action.root_cause is not None
                and action.root_cause.cause_group == "environment"
                and action.num_dispatches < self.state.settings.search.max_attempts
                and self._has_room(action)
                and self._is_affordable(action, now)
            ):
                template = self.state.tree.templates[action.template_id]
                if choosing.inapplicable_reason(self.state, template) is None:
                    return self._dispatch_batch(action)
        return ()

    # Requests for evidence

    def _request(self, purpose: Purpose, node: Node, cause: str | None = None) -> Event:
        state = self.state
        number = len(state.requests.by_id) + 1
        template = state.tree.templates.get(node.template_id or "")
        incumbent = state.root_commit
        if purpose == "benchmark" and node.parent_id is not None:
            incumbent = state.tree.node(node.parent_id).commit or incumbent
        is_settled = node.status is Status.KEPT
        commit = (node.commit if is_settled else node.parent_commit) or state.root_commit
        return MeasurementRequested(
            action_id=None if is_settled else node.action_id,
            causation_id=cause,
            request_id=f"r{number:03d}",
            purpose=purpose,
            node_id=node.node_id,
            parent_commit=commit,
            edits=() if is_settled else node.edits,
            incumbent_commit=incumbent,
            witness=template.witness if template is not None else None,
            is_exact=template.is_exact if template is not None else True,
            plan=self._plan(purpose, template),
            seed=state.settings.seed * 1_000_003 + number * 1009,
        )

    def _plan(self, purpose: Purpose, template: ActionTemplate | None) -> SeriesPlan | None:
        if purpose == "revalidation":
            return self.state.claim_plan()
        if purpose == "benchmark" and template is not None:
            return choosing.benchmark_plan(self.state, template.template_id)
        return None

    def _measurements(self, _: datetime) -> Sequence[Event]:
        state = self.state
        node = self._measuring()
        if node is not None:
            accuracy = state.measurement_of(node.node_id, "accuracy")
            benchmark = state.measurement_of(node.node_id, "benchmark")
            is_due = accuracy is not None and accuracy.judgement is not None and benchmark is None
            return (self._request("benchmark", node),) if is_due else ()
        ready = [n for n in state.tree.in_flight() if n.status is Status.READY]
        if state.noise is None or not ready or self._is_profile_due():
            return ()
        chosen = max(ready, key=self._rank)
        if chosen.parent_id != state.tree.current_id:
            return (self._rebase(chosen),)
        return (self._request("accuracy", chosen),)

    def _rank(self, node: Node) -> tuple[float, int]:
        """Best score first; a rebase changes neither, so that the choice is stable."""
        action = self.state.tree.actions[node.action_id or ""]
        return action.score or 0.0, -action.position

    def _rebase(self, node: Node) -> Event:
        state = self.state
        template = state.tree.templates[node.template_id or ""]
        reason = choosing.inapplicable_reason(state, template)
        if reason is not None:
            return ActionWithdrawn(action_id=node.action_id, reason=f"after a keep: {reason}")
        return ActionRebased(
            action_id=node.action_id,
            from_node_id=node.node_id,
            node_id=f"n{len(state.tree.nodes):03d}",
            parent_id=state.tree.current_id,
            parent_commit=state.tree.current.commit or state.root_commit,
        )

    def _is_profile_due(self) -> bool:
        current = self.state.tree.current
        request = self.state.measurement_of(current.node_id, "profile")
        return current.profile is None and (request is None or request.is_open)

    def _calibration(self, _: datetime) -> Sequence[Event]:
        state = self.state
        root = state.tree.node(ROOT_ID)
        current = state.tree.current
        if current.profile is None and state.measurement_of(current.node_id, "profile") is None:
            return (self._request("profile", current),)
        if state.noise is None:
            asked = [r for r in state.requests_of_session("noise") if r.asked.node_id == ROOT_ID]
            if all(not r.is_open for r in asked) and (
                len(asked) < state.settings.search.max_attempts
            ):
                return (self._request("noise", root),)
        return ()

    # Candidates

    def _withdrawals(self, _: datetime) -> Sequence[Event]:
        return choosing.withdrawals(self.state)

    def _is_closing(self) -> bool:
        """True once the final claim about this stack was asked for: nothing new starts."""
        return bool(self.state.final_claims())

    def _proposals(self, now: datetime) -> Sequence[Event]:
        if self._is_profile_due() or self._is_closing() or self._is_out_of_time(now):
            return ()
        return choosing.proposals(self.state)

    def _scores(self, _: datetime) -> Sequence[Event]:
        if self._is_profile_due() or self.state.scored_after >= self.state.scores_needed_after:
            return ()
        return tuple(choosing.scores(self.state))

    def _is_affordable(self, action: Action, now: datetime) -> bool:
        state = self.state
        in_flight = sum(
            state.trial_cost_s(n.template_id or "") for n in state.tree.in_flight()
        ) / max(1, state.settings.search.parallel)
        longer = choosing.series_length(state, action.template_id) / (
            state.settings.measure.max_pairs
        )
        cost = state.trial_cost_s(action.template_id) * longer
        needed = cost + in_flight + state.final_reserve_s()
        return (
            state.budget.remaining_s(now) >= needed
            and state.budget.num_trials < state.budget.settings.max_trials
        )

    def _has_room(self, action: Action) -> bool:
        """True when a specialist may start on an action: one a layer, ``parallel`` in all."""
        state = self.state
        if state.noise is None or self._is_profile_due() or self._is_closing():
            return False
        in_flight = state.tree.in_flight()
        waiting = [n for n in in_flight if n.status is not Status.MEASURING]
        templates = state.tree.templates
        layer = templates[action.template_id].layer
        return (
            len(waiting) < state.settings.search.parallel
            and all(templates[n.template_id or ""].layer != layer for n in waiting)
            and all(n.template_id != action.template_id for n in in_flight)
        )

    def _dispatch(self, now: datetime) -> Sequence[Event]:
        for action in choosing.ranked(self.state):
            if (
                (action.score or 0.0) >= self.state.settings.search.min_score
                and self._has_room(action)
                and self._is_affordable(action, now)
            ):
                return self._dispatch_batch(action)
        return ()

    def _dispatch_batch(self, action: Action) -> Sequence[Event]:
        tree = self.state.tree
        template = tree.templates[action.template_id]
        dispatch = ActionDispatched(
            action_id=action.action_id,
            node_id=f"n{len(tree.nodes):03d}",
            parent_id=tree.current_id,
            parent_commit=tree.current.commit or self.state.root_commit,
            template_id=template.template_id,
            specialist="tuning" if template.space else "config",
            edits=template.edits,
            brief=choosing.brief(self.state, action),
        )
        if not template.space:
            return (dispatch,)
        route = RouteDecided(
            action_id=action.action_id,
            engine="tpe",
            evidence="no language model configured: numbers go to black-box search",
        )
        return (route, dispatch)

    # The end

    def _finish(self, now: datetime) -> Sequence[Event]:
        state = self.state
        if state.tree.in_flight() or any(r.is_open for r in state.requests.by_id.values()):
            return ()
        if any(
            r.action_id is not None and r.root_cause is None
            for r in (a for a in state.tree.actions.values() if a.outcome is Status.CRASHED)
        ):
            return ()
        if state.noise is None:
            return ()
        asked = state.final_claims()
        if state.is_soak_due():
            return () if state.soaks() else (self._request("soak", state.tree.current),)
        if asked and (asked[-1].crash is None or len(asked) >= state.settings.search.max_attempts):
            return ()
        withdrawn = (
            ActionWithdrawn(action_id=a.action_id, reason=self._why_not(a, now))
            for a in state.tree.candidates()
        )
        return (*withdrawn, self._request("revalidation", state.tree.current))

    def _why_not(self, action: Action, now: datetime) -> str:
        if not self._is_affordable(action, now):
            return f"budget: {max(0.0, self.state.budget.remaining_s(now)):.0f} s left"
        return "below the smallest score worth a trial"
