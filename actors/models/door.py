"""A question to a role's model: requests, tools and repairs until there is an answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from arbor.actors.models.calling import Answered, Caller
from arbor.actors.models.conversation import Conversation
from arbor.actors.models.reading import FILTERED, UnreadableError, read
from arbor.core.models import (
    Message,
    ModelRefusedError,
    Reply,
    ReplyInvalidError,
    Role,
    T,
    Tool,
)
from arbor.core.spending import USD_MICRO, Payer
from arbor.events.model_settings import ModelSettings


@dataclass(slots=True)
class _Totals:
    """What a question took so far."""

    num_requests: int = 0
    num_tool_rounds: int = 0
    num_repairs: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    usd_micro: int | None = 0

    def add(self, answered: Answered) -> None:
        """Count one answer."""
        self.tokens_in += answered.tokens_in
        self.tokens_out += answered.tokens_out
        is_known = self.usd_micro is not None and answered.usd_micro is not None
        self.usd_micro = (self.usd_micro or 0) + (answered.usd_micro or 0) if is_known else None

    @property
    def cost_usd(self) -> float | None:
        """Dollars in all; None when a part is unknown."""
        return None if self.usd_micro is None else self.usd_micro / USD_MICRO


class ModelDoor:
    """Asks models; safe for threads. It implements ``arbor.core.models.Model``.

    Args:
        settings: how often tools are called and replies mended.
        caller: has single requests answered.
    """

    def __init__(self, settings: ModelSettings, caller: Caller) -> None:
        self._settings = settings
        self._caller = caller

    def ask(
        self,
        role: Role,
        messages: Sequence[Message],
        *,
        action: str,
        schema: type[T] | None = None,
        tools: Sequence[Tool] = (),
    ) -> Reply[T]:
        """Return the answer of the role's model; see ``arbor.core.models.Model``."""
        conversation = Conversation(messages, schema, tools)
        payer = Payer(role, action)
        totals = _Totals()
        while True:
            totals.num_requests += 1
            may_call = totals.num_tool_rounds < self._settings.max_tool_rounds
            request = conversation.request(may_call=may_call)
            answered = self._caller.call(payer, request, totals.num_requests)
            answer = answered.answer
            totals.add(answered)
            if answer.refusal or answer.finish_reason in FILTERED:
                reason = answer.refusal or f"stopped by {answer.finish_reason}"
                raise ModelRefusedError(f"the model of role {role} refused: {reason}")
            if answer.wanted and tools:
                if not may_call:
                    raise ReplyInvalidError(
                        f"the model of role {role} calls tools without end: no answer after"
                        f" {totals.num_tool_rounds} rounds (models.max_tool_rounds)"
                    )
                totals.num_tool_rounds += 1
                conversation.run(answer)
                continue
            try:
                value = read(answer, schema)
            except UnreadableError as problem:
                if totals.num_repairs == self._settings.max_repairs:
                    raise ReplyInvalidError(
                        f"the model of role {role} gave no usable reply, after"
                        f" {totals.num_repairs} repairs: {problem}"
                    ) from problem
                totals.num_repairs += 1
                conversation.mend(answer, str(problem))
                continue
            return Reply(
                text=answer.text,
                value=value,
                tool_calls=tuple(conversation.calls),
                tokens_in=totals.tokens_in,
                tokens_out=totals.tokens_out,
                cost_usd=totals.cost_usd,
            )
