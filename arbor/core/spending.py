"""What language models cost, as a fold: reservations count until they are reconciled."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from arbor.events.base import Recorded
from arbor.events.model_calls import ModelCalled
from arbor.events.model_settings import CallBudget, ModelSettings
from arbor.events.money import BudgetReserved, BudgetSpent

USD_MICRO = 1_000_000
"""Millionths in a dollar."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens and money; whole numbers, so that sums are exact."""

    num_tokens: int = 0
    usd_micro: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.num_tokens + other.num_tokens, self.usd_micro + other.usd_micro)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.num_tokens - other.num_tokens, self.usd_micro - other.usd_micro)


@dataclass(frozen=True, slots=True)
class Payer:
    """Who pays for a call.

    Attributes:
        role: as what the model is asked.
        action_id: action that it is about; empty for none.
    """

    role: str
    action_id: str = ""


@dataclass(frozen=True, slots=True)
class _Reservation:
    payer: Payer
    amount: Amount
    ends_at: datetime


@dataclass(slots=True)
class Spending:
    """What was spent, by role and by action; what is reserved and not reconciled is spent.

    A caller that dies between a reservation and its reconciliation leaves the reservation as it
    is: the provider may have been paid.
    """

    total: Amount = Amount()
    by_role: dict[str, Amount] = field(default_factory=dict)
    by_action: dict[str, Amount] = field(default_factory=dict)
    _open: dict[str, _Reservation] = field(default_factory=dict)
    _under_way: set[str] = field(default_factory=set)

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        match recorded.event:
            case BudgetReserved() as event:
                reservation = _Reservation(
                    Payer(event.role, event.action_id or ""),
                    Amount(event.num_tokens, event.usd_micro),
                    recorded.recorded_at + timedelta(milliseconds=event.max_latency_ms),
                )
                self._open[event.reservation_id] = reservation
                if event.max_latency_ms:
                    self._under_way.add(event.reservation_id)
                self._add(reservation.payer, reservation.amount)
            case BudgetSpent() as event:
                known = self._open.pop(event.reservation_id, None)
                self._under_way.discard(event.reservation_id)
                spent = Amount(event.num_tokens, event.usd_micro)
                if known is None:
                    self._add(Payer("", event.action_id or ""), spent)
                else:
                    self._add(known.payer, spent - known.amount)
            case ModelCalled() as event if event.reservation_id is not None:
                self._under_way.discard(event.reservation_id)
            case _:
                pass

    def _add(self, payer: Payer, amount: Amount) -> None:
        self.total += amount
        if payer.role:
            self.by_role[payer.role] = self.by_role.get(payer.role, Amount()) + amount
        if payer.action_id:
            spent = self.by_action.get(payer.action_id, Amount())
            self.by_action[payer.action_id] = spent + amount

    def num_under_way(self, now: datetime) -> int:
        """Return the number of calls that were begun and may still be answered."""
        return sum(1 for _ in self._pending(now))

    def _pending(self, now: datetime) -> Iterator[_Reservation]:
        for reservation_id in self._under_way:
            reservation = self._open.get(reservation_id)
            if reservation is not None and reservation.ends_at > now:
                yield reservation

    def refusal(
        self, payer: Payer, amount: Amount, models: ModelSettings, campaign_usd: float
    ) -> str | None:
        """Return why a call could cost more than is left; None when it fits.

        Args:
            payer: who would pay.
            amount: most that the call could cost.
            models: limits of roles, actions and all calls.
            campaign_usd: money of the campaign.
        """
        return self._refusal(payer, amount, models, campaign_usd, ())

    def may_fit_later(
        self,
        payer: Payer,
        amount: Amount,
        models: ModelSettings,
        campaign_usd: float,
        now: datetime,
    ) -> bool:
        """Return whether a call would fit if all that are under way cost nothing."""
        pending = tuple(self._pending(now))
        return self._refusal(payer, amount, models, campaign_usd, pending) is None

    def _refusal(
        self,
        payer: Payer,
        amount: Amount,
        models: ModelSettings,
        campaign_usd: float,
        without: tuple[_Reservation, ...],
    ) -> str | None:
        role = models.of(payer.role)
        total, by_role, by_action = self.total, self._of_role(payer), self._of_action(payer)
        for each in without:
            total -= each.amount
            if each.payer.role == payer.role:
                by_role -= each.amount
            if each.payer.action_id == payer.action_id:
                by_action -= each.amount
        limits = [
            ("the campaign's money (budget.usd)", total, CallBudget(usd=campaign_usd)),
            ("all calls (models.campaign)", total, models.campaign),
        ]
        if role is not None:
            limits.append((f"the role (models.{payer.role}.budget)", by_role, role.budget))
        if payer.action_id:
            limits.append((f"action {payer.action_id} (models.action)", by_action, models.action))
        return next(
            (text for name, spent, limit in limits if (text := _over(name, spent, amount, limit))),
            None,
        )

    def _of_role(self, payer: Payer) -> Amount:
        return self.by_role.get(payer.role, Amount())

    def _of_action(self, payer: Payer) -> Amount:
        return self.by_action.get(payer.action_id, Amount())


def _over(name: str, spent: Amount, amount: Amount, limit: CallBudget) -> str | None:
    if limit.usd is not None:
        allowed = round(limit.usd * USD_MICRO)
        if spent.usd_micro + amount.usd_micro > allowed and amount.usd_micro > 0:
            return (
                f"the call could cost {_usd(amount.usd_micro)} and {name} has"
                f" {_usd(max(0, allowed - spent.usd_micro))} left of {_usd(allowed)}"
            )
    if limit.tokens is not None and spent.num_tokens + amount.num_tokens > limit.tokens:
        return (
            f"the call could take {amount.num_tokens} tokens and {name} has"
            f" {max(0, limit.tokens - spent.num_tokens)} left of {limit.tokens}"
        )
    return None


def _usd(usd_micro: int) -> str:
    return f"${usd_micro / USD_MICRO:.4f}"
