"""What to try next: proposals, scores, briefs; pure functions of the campaign's state."""

from collections.abc import Iterator, Mapping
from functools import partial

from arbor.actors import bundling, rebuilding
from arbor.core.approval import awaits_approval
from arbor.core.measure.planning import series_plan
from arbor.core.measure.sequential import expected_pairs
from arbor.core.scoring import score, score_terms
from arbor.core.state import CampaignState
from arbor.core.tree import OPEN_STATUSES, Action, Status
from arbor.events.choice import ActionProposed, ActionScored, ActionWithdrawn, Source
from arbor.events.types import ActionTemplate, Scalar, SeriesPlan

MAX_DOUBLINGS = 2
"""A series is at most this often doubled by second looks."""
RETUNE_AFTER_KEEPS = 3
"""Numbers that were kept are searched again after so many further keeps."""
_PRECEDENCE: dict[Source, int] = {
    "rebuild": 0,
    "human": 1,
    "orchestrator": 2,
    "bundle": 2,
    "stack": 2,
}
"""Whose actions come first, whatever their scores."""


def _changes_something(template: ActionTemplate, config: Mapping[str, Scalar]) -> bool:
    return bool(template.space) or any(config.get(e.key) != e.value for e in template.edits)


def inapplicable_reason(state: CampaignState, template: ActionTemplate) -> str | None:
    """Return why a template cannot be tried at the current node, or None."""
    config = state.tree.config_at(state.tree.current_id)
    unmet = rebuilding.unmet_requirement(template, config)
    if unmet is not None:
        return unmet
    if not _changes_something(template, config):
        return "already in force"
    constraint = state.constraints.blocking(template.template_id, template.edits, config)
    if constraint is not None:
        return f"constraint {constraint.constraint_id}: {constraint.reason}"
    return None


def obstacle(state: CampaignState, action: Action) -> str | None:
    """Return why an action cannot be tried at the current node, or None."""
    if action.parts:
        return rebuilding.obstacle(state, action)
    return inapplicable_reason(state, state.tree.templates[action.template_id])


def _revival(state: CampaignState, last: Action) -> str | None:
    """Return why an action that failed before deserves another try now, or None."""
    if last.revive is None or last.node_id is None:
        return None
    tree = state.tree
    before = set(tree.kept_templates(tree.node(last.node_id).parent_id or tree.current_id))
    now = set(tree.kept_templates(tree.current_id))
    unlocked = sorted((now - before) & set(last.revive.kept_any_of))
    if unlocked:
        return f"{', '.join(unlocked)} was kept since"
    profile = tree.profile_at(tree.current_id)
    if profile is not None and last.revive.category:
        share = profile.share_of(last.revive.category)
        if share > last.revive.share_above_ratio:
            return (
                f"{last.revive.category} now takes {share:.0%} of the time "
                f"(above {last.revive.share_above_ratio:.0%})"
            )
    return None


def _candidate(
    state: CampaignState, template: ActionTemplate, *, is_idle: bool
) -> tuple[str, str | None] | None:
    """Return (reason, revived action) when a template should become a candidate now."""
    if inapplicable_reason(state, template) is not None:
        return None
    history = state.tree.history(template.template_id)
    if any(a.is_candidate or a.parts or state.constraints.ban(a.action_id) for a in history):
        return None
    dispatched = [a for a in history if a.node_id is not None]
    if not dispatched:
        return "not tried yet", None
    last = dispatched[-1]
    status = state.tree.node(last.node_id or "").status
    if status in OPEN_STATUSES:
        return None
    carrier = rebuilding.carrier_of(state, last.action_id)
    if carrier is not None:
        if carrier.outcome is not Status.KEPT:
            return None
        status = Status.KEPT
    if (reason := _unsettled(state, last, status)) is not None:
        return reason, last.action_id
    if status is Status.KEPT and not template.space:
        return None
    revivals = sum(a.revives is not None for a in dispatched)
    if revivals >= state.settings.search.max_revivals:
        return None
    reason = _another_try(state, last, is_kept=status is Status.KEPT, is_idle=is_idle)
    return None if reason is None else (reason, last.action_id)


def _unsettled(state: CampaignState, last: Action, status: Status) -> str | None:
    """Return why nothing was learned about an action that would speak against it here, or None."""
    tree = state.tree
    if status in {Status.WITHDRAWN, Status.REVOKED, Status.VETOED}:
        # Nothing was learned about the idea itself, and what stood in its way is gone.
        return f"earlier {status}: {tree.node(last.node_id or '').reason}"
    if status is not Status.KEPT or tree.is_on_path(last.node_id or "", tree.current_id):
        return None
    # Where a branch begins, what that branch has is no news; on a new branch it is.
    is_leaf = all(
        node.parent_id != tree.current_id or node.status is not Status.KEPT
        for node in tree.nodes.values()
    )
    return "kept on another branch" if is_leaf and not _was_part(state, last) else None


