"""The door to language models, and the only place that imports litellm."""

import os
import random
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from arbor.actors.journal import Journal
from arbor.actors.models.accounts import Accounts
from arbor.actors.models.calling import Caller, no_price
from arbor.actors.models.door import ModelDoor
from arbor.actors.models.failures import failure, one_line
from arbor.actors.models.recorded import Recordings
from arbor.actors.models.request import (
    Answer,
    CallFailedError,
    Options,
    Provider,
    Request,
    WantedCall,
)
from arbor.core.layout import CampaignDirectory
from arbor.core.models import Model
from arbor.events.blobs import BlobStore
from arbor.events.errors import InvalidInputError
from arbor.events.model_settings import ROLES, Endpoint, ModelSettings, TokenPrice
from arbor.events.settings import Settings
from arbor.targets.secrets import without_secrets

_ENVIRONMENT = {
    # the list of prices that is installed, not one from the network
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    # else a .env file of whatever folder this runs in is read
    "LITELLM_MODE": "PRODUCTION",
}
_NO_KEY = "no-key-needed"
"""Sent to a server of one's own, so that litellm does not send a provider's key there."""
_OTHERS_WARNING = ".*on TypedDict class .* are using the `ReadOnly` qualifier"
_import_lock = threading.Lock()


def _litellm() -> Any:
    """Import litellm, when it is needed: it takes seconds."""
    with _import_lock:
        # litellm imports more of itself at each call, beyond what is silenced below
        warnings.filterwarnings("ignore", message=_OTHERS_WARNING, category=UserWarning)
        if "litellm" in sys.modules:
            return sys.modules["litellm"]
        os.environ.update(_ENVIRONMENT)
        with warnings.catch_warnings():
            # what litellm does wrong by newer libraries is not for users of Arbor to mend
            warnings.simplefilter("ignore")
            litellm: Any = import_module("litellm")
            litellm.telemetry = False
            litellm.suppress_debug_info = True
            litellm.drop_params = True
            # most of it is loaded by the first call; this one reaches nobody
            litellm.completion(
                model="openai/nobody", messages=[{"role": "user", "content": ""}], mock_response=""
            )
        return litellm


class LiteLLM:
    """Models through litellm, without its own repetitions, fallbacks, caches or callbacks."""

    def complete(self, endpoint: Endpoint, options: Options, request: Request) -> Answer:
        """Return the answer to a request; one attempt, ended hard at its time limit.

        Raises:
            CallFailedError: there is none.
        """
        litellm = _litellm()
        arguments = {
            "model": endpoint.model,
            "messages": [dict(message) for message in request.messages],
            "max_tokens": options.max_tokens,
            "timeout": options.timeout_s,
            "num_retries": 0,
            "max_retries": 0,
            **_optional(endpoint, options, request),
        }
        try:
            return _answer(_within(options.timeout_s, lambda: litellm.completion(**arguments)))
        except CallFailedError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever its providers' clients raise
            raise failure(error) from None

    def price(self, endpoint: Endpoint) -> TokenPrice | None:
        """Return the price in the settings, else the dearest of litellm's installed list."""
        if endpoint.price is not None:
            return endpoint.price
        prices: Mapping[str, Any] = _litellm().model_cost
        provider, _, bare = endpoint.model.partition("/")
        entry = prices.get(endpoint.model)
        if entry is None and prices.get(bare, {}).get("litellm_provider") == provider:
            entry = prices[bare]
        if not entry:
            return None
        prompt = _dearest(entry, "input_cost_per_token")
        completion = _dearest(entry, "output_cost_per_token", "output_cost_per_reasoning_token")
        if prompt is None or completion is None:
            return None
        return TokenPrice(
            prompt_usd_per_million_tokens=prompt, completion_usd_per_million_tokens=completion
        )


def _dearest(entry: Mapping[str, Any], name: str, *others: str) -> float | None:
    """Return the highest price of a kind of token per million, long prompts' included.

    Prices of service tiers, such as ``..._priority``, are left out: none is asked for.
    """
    if not isinstance(entry.get(name), int | float):
        return None
    found = [
        float(value)
        for key, value in entry.items()
        if isinstance(value, int | float)
        and (
            key in {name, *others} or (key.startswith(f"{name}_above_") and key.endswith("tokens"))
        )
    ]
    return max(found) * 1e6


