"""What the Critic makes of a crash: its root cause and, where an idea is refuted, a constraint."""

from collections.abc import Sequence

from arbor.core.patches import patched_paths
from arbor.core.rca import Diagnosis, Incident, Precedent, diagnose
from arbor.core.rca.excerpt import numbered
from arbor.core.state import CampaignState, CrashRecord
from arbor.core.tree import Action
from arbor.events.base import Event
from arbor.events.judgement import RootCauseFound
from arbor.events.limits import ConstraintPublished
from arbor.events.types import ConstraintScope, Edit


def explanation(state: CampaignState, record: CrashRecord) -> Sequence[Event]:
    """Return the root cause of a crash, and a constraint when its idea is refuted."""
    crash = record.crash
    found = diagnose(incident_of(state, record))
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
    if not found.blames_idea or action is None or action.node_id is None:
        return (event,)
    return (event, _constraint(state, record, action, found))


def incident_of(state: CampaignState, record: CrashRecord) -> Incident:
    """Return what is known about a crash: its log, its edits, the host, and what else broke."""
    crash = record.crash
    node = state.tree.nodes.get(crash.node_id or "")
    edits = node.edits if node is not None and crash.action_id is not None else ()
    return Incident(
        lines=crash.log_excerpt or numbered(crash.log_tail),
        message=crash.message,
        phase=crash.phase,
        exit_code=crash.exit_code,
        signal=crash.signal,
        template_id=_template_of(state, record),
        edits=edits,
        patch_files=crash.patch_files or patched_paths(edits),
        facts=crash.host_facts,
        precedents=tuple(
            Precedent(each.root_cause.cause, _template_of(state, each))
            for each in state.crashes
            if each.root_cause is not None and each is not record
        ),
    )


def _template_of(state: CampaignState, record: CrashRecord) -> str | None:
    action = state.tree.actions.get(record.crash.action_id or "")
    return action.template_id if action is not None else None


def _constraint(
    state: CampaignState, record: CrashRecord, action: Action, found: Diagnosis
) -> ConstraintPublished:
    crash = record.crash
    node = state.tree.node(crash.node_id or action.node_id or "")
    number = state.constraints.num_published + 1
    return ConstraintPublished(
        action_id=crash.action_id,
        causation_id=record.event_id,
        constraint_id=f"c{number:03d}",
        scope=ConstraintScope(
            template_id=action.template_id,
            edits=node.edits,
            context=_context(state, action, node.parent_id),
        ),
        reason=f"{found.cause}: {found.remedy}",
    )


def _context(state: CampaignState, action: Action, parent_id: str | None) -> tuple[Edit, ...]:
    """Return the part of the configuration that a crash depends on.

    The keys that kept actions changed are the context: on a path that lacks one of them the crash
    proves nothing.
    """
    tree = state.tree
    if parent_id is None:
        return ()
    template = tree.templates[action.template_id]
    required = {r.key for r in template.requires}
    config = tree.config_at(parent_id)
    changed = {e.key for n in tree.path(parent_id) for e in n.edits if e.key not in required}
    return tuple(Edit(key=key, value=config[key]) for key in sorted(changed))
