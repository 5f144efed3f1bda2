"""`arbor veto`, `approve`, `propose`, `forbid`, `lift`, `pause`, ...: what people decide."""

import getpass
import os
from pathlib import Path
from typing import Annotated

import typer

from arbor.actors.commands import (
    HUMAN,
    custom_template,
    known_template,
    parse_edits,
    refusal,
)
from arbor.actors.intake import deliver
from arbor.cli.console import say
from arbor.cli.text import one_line
from arbor.core.clock import SystemClock
from arbor.core.scopes import scope_words
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.base import Draft, Event
from arbor.events.campaign import CampaignPaused, CampaignResumed
from arbor.events.choice import ActionProposed
from arbor.events.errors import InvalidInputError
from arbor.events.ids import uuid7
from arbor.events.limits import (
    ActionApproved,
    ActionVetoed,
    ConstraintLifted,
    ConstraintPublished,
)
from arbor.events.types import ConstraintScope, Edit, Layer, LiftCondition, ValueRange
from arbor.replay.reading import open_campaign

WAIT_S = 30.0
"""How long a command waits for the running campaign; starting Ray takes a part of it."""
_ID_DIGITS = 6

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")]
Action = Annotated[
    str, typer.Argument(metavar="ACTION", help="Action or its node, as `arbor tree` shows them.")
]
Reason = Annotated[str, typer.Option("--reason", help="Why; kept in the log.")]
Wait = Annotated[
    float, typer.Option("--wait", min=0.0, help="Seconds to wait for the running campaign.")
]


def login_name() -> str:
    """Return the user's login name, or the number of one without a name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = ""
    return one_line(name, 64) or f"uid{os.getuid()}"


def _state(directory: Path) -> CampaignState:
    """Return the campaign's state.

    Raises:
        InvalidInputError: there is no readable campaign.
    """
    try:
        return open_campaign(directory).state()
    except OSError as error:
        raise InvalidInputError(
            f"cannot read {directory}: {error.strerror}; allow reading it, or copy it"
        ) from error


def _submit(
    directory: Path, state: CampaignState, event: Event, follows: str, wait_s: float
) -> None:
    """Bring an event into the log as the user, and say where it is and what follows.

    Raises:
        InvalidInputError: the campaign refuses it.
    """
    reason = refusal(state, event)
    if reason is not None:
        raise InvalidInputError(_with_directory(reason, directory))
    event_id = uuid7(SystemClock().now())
    draft = Draft(event, event_id, f"{HUMAN}:{login_name()}")
    try:
        position = deliver(directory.absolute(), draft, wait_s)
    except InvalidInputError as error:
        raise InvalidInputError(_with_directory(str(error), directory)) from error
    if position is None:
        say(f"queued in {directory}/inbox: whoever runs the campaign takes it in; {follows}")
    else:
        say(f"position {position}: {follows}")


def _with_directory(reason: str, directory: Path) -> str:
    return reason.replace(" DIR", f" {directory}")


def veto(
    directory: Directory,
    action: Action,
    reason: Reason = "vetoed by a human",
    wait: Wait = WAIT_S,
) -> None:
    """Stop an action wherever it is; its keep is revoked."""
    state = _state(directory)
    action_id = _action_id(state, action)
    event = ActionVetoed(action_id=action_id, reason=reason, by=f"{HUMAN}:{login_name()}")
    _submit(directory, state, event, _after_veto(state, action_id), wait)


def _action_id(state: CampaignState, name: str) -> str:
    """Return the action of a name, which may be that of its node."""
    node = state.tree.nodes.get(name)
    return name if node is None or node.action_id is None else node.action_id


def _after_veto(state: CampaignState, action_id: str) -> str:
    action = state.tree.actions.get(action_id)
    if action is None:
        return ""
    name = f"{action_id} {one_line(action.template_id, 60)}"
    if action.node_id is None:
        return f"{name} will not be tried"
    match state.tree.node(action.node_id).status:
        case Status.WORKING | Status.READY:
            return f"{name} is stopped, its specialist ends"
        case Status.MEASURING:
            return f"{name} is stopped, its measurement ends"
        case _:
            return f"the keep of {name} is revoked; what was kept on it is rebuilt without it"


def approve(directory: Directory, action: Action, wait: Wait = WAIT_S) -> None:
    """Allow an action that waits for a human (search.require_approval)."""
    state = _state(directory)
    action_id = _action_id(state, action)
    event = ActionApproved(action_id=action_id, by=login_name())
    _submit(directory, state, event, f"{action_id} starts when its turn comes", wait)


def propose(
    directory: Directory,
    template: Annotated[
        str | None, typer.Argument(metavar="[TEMPLATE]", help="Action of the catalog.")
    ] = None,
    edit: Annotated[
        list[str] | None,
        typer.Option("--edit", metavar="KEY=VALUE", help="Or your own edits; repeatable."),
    ] = None,
    reason: Reason = "proposed by a human",
    wait: Wait = WAIT_S,
) -> None:
    """Try this next; it is measured and judged like any other action."""
    if (template is None) == (not edit):
        raise InvalidInputError("give a template of the catalog, or --edit key=value")
    state = _state(directory)
    own = None
    if edit:
        edits = parse_edits(state, edit)
        own = custom_template(state, edits)
        same = known_template(state, edits)
        template, own = (same.template_id, None) if same is not None else (own.template_id, own)
    action_id = f"h{uuid7(SystemClock().now())[-_ID_DIGITS:]}"
    event = ActionProposed(
        action_id=action_id,
        template_id=template or "",
        node_id=state.tree.current_id,
        reason=reason,
        source="human",
        template=own,
    )
    follows = (
        f"{action_id} {one_line(event.template_id, 60)} is tried next and judged as any other"
    )
    _submit(directory, state, event, follows, wait)


def pause(directory: Directory, reason: Reason = "paused by a human", wait: Wait = WAIT_S) -> None:
    """Start nothing new; what is being measured ends, the budget's clock stands."""
    follows = f"nothing new starts; `arbor resume-campaign {directory}` goes on"
    _submit(directory, _state(directory), CampaignPaused(reason=reason), follows, wait)


