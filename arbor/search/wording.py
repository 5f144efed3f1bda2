"""A question to an adviser as text, and a reply as points: what an adviser over a model needs."""

import json
from collections.abc import Sequence
from typing import Any

from arbor.events.types import Parameter, Scalar
from arbor.search.advice import AdviceError, OptimiserView, Question, Told
from arbor.search.space import Point, exists, values_of

MAX_ROWS = 40
"""Rows of the history table: half the best, half the latest."""
_DIGITS = 6


def describe(question: Question) -> str:
    """Return the space, the table of trials and the optimiser's state, and how to answer."""
    parts = ["Maximise the value over this space:", *map(_parameter_line, question.space)]
    parts += [f"- rule: {rule}" for rule in question.space.rules]
    parts += ["", f"Trials so far ({len(question.history)}):", *_table(question.history)]
    if question.parent is not None:
        parts += ["", f"Vary this trial: {_row(question.parent)}"]
    if question.optimiser is not None:
        parts += ["", *_optimiser_lines(question.optimiser)]
    parts += [
        "",
        (
            f"Answer with {question.num} point{'s' if question.num > 1 else ''} as JSON and"
            ' nothing else: {"points": [{"<key>": <value>, ...}]}'
        ),
    ]
    return "\n".join(parts)


def read_points(text: str, question: Question) -> tuple[Point, ...]:
    """Return the points that a reply holds, typed as the space says.

    Raises:
        AdviceError: it is no such JSON, or a value is missing or not of the parameter's type.
    """
    start, end = text.find("{"), text.rfind("}")
    try:
        found = json.loads(text[start : end + 1])["points"]
        points = [dict(each) for each in found]
    except (ValueError, TypeError, KeyError) as error:
        raise AdviceError(f'the reply is not {{"points": [...]}}: {text[:80]!r}') from error
    if len(points) != question.num:
        raise AdviceError(f"the reply has {len(points)} points; {question.num} were asked for")
    return tuple(_point(each, question) for each in points)


def _point(values: dict[str, Any], question: Question) -> Point:
    kept: dict[str, Scalar] = {}
    for parameter in question.space:
        if not exists(parameter, kept):
            continue
        if parameter.key not in values:
            raise AdviceError(f"the reply has no value for {parameter.key}")
        kept[parameter.key] = _typed(parameter, values[parameter.key])
    point = question.space.point(kept)
    try:
        question.space.check(point)
    except ValueError as error:
        raise AdviceError(f"the reply is not of the space: {error}") from error
    return point


def _typed(parameter: Parameter, value: Any) -> Scalar:
    """Return a number as its kind says, since JSON does not tell 8 from 8.0 reliably."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if parameter.kind == "float" and is_number:
        return float(value)
    if parameter.kind == "int" and is_number and value == round(value):
        return int(value)
    if isinstance(value, bool | int | float | str):
        return value
    raise AdviceError(f"the reply's {parameter.key} is {value!r}, which is no plain value")


def _parameter_line(parameter: Parameter) -> str:
    if parameter.kind == "categorical":
        text = f"- {parameter.key}: one of {json.dumps(list(parameter.choices))}"
    else:
        kind = "whole number" if parameter.kind == "int" else "number"
        scale = ", logarithmic scale" if parameter.log else ""
        text = f"- {parameter.key}: {kind} from {parameter.low} to {parameter.high}{scale}"
    for each in parameter.when:
        text += f", only when {each.key} is one of {json.dumps(list(each.any_of))}"
    return text


def _table(history: Sequence[Told]) -> list[str]:
    if not history:
        return ["(none)"]
    if len(history) <= MAX_ROWS:
        return [_row(told) for told in history]
    half = MAX_ROWS // 2
    worked = [told for told in history if told.value is not None]
    best = sorted(worked, key=lambda told: -(told.value or 0.0))[:half]
    latest = history[-half:]
    return ["the best:", *map(_row, best), "the latest:", *map(_row, latest)]


def _row(told: Told) -> str:
    value = "failed" if told.value is None else f"{told.value:.{_DIGITS}g}"
    rounded = {
        key: float(f"{each:.{_DIGITS}g}") if isinstance(each, float) else each
        for key, each in values_of(told.point).items()
    }
    return f"{json.dumps(rounded)} -> {value}"


def _optimiser_lines(view: OptimiserView) -> list[str]:
    mean = ", ".join(f"{n}={m:.3f}" for n, m in zip(view.coordinates, view.mean, strict=True))
    rows = "; ".join(" ".join(f"{each:.3g}" for each in row) for row in view.covariance)
    return [
        "An evolution strategy shares this search. In the unit cube:",
        f"- mean: {mean}",
        f"- step size: {view.sigma:.3g}, covariance of the steps: {rows}",
        f"- it would try: {json.dumps(values_of(view.suggestion))}",
        "Answer with its point to agree.",
    ]
