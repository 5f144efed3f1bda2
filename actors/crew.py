"""Which specialist works on which dispatched action; one line per craft."""

from collections.abc import Callable

from arbor.actors.journal import Journal
from arbor.actors.place import Place
from arbor.actors.specialists.base import Craft, Specialist
from arbor.actors.specialists.code import CodeCraft
from arbor.actors.specialists.config import ConfigCraft
from arbor.actors.specialists.tuning import TuningCraft
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.core.vitals import STALLED
from arbor.events.choice import ActionDispatched
from arbor.events.errors import ArborError

CRAFTS: dict[str, Callable[[], Craft]] = {
    "config": ConfigCraft,
    "tuning": TuningCraft,
}
"""Registered crafts; a new specialist is a class and a line here."""


class DispatchBoard:
    """View of dispatched actions, to find those that need a specialist now."""

    def __init__(self, state: CampaignState) -> None:
        self._state = state

    def waiting(self) -> tuple[ActionDispatched, ...]:
        """Return the dispatches whose node is still being worked on, oldest first."""
        nodes = self._state.tree.nodes
        return tuple(
            d for d in self._state.dispatches.values() if nodes[d.node_id].status is Status.WORKING
        )

    def has_stalled(self, node_id: str) -> bool:
        """Return whether a node was withdrawn since its specialist gave no sign of life."""
        node = self._state.tree.nodes[node_id]
        return node.status is Status.WITHDRAWN and node.reason.startswith(STALLED)

    def get(self, node_id: str) -> ActionDispatched:
        """Return the dispatch of a node.

        Raises:
            LookupError: no such dispatch.
        """
        return self._state.dispatches[node_id]


def build_specialist(
    place: Place, journal: Journal, dispatch: ActionDispatched, where: str
) -> Specialist:
    """Return the specialist for a dispatched action.

    Raises:
        ArborError: it needs a language model and there is none.
    """
    return Specialist(place, journal, dispatch, _craft(place, journal, dispatch), where)


def _craft(place: Place, journal: Journal, dispatch: ActionDispatched) -> Craft:
    if dispatch.specialist != "code":
        return CRAFTS[dispatch.specialist]()
    if place.create_model is None:
        raise ArborError(
            f"{dispatch.action_id} wants a patch, and no language model is configured: give the "
            "campaign's `models:` again"
        )
    layer = journal.state.tree.templates[dispatch.template_id].layer
    return CodeCraft(place.create_model(journal), layer)
