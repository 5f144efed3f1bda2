"""What calls cost: reserved in the log before they are made, settled after them."""

import copy
import math
import threading

from arbor.actors.journal import Journal
from arbor.actors.models.request import Answer, Options, Request
from arbor.core.models import BudgetExhaustedError
from arbor.core.spending import Amount, Payer
from arbor.events.errors import ConflictError
from arbor.events.ids import uuid7
from arbor.events.model_calls import ModelCalled, UsageTrust
from arbor.events.model_settings import ModelSettings, TokenPrice
from arbor.events.money import BudgetReserved, BudgetSpent

POLL_S = 0.05
"""Longest wait before somebody who waits for others' calls to end looks again."""
_GRACE_S = 5.0
"""After its limit and this long, a call is not under way any more."""
_WATCHED = frozenset({"budget"})


def bound(request: Request, options: Options, price: TokenPrice) -> Amount:
    """Return the most that a request can cost."""
    return _amount(request.max_prompt_tokens(), options.max_tokens, price)


def _amount(num_prompt_tokens: int, num_completion_tokens: int, price: TokenPrice) -> Amount:
    """Return tokens and money, rounded up; a dollar per million tokens is a millionth each."""
    usd_micro = (
        num_prompt_tokens * price.prompt_usd_per_million_tokens
        + num_completion_tokens * price.completion_usd_per_million_tokens
    )
    return Amount(num_prompt_tokens + num_completion_tokens, math.ceil(usd_micro - 1e-9))


def charge(
    answer: Answer, request: Request, options: Options, price: TokenPrice
) -> tuple[Amount | None, UsageTrust]:
    """Return what an answer costs by the server's own count, and whether it is believed.

    None: it did not count, or counted less than it said; the reservation then counts as spent.
    More than the request can hold is counted too: it may well be billed.
    """
    num_prompt, num_completion = answer.num_prompt_tokens, answer.num_completion_tokens
    has_output = bool(answer.text or answer.wanted)
    if not num_prompt or num_completion is None or (has_output and num_completion < 1):
        return None, "missing"
    amount = _amount(num_prompt, num_completion, price)
    is_possible = (
        num_prompt <= request.max_prompt_tokens() and num_completion <= options.max_tokens
    )
    return amount, "reported" if is_possible else "beyond_bound"


class Accounts:
    """The budget of model calls, shared through the log by all that call; safe for threads.

    Args:
        journal: appends for the caller.
        settings: limits of roles, actions and all calls.
        campaign_usd: money of the campaign.
    """

    def __init__(self, journal: Journal, settings: ModelSettings, campaign_usd: float) -> None:
        self._journal = journal
        self._settings = settings
        self._campaign_usd = campaign_usd
        self._lock = threading.Lock()
        self._position = journal.position
        self._spending = copy.deepcopy(journal.state.budget.spending)

    def reserve(self, payer: Payer, amount: Amount, timeout_s: float) -> str:
        """Set an amount aside and return the reservation; waits where others may give back.

        Args:
            payer: who pays.
            amount: most that the call can cost.
            timeout_s: longest time that the call takes.

        Raises:
            BudgetExhaustedError: it does not fit; nothing was set aside.
            FencedError: this incarnation has a successor.
            LogError: the log cannot be used.
        """
        while True:
            with self._lock:
                reservation_id = self._try(payer, amount, timeout_s)
                position = self._position
            if reservation_id is not None:
                return reservation_id
            if not self._journal.wait_beyond(position, POLL_S):
                # a clock that stands still unless told would never see a dead call's end
                self._journal.clock.sleep(POLL_S)

    def _try(self, payer: Payer, amount: Amount, timeout_s: float) -> str | None:
        """Return a reservation, or None to wait for calls that are under way."""
        while True:
            self._catch_up()
            now = self._journal.clock.now()
            terms = (payer, amount, self._settings, self._campaign_usd)
            refusal = self._spending.refusal(*terms)
            if refusal is not None:
                if self._spending.may_fit_later(*terms, now):
                    return None
                raise BudgetExhaustedError(f"{refusal}: raise it, or lower max_tokens of the role")
            if self._spending.num_under_way(now) >= self._settings.max_concurrent:
                return None
            reservation_id = uuid7(now)
            reserved = BudgetReserved(
                reservation_id=reservation_id,
                usd_micro=amount.usd_micro,
                num_tokens=amount.num_tokens,
                role=payer.role,
                max_latency_ms=round(1000 * (timeout_s + _GRACE_S)),
                action_id=payer.action_id or None,
            )
            try:
                self._journal.append_after(self._position, reserved, watching=_WATCHED)
            except ConflictError:
                continue
            return reservation_id

    def settle(self, call: ModelCalled, spent: Amount | None) -> None:
        """Record a call and what it really cost, in one append.

        Args:
            call: the call, with its reservation.
            spent: None when unknown: the whole reservation counts as spent.

        Raises:
            FencedError: this incarnation has a successor.
            LogError: the log cannot be used.
        """
        if spent is None or call.reservation_id is None:
            self._journal.append(call)
            return
        self._journal.append(
            call,
            BudgetSpent(
                reservation_id=call.reservation_id,
                usd_micro=spent.usd_micro,
                num_tokens=spent.num_tokens,
                action_id=call.action_id,
            ),
        )

    def _catch_up(self) -> None:
        for recorded in self._journal.read_after(self._position):
            self._spending.apply(recorded)
            self._position = recorded.position
