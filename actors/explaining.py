"""What the Critic makes of a crash: its root cause, and a constraint for what would fail again."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from arbor.core.narrowing import Setting, lift_of, narrow_scope
from arbor.core.patches import patched_paths
from arbor.core.rca import Diagnosis, Incident, Precedent, diagnose, unknown
from arbor.core.rca.excerpt import numbered
from arbor.core.scopes import machine_name, software_of
from arbor.core.standing import forbidding
from arbor.core.state import CampaignState, CrashRecord
from arbor.core.tree import Action
from arbor.events.base import Event
from arbor.events.judgement import RootCauseFound
from arbor.events.limits import ConstraintPublished
from arbor.events.outcome import Crashed
from arbor.events.types import ConstraintScope, Edit
from arbor.events.work import TrialCrash


def explanation(state: CampaignState, record: CrashRecord) -> Sequence[Event]:
    """Return the root cause of a crash, and a constraint when the same would fail again."""
    crash = record.crash
    learns = state.settings.search.learn_from_crashes
    found = diagnose(incident_of(state, record)) if learns else unknown()
    event = RootCauseFound(
        action_id=crash.action_id,
        attempt_id=crash.attempt_id,
        causation_id=record.event_id,
        cause=found.cause,
        cause_group=found.group,
        blames_idea=found.blames_idea,
        evidence=tuple(line.text for line in found.evidence),
        confidence_ratio=found.confidence_ratio,
        remedy=found.remedy,
        fault=found.fault,
        layer=found.layer,
        evidence_line_numbers=tuple(line.number for line in found.evidence),
        step=found.step,
    )
    action = state.tree.actions.get(crash.action_id or "")
    if action is None or action.node_id is None:
        return (event,)
    node = state.tree.node(crash.node_id or action.node_id)
    return (event, *_limits(state, action, node.parent_id, node.edits, found, record.event_id))


def trial_limits(state: CampaignState) -> Sequence[Event]:
    """Return a constraint from a screening trial that broke, the oldest that made none, if any.

    A search goes on after a broken trial, so it is no crash of the action; what it ran out of, or
    lacked, holds for others all the same.
    """
    for record in state.trial_crashes if state.settings.search.learn_from_crashes else ():
        action = state.tree.actions.get(record.trial.action_id or "")
        if action is None or record.event_id in state.constraints.causes:
            continue
        found = diagnosed_trial(record.crash, action.template_id, record.trial.edits)
        if found.blames_idea:
            # one point of a space is no idea, and the search knows that it failed
            continue
        parent_id = state.tree.node(record.node_id).parent_id
        published = _limits(state, action, parent_id, record.trial.edits, found, record.event_id)
        if published:
            return published
    return ()


@lru_cache(maxsize=512)
def diagnosed_trial(crash: TrialCrash, template_id: str, edits: tuple[Edit, ...]) -> Diagnosis:
    """Return the diagnosis of a broken trial by itself; the same for equal trials."""
    return diagnose(_incident(crash, template_id, edits, patched_paths(edits)))


def incident_of(state: CampaignState, record: CrashRecord) -> Incident:
    """Return what is known about a crash: its log, its edits, the host, and what else broke."""
    crash = record.crash
    node = state.tree.nodes.get(crash.node_id or "")
    edits = node.edits if node is not None and crash.action_id is not None else ()
    found = _incident(
        crash, _template_of(state, record), edits, crash.patch_files or patched_paths(edits)
    )
    return replace(
        found,
        lines=crash.log_excerpt or numbered(crash.log_tail),
        precedents=tuple(
            Precedent(each.root_cause.cause, _template_of(state, each))
            for each in state.crashes
            if each.root_cause is not None and each is not record
        ),
    )


def _incident(
    crash: Crashed | TrialCrash,
    template_id: str | None,
    edits: Sequence[Edit],
    patch_files: Sequence[str],
) -> Incident:
    """Return what a crash tells by itself."""
    return Incident(
        lines=crash.log_excerpt,
        message=crash.message,
        phase=crash.phase,
        exit_code=crash.exit_code,
        signal=crash.signal,
        template_id=template_id,
        edits=tuple(edits),
        patch_files=tuple(patch_files),
        facts=crash.host_facts,
    )


def _template_of(state: CampaignState, record: CrashRecord) -> str | None:
    action = state.tree.actions.get(record.crash.action_id or "")
    return action.template_id if action is not None else None


def setting_of(
    state: CampaignState, template_id: str, parent_id: str, edits: Sequence[Edit]
) -> Setting:
    """Return where edits of a template were tried.

    The context is what kept actions changed there: on a path that lacks one of these a crash
    proves nothing.
    """
    tree = state.tree
    config = tree.config_at(parent_id)
    changed = sorted({e.key for n in tree.path(parent_id) for e in n.edits})
    full = tuple(Edit(key=key, value=config[key]) for key in changed)
    required = {r.key for r in tree.templates[template_id].requires}
    return Setting(
        template_id=template_id,
        edits=edits,
        before=config,
        context=tuple(edit for edit in full if edit.key not in required),
        full_context=full,
        hardware=machine_name(state.started.hardware) if state.started is not None else "",
        software=software_of(state.started) if state.started is not None else (),
    )


def _limits(  # noqa: PLR0917 - who tried what, where, and what came of it
    state: CampaignState,
    action: Action,
    parent_id: str | None,
    edits: Sequence[Edit],
    found: Diagnosis,
    cause_id: str,
) -> tuple[ConstraintPublished, ...]:
    """Return the constraint that a diagnosis proves, unless one in force says as much."""
    if parent_id is None:
        return ()
    setting = setting_of(state, action.template_id, parent_id, edits)
    scope = narrow_scope(found, setting)
    if scope is None:
        return ()
    known = forbidding(state, action.template_id, edits, setting.before, parent_id)
    if known is not None and not found.blames_idea:
        return ()
    return (_published(state, action, scope, found, cause_id),)


def _published(
    state: CampaignState, action: Action, scope: ConstraintScope, found: Diagnosis, cause_id: str
) -> ConstraintPublished:
    constraints = state.constraints
    return ConstraintPublished(
        action_id=action.action_id,
        causation_id=cause_id,
        constraint_id=f"c{constraints.num_published + 1:03d}",
        scope=scope,
        reason=f"{found.cause}: {found.remedy}",
        evidence=tuple(line.text for line in found.evidence),
        lift=lift_of(found, constraints.times_lifted(scope)),
    )
