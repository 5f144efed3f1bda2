"""One entry of the vLLM catalog: what it changes, where it may, and what proves it."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from arbor.events.types import Edit, Layer, Parameter, Requirement, Value

DeviceKind = Literal["amd", "nvidia", "cpu"]

ModelTrait = Literal[
    "moe",
    "mla",
    "multimodal",
    "mtp",
    "fp8_weights",
    "fp4_weights",
    "int4_weights",
    "grouped_experts",
    "shared_experts",
]
"""What an action may ask of a model. ``mtp``: it brings layers that draft tokens."""

Category = Literal[
    "all",
    "attention",
    "comm",
    "gemm",
    "memcpy",
    "moe",
    "norm_act_elementwise",
    "other",
    "sampling",
]
"""Profile categories of vLLM's traces; ``all``: the prior is for the whole."""

Risk = Literal["none", "low", "medium", "high"]
"""An author's judgement, no measurement; ``RISK_RATIOS`` turns it into a prior."""

RISK_RATIOS: Mapping[Risk, float] = {"none": 0.005, "low": 0.03, "medium": 0.1, "high": 0.25}

Exactness = Literal["exact", "regrouped", "rounding", "approximate"]
"""What happens to the numbers.

``exact``: the same kernels work on the same batches. ``regrouped``: batches, chunks or ranks
differ, and vLLM's results depend on them within rounding. ``rounding``: other kernels of the same
precision. ``approximate``: fewer bits, or another distribution of tokens.
"""

_KEY = re.compile(r"(args\.[a-z][a-z0-9]*(-[a-z0-9]+)*(\.[a-z0-9_]+)*|env\.[A-Z][A-Z0-9_]*)")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)")
_NAME = r"^[a-z][a-z0-9_]*$"


def release(version: str) -> tuple[int, ...]:
    """Return the numbers at the start of a version, such as (0, 32, 0) of ``0.32.0+cpu``.

    Raises:
        ValueError: the text does not start with a number.
    """
    found = _VERSION.match(version)
    if found is None:
        raise ValueError(f"{version!r} is no version; write one such as 0.23")
    return tuple(int(part) for part in found[1].split("."))


class ModelFacts(Value):
    """What is known of the model that is served."""

    traits: tuple[ModelTrait, ...] = ()


class SearchParameter(Parameter):
    """One dimension of a search space, possibly bounded by the machine."""

    at_most: Literal["", "num_devices", "num_cores"] = ""
    """Larger numbers are taken out on a machine that has fewer."""

    @model_validator(mode="after")
    def _has_points(self) -> Self:
        if self.kind == "categorical":
            if len(set(self.choices)) < 2:
                raise ValueError(f"{self.key} needs two choices or more; else make it an edit")
        elif self.low is None or self.high is None or self.low >= self.high:
            raise ValueError(f"{self.key} needs a low and a higher high")
        elif self.log and self.low <= 0:
            raise ValueError(f"{self.key} is searched by its logarithm; its low must be above 0")
        return self


class ConfigProof(Value):
    """The server reports the edited keys with the edited values: proof of the setting only."""

    kind: Literal["config"]


class CounterProof(Value):
    """A counter of the server grows in every window."""

    kind: Literal["counter"]
    name: str = Field(min_length=1)
    """As the metrics page exports it."""


class LogProof(Value):
    """The log up to the first window says so, and the edited keys are reported.

    ``<value>`` in a pattern stands for the value of the entry's first key.
    """

    kind: Literal["log"]
    present: str = ""
    """Regular expression that a line matches."""
    absent: str = ""
    """Regular expression that no line matches."""

    @model_validator(mode="after")
    def _compiles(self) -> Self:
        if not (self.present or self.absent):
            raise ValueError("a log witness needs a pattern; add present or absent")
        for pattern in (self.present, self.absent):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
        return self


