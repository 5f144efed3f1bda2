"""Settings of language models: who is asked as what, for how much, and from where."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from arbor.events.types import Value

_KEY_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY_ENDINGS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
"""Variables with such names are kept from child programs and taken out of logs everywhere."""
_USER_IN_ADDRESS = re.compile(r"://[^/]*@")

ModelRole = Literal["orchestrator", "planner", "coder", "critic", "summariser"]
"""What a model is asked as; each role may have a model of its own."""
ROLES: tuple[ModelRole, ...] = ("orchestrator", "planner", "coder", "critic", "summariser")


class TokenPrice(Value):
    """What a model costs; 0 and 0 for a server of one's own."""

    prompt_usd_per_million_tokens: float = Field(ge=0)
    completion_usd_per_million_tokens: float = Field(ge=0)


class Endpoint(Value):
    """A model at a place; a text stands for its name alone."""

    model: str = Field(min_length=1, max_length=200)
    """Name as litellm has it, such as ``anthropic/NAME``; ``openai/NAME`` with ``api_base`` for
    any server that speaks OpenAI's protocol."""
    api_base: str | None = None
    """Address of the server; None for the provider's own."""
    key_variable: str | None = None
    """Environment variable that holds the key; never the key itself."""
    price: TokenPrice | None = None
    """None to take it from the list that comes with litellm."""

    @model_validator(mode="after")
    def _holds_no_secret(self) -> Self:
        name = self.key_variable
        if name is not None and not (
            _KEY_NAME.fullmatch(name) and name.upper().endswith(_KEY_ENDINGS)
        ):
            # the text may be the key itself: it is not repeated
            raise ValueError(
                "key_variable is the name of an environment variable that ends in"
                f" {', '.join(_KEY_ENDINGS)}, not the key"
            )
        if self.api_base is not None and _USER_IN_ADDRESS.search(self.api_base):
            raise ValueError("api_base must not hold a user or a password")
        return self


def _endpoint(given: Any) -> Any:
    return {"model": given} if isinstance(given, str) else given


class CallBudget(Value):
    """What calls may cost; None sets no limit of its own."""

    usd: float | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    """Of prompts and replies together."""


class RoleSettings(Endpoint):
    """How a role's model is asked."""

    fallbacks: tuple[Annotated[Endpoint, BeforeValidator(_endpoint)], ...] = ()
    """Asked in turn when the one before does not answer."""
    timeout_s: float = Field(default=120.0, gt=0, le=3600)
    """Longest wait for one whole answer, however slowly it comes."""
    max_tokens: int = Field(default=4096, ge=1)
    """Longest reply, thinking included."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """None leaves it to the model."""
    budget: CallBudget = CallBudget()
    """What the role may cost in the whole campaign."""


_Role = Annotated[RoleSettings | None, BeforeValidator(_endpoint)]


class ModelSettings(Value):
    """Language models of a campaign. Money for all of them is ``budget.usd`` of the campaign."""

    default: _Role = None
    """For roles that are not given."""
    orchestrator: _Role = None
    planner: _Role = None
    coder: _Role = None
    critic: _Role = None
    summariser: _Role = None
    campaign: CallBudget = CallBudget()
    """What all calls of the campaign may cost, beside ``budget.usd``."""
    action: CallBudget = CallBudget()
    """What the calls about one action may cost."""
    max_concurrent: int = Field(default=8, ge=1, le=1000)
    """Calls that are made at once, in the whole campaign."""
    max_attempts: int = Field(default=4, ge=1, le=20)
    """Attempts at one model before its fallback is asked."""
    backoff_s: float = Field(default=1.0, ge=0, le=60)
    """Wait before the second attempt; twice that before the third, and so on."""
    max_repairs: int = Field(default=2, ge=0, le=10)
    """How often a reply in a wrong form is sent back with the reason."""
    max_tool_rounds: int = Field(default=8, ge=0, le=100)
    """How often a model may call tools before it has to answer."""
    replay: Literal["off", "recorded"] = "off"
    """``recorded`` takes replies from a log and asks no model; a reply that is missing is an
    error."""
    recorded_in: str = ""
    """Directory of the campaign whose log has the replies."""

    @model_validator(mode="before")
    @classmethod
    def _off_is_a_word(cls, given: Any) -> Any:
        # YAML reads a bare `off` as false
        if isinstance(given, dict) and given.get("replay") is False:
            return {**given, "replay": "off"}
        return given

    @model_validator(mode="after")
    def _has_a_source(self) -> Self:
        if self.replay == "recorded" and not self.recorded_in:
            raise ValueError("replay: recorded needs recorded_in, the directory of a campaign")
        return self

    def of(self, role: str) -> RoleSettings | None:
        """Return how a role is asked; None when it has no model."""
        own: RoleSettings | None = getattr(self, role) if role in ROLES else None
        return self.default if own is None else own

    def key_variables(self) -> tuple[str, ...]:
        """Return the variables that hold keys, each once."""
        roles = [found for role in ROLES if (found := self.of(role)) is not None]
        endpoints = [each for role in roles for each in (role, *role.fallbacks)]
        return tuple(dict.fromkeys(e.key_variable for e in endpoints if e.key_variable))
