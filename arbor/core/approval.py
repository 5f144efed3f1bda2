"""Which actions wait for a human's approval."""

from collections.abc import Iterable

from arbor.core.state import CampaignState
from arbor.core.tree import Action
from arbor.events.errors import InvalidInputError
from arbor.events.types import ActionTemplate, Layer


def needs_approval(state: CampaignState, action: Action) -> bool:
    """Return whether an action may start only after a human approved it.

    What a human proposed is approved by that, and a rebuilt path is made of what was kept.
    """
    if action.source not in {"orchestrator", "model"}:
        return False
    template = state.tree.templates[action.template_id]
    named = state.settings.search.require_approval
    return template.template_id in named or template.layer in named


def awaits_approval(state: CampaignState, action: Action) -> bool:
    """Return whether an action lacks an approval that it needs."""
    is_approved = action.action_id in state.constraints.approved
    return not is_approved and needs_approval(state, action)


def require_known(names: Iterable[str], templates: Iterable[ActionTemplate]) -> None:
    """Check that every name is a layer, or a template of a catalog.

    Raises:
        InvalidInputError: one is neither.
    """
    known = {*Layer, *(template.template_id for template in templates)}
    for name in names:
        if name not in known:
            raise InvalidInputError(
                f"search.require_approval names {name!r}, which is no layer ({', '.join(Layer)})"
                " and no action of the target; `arbor plan` lists them"
            )