def resume_campaign(
    directory: Directory, reason: Reason = "resumed by a human", wait: Wait = WAIT_S
) -> None:
    """Go on after `arbor pause`, where the campaign still runs."""
    follows = f"it goes on; if nothing runs, `arbor resume {directory}` starts it"
    _submit(directory, _state(directory), CampaignResumed(reason=reason), follows, wait)


Setting = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Repeatable.")]


def forbid(  # noqa: PLR0917 - one option for each way to narrow it
    directory: Directory,
    template: Annotated[
        str | None, typer.Argument(metavar="[TEMPLATE]", help="Only this action.")
    ] = None,
    edit: Setting = None,
    at_least: Setting = None,
    at_most: Setting = None,
    layer: Annotated[Layer | None, typer.Option(help="Only actions of this layer.")] = None,
    category: Annotated[str, typer.Option(help="Only actions that touch this.")] = "",
    below: Annotated[str, typer.Option(metavar="NODE", help="Only on this node.")] = "",
    seconds: Annotated[
        float | None, typer.Option("--for", min=1.0, help="Active seconds until it ends.")
    ] = None,
    keeps: Annotated[int | None, typer.Option(min=1, help="Keeps until it ends.")] = None,
    reason: Reason = "forbidden by a human",
    wait: Wait = WAIT_S,
) -> None:
    """Publish a constraint: what it covers is not tried, and stopped or revoked where it is."""
    state = _state(directory)
    scope = ConstraintScope(
        template_id=template or "",
        edits=parse_edits(state, edit or ()),
        ranges=(
            *(ValueRange(key=e.key, low=_number(e)) for e in parse_edits(state, at_least or ())),
            *(ValueRange(key=e.key, high=_number(e)) for e in parse_edits(state, at_most or ())),
        ),
        layer=layer,
        category=category,
        below_node_id=below,
    )
    event = ConstraintPublished(
        constraint_id=f"h{uuid7(SystemClock().now())[-_ID_DIGITS:]}",
        scope=scope,
        reason=reason,
        lift=LiftCondition(after_s=seconds, num_keeps=keeps),
    )
    follows = f"{event.constraint_id} forbids {one_line(scope_words(scope))}"
    _submit(directory, state, event, follows, wait)


def _number(edit: Edit) -> float:
    """Return the value of a bound.

    Raises:
        InvalidInputError: it is no number.
    """
    if isinstance(edit.value, bool | str):
        raise InvalidInputError(
            f"{edit.key} holds {edit.value!r}, which is no number: use --edit for one value"
        )
    return float(edit.value)


def lift(
    directory: Directory,
    constraint: Annotated[
        str, typer.Argument(metavar="CONSTRAINT", help="Constraint, such as c001.")
    ],
    reason: Reason = "lifted by a human",
    wait: Wait = WAIT_S,
) -> None:
    """Lift a constraint; what it forbade may be tried again."""
    state = _state(directory)
    event = ConstraintLifted(constraint_id=constraint, reason=reason)
    limit = state.constraints.in_force.get(constraint)
    what = one_line(scope_words(limit.scope), 60) if limit is not None else constraint
    _submit(directory, state, event, f"{constraint} is lifted; {what} may be tried again", wait)
