"""The paper's search: depth first, back to an ancestor whose optimistic bound is higher.

Source: Arbor (arXiv 2606.12563). The bound is ours, since the paper gives none: the gain of the
path, what was kept below, and the expected gain of all that is open there.
"""

import math

from arbor.actors.policies.base import OnePath
from arbor.actors.policies.prospects import best_kept, bound, may_move, move_to
from arbor.core.state import CampaignState
from arbor.events.choice import FrontierMoved

MIN_ADVANTAGE = math.log(1.05)
"""Log gain by which an ancestor must promise more; going back costs trials done before."""


class Backtracking(OnePath):
    """Goes back where a keep stands in the way of something that promises more."""

    def move(self, state: CampaignState) -> FrontierMoved | None:
        """Return the move to the best ancestor, or None when none promises enough more."""
        if not may_move(state):
            return None
        tree = state.tree
        here = bound(state, tree.current_id)
        home = best_kept(state)
        if not tree.is_on_path(home, tree.current_id) and bound(state, home) >= here:
            return move_to(state, home, "this branch promises no more than the best stack")
        promises = {
            node.node_id: bound(state, node.node_id) for node in tree.path(tree.current_id)[:-1]
        }
        best = max(promises, key=lambda node_id: promises[node_id], default=None)
        if best is None or promises[best] < here + MIN_ADVANTAGE:
            return None
        there = math.exp(promises[best])
        reason = f"up to {there:.2f}x from there, {math.exp(here):.2f}x from here"
        return move_to(state, best, reason)

    def home(self, state: CampaignState) -> str:
        """Return the kept node of the largest gain."""
        return best_kept(state)
