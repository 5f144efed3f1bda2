"""The Critic: judges measurements, finds root causes, publishes constraints, vetoes."""

from collections.abc import Sequence
from datetime import datetime

from arbor.actors.explaining import explanation, trial_limits
from arbor.actors.introspection import introspection
from arbor.core.accuracy import Gate, violations
from arbor.core.exactness import check_greedy_outputs
from arbor.core.guardrails import Evidence, check
from arbor.core.health import CRITICS, Symptom, symptoms
from arbor.core.measure.sequential import gain_verdict, guard_violation
from arbor.core.measure.soak import soak_summary, soak_violation
from arbor.core.requests import Request
from arbor.core.scopes import because
from arbor.core.standing import forbidden_keeps, lift_reason, offence_of, vetoed_keeps
from arbor.core.state import CampaignState
from arbor.core.tree import OPEN_STATUSES, Status
from arbor.events.base import Event, Recorded
from arbor.events.evidence import AccuracyMeasured, BenchmarkMeasured, SoakMeasured
from arbor.events.judgement import (
    KeepRevoked,
    MeasurementFlagged,
    MeasurementJudged,
)
from arbor.events.life import HealthReported
from arbor.events.limits import ActionVetoed, ConstraintLifted, ConstraintPublished
from arbor.events.types import ConstraintScope