def _was_part(state: CampaignState, action: Action) -> bool:
    """Return whether an action counts as kept only as a part of another."""
    return state.tree.node(action.node_id or "").status is not Status.KEPT


def is_open(state: CampaignState, template: ActionTemplate) -> bool:
    """Return whether a template would become a candidate at the current node."""
    return _candidate(state, template, is_idle=False) is not None


def _another_try(
    state: CampaignState, last: Action, *, is_kept: bool, is_idle: bool
) -> str | None:
    """Return why an action that was tried deserves another try now, or None."""
    reason = _retuning(state, last) if is_kept else _revival(state, last)
    if reason is None and is_idle and not is_kept:
        reason = second_look(state, last)
    if reason is None and is_idle:
        reason = _new_context(state, last, is_kept=is_kept)
    return reason


def _new_context(state: CampaignState, last: Action, *, is_kept: bool) -> str | None:
    """Return why what was tried elsewhere is tried again on this node once time is left, or None.

    Gains show up late: what was nothing on a slow stack can be a tenth on a fast one.
    """
    is_hopeless = last.revive is not None and not last.revive.category
    if last.node_id is None or is_hopeless or (last.revive is None and not is_kept):
        return None
    tree = state.tree
    before = {n.node_id for n in tree.path(tree.node(last.node_id).parent_id or last.node_id)}
    before.add(last.node_id)
    num_keeps = sum(n.node_id not in before for n in tree.path(tree.current_id))
    if num_keeps == 0:
        return None
    return f"time is left, and {num_keeps} keeps came since it was tried"


def _retuning(state: CampaignState, last: Action) -> str | None:
    """Return why numbers that were tuned and kept deserve another search now, or None."""
    kept = state.tree.kept_templates(state.tree.current_id)
    if last.template_id not in kept:
        return None
    later = kept[len(kept) - 1 - kept[::-1].index(last.template_id) + 1 :]
    if len(later) < RETUNE_AFTER_KEEPS:
        return None
    return f"tuned before {len(later)} other keeps; its optimum may have moved"


def second_look(state: CampaignState, last: Action) -> str | None:
    """Return why a gain that could not be shown is measured again with longer series, or None."""
    if not state.tree.is_inconclusive(last, state.settings.measure.min_gain_ratio):
        return None
    effect = state.tree.node(last.node_id or "").effect
    seen = f"{effect.ratio:.3f}x over {effect.num_pairs} pairs" if effect is not None else ""
    return f"inconclusive: {seen}; time is left for a longer series"


def series_length(state: CampaignState, template_id: str) -> int:
    """Return the longest series of a template's benchmark, in pairs.

    As many as fit into its longest time at the present length of a pair; doubled for every
    second look.
    """
    measure = state.settings.measure
    longest = measure.max_pairs
    if state.pair_s:
        longest_s = max(measure.series_s, measure.series_share_ratio * state.budget.wall_s)
        fitting = int(longest_s / state.pair_s)
        longest = min(longest, max(measure.min_pairs + 1, fitting))
    return longest * series_growth(state, template_id)


def series_growth(state: CampaignState, template_id: str) -> int:
    """Return how many times longer than a first look the next series of a template may be."""
    num_looks = sum(
        state.tree.is_inconclusive(action, state.settings.measure.min_gain_ratio)
        for action in state.tree.history(template_id)
    )
    return 1 << min(num_looks, MAX_DOUBLINGS)


def benchmark_plan(
    state: CampaignState, template_id: str, left_s: float | None = None
) -> SeriesPlan:
    """Return how the next benchmark of a template is measured and judged.

    Args:
        state: the campaign.
        template_id: what is measured.
        left_s: seconds that its pairs may take; None when that is not known.
    """
    measure = state.settings.measure
    max_pairs = series_length(state, template_id)
    if left_s is not None and state.pair_s:
        max_pairs = min(max_pairs, max(measure.min_pairs, int(left_s / state.pair_s)))
    num_tests, num_discoveries = state.requests.num_tests()
    return series_plan(
        state.settings.measure,
        state.noise_pool,
        num_tests=num_tests,
        num_discoveries=num_discoveries,
        max_pairs=max_pairs,
    )


