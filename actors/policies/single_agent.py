"""An ablation: one agent that works down its list, as without profile, scores and history."""

from arbor.actors import choosing
from arbor.actors.policies.base import OnePath, Order
from arbor.core.state import CampaignState
from arbor.core.tree import Action
from arbor.events.choice import ActionProposed


class SingleAgent(OnePath):
    """One thing at a time, once, by the catalog's prior alone.

    The gates stay: they are no policy's to leave out.
    """

    def proposals(self, state: CampaignState) -> tuple[ActionProposed, ...]:
        """Return what was never tried."""
        return choosing.fresh_proposals(state)

    def order(self, state: CampaignState, action: Action) -> Order:
        """Return the order by prior; humans come first under every policy."""
        precedence, _, position = choosing.order(action)
        return precedence, -state.tree.templates[action.template_id].prior_speedup_ratio, position

    def num_parallel(self, state: CampaignState) -> int:  # noqa: ARG002 - one agent
        """Return 1."""
        return 1
