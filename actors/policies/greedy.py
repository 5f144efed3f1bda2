"""An ablation: the largest expected gain first; no cost, no risk, no second chances."""

from arbor.actors import choosing
from arbor.actors.policies.base import OnePath, Order
from arbor.actors.policies.prospects import expected_log_gain
from arbor.core.state import CampaignState
from arbor.core.tree import Action
from arbor.events.choice import ActionProposed


class Greedy(OnePath):
    """Tries everything once, by expected gain at the current profile."""

    def proposals(self, state: CampaignState) -> tuple[ActionProposed, ...]:
        """Return what was never tried."""
        return choosing.fresh_proposals(state)

    def order(self, state: CampaignState, action: Action) -> Order:
        """Return the order by expected gain; humans come first under every policy."""
        precedence, _, position = choosing.order(action)
        template = state.tree.templates[action.template_id]
        return precedence, -expected_log_gain(state, template), position
