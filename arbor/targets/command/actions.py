"""Actions of a campaign file: which knobs they set or search, and what is expected of them."""

from collections.abc import Iterator, Mapping
from typing import Self

from pydantic import Field, model_validator

from arbor.events.types import (
    ActionTemplate,
    Edit,
    Layer,
    Parameter,
    Requirement,
    Scalar,
    Value,
    Witness,
)

SECTION = "knobs"


def key_of(knob: str) -> str:
    """Return the configuration key of a knob."""
    return f"{SECTION}.{knob}"


class Range(Value):
    """What a search may try for one knob."""

    choices: tuple[Scalar, ...] = ()
    low: float | None = None
    high: float | None = None
    log: bool = False
    """Searched by its logarithm."""

    @model_validator(mode="after")
    def _has_points(self) -> Self:
        if bool(self.choices) == (self.low is not None or self.high is not None):
            raise ValueError("give choices, or low and high")
        if self.choices and len(set(self.choices)) < 2:
            raise ValueError("two choices are needed; else set the value")
        if not self.choices:
            if self.low is None or self.high is None or self.low >= self.high:
                raise ValueError("low and a higher high are needed")
            if self.log and self.low <= 0:
                raise ValueError("a logarithmic search needs a low above 0")
        return self


class Action(Value):
    """One thing to try."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: str = ""
    layer: Layer = Layer.FRAMEWORK
    category: str = "all"
    """Category of the profile that it touches."""
    set: dict[str, Scalar] = Field(default_factory=dict)
    """Knobs and their new values."""
    search: dict[str, Range] = Field(default_factory=dict)
    """Knobs whose values are searched for."""
    requires: dict[str, tuple[Scalar, ...]] = Field(default_factory=dict)
    """Knobs, each with values of which one must be in force."""
    conflicts: dict[str, tuple[Scalar, ...]] = Field(default_factory=dict)
    unlocked_by: tuple[str, ...] = ()
    prior_speedup_ratio: float = Field(default=1.1, gt=0)
    accuracy_risk_ratio: float = Field(default=0.02, ge=0, lt=1)
    crash_risk_ratio: float = Field(default=0.05, ge=0, lt=1)
    cost_s: float = Field(default=60.0, gt=0)
    """Expected time of one attempt."""
    is_exact: bool = False
    """It claims to leave every number as it is, and is held to that."""
    counter: str = ""
    """A counter of ``metrics`` that grows when it works: a better witness than the setting."""

    def knobs(self) -> Iterator[str]:
        """Yield all knobs that the action names."""
        yield from (*self.set, *self.search, *self.requires, *self.conflicts)


def template(action: Action, knobs: Mapping[str, Scalar]) -> ActionTemplate:
    """Return an action as the search sees it.

    Args:
        action: the action.
        knobs: the baseline's values.
    """
    return ActionTemplate(
        template_id=action.id,
        layer=action.layer,
        category=action.category,
        title=action.title or action.id.replace("_", " "),
        edits=tuple(Edit(key=key_of(knob), value=value) for knob, value in action.set.items()),
        space=tuple(
            _parameter(knob, searched, knobs[knob]) for knob, searched in action.search.items()
        ),
        requires=_requirements(action.requires),
        conflicts=_requirements(action.conflicts),
        unlocked_by=action.unlocked_by,
        prior_speedup_ratio=action.prior_speedup_ratio,
        prior_accuracy_risk_ratio=action.accuracy_risk_ratio,
        prior_crash_risk_ratio=action.crash_risk_ratio,
        cost_s=action.cost_s,
        is_exact=action.is_exact,
        witness=Witness(kind="counter", key=action.counter)
        if action.counter
        else Witness(kind="config"),
    )


def _parameter(knob: str, searched: Range, baseline: Scalar) -> Parameter:
    if searched.choices:
        return Parameter(key=key_of(knob), kind="categorical", choices=searched.choices)
    return Parameter(
        key=key_of(knob),
        kind="int" if isinstance(baseline, int) else "float",
        low=searched.low,
        high=searched.high,
        log=searched.log,
    )


def _requirements(named: dict[str, tuple[Scalar, ...]]) -> tuple[Requirement, ...]:
    return tuple(Requirement(key=key_of(knob), any_of=values) for knob, values in named.items())