class Applicability(Value):
    """Where an entry may be tried."""

    devices: tuple[DeviceKind, ...] = Field(default=("amd", "nvidia", "cpu"), min_length=1)
    architectures: tuple[str, ...] = ()
    """Such as gfx942 or sm_90; empty: all."""
    traits: tuple[ModelTrait, ...] = ()
    """The model has all of these."""
    without: tuple[ModelTrait, ...] = ()
    """The model has none of these."""
    min_devices: int = Field(default=0, ge=0)
    since: str = ""
    """First vLLM release with it."""
    before: str = ""
    """First vLLM release without it."""

    @field_validator("since", "before")
    @classmethod
    def _is_version(cls, value: str) -> str:
        if value:
            release(value)
        return value

    def obstacle(
        self,
        kind: str,
        num_devices: int,
        architecture: str,
        model: ModelFacts,
        version: str,
    ) -> str | None:
        """Return why an entry cannot be tried, or None.

        Args:
            kind: ``amd``, ``nvidia`` or ``cpu``.
            num_devices: devices of that kind.
            architecture: of the devices; empty when it is not known, which meets no demand.
            model: what is served.
            version: of vLLM; empty when it is not known, which meets every range.
        """
        missing = sorted(set(self.traits) - set(model.traits))
        unwanted = sorted(set(self.without) & set(model.traits))
        number = release(version) if version else ()
        if kind not in self.devices:
            return f"is for {', '.join(self.devices)}, not for {kind}"
        if self.architectures and architecture not in self.architectures:
            return f"is for {', '.join(self.architectures)}, not for {architecture or 'unknown'}"
        if num_devices < self.min_devices:
            return f"needs {self.min_devices} devices, there are {num_devices}"
        if missing:
            return f"needs a model with {', '.join(missing)}"
        if unwanted:
            return f"is not for a model with {', '.join(unwanted)}"
        if number and self.since and number < release(self.since):
            return f"needs vLLM {self.since}, this is {version}"
        if number and self.before and number >= release(self.before):
            return f"is gone since vLLM {self.before}, this is {version}"
        return None


def _named(value: Any, *, is_space: bool) -> Any:
    """Return a mapping from keys to values or parameters as a list of models' fields."""
    if not isinstance(value, Mapping):
        return value
    if not is_space:
        deep = [key for key, held in value.items() if isinstance(held, list | dict)]
        if deep:
            raise ValueError(f"{deep[0]} holds no scalar; write its value as JSON in quotes")
        return [{"key": key, "value": held} for key, held in value.items()]
    return [
        {"key": key, **held}
        if isinstance(held, Mapping)
        else {"key": key, "kind": "categorical", "choices": held}
        for key, held in value.items()
    ]


class Entry(Value):
    """One action of the catalog, as its file holds it."""

    id: str = Field(pattern=_NAME)
    layer: Layer
    """Given by the file."""
    category: Category
    title: str = Field(min_length=1)
    edits: Annotated[
        tuple[Edit, ...], BeforeValidator(lambda value: _named(value, is_space=False))
    ] = ()
    """In the file a mapping from keys, ``args.max-num-seqs`` or ``env.NAME``, to values."""
    space: Annotated[
        tuple[SearchParameter, ...], BeforeValidator(lambda value: _named(value, is_space=True))
    ] = ()
    """In the file a mapping from keys to choices or to kind, low and high."""
    applies: Applicability = Applicability()
    requires: tuple[str | Requirement, ...] = ()
    """Entries, or keys with their values, that have to be in force."""
    conflicts: tuple[str | Requirement, ...] = ()
    """Entries, or keys with their values, that must not be; it holds both ways."""
    unlocked_by: tuple[str, ...] = ()
    """Entries whose keep may change the worth of this one."""
    prior_speedup_ratio: float = Field(ge=0.9, le=3.0)
    """Other people's gain on other machines, for the category's share: a prior, no promise."""
    accuracy_risk: Risk
    crash_risk: Risk
    cost_s: float = Field(ge=30, le=14400)
    exactness: Exactness
    witness: Annotated[ConfigProof | CounterProof | LogProof, Field(discriminator="kind")]
    source: str = Field(pattern=r"^https://\S+$")
    """Where the fact or the figure is from."""
    lead: str = Field(min_length=1)
    """Name of the lead that the entry was made of."""

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        keys = self.config_keys()
        if not keys:
            raise ValueError("nothing is changed; add edits or a space")
        if len(set(keys)) < len(keys):
            raise ValueError("a key is set twice; keep one of edits and space")
        for key in keys:
            if _KEY.fullmatch(key) is None:
                raise ValueError(f"key {key!r} is neither args.some-option nor env.SOME_NAME")
        values = [(e.key, e.value) for e in self.edits]
        values += [(p.key, choice) for p in self.space for choice in p.choices or (0,)]
        for key, value in values:
            if key.startswith("env.") and not isinstance(value, str):
                raise ValueError(f"{key} is {value!r}; the environment holds strings, quote it")
        return self

    def config_keys(self) -> tuple[str, ...]:
        """Return the configuration keys that the entry sets."""
        return (*(e.key for e in self.edits), *(p.key for p in self.space))
