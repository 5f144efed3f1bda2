"""The result of ``vllm bench serve --save-result``, in whatever release wrote it."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PERCENTILES = (50, 95, 99)
_LATENCIES = ("ttft", "tpot", "itl")


class BadResultError(ValueError):
    """A file that is no result of the benchmark."""


def read_result(path: Path) -> dict[str, Any]:
    """Return the result in a file.

    Raises:
        BadResultError: there is none, or it lacks what every release writes.
    """
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadResultError(f"no result was written ({error.strerror})") from error
    except ValueError as error:
        raise BadResultError(f"the result is no JSON: {error}") from error
    if not isinstance(result, dict):
        raise BadResultError("the result is no object")
    for name in ("duration", "completed", "total_input_tokens", "total_output_tokens"):
        if number(result, name) is None:
            raise BadResultError(f"the result has no {name}")
    if not result["duration"] > 0:
        raise BadResultError(f"the result's duration is {result['duration']}")
    return result


def number(result: dict[str, Any], name: str) -> float | None:
    """Return a finite number of a result; None for what is missing or no number."""
    value = result.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def num_failed(result: dict[str, Any], num_prompts: int) -> int:
    """Return the failed requests; older releases do not count them."""
    told = number(result, "failed")
    missing = num_prompts - int(result["completed"])
    return max(missing, 0) if told is None else int(told)


def sample_fields(result: dict[str, Any], num_prompts: int, concurrency: int) -> dict[str, Any]:
    """Return the fields of a ``WindowSample`` that a result tells; None for what it does not.

    ``rtfx``, goodput and the like stay in ``client_result``, as does the request rate, which is
    the string ``inf`` when there is no limit.

    Args:
        result: of the benchmark.
        num_prompts: requests that were asked for.
        concurrency: requests that were to be open.
    """
    completed, failed = int(result["completed"]), num_failed(result, num_prompts)
    num_output = int(result["total_output_tokens"])
    most = number(result, "max_concurrent_requests")
    return {
        "duration_s": float(result["duration"]),
        "throughput_tok_s": num_output / float(result["duration"]),
        "num_completed": completed,
        "num_failed": failed,
        "num_empty": _num_empty(result),
        "num_input_tokens": int(result["total_input_tokens"]),
        "num_output_tokens": num_output,
        "num_chunks": _num_chunks(result),
        "num_planned_requests": num_prompts,
        "num_concurrent_planned": concurrency,
        # a count by seconds may exceed the cap: requests that ended and began in the same one
        "num_concurrent_max": None if most is None else min(int(most), concurrency),
        **_latencies(result),
        "client_result": scalars(result),
    }


def errors_of(result: dict[str, Any]) -> tuple[str, ...]:
    """Return one line for each distinct failure."""
    told = _list(result, "errors")
    lines = {" ".join(str(each).split())[:200] for each in told if each}
    return tuple(sorted(lines))


def scalars(result: dict[str, Any]) -> str:
    """Return a result as JSON without its lists of single requests."""
    kept = {
        key: value
        for key, value in result.items()
        if not isinstance(value, list) and not (isinstance(value, float) and math.isnan(value))
    }
    return json.dumps(kept, sort_keys=True)


def _latencies(result: dict[str, Any]) -> dict[str, float | None]:
    fields: dict[str, float | None] = {}
    for name in _LATENCIES:
        for percentile in PERCENTILES:
            value = number(result, f"p{percentile}_{name}_ms")
            if percentile == 50 and value is None:
                value = number(result, f"median_{name}_ms")
            # nothing was measured where it says zero
            fields[f"{name}_ms_p{percentile}"] = value or None
    for name in ("ttft", "tpot"):
        fields[f"{name}_ms_mean"] = number(result, f"mean_{name}_ms") or None
    fields["e2e_ms_mean"] = number(result, "mean_e2el_ms") or None
    return fields


def _num_empty(result: dict[str, Any]) -> int | None:
    """Return the successes without a token, as far as single requests are told."""
    lengths, errors = _list(result, "output_lens"), _list(result, "errors")
    if not lengths or len(lengths) != len(errors):
        return None
    return sum(1 for num, error in zip(lengths, errors, strict=True) if not num and not error)


def _num_chunks(result: dict[str, Any]) -> int | None:
    gaps, lengths = _list(result, "itls"), _list(result, "output_lens")
    if not gaps or len(gaps) != len(lengths):
        return None
    return sum(len(each) + 1 for each, num in zip(gaps, lengths, strict=True) if num)


def _list(result: dict[str, Any], name: str) -> Sequence[Any]:
    value = result.get(name)
    return value if isinstance(value, list) else ()
