"""Whether a failed idea keeps merit, under conditions that a log can show; pure functions."""

from dataclasses import dataclass

from arbor.core.scopes import named_in
from arbor.core.state import CampaignState
from arbor.core.tree import Action, Node, Status
from arbor.events.evidence import BenchmarkMeasured
from arbor.events.judgement import IntrospectionRecorded, Merit
from arbor.events.types import ActionTemplate, ReviveCondition, Witness

REVIVE_SHARE_FACTOR = 1.3
"""A reverted idea deserves another try when its category's share of the time grew this much."""


@dataclass(frozen=True, slots=True)
class _Finding:
    revive: ReviveCondition
    reasoning: str
    merit: tuple[Merit, ...]


def introspection(state: CampaignState, action: Action) -> IntrospectionRecorded:
    """Return under which conditions a reverted or crashed action is worth another try."""
    template = state.tree.templates[action.template_id]
    node = state.tree.node(action.node_id or "")
    found = (
        _of_crash(state, action, template)
        or _of_gate(node)
        or _of_limit(node)
        or _of_dead_code(node, template)
        or _of_guard(state, node)
        or _of_bottleneck(state, node, template)
    )
    return IntrospectionRecorded(
        action_id=action.action_id,
        causation_id=state.outcome_event_ids.get(action.action_id),
        template_id=action.template_id,
        revive=found.revive,
        reasoning=found.reasoning,
        merit=found.merit,
    )


_NEVER = ReviveCondition()


def _of_crash(state: CampaignState, action: Action, template: ActionTemplate) -> _Finding | None:
    cause = action.root_cause if action.outcome is Status.CRASHED else None
    if cause is None:
        return None
    if (
        cause.cause == "worker_died"
        and action.num_dispatches >= state.settings.search.max_attempts
    ):
        text = f"it ended whoever worked on it, in each of {action.num_dispatches} tries"
        return _Finding(_NEVER, text, ("none",))
    if cause.blames_idea:
        text = "the failure does not depend on where the time goes"
        return _Finding(_NEVER, text, ("none",))
    if cause.fault == "implementation":
        # another patch or another stack may work; the same edits here would not
        limits = [
            c.constraint_id
            for c in state.constraints.in_force.values()
            if c.action_id == action.action_id
        ]
        revive = ReviveCondition(
            kept_any_of=template.unlocked_by,
            lifted_constraint=limits[-1] if limits else "",
        )
        text = f"not the idea but its implementation failed ({cause.cause}): {cause.remedy}"
        if limits:
            text += f"; again when {limits[-1]} is lifted"
        merit: tuple[Merit, ...] = ("implementation", *_needs(template))
        return _Finding(revive, text, (*merit, "limit") if limits else merit)
    return None


def _of_gate(node: Node) -> _Finding | None:
    if not node.reason.startswith("accuracy"):
        return None
    return _Finding(_NEVER, "the failure does not depend on where the time goes", ("none",))


def _of_limit(node: Node) -> _Finding | None:
    """A gain that a constraint forbade is a gain once that is lifted."""
    constraint_id = named_in(node.reason)
    if constraint_id is None:
        return None
    text = f"it was measured, and {constraint_id} forbade it; again when that is lifted"
    return _Finding(ReviveCondition(lifted_constraint=constraint_id), text, ("limit",))


def _of_dead_code(node: Node, template: ActionTemplate) -> _Finding | None:
    """What never ran was not refuted: it gets its chance when the code that it changes runs.

    That is so when a counter of that code grows on the path in force, when what the catalog names
    is kept, or when a keep touches the same category and may send the work another way.
    """
    if node.effect is None or node.has_witness:
        return None
    counters = _counters(template.witness)
    revive = ReviveCondition(
        kept_any_of=template.unlocked_by,
        kept_category=template.category,
        live_counter=counters[0] if counters else "",
    )
    ways = [f"a keep that touches {template.category}"]
    ways += [f"a window in which {counters[0]} grows"] if counters else []
    ways += [f"a keep of {' or '.join(template.unlocked_by)}"] if template.unlocked_by else []
    text = f"the code that it changes did not run; worth another try after {', or '.join(ways)}"
    return _Finding(revive, text, ("dead_code", *_needs(template)))


def _counters(witness: Witness) -> list[str]:
    if witness.kind == "counter":
        return [witness.key]
    return [key for part in witness.parts for key in _counters(part)]


def _of_guard(state: CampaignState, node: Node) -> _Finding | None:
    """A gain that a guard workload paid for is a gain where that is not served."""
    measured = state.measurement_of(node.node_id, "benchmark")
    result = measured.result if measured is not None else None
    if not isinstance(result, BenchmarkMeasured) or result.effect.low <= 1.0:
        return None
    worse = tuple(g.name for g in result.guards if g.effect.ratio < 1.0 - g.max_loss_ratio)
    if not worse:
        return None
    text = (
        f"{result.effect.ratio:.3f}x on its own workload, at the cost of {', '.join(worse)}; worth"
        " a try where that is not served"
    )
    return _Finding(ReviveCondition(unguarded=worse), text, ("other_workload",))


def _of_bottleneck(state: CampaignState, node: Node, template: ActionTemplate) -> _Finding:
    profile = state.tree.profile_at(node.parent_id) if node.parent_id else None
    share = profile.share_of(template.category) if profile is not None else 1.0
    above = min(1.0, share * REVIVE_SHARE_FACTOR)
    revive = ReviveCondition(
        kept_any_of=template.unlocked_by,
        category=template.category,
        share_above_ratio=above,
    )
    text = f"{template.category} took {share:.0%} of the time; worth another try above {above:.0%}"
    if template.unlocked_by:
        text += f", or once {', '.join(template.unlocked_by)} is kept"
    return _Finding(revive, text, ("bottleneck", *_needs(template)))


def _needs(template: ActionTemplate) -> tuple[Merit, ...]:
    return ("needs_keep",) if template.unlocked_by else ()
