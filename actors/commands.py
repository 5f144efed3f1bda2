"""What people may tell a campaign, and why a command is refused; asked again when it lands."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import NamedTuple

from arbor.actors import choosing, rebuilding
from arbor.core.approval import awaits_approval, needs_approval
from arbor.core.state import CampaignState
from arbor.core.tree import Action, Status
from arbor.events.base import Event
from arbor.events.campaign import CampaignPaused, CampaignResumed
from arbor.events.choice import ActionProposed
from arbor.events.errors import InvalidInputError
from arbor.events.limits import (
    ActionApproved,
    ActionVetoed,
    ConstraintLifted,
    ConstraintPublished,
)
from arbor.events.types import ActionTemplate, ConstraintScope, Edit, Layer, Scalar

HUMAN = "human"
"""Actors whose name begins like this are people; their login name follows a colon."""
EDIT_PREFIX = "edit:"
"""How the name of a template begins that a human wrote."""


class Section(NamedTuple):
    """Where a change belongs: a layer and a category of the profile."""

    layer: Layer
    category: str


def _near(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, n=3) or list(known)[:8]
    return f"known: {', '.join(close)}" if close else "there is none yet"


def _unknown_action(state: CampaignState, action_id: str) -> str:
    return f"no action {action_id!r}; {_near(action_id, list(state.tree.actions))}"


def refusal(state: CampaignState, event: Event) -> str | None:
    """Return why a human's event must not enter the log, in one line with the fix, or None."""
    if state.started is None:
        return "the campaign has not begun; try again in a moment"
    if state.is_ended:
        return "the campaign has ended; `arbor resume DIR --budget 10m` goes on, then try again"
    match event:
        case ActionVetoed():
            return _veto_refusal(state, event.action_id or "")
        case ActionApproved():
            return _approval_refusal(state, event.action_id or "")
        case ActionProposed():
            return _proposal_refusal(state, event)
        case ConstraintLifted() | ConstraintPublished():
            return _constraint_refusal(state, event)
        case CampaignPaused() if state.is_paused:
            return "the campaign is paused already; `arbor resume-campaign DIR` goes on"
        case CampaignResumed() if not state.is_paused or event.added_wall_s != 0:
            return "the campaign is not paused; `arbor pause DIR` pauses it"
        case CampaignPaused() | CampaignResumed():
            return None
        case _:
            return f"a human cannot say {event.kind}"


def _veto_refusal(state: CampaignState, action_id: str) -> str | None:
    action = state.tree.actions.get(action_id)
    if action is None:
        return _unknown_action(state, action_id)
    if state.constraints.ban(action_id) is not None:
        return f"{action_id} was vetoed already"
    is_standing = action.outcome in {None, Status.KEPT}
    if not is_standing and rebuilding.carrier_of(state, action_id) is None:
        return f"{action_id} is over ({action.outcome}); `arbor tree DIR` shows what is not"
    return None


def _approval_refusal(state: CampaignState, action_id: str) -> str | None:
    action = state.tree.actions.get(action_id)
    if action is None:
        return _unknown_action(state, action_id)
    if not action.is_candidate:
        return f"{action_id} waits for nobody ({action.outcome or 'at work'}); nothing to approve"
    if not needs_approval(state, action):
        return f"{action_id} needs no approval; search.require_approval does not name it"
    if not awaits_approval(state, action):
        return f"{action_id} was approved already by {state.constraints.approved[action_id]}"
    return None


def _constraint_refusal(
    state: CampaignState, event: ConstraintLifted | ConstraintPublished
) -> str | None:
    if isinstance(event, ConstraintPublished):
        return _limit_refusal(state, event)
    constraint_id, known = event.constraint_id, state.constraints.in_force
    if constraint_id in known:
        return None
    return f"no constraint {constraint_id!r} is in force; {_near(constraint_id, list(known))}"


def _limit_refusal(state: CampaignState, event: ConstraintPublished) -> str | None:
    scope, tree = event.scope, state.tree
    if event.constraint_id in state.constraints.keeps_before:
        return f"constraint {event.constraint_id!r} exists already; forbid it again"
    if scope == ConstraintScope(template_id=""):
        return (
            "a constraint needs a template, --layer, --category, --edit, --at-least or --at-most"
        )
    known = [name for name in tree.templates if not _is_rebuilt(state, name)]
    if scope.template_id and scope.template_id not in known:
        return f"no template {scope.template_id!r}; {_near(scope.template_id, known)}"
    if scope.below_node_id and scope.below_node_id not in tree.nodes:
        return f"no node {scope.below_node_id!r}; {_near(scope.below_node_id, list(tree.nodes))}"
    categories = sorted({template.category for template in tree.templates.values()})
    if scope.category and scope.category not in categories:
        return f"no action touches {scope.category!r}; {_near(scope.category, categories)}"
    config = tree.config_at(tree.current_id)
    keys = (*(e.key for e in (*scope.edits, *scope.context)), *(r.key for r in scope.ranges))
    unknown = next((key for key in keys if key not in config), None)
    if unknown is not None:
        return f"the configuration has no key {unknown!r}; {_near(unknown, sorted(config))}"
    return None


