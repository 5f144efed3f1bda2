"""The budget was respected, and every amount was reserved before it was spent."""

from arbor.events.campaign import CampaignStarted
from arbor.events.choice import ActionDispatched
from arbor.events.money import BudgetReserved, BudgetSpent
from arbor.replay.rules.base import Evidence, Findings

USD_MICRO = 1_000_000


class BudgetIsRespected:
    """Reservations before spending, sums within the budget, no dispatch without time or trials."""

    name = "budget"
    title = "amounts were reserved before they were spent, and the budget was respected"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Follow every reservation and every dispatch."""
        open_reservations: set[str] = set()
        for recorded, state in evidence.walk():
            event, at = recorded.event, recorded.position
            budget = state.budget
            if isinstance(event, CampaignStarted):
                findings.require(state.started is None, at, "the campaign started twice")
            elif isinstance(event, BudgetReserved):
                open_reservations.add(event.reservation_id)
                allowed = round(budget.settings.usd * USD_MICRO)
                findings.require(
                    budget.usd_micro_spent + event.usd_micro <= allowed,
                    at,
                    f"{budget.usd_micro_spent} + {event.usd_micro} micro-USD exceed {allowed}",
                )
            elif isinstance(event, BudgetSpent):
                findings.require(
                    event.reservation_id in open_reservations,
                    at,
                    f"{event.reservation_id} was spent without a reservation",
                )
                open_reservations.discard(event.reservation_id)
            elif isinstance(event, ActionDispatched):
                left_s = budget.remaining_s(recorded.decided_at or recorded.recorded_at)
                findings.require(
                    budget.num_trials < budget.settings.max_trials and left_s > 0,
                    at,
                    f"{event.action_id} was dispatched with {left_s:.1f} s and"
                    f" {budget.settings.max_trials - budget.num_trials} trials left",
                )