def _optional(endpoint: Endpoint, options: Options, request: Request) -> dict[str, Any]:
    """Return the arguments that not every request has."""
    found: dict[str, Any] = {}
    if endpoint.api_base is not None:
        found["api_base"] = endpoint.api_base
        found["api_key"] = _NO_KEY
    if endpoint.key_variable is not None:
        key = os.environ.get(endpoint.key_variable)
        if not key:
            raise CallFailedError(
                "rejected", f"environment variable {endpoint.key_variable} is not set"
            )
        found["api_key"] = key
    if options.temperature is not None:
        found["temperature"] = options.temperature
    if request.schema is not None:
        form = {"name": "answer", "schema": dict(request.schema)}
        found["response_format"] = {"type": "json_schema", "json_schema": form}
    if request.tools:
        found["tools"] = [dict(tool) for tool in request.tools]
        found["tool_choice"] = "auto" if request.may_call else "none"
    return found


def _within(limit_s: float, call: Callable[[], Any]) -> Any:
    """Return what a call returns, or stop waiting: a server may send a byte now and then for ever.

    Raises:
        CallFailedError: it took too long.
    """
    done: list[tuple[Any, BaseException | None]] = []

    def work() -> None:
        try:
            done.append((call(), None))
        except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
            done.append((None, error))

    thread = threading.Thread(target=work, name="model-call", daemon=True)
    thread.start()
    thread.join(limit_s)
    if not done:
        raise CallFailedError("timed_out", f"no whole answer within {limit_s:g} s")
    value, error = done[0]
    if error is not None:
        raise error
    return value


def _answer(response: Any) -> Answer:
    """Return the answer of a response.

    Raises:
        CallFailedError: what came is no answer.
    """
    if not getattr(response, "choices", None):
        raise CallFailedError("cut", "the response holds no choice")
    choice = response.choices[0]
    message = choice.message
    usage = getattr(response, "usage", None)
    wanted = [
        WantedCall(
            str(call.id or f"call_{number}"),
            str(call.function.name or ""),
            without_secrets(call.function.arguments or "{}"),
        )
        for number, call in enumerate(getattr(message, "tool_calls", None) or (), start=1)
    ]
    refusal = getattr(message, "refusal", None)
    return Answer(
        text=without_secrets(message.content or ""),
        finish_reason=str(choice.finish_reason or ""),
        wanted=tuple(wanted),
        refusal=one_line(refusal) if refusal else "",
        num_prompt_tokens=_count(usage, "prompt_tokens"),
        num_completion_tokens=_count(usage, "completion_tokens"),
    )


def _count(usage: Any, name: str) -> int | None:
    value = getattr(usage, name, None)
    return value if isinstance(value, int) and value >= 0 else None


def create_model_maker(
    settings: Settings,
    blobs: BlobStore,
    provider: Provider | None = None,
) -> Callable[[Journal], Model]:
    """Return what makes the door for whoever appends to a journal.

    Args:
        settings: of the campaign, with its models.
        blobs: store for prompts and replies.
        provider: reaches the models; litellm when None.

    Raises:
        InvalidInputError: there are no models, a price is unknown, or ``models.recorded_in`` is
            no campaign.
        CorruptLogError: the log of that campaign cannot be read.
    """
    models = settings.models
    if models is None:
        raise InvalidInputError("the campaign has no models: give it a `models:` section")
    reached = LiteLLM() if provider is None else provider
    recordings: Recordings | None = None
    if models.replay == "recorded":
        recordings = Recordings.of(CampaignDirectory(Path(models.recorded_in)))
    else:
        _require_prices(models, reached)

    def create(journal: Journal) -> Model:
        accounts = Accounts(journal, models, settings.budget.usd)
        # waits decide nothing: their random part need not be the campaign's
        jitter = random.Random()  # noqa: S311 - no secret is drawn
        caller = Caller(
            journal, models, accounts, reached, blobs, recordings=recordings, jitter=jitter
        )
        return ModelDoor(models, caller)

    return create


def _require_prices(models: ModelSettings, provider: Provider) -> None:
    for role in ROLES:
        chosen = models.of(role)
        for endpoint in () if chosen is None else (chosen, *chosen.fallbacks):
            if provider.price(endpoint) is None:
                raise InvalidInputError(no_price(role, endpoint))
