"""A declared response surface: what a configuration is truly worth, without noise.

The time of one token is split over profile categories. A switch shortens its category by a
factor, so that ``ratio = 1 / sum_c share_c * exp(-gain_c(config))`` with ``gain_c`` the sum of the
log gains of what is on and touches ``c`` (category ``all`` touches every one). Amdahl's bound and
the shift of the bottleneck follow by themselves.
"""

import math
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from arbor.events.types import CategoryShare, Layer, Scalar, Value

Phase = Literal["start", "profile", "accuracy", "benchmark"]
EVERY_CATEGORY = "all"


class Switch(Value):
    """An option that is off in the baseline."""

    name: str
    """Also the id of its action."""
    key: str
    baseline: Scalar = False
    value: Scalar = True
    layer: Layer = Layer.FRAMEWORK
    category: str = EVERY_CATEGORY
    title: str = ""
    log_gain: float = 0.0
    """Log of the speed-up of its category; negative harms."""
    locked_log_gain: float = 0.0
    """Log gain as long as none of ``unlocked_by`` is on."""
    workload_log_gains: dict[str, float] = Field(default_factory=dict)
    """Further log gain under the workload of a name."""
    unlocked_by: tuple[str, ...] = ()
    """Switches of which one must be on before ``log_gain`` counts; empty means always."""
    needs: tuple[str, ...] = ()
    """Switches without which the server refuses to start; the catalog tells."""
    excludes: tuple[str, ...] = ()
    """Switches beside which the server refuses to start; the catalog tells."""
    kl: float = Field(default=0.0, ge=0)
    """Mean KL divergence that it adds, in nats."""
    claims_exact: bool | None = None
    """What the catalog says; by default the truth, which is ``kl == 0``."""
    witness: Literal["counter", "config"] = "counter"
    is_dead: bool = False
    """True when the server ignores it: no effect, no counter, not resolved."""
    prior_speedup_ratio: float | None = Field(default=None, gt=0)
    """What the catalog expects; by default drawn around the truth."""
    cost_s: float = Field(default=20.0, gt=0)


class Number(Value):
    """A number with a log-quadratic optimum, searched by the tuning specialist."""

    name: str
    key: str
    kind: Literal["int", "float"] = "int"
    low: float = Field(gt=0)
    high: float = Field(gt=0)
    baseline: float = Field(gt=0)
    optimum: float = Field(gt=0)
    curvature: float = Field(default=0.1, ge=0)
    """Loss of log speed per squared natural log of the distance from the optimum."""
    layer: Layer = Layer.APPLICATION
    category: str = EVERY_CATEGORY
    title: str = ""
    unlocked_by: tuple[str, ...] = ()
    """Switches of which one must be on before the number matters; empty means always."""
    prior_speedup_ratio: float | None = Field(default=None, gt=0)
    cost_s: float = Field(default=40.0, gt=0)

    def typed(self, value: float) -> Scalar:
        """Return a value as the configuration holds it."""
        return round(value) if self.kind == "int" else value


class Interaction(Value):
    """Log gain that a pair of switches adds when both are on."""

    first: str
    second: str
    log_gain: float
    category: str = EVERY_CATEGORY


class Cliff(Value):
    """A combination whose answers are off, though each part alone is harmless."""

    all_of: tuple[str, ...] = ()
    """Switches that are all on."""
    above: dict[str, float] = Field(default_factory=dict)
    """Numbers, by name, that exceed a limit."""
    kl: float = Field(gt=0)
    """Mean KL divergence that the combination adds, in nats."""


class Crash(Value):
    """A combination that ends the server."""

    all_of: tuple[str, ...] = ()
    """Switches that are all on."""
    none_of: tuple[str, ...] = ()
    """Switches that are all off."""
    above: dict[str, float] = Field(default_factory=dict)
    """Numbers, by name, that exceed a limit."""
    phase: Phase = "start"
    message: str = "the server ended"
    exit_code: int | None = 1
    signal: int | None = None
    log: tuple[str, ...] = ()


