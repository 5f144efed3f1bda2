"""What the exceptions of libraries mean that reach models; they are told apart by name."""

import re
from collections.abc import Mapping, Sequence

from arbor.actors.models.request import CallFailedError
from arbor.events.model_calls import CallOutcome
from arbor.targets.secrets import scrub

_OUTCOMES: Mapping[str, CallOutcome] = {
    "ContentPolicyViolationError": "refused",
    "RateLimitError": "rate_limited",
    "Timeout": "timed_out",
    "TimeoutError": "timed_out",
    "APITimeoutError": "timed_out",
    "ReadTimeout": "timed_out",
    "WriteTimeout": "timed_out",
    "ConnectTimeout": "unreachable",
    "ConnectError": "unreachable",
    "ReadError": "cut",
    "WriteError": "cut",
    "RemoteProtocolError": "cut",
    "JSONDecodeError": "cut",
}
"""Names of exceptions: their classes move between libraries and their versions."""
_SECONDS = re.compile(r"\d+(\.\d+)?")
_MAX_DETAIL_CHARACTERS = 300


def failure(error: Exception) -> CallFailedError:
    """Return what an exception of litellm, with those below it, means."""
    chain = _chain(error)
    names = [type(each).__name__ for each in chain]
    known = [_OUTCOMES[name] for name in names if name in _OUTCOMES]
    statuses = (getattr(each, "status_code", None) for each in chain)
    status = next((each for each in statuses if isinstance(each, int)), 500)
    outcome: CallOutcome
    if known:
        # the innermost is nearest to what happened
        outcome = known[0] if known[0] in {"refused", "rate_limited"} else known[-1]
    elif status < 500:
        outcome = "rejected"
    else:
        # litellm gives broken connections the status 500 as well
        outcome = "server_error" if "HTTPStatusError" in names else "cut"
    return CallFailedError(outcome, one_line(str(error)), _retry_after_s(chain))


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in found:
        found.append(following)
        following = following.__cause__ or following.__context__
    return found


def _retry_after_s(chain: Sequence[BaseException]) -> float | None:
    """Return the wait that a provider asked for; a date instead of seconds is left alone."""
    for each in chain:
        headers = getattr(getattr(each, "response", None), "headers", None) or {}
        text = headers.get("retry-after")
        if text is not None and _SECONDS.fullmatch(text.strip()):
            return float(text)
    return None


def one_line(text: object) -> str:
    """Return one line of what a provider said, without secrets."""
    words = " ".join(str(text).split())
    return scrub([words])[0][:_MAX_DETAIL_CHARACTERS]