class Critic:
    """A reactor: pure, deterministic, one small batch at a time."""

    name = "critic"

    def __init__(self) -> None:
        self.state = CampaignState()

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        self.state.apply(recorded)

    def watched_tags(self, batch: Sequence[Event]) -> frozenset[str]:
        """Return the tags that must not have moved for ``batch`` to still be right."""
        tags = frozenset[str]().union(*(event.tags() for event in batch))
        if any(isinstance(event, ActionVetoed | KeepRevoked) for event in batch):
            # A constraint that is lifted meanwhile is no reason any more.
            return tags | {"constraints"}
        return tags

    def react(self, now: datetime) -> Sequence[Event]:
        """Return the next judgement; empty while there is nothing to judge."""
        if self.state.started is None:
            return ()
        for decide in (
            self._judgements,
            self._root_causes,
            self._trial_limits,
            self._lifts,
            self._vetoes,
            self._revocations,
            self._introspection,
            self._health,
        ):
            batch = decide(now)
            if batch:
                return batch
        return ()

    def _judgements(self, _: datetime) -> Sequence[Event]:
        for request in self.state.requests.by_id.values():
            if request.judgement is not None or request.is_cancelled:
                continue
            match request.result:
                case AccuracyMeasured() as result:
                    return (self._judge_accuracy(request, result),)
                case BenchmarkMeasured() as result:
                    return self._judge_benchmark(request, result)
                case SoakMeasured() as result:
                    return (self._judge_soak(request, result),)
                case _:
                    pass
        return ()

    def _judge_soak(self, request: Request, result: SoakMeasured) -> Event:
        violation = soak_violation(result)
        return MeasurementJudged(
            causation_id=request.event_id,
            request_id=request.asked.request_id,
            purpose="soak",
            is_accepted=violation is None,
            reason=violation or soak_summary(result),
        )

    def _judge_accuracy(self, request: Request, result: AccuracyMeasured) -> Event:
        sample, tree = result.sample, self.state.tree
        claims_exact = tree.claims_exact(request.asked.node_id)
        broken = violations(sample, Gate(self.state.settings.gate, claims_exact))
        return MeasurementJudged(
            action_id=request.asked.action_id,
            causation_id=request.event_id,
            request_id=request.asked.request_id,
            purpose="accuracy",
            is_accepted=not broken,
            reason="; ".join(broken)
            or f"KL up to {sample.kl_mean_high:.2e} nats over {sample.num_tokens} tokens",
        )

    def _judge_benchmark(self, request: Request, result: BenchmarkMeasured) -> Sequence[Event]:
        is_final = result.purpose == "revalidation"
        checked = check(self._evidence(request, result))
        findings = checked.findings
        # the other arm is an ancestor, so it claims to be exact where this one does
        if self.state.tree.claims_exact(request.asked.node_id):
            own = [pair for pair in request.pairs if not pair.guard]
            findings = (*findings, *check_greedy_outputs(own))
        asked = request.asked
        flags = [
            MeasurementFlagged(
                action_id=asked.action_id,
                causation_id=request.event_id,
                request_id=asked.request_id,
                rule=f.rule,
                severity=f.severity,
                evidence=f.evidence,
            )
            for f in findings
        ]
        invalid = [f for f in findings if f.severity == "invalid"]
        effect = result.effect
        is_proved, verdict = (
            (effect.low > 1.0, "the interval does not lie above 1")
            if is_final or asked.plan is None
            else gain_verdict(request.series(), asked.plan)
        )
        text = f"{effect.ratio:.3f}x [{effect.low:.3f}, {effect.high:.3f}]"
        if invalid:
            is_accepted, reason = False, f"{invalid[0].rule}: {invalid[0].evidence}"
        elif is_proved and (worse := guard_violation(result.guards)) is not None:
            is_accepted, reason = False, f"{text}, but {worse}"
        elif is_proved:
            is_accepted, reason = True, f"{text} over {effect.num_pairs} pairs"
        else:
            is_accepted = False
            reason = f"{text} after {effect.num_pairs} pairs: {verdict}"
        judged = MeasurementJudged(
            action_id=asked.action_id,
            causation_id=request.event_id,
            request_id=asked.request_id,
            purpose=result.purpose,
            is_accepted=is_accepted,
            reason=reason,
            unobserved_rules=tuple(each.rule for each in checked.unobserved),
        )
        return (*flags, judged)

    def _evidence(self, request: Request, result: BenchmarkMeasured) -> Evidence:
        """A final claim is about the whole path, so no single action is held against it."""
        tree = self.state.tree
        node = tree.node(request.asked.node_id)
        accuracy = self.state.measurement_of(node.node_id, "accuracy")
        checked = accuracy.result if accuracy is not None else None
        is_action = result.purpose == "benchmark" and node.parent_id is not None
        return Evidence(
            pairs=request.pairs,
            result=result,
            settings=self.state.settings.measure,
            template=tree.templates.get(node.template_id or "") if is_action else None,
            profile=tree.profile_at(node.parent_id) if node.parent_id else None,
            noise=self.state.noise,
            accuracy=checked if isinstance(checked, AccuracyMeasured) else None,
            edits=node.edits if is_action else (),
            incumbent_config=tree.config_at(node.parent_id) if node.parent_id else {},
        )

    def _root_causes(self, _: datetime) -> Sequence[Event]:
        for record in self.state.crashes:
            if record.root_cause is None:
                return explanation(self.state, record)
        return ()

    def _trial_limits(self, _: datetime) -> Sequence[Event]:
        return trial_limits(self.state)

    def _lifts(self, now: datetime) -> Sequence[Event]:
        """Lift what has served its time, or what the stack has outgrown; the latest first.

        Of several limits on one subject the latest is the tightest: what it left out is tried
        again before what lies further out.
        """
        if self.state.is_ended:
            return ()
        for constraint in reversed(self.state.constraints.in_force.values()):
            reason = lift_reason(self.state, constraint, now)
            if reason is not None:
                return (ConstraintLifted(constraint_id=constraint.constraint_id, reason=reason),)
        return ()

    def _health(self, now: datetime) -> Sequence[Event]:
        """Report what ails the campaign, once, and its end; limit what thrashes."""
        state = self.state
        if state.is_paused or state.is_ended:
            return ()
        found = tuple(symptoms(state, now))
        for symptom in found:
            if not state.vitals.is_reported(symptom.condition, symptom.subject):
                return self._reported(symptom)
        standing = {(each.condition, each.subject) for each in found}
        for report in state.vitals.reports.values():
            is_own = report.condition in CRITICS and not report.is_healthy
            if is_own and (report.condition, report.subject) not in standing:
                return (
                    HealthReported(
                        condition=report.condition,
                        subject=report.subject,
                        is_healthy=True,
                        detail="over",
                    ),
                )
        return ()

    def _reported(self, symptom: Symptom) -> Sequence[Event]:
        report = HealthReported(
            condition=symptom.condition,
            subject=symptom.subject,
            is_healthy=False,
            detail=symptom.detail,
            recovery=symptom.recovery,
        )
        if symptom.limit is None:
            return (report,)
        number = self.state.constraints.num_published + 1
        return (
            report,
            ConstraintPublished(
                constraint_id=f"c{number:03d}",
                scope=ConstraintScope(template_id=symptom.subject),
                reason=f"{symptom.condition}: {symptom.detail}",
                lift=symptom.limit,
            ),
        )

    def _vetoes(self, _: datetime) -> Sequence[Event]:
        """Stop what a constraint forbids by now, at work or kept."""
        state = self.state
        at_work = (offence_of(state, node) for node in state.tree.in_flight())
        for found in (*at_work, *forbidden_keeps(state)):
            if found is None or state.constraints.ban(found.part.action_id) is not None:
                continue
            constraint = found.constraint
            return (
                ActionVetoed(
                    action_id=found.part.action_id,
                    reason=because(constraint),
                    by="critic",
                    constraint_id=constraint.constraint_id,
                ),
            )
        return ()

    def _revocations(self, _: datetime) -> Sequence[Event]:
        """Revoke the keep of an action that was vetoed too late to stop it."""
        for action, ban in vetoed_keeps(self.state):
            if action.node_id is not None:
                part = "" if ban.action_id == action.action_id else f" part {ban.action_id}"
                return (
                    KeepRevoked(
                        action_id=action.action_id,
                        node_id=action.node_id,
                        reason=f"vetoed{part}: {ban.reason}",
                    ),
                )
        return ()

    def _introspection(self, _: datetime) -> Sequence[Event]:
        for action in self.state.tree.actions.values():
            if (
                action.outcome in {Status.REVERTED, Status.CRASHED}
                and action.action_id not in self.state.introspected
                and action.node_id is not None
                and self.state.tree.node(action.node_id).status not in OPEN_STATUSES
                and (action.outcome is not Status.CRASHED or action.root_cause is not None)
            ):
                return (introspection(self.state, action),)
        return ()