def proposals(state: CampaignState) -> tuple[ActionProposed, ...]:
    """Return the templates that become candidates at the current node.

    When nothing else is left to try, gains that could not be shown are tried together, and
    then get a second look each.
    """
    batch = _proposals(state, is_idle=False)
    startable = [a for a in state.tree.candidates() if not awaits_approval(state, a)]
    if batch or startable or state.tree.in_flight():
        return batch
    bundle = bundling.proposal(state)
    return (bundle,) if bundle is not None else _proposals(state, is_idle=True)


def fresh_proposals(state: CampaignState) -> tuple[ActionProposed, ...]:
    """Return the templates that were never tried and can be tried at the current node."""
    return _proposals(state, is_idle=False, only_fresh=True)


def _proposals(
    state: CampaignState, *, is_idle: bool, only_fresh: bool = False
) -> tuple[ActionProposed, ...]:
    number = len(state.tree.actions)
    batch = []
    for template in state.tree.templates.values():
        found = _candidate(state, template, is_idle=is_idle)
        if found is None or (only_fresh and found[1] is not None):
            continue
        number += 1
        reason, revives = found
        batch.append(
            ActionProposed(
                action_id=f"a{number:03d}",
                template_id=template.template_id,
                node_id=state.tree.current_id,
                revives=revives,
                reason=reason,
            )
        )
    return tuple(batch)


def withdrawals(state: CampaignState) -> tuple[ActionWithdrawn, ...]:
    """Return the candidates that cannot be tried any more."""
    batch = []
    wanted = {a.template_id: a for a in state.tree.candidates() if a.source == "human"}
    for action in state.tree.candidates():
        reason = obstacle(state, action)
        asked = wanted.get(action.template_id, action)
        if reason is None and asked is not action:
            reason = f"a human proposed it as {asked.action_id}"
        if reason is not None:
            batch.append(ActionWithdrawn(action_id=action.action_id, reason=reason))
    return tuple(batch)


def mean_cost_s(state: CampaignState) -> float:
    """Return the mean expected cost of the catalog, the unit of cost in scores."""
    costs = [t.cost_s for t in state.started.actions] if state.started is not None else []
    return sum(costs) / len(costs) if costs else 1.0


def _extra_series_s(state: CampaignState, plan: SeriesPlan, ratio: float) -> float:
    """Return the seconds beyond the shortest series that showing a ratio should take."""
    if state.pair_s is None:
        return 0.0
    return (expected_pairs(ratio, plan) - plan.min_pairs) * state.pair_s


def scores(state: CampaignState) -> Iterator[ActionScored]:
    """Yield a fresh score for every candidate."""
    settings = state.settings.search
    unit = mean_cost_s(state)
    for action in state.tree.candidates():
        template = state.tree.templates[action.template_id]
        plan = benchmark_plan(state, action.template_id)
        terms = score_terms(
            state.tree, template, settings, unit, partial(_extra_series_s, state, plan)
        )
        yield ActionScored(
            action_id=action.action_id,
            node_id=state.tree.current_id,
            form=settings.score,
            score=score(settings.score, terms),
            terms=terms,
        )


def order(action: Action) -> tuple[int, float, int]:
    """Return what actions are sorted by; a rebase changes none of it, so that it is stable."""
    return _PRECEDENCE[action.source], -(action.score or 0.0), action.position


def brief(state: CampaignState, action: Action) -> str:
    """Return what a specialist is told: hardware, profile, history, constraints."""
    template = state.tree.templates[action.template_id]
    profile = state.tree.profile_at(state.tree.current_id)
    shares = (
        ", ".join(f"{s.category} {s.share_ratio:.0%}" for s in profile.shares)
        if profile is not None
        else "not known"
    )
    history = [
        f"{a.action_id} {a.outcome}: {state.tree.node(a.node_id).reason or 'no remark'}"
        for a in state.tree.history(action.template_id)
        if a.node_id is not None and a.outcome is not None
    ]
    limits = [
        f"{c.constraint_id}: {c.reason}"
        for c in state.constraints.in_force.values()
        if c.scope.template_id == action.template_id
    ]
    hardware = state.started.hardware.device_name if state.started is not None else "unknown"
    return "\n".join(
        (
            f"Task: {template.title} ({template.layer} layer, touches {template.category}).",
            f"Why now: {action.reason}.",
            f"Hardware: {hardware}.",
            f"Profile: {shares}.",
            f"History: {'; '.join(history) or 'none'}.",
            f"Constraints: {'; '.join(limits) or 'none'}.",
        )
    )
