"""What ails a long campaign, as its log shows it: thrash, stalls, crash loops; pure functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.causes import RemedyStep
from arbor.events.life import HealthCondition
from arbor.events.types import LiftCondition

CRITICS: frozenset[HealthCondition] = frozenset({"thrash", "stall", "crash_loop"})
"""Conditions that the log alone shows; others are seen where the servers run."""
THRASH_COUNT = 3
"""Work on a template that was undone so often is not begun at once again."""
THRASH_PAUSE_KEEPS = 1
THRASH_PAUSE_S = 3600.0
"""A template that thrashes rests until so many keeps came, or so many active seconds passed."""
STALL_FACTOR = 6.0
STALL_MIN_S = 1800.0
"""Work without a sign of life for so many expected durations, and so many seconds, is stalled."""
CRASH_LOOP_COUNT = 3
"""So many failures in a row with one cause, of different ideas, are a fault of the place."""
CRASH_LOOP_RECOVERY: tuple[RemedyStep, ...] = (
    "end_leftovers",
    "remove_locks",
    "clear_caches",
    "free_disk",
)


@dataclass(frozen=True, slots=True)
class Symptom:
    """Something that needs attention now.

    Attributes:
        condition: its kind.
        subject: what it is about: a template, an action, a cause, or an actor.
        detail: one line for people.
        recovery: what the next attempt should clean first.
        limit: when the subject, a template, may be tried again; None: it may be at once.
    """

    condition: HealthCondition
    subject: str
    detail: str
    recovery: tuple[RemedyStep, ...] = ()
    limit: LiftCondition | None = None


def symptoms(state: CampaignState, now: datetime) -> Iterator[Symptom]:
    """Yield what the log shows at a time."""
    yield from _thrash(state)
    yield from _stalls(state, now)
    yield from _crash_loop(state)


def _thrash(state: CampaignState) -> Iterator[Symptom]:
    for template_id, num_undone in state.vitals.num_undone.items():
        if num_undone >= THRASH_COUNT and template_id in state.tree.templates:
            yield Symptom(
                "thrash",
                template_id,
                f"work on it was undone {num_undone} times",
                limit=LiftCondition(after_s=THRASH_PAUSE_S, num_keeps=THRASH_PAUSE_KEEPS),
            )
    for constraint in state.constraints.in_force.values():
        name = constraint.scope.template_id
        if constraint.reason.startswith("thrash") and state.vitals.is_reported("thrash", name):
            yield Symptom("thrash", name, constraint.reason)


def _stalls(state: CampaignState, now: datetime) -> Iterator[Symptom]:
    active_s = state.budget.elapsed_s(now)
    for node in state.tree.in_flight():
        if node.status is Status.READY:
            # it waits for its turn
            continue
        heard_s = state.vitals.sign_s.get(node.action_id or "", active_s)
        silent_s = active_s - max(heard_s, state.vitals.lease_s)
        expected_s = state.trial_cost_s(node.template_id or "")
        if silent_s > max(STALL_MIN_S, STALL_FACTOR * expected_s):
            who = "its specialist" if node.status is Status.WORKING else "the bench"
            yield Symptom(
                "stall",
                node.action_id or "",
                f"{who} gave no sign of life for {silent_s:.0f} s"
                f" ({expected_s:.0f} s were expected in all)",
                recovery=("end_leftovers",),
            )


def _crash_loop(state: CampaignState) -> Iterator[Symptom]:
    failures = state.vitals.failures[-CRASH_LOOP_COUNT:]
    if len(failures) < CRASH_LOOP_COUNT:
        return
    causes = {failure.cause for failure in failures}
    subjects = {failure.subject for failure in failures}
    if len(causes) == 1 and len(subjects) > 1:
        cause = failures[-1].cause
        yield Symptom(
            "crash_loop",
            cause,
            f"{len(failures)} attempts at {len(subjects)} ideas broke in a row: {cause}",
            recovery=CRASH_LOOP_RECOVERY,
        )
