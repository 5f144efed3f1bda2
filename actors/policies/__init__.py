"""Where the tree grows and in which order, by name: one file and one line each."""

from collections.abc import Mapping

from arbor.actors.policies.backtracking import Backtracking
from arbor.actors.policies.bandit import Puct, Uct
from arbor.actors.policies.base import Policy
from arbor.actors.policies.depth_first import DepthFirst
from arbor.actors.policies.greedy import Greedy
from arbor.actors.policies.single_agent import SingleAgent
from arbor.actors.policies.stacked import Stacked
from arbor.core.state import CampaignState
from arbor.events.errors import NotFoundError

__all__ = ["POLICIES", "Policy", "policy_named", "policy_of"]

POLICIES: Mapping[str, Policy] = {
    "depth_first": DepthFirst(),
    "backtracking": Backtracking(),
    "uct": Uct(),
    "puct": Puct(),
    "stacked": Stacked(),
    "greedy": Greedy(),
    "single_agent": SingleAgent(),
}
"""Policies by name; they hold no state, so that one object serves all campaigns."""


def policy_named(name: str) -> Policy:
    """Return a policy by name.

    Raises:
        NotFoundError: there is none of that name.
    """
    if name not in POLICIES:
        raise NotFoundError(f"search.policy {name!r} is unknown; known: {', '.join(POLICIES)}")
    return POLICIES[name]


def policy_of(state: CampaignState) -> Policy:
    """Return the policy of a campaign.

    Raises:
        NotFoundError: its settings name none that this version knows.
    """
    return policy_named(state.settings.search.policy)
