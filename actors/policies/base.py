"""What a tree policy decides; every one is a pure function of the campaign's state."""

from typing import Protocol

from arbor.actors import choosing
from arbor.core.state import CampaignState
from arbor.core.tree import Action
from arbor.events.choice import ActionProposed, FrontierMoved

Order = tuple[float, ...]
"""What actions are sorted by, the smallest first."""


class Policy(Protocol):
    """Where the tree grows and in which order.

    Gates, budgets and the two keys are the same under every policy.
    """

    def move(self, state: CampaignState) -> FrontierMoved | None:
        """Return the move to the node that new work should start from; asked when all is quiet."""
        ...

    def home(self, state: CampaignState) -> str:
        """Return the kept node that the final claim is made about."""
        ...

    def proposals(self, state: CampaignState) -> tuple[ActionProposed, ...]:
        """Return what becomes a candidate at the current node."""
        ...

    def order(self, state: CampaignState, action: Action) -> Order:
        """Return what candidates are sorted by; the same before and after a rebase."""
        ...

    def num_parallel(self, state: CampaignState) -> int:
        """Return how many specialists may prepare work at once."""
        ...


class OnePath:
    """What policies that never leave their path share: today's decisions."""

    def move(self, state: CampaignState) -> FrontierMoved | None:  # noqa: ARG002 - stays
        """Return None: the deepest keep is where work goes on."""
        return None

    def home(self, state: CampaignState) -> str:
        """Return the deepest keep."""
        return state.tree.current_id

    def proposals(self, state: CampaignState) -> tuple[ActionProposed, ...]:
        """Return fresh ideas, then revived ones, then bundles and second looks."""
        return choosing.proposals(state)

    def order(self, state: CampaignState, action: Action) -> Order:  # noqa: ARG002 - its score
        """Return the order by score; ties go to the older proposal."""
        return choosing.order(action)

    def num_parallel(self, state: CampaignState) -> int:
        """Return what the campaign says."""
        return state.settings.search.parallel


def ranked(policy: Policy, state: CampaignState) -> tuple[Action, ...]:
    """Return the scored candidates, best first."""
    scored = [a for a in state.tree.candidates() if a.score is not None]
    return tuple(sorted(scored, key=lambda action: policy.order(state, action)))