def _proposal_refusal(state: CampaignState, event: ActionProposed) -> str | None:
    if event.source != "human" or event.parts or event.revives is not None:
        return "a human proposes one action, as a human"
    if event.action_id is None or event.action_id in state.tree.actions:
        return f"action {event.action_id!r} exists already; propose again"
    template = event.template
    if template is not None:
        if template != custom_template(state, template.edits):
            return f"template {template.template_id!r} is not what its edits make"
    else:
        template = state.tree.templates.get(event.template_id)
    if template is None or template.template_id != event.template_id:
        known = [name for name in state.tree.templates if not _is_rebuilt(state, name)]
        return (
            f"no template {event.template_id!r} in the catalog; {_near(event.template_id, known)}"
        )
    if _is_rebuilt(state, template.template_id):
        return f"{template.template_id} is made of other actions; propose one of them"
    busy = [a for a in state.tree.history(template.template_id) if _is_wanted(a)]
    if busy:
        return f"{template.template_id} is on its way already as {busy[-1].action_id}"
    reason = choosing.inapplicable_reason(state, template)
    if reason is None:
        return None
    fix = "; `arbor lift` lifts it" if reason.startswith("constraint") else ""
    return f"{template.template_id} cannot be tried on {state.tree.current_id}: {reason}{fix}"


def _is_rebuilt(state: CampaignState, template_id: str) -> bool:
    return any(action.parts for action in state.tree.history(template_id))


def _is_wanted(action: Action) -> bool:
    if action.node_id is None:
        return action.is_candidate and action.source == "human"
    return action.outcome is None


def custom_template(state: CampaignState, edits: Sequence[Edit]) -> ActionTemplate:
    """Return the template of a human's own edits; equal edits give an equal template.

    Raises:
        InvalidInputError: a key does not exist, or its value has another type.
    """
    config = state.tree.config_at(state.tree.current_id)
    checked = tuple(
        Edit(key=edit.key, value=_checked(config, edit))
        for edit in sorted(edits, key=lambda edit: edit.key)
    )
    if not checked or len({edit.key for edit in checked}) != len(checked):
        raise InvalidInputError("give every key once: --edit key=value")
    section = _section(state, checked[0].key)
    named = ",".join(f"{edit.key}={edit.value}" for edit in checked)
    return ActionTemplate(
        template_id=f"{EDIT_PREFIX}{named}",
        layer=section.layer,
        category=section.category if len(checked) == 1 else "all",
        title=f"Set {named.replace(',', ', ')}",
        edits=checked,
        # Nothing is known of it: it is held to the campaign's gate, not to an exact one.
        is_exact=False,
    )


def _checked(config: dict[str, Scalar], edit: Edit) -> Scalar:
    if edit.key not in config:
        raise InvalidInputError(
            f"the configuration has no key {edit.key!r}; {_near(edit.key, sorted(config))}"
        )
    now = config[edit.key]
    if isinstance(now, float) and type(edit.value) is int:
        return float(edit.value)
    if type(edit.value) is not type(now):
        raise InvalidInputError(
            f"{edit.key} holds {now!r}; {edit.value!r} is no {type(now).__name__}"
        )
    return edit.value


def _section(state: CampaignState, key: str) -> Section:
    """Return where a key belongs: as the catalog's templates that touch it, or by its name."""
    catalog = state.started.actions if state.started is not None else ()
    for template in catalog:
        keys = {*(edit.key for edit in template.edits), *(each.key for each in template.space)}
        if key in keys:
            return Section(template.layer, template.category)
    head = key.split(".", maxsplit=1)[0]
    return Section(Layer(head) if head in {*Layer} else Layer.FRAMEWORK, "all")


def parse_edits(state: CampaignState, texts: Sequence[str]) -> tuple[Edit, ...]:
    """Return the edits of ``key=value`` texts, each value of the type that the key holds.

    Raises:
        InvalidInputError: a text has no equals sign, its key is unknown, or its value wrong.
    """
    config = state.tree.config_at(state.tree.current_id)
    edits = []
    for text in texts:
        key, sign, value = (part.strip() for part in text.partition("="))
        if not sign or not key:
            raise InvalidInputError(f"{text!r} is no edit; write --edit key=value")
        edits.append(Edit(key=key, value=_parsed(config.get(key, ""), key, value)))
    return tuple(edits)


def _parsed(now: Scalar, key: str, text: str) -> Scalar:
    if isinstance(now, bool):
        if text.lower() not in {"true", "false"}:
            raise InvalidInputError(f"{key} holds {now!r}; write true or false, not {text!r}")
        return text.lower() == "true"
    if isinstance(now, int | float):
        try:
            return type(now)(text)
        except ValueError as error:
            raise InvalidInputError(
                f"{key} holds {now!r}; {text!r} is no {type(now).__name__}"
            ) from error
    return text


def known_template(state: CampaignState, edits: Sequence[Edit]) -> ActionTemplate | None:
    """Return the catalog's template that makes exactly these edits, if there is one."""
    wanted = {edit.key: edit.value for edit in edits}
    catalog = state.started.actions if state.started is not None else ()
    for template in catalog:
        if not template.space and {e.key: e.value for e in template.edits} == wanted:
            return template
    return None
