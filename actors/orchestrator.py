"""The Orchestrator: profiles, scores, dispatches, asks for evidence, keeps or reverts."""

from collections.abc import Sequence
from datetime import datetime

from arbor.actors import choosing, concluding, rebuilding, requesting, routing
from arbor.actors.policies import Policy, policy_of
from arbor.actors.policies.base import ranked
from arbor.core.approval import awaits_approval
from arbor.core.state import CampaignState
from arbor.core.tree import Action, Status
from arbor.events.base import Event, Recorded
from arbor.events.choice import (
    ActionDispatched,
    ActionProposed,
    ActionWithdrawn,
    FrontierMoved,
)
from arbor.events.outcome import ActionKept
from arbor.events.requests import ActionRebased, MeasurementRequested
from arbor.events.types import RebuiltPart

WATCHED = frozenset({"campaign", "constraints", "budget"})
"""Every decision depends on these; tags of its own events are added."""


def _names(parts: Sequence[RebuiltPart]) -> set[str]:
    return {f"action:{part.action_id}" for part in parts}


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
        tags = set(WATCHED).union(*(event.tags() for event in batch))
        for event in batch:
            # What is built or kept on a node depends on every keep below it.
            match event:
                case ActionDispatched() | ActionKept() | ActionRebased():
                    tags |= self._ground(event.parent_id)
                case FrontierMoved():
                    tags |= self._ground(event.node_id) | self._ground(event.from_node_id)
                case MeasurementRequested():
                    tags |= self._ground(event.node_id)
                case ActionProposed() if event.parts:
                    tags |= self._ground(event.node_id) | _names(event.parts)
                case _:
                    pass
            # A veto of what a rebuilt path or a bundle is made of is a veto of all of it.
            action = self.state.tree.actions.get(event.action_id or "")
            tags |= _names(action.parts) if action is not None else set()
        return frozenset(tags)

    def _ground(self, node_id: str) -> set[str]:
        return {f"node:{node.node_id}" for node in self.state.tree.path(node_id)}

    def react(self, now: datetime) -> Sequence[Event]:
        """Return the next decision; empty while waiting for others."""
        state = self.state
        if state.started is None or state.is_paused or state.is_ended:
            return ()
        for decide in (
            self._lost_grounds,
            self._outcomes,
            self._overdue,
            self._retries,
            self._measurements,
            self._calibration,
            self._moves,
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

    # What is being measured

    def _lost_grounds(self, _: datetime) -> Sequence[Event]:
        return requesting.given_up(self.state) or rebuilding.withdrawals(self.state)

    def _outcomes(self, _: datetime) -> Sequence[Event]:
        return concluding.outcomes(self.state)

    def _measurements(self, now: datetime) -> Sequence[Event]:
        return requesting.measurements(self.state, now)

    def _calibration(self, _: datetime) -> Sequence[Event]:
        return requesting.calibration(self.state)

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
                and action.root_cause.is_worth_repeating
                and action.num_dispatches < self.state.settings.search.max_attempts
                and self._has_room(action)
                and self._is_affordable(action, now)
                and choosing.obstacle(self.state, action) is None
            ):
                return self._dispatch_batch(action)
        return ()

    # Candidates

    @property
    def _policy(self) -> Policy:
        return policy_of(self.state)

    def _moves(self, now: datetime) -> Sequence[Event]:
        """Go on from another node, when nothing is at work and the policy wants it."""
        if (
            self.state.noise is None
            or requesting.is_profile_due(self.state)
            or self._is_closing()
            or self._is_out_of_time(now)
            or self.state.tree.in_flight()
        ):
            return ()
        move = self._policy.move(self.state)
        return () if move is None else (move,)

    def _withdrawals(self, _: datetime) -> Sequence[Event]:
        if not self._is_closing():
            return choosing.withdrawals(self.state)
        return tuple(
            ActionWithdrawn(action_id=a.action_id, reason="the final claim is being made")
            for a in self.state.tree.candidates()
        )

    def _is_closing(self) -> bool:
        """True once the final claim about this stack was asked for: nothing new starts."""
        return bool(self.state.final_claims())

    def _proposals(self, now: datetime) -> Sequence[Event]:
        if (
            requesting.is_profile_due(self.state)
            or self._is_closing()
            or self._is_out_of_time(now)
        ):
            return ()
        rebuilt = rebuilding.proposal(self.state)
        return (rebuilt,) if rebuilt is not None else self._policy.proposals(self.state)

    def _scores(self, _: datetime) -> Sequence[Event]:
        if (
            requesting.is_profile_due(self.state)
            or self.state.scored_after >= self.state.scores_needed_after
        ):
            return ()
        return tuple(choosing.scores(self.state))

    def _is_affordable(self, action: Action, now: datetime) -> bool:
        state = self.state
        longer_ratio = choosing.series_growth(state, action.template_id)
        cost_s = state.trial_cost_s(action.template_id) * longer_ratio
        needed = cost_s + state.in_flight_s(now) + state.final_reserve_s()
        return (
            state.budget.remaining_s(now) >= needed
            and state.budget.num_trials < state.budget.settings.max_trials
        )

    def _has_room(self, action: Action) -> bool:
        """True when a specialist may start on an action: one a layer, ``parallel`` in all."""
        state = self.state
        if state.noise is None or requesting.is_profile_due(self.state) or self._is_closing():
            return False
        in_flight = state.tree.in_flight()
        waiting = [n for n in in_flight if n.status is not Status.MEASURING]
        templates = state.tree.templates
        layer = templates[action.template_id].layer
        return (
            len(waiting) < self._policy.num_parallel(state)
            and all(templates[n.template_id or ""].layer != layer for n in waiting)
            and all(n.template_id != action.template_id for n in in_flight)
        )

    def _dispatch(self, now: datetime) -> Sequence[Event]:
        for action in ranked(self._policy, self.state):
            if (
                self._is_worth_it(action, now)
                and self._has_room(action)
                and not awaits_approval(self.state, action)
            ):
                return self._dispatch_batch(action)
        return ()

    def _is_worth_it(self, action: Action, now: datetime) -> bool:
        """True when an action's score and cost allow a trial; only the search's are scored out."""
        is_scored_out = (action.score or 0.0) < self.state.settings.search.min_score
        if is_scored_out and action.source in {"orchestrator", "bundle", "stack"}:
            return False
        return self._is_affordable(action, now)

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
        return (routing.route(self.state, action.action_id, template), dispatch)

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
        if any(
            awaits_approval(state, a) and self._is_worth_it(a, now)
            for a in state.tree.candidates()
        ):
            # Somebody may still say yes, as long as there is time for a trial.
            return ()
        home = self._policy.home(state)
        if home != state.tree.current_id:
            moved = FrontierMoved(
                node_id=home, from_node_id=state.tree.current_id, reason="the best stack"
            )
            return (moved,)
        asked = state.final_claims()
        if state.is_soak_due():
            return (
                () if state.soaks() else (requesting.request(state, "soak", state.tree.current),)
            )
        if asked and (asked[-1].crash is None or len(asked) >= state.settings.search.max_attempts):
            return ()
        withdrawn = (
            ActionWithdrawn(action_id=a.action_id, reason=self._why_not(a, now))
            for a in state.tree.candidates()
        )
        claim = requesting.request(
            state,
            "revalidation",
            state.tree.current,
            left_s=state.budget.remaining_s(now),
        )
        return (*withdrawn, claim)

    def _why_not(self, action: Action, now: datetime) -> str:
        if not self._is_affordable(action, now):
            return f"budget: {max(0.0, self.state.budget.remaining_s(now)):.0f} s left"
        if awaits_approval(self.state, action):
            return "nobody approved it"
        return "below the smallest score worth a trial"