class Surface(Value):
    """The truth about a stack: its switches, numbers, interactions and crashes."""

    categories: tuple[CategoryShare, ...] = (CategoryShare(category="other", share_ratio=1.0),)
    """Baseline shares; they sum to 1."""
    switches: tuple[Switch, ...] = ()
    numbers: tuple[Number, ...] = ()
    interactions: tuple[Interaction, ...] = ()
    crashes: tuple[Crash, ...] = ()
    cliffs: tuple[Cliff, ...] = ()

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        switches = [switch.name for switch in self.switches]
        numbers = [number.name for number in self.numbers]
        options: tuple[Switch | Number, ...] = (*self.switches, *self.numbers)
        keys = [option.key for option in options]
        if len({*switches, *numbers}) != len(switches) + len(numbers):
            raise ValueError("names of switches and numbers must differ from each other")
        if len(set(keys)) != len(keys):
            raise ValueError("keys of switches and numbers must differ from each other")
        named = {name for pair in self.interactions for name in (pair.first, pair.second)}
        named |= {name for crash in self.crashes for name in (*crash.all_of, *crash.none_of)}
        named |= {name for switch in self.switches for name in (*switch.needs, *switch.excludes)}
        named |= {name for cliff in self.cliffs for name in cliff.all_of}
        named |= {name for option in options for name in option.unlocked_by}
        if unknown := sorted(named - set(switches)):
            raise ValueError(f"unknown switches: {', '.join(unknown)}")
        bounded: tuple[Crash | Cliff, ...] = (*self.crashes, *self.cliffs)
        limited = {name for each in bounded for name in each.above}
        if unknown := sorted(limited - set(numbers)):
            raise ValueError(f"unknown numbers: {', '.join(unknown)}")
        categories = {share.category for share in self.categories} | {EVERY_CATEGORY}
        touched = {option.category for option in options}
        touched |= {pair.category for pair in self.interactions}
        if unknown := sorted(touched - categories):
            raise ValueError(f"unknown categories: {', '.join(unknown)}")
        total = math.fsum(share.share_ratio for share in self.categories)
        if not math.isclose(total, 1.0, abs_tol=1e-6):
            raise ValueError(f"shares of the categories sum to {total:.6f}, not 1")
        return self

    def baseline(self) -> dict[str, Scalar]:
        """Return the flat configuration with every switch off."""
        config = {switch.key: switch.baseline for switch in self.switches}
        for number in self.numbers:
            config[number.key] = number.typed(number.baseline)
        return config

    def is_on(self, switch: Switch, config: Mapping[str, Scalar]) -> bool:
        """Return whether a configuration turns a switch on, dead or not."""
        return config.get(switch.key, switch.baseline) == switch.value

    def names_on(self, config: Mapping[str, Scalar]) -> frozenset[str]:
        """Return the names of the switches that take effect."""
        return frozenset(
            switch.name
            for switch in self.switches
            if self.is_on(switch, config) and not switch.is_dead
        )

    def times(self, config: Mapping[str, Scalar]) -> dict[str, float]:
        """Return the time of each category, where the baseline's sum is 1."""
        gains = dict.fromkeys((share.category for share in self.categories), 0.0)
        gains[EVERY_CATEGORY] = 0.0
        on = self.names_on(config)
        for switch in self.switches:
            if switch.name in on:
                unlocked = not switch.unlocked_by or not on.isdisjoint(switch.unlocked_by)
                gains[switch.category] += switch.log_gain if unlocked else switch.locked_log_gain
        for number in self.numbers:
            if not number.unlocked_by or not on.isdisjoint(number.unlocked_by):
                gains[number.category] += _number_log_gain(number, config)
        for pair in self.interactions:
            if pair.first in on and pair.second in on:
                gains[pair.category] += pair.log_gain
        everywhere = gains.pop(EVERY_CATEGORY)
        return {
            share.category: share.share_ratio * math.exp(-gains[share.category] - everywhere)
            for share in self.categories
        }

    def true_ratio(self, config: Mapping[str, Scalar]) -> float:
        """Return the throughput of a configuration over the baseline's, crashes aside."""
        return 1.0 / math.fsum(self.times(config).values())

    def shares(self, config: Mapping[str, Scalar]) -> dict[str, float]:
        """Return the share of time of each category."""
        times = self.times(config)
        total = math.fsum(times.values())
        return {category: time / total for category, time in times.items()}

    def kl(self, config: Mapping[str, Scalar]) -> float:
        """Return the mean KL divergence of a configuration from the baseline, in nats."""
        on = self.names_on(config)
        total = math.fsum(switch.kl for switch in self.switches if switch.name in on)
        if not self.cliffs:
            return total
        values = {n.name: float(config.get(n.key, n.baseline)) for n in self.numbers}
        return total + math.fsum(
            cliff.kl
            for cliff in self.cliffs
            if on.issuperset(cliff.all_of)
            and all(values[name] > limit for name, limit in cliff.above.items())
        )

    def crash(self, config: Mapping[str, Scalar]) -> Crash | None:
        """Return the first crash that a configuration meets, in any phase."""
        on = self.names_on(config)
        for switch in self.switches:
            if switch.name in on and not on.issuperset(switch.needs):
                missing = ", ".join(sorted(set(switch.needs) - on))
                text = f"{switch.key}={switch.value} needs {missing}"
                return Crash(message=text, exit_code=2, log=(f"error: {text}",))
            if switch.name in on and (beside := sorted(on & set(switch.excludes))):
                text = f"{switch.key}={switch.value} does not go with {', '.join(beside)}"
                return Crash(message=text, exit_code=2, log=(f"error: {text}",))
        values: dict[str, float] = {}
        for number in self.numbers:
            value = config.get(number.key, number.baseline)
            if isinstance(value, bool | str) or value <= 0:
                text = f"{number.key} is {value!r}; a number above 0 is needed"
                return Crash(message=text, exit_code=2, log=(f"error: {text}",))
            values[number.name] = value
        for crash in self.crashes:
            if (
                on.issuperset(crash.all_of)
                and on.isdisjoint(crash.none_of)
                and all(values[name] > limit for name, limit in crash.above.items())
            ):
                return crash
        return None


def _number_log_gain(number: Number, config: Mapping[str, Scalar]) -> float:
    value = max(float(config.get(number.key, number.baseline)), 1e-9)
    start = math.log(number.baseline / number.optimum)
    distance = math.log(value / number.optimum)
    return number.curvature * (start * start - distance * distance)
