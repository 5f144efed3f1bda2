"""One request, answered and recorded: from a log, or with repetitions and fallbacks."""

import random
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from arbor.actors.journal import Journal
from arbor.actors.models.accounts import Accounts, bound, charge
from arbor.actors.models.recorded import Recordings
from arbor.actors.models.request import Answer, CallFailedError, Options, Provider, Request
from arbor.core.models import ModelRefusedError, ModelUnavailableError
from arbor.core.spending import Amount, Payer
from arbor.events.blobs import BlobStore
from arbor.events.model_calls import CallOutcome, ModelCalled, UsageTrust
from arbor.events.model_settings import Endpoint, ModelSettings, RoleSettings, TokenPrice

MAX_WAIT_S = 60.0
"""Longest wait between two attempts; a provider that asks for more is given up for a fallback."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and where it stands.

    Attributes:
        payer: who pays.
        request: what is sent.
        round: number of the request within its question.
        stored: gives the digest of its blob, once that is on the disk.
    """

    payer: Payer
    request: Request
    round: int
    stored: Future[str]


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer and what it cost.

    Attributes:
        answer: the answer.
        tokens_in: tokens of the prompt; 0 when the server did not count.
        tokens_out: tokens of the reply.
        usd_micro: None when unknown.
    """

    answer: Answer
    tokens_in: int
    tokens_out: int
    usd_micro: int | None


class Caller:
    """Has requests answered; safe for threads.

    Args:
        journal: appends for whoever asks.
        settings: models and limits.
        accounts: pays.
        provider: reaches the models.
        blobs: store for prompts and replies.
        recordings: where replies come from instead of models; None to ask models.
        jitter: draws the random part of waits.
    """

    def __init__(
        self,
        journal: Journal,
        settings: ModelSettings,
        accounts: Accounts,
        provider: Provider,
        blobs: BlobStore,
        *,
        recordings: Recordings | None,
        jitter: random.Random,
    ) -> None:
        self._journal = journal
        self._settings = settings
        self._accounts = accounts
        self._provider = provider
        self._blobs = blobs
        self._recordings = recordings
        self._jitter = jitter
        self._storage = ThreadPoolExecutor(settings.max_concurrent, "model-prompts")
        # those beyond the limit queue here, at no cost, instead of polling the log
        self._turns = threading.BoundedSemaphore(settings.max_concurrent)

    def call(self, payer: Payer, request: Request, number: int) -> Answered:
        """Return the answer to a request.

        Args:
            payer: who pays.
            request: what is sent.
            number: of the request within its question, from 1.

        Raises:
            BudgetExhaustedError: it could cost more than is left.
            ModelRefusedError: the provider's filter refused.
            ModelUnavailableError: nothing answered.
            RecordedReplyMissingError: replies come from a log that has none.
            StorageFullError: the prompt cannot be kept.
        """
        # on the disk before the event that names it, and meanwhile the model may think
        stored = self._storage.submit(self._blobs.put, request.text().encode())
        asked = Asked(payer, request, number, stored)
        if self._recordings is not None:
            return self._replay(self._recordings, asked)
        role = self._settings.of(payer.role)
        if role is None:
            raise ModelUnavailableError(
                f"role {payer.role} has no model: give models.{payer.role}"
            )
        num_attempts = 0
        failures = []
        for endpoint in (role, *role.fallbacks):
            failure: CallFailedError | None = None
            for repetition in range(self._settings.max_attempts):
                if failure is not None and not self._wait(failure, repetition):
                    break
                num_attempts += 1
                found = self._attempt(asked, role, endpoint, num_attempts)
                if isinstance(found, Answered):
                    return found
                failure = found
                if failure.outcome == "refused":
                    raise ModelRefusedError(f"{endpoint.model} refused: {failure.detail}")
                if not failure.is_passing:
                    break
            failures.append(f"{endpoint.model} ({failure})")
        raise ModelUnavailableError(
            f"no model of role {payer.role} answered in {num_attempts} attempts:"
            f" {'; '.join(failures)}"
        )

    def _wait(self, failure: CallFailedError, repetition: int) -> bool:
        """Wait before a repetition; return False where that would be too long."""
        asked_s = failure.retry_after_s or 0.0
        if asked_s > MAX_WAIT_S:
            return False
        backoff_s = min(MAX_WAIT_S, self._settings.backoff_s * 2.0 ** (repetition - 1))
        self._journal.clock.sleep(max(asked_s, backoff_s * (0.5 + self._jitter.random() / 2)))
        return True

    def _attempt(
        self, asked: Asked, role: RoleSettings, endpoint: Endpoint, number: int
    ) -> Answered | CallFailedError:
        price = self._provider.price(endpoint)
        if price is None:
            raise ModelUnavailableError(no_price(asked.payer.role, endpoint))
        options = Options(role.max_tokens, role.temperature, role.timeout_s)
        with self._turns:
            most = bound(asked.request, options, price)
            reservation_id = self._accounts.reserve(asked.payer, most, role.timeout_s)
            record = _Record(asked, endpoint, reservation_id, number, self._journal.clock.now())
            try:
                answer = self._provider.complete(endpoint, options, asked.request)
            except CallFailedError as failure:
                spent = None if failure.may_be_paid else Amount()
                event = record.event(
                    self._journal.clock.now(),
                    outcome=failure.outcome,
                    failure=failure.detail,
                    usd_micro=None if spent is None else 0,
                )
                self._accounts.settle(event, spent)
                return failure
            return self._settle(record, answer, options, price)

    def _settle(
        self, record: "_Record", answer: Answer, options: Options, price: TokenPrice
    ) -> Answered:
        answered_at = self._journal.clock.now()
        spent, usage = charge(answer, record.asked.request, options, price)
        usd_micro = None if spent is None else spent.usd_micro
        event = record.event(
            answered_at,
            outcome="refused" if answer.refusal else "answered",
            failure=answer.refusal or None,
            reply_digest=self._blobs.put(answer.stored().encode()),
            answer=answer,
            usd_micro=usd_micro,
            usage=usage,
        )
        self._accounts.settle(event, spent)
        return Answered(answer, event.num_prompt_tokens, event.num_completion_tokens, usd_micro)

    def _replay(self, recordings: Recordings, asked: Asked) -> Answered:
        recorded, answer = recordings.take(asked.payer, asked.stored.result())
        stored = self._blobs.put(answer.stored().encode())
        self._journal.append(
            recorded.model_copy(
                update={
                    "action_id": asked.payer.action_id or None,
                    "attempt_id": None,
                    "causation_id": None,
                    "reply_digest": stored,
                    "latency_ms": 0.0,
                    "usd_micro": 0,
                    "reservation_id": None,
                    "is_replayed": True,
                }
            )
        )
        return Answered(answer, recorded.num_prompt_tokens, recorded.num_completion_tokens, 0)


@dataclass(frozen=True, slots=True)
class _Record:
    """What is known of an attempt before it is made."""

    asked: Asked
    endpoint: Endpoint
    reservation_id: str
    attempt: int
    started_at: datetime

    def event(
        self,
        ended_at: datetime,
        *,
        outcome: CallOutcome,
        failure: str | None,
        reply_digest: str | None = None,
        answer: Answer | None = None,
        usd_micro: int | None = None,
        usage: UsageTrust = "missing",
    ) -> ModelCalled:
        """Return the event of the attempt."""
        return ModelCalled(
            role=self.asked.payer.role,
            action_id=self.asked.payer.action_id or None,
            model=self.endpoint.model,
            prompt_digest=self.asked.stored.result(),
            reply_digest=reply_digest,
            num_prompt_tokens=(answer.num_prompt_tokens or 0) if answer else 0,
            num_completion_tokens=(answer.num_completion_tokens or 0) if answer else 0,
            usd_micro=usd_micro,
            latency_ms=(ended_at - self.started_at).total_seconds() * 1000,
            failure=failure,
            reservation_id=self.reservation_id,
            round=self.asked.round,
            attempt=self.attempt,
            outcome=outcome,
            finish_reason=answer.finish_reason if answer else "",
            usage=usage,
        )


def no_price(role: str, endpoint: Endpoint) -> str:
    """Return one line about a model without a price."""
    return (
        f"models.{role}: the price of {endpoint.model} is unknown, so no budget can be kept: give"
        " its price, {prompt_usd_per_million_tokens: 0, completion_usd_per_million_tokens: 0} for"
        " a server of your own"
    )
