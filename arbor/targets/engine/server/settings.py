"""The switches of serve.yaml: five sections, a default for each, checked with one clear line.

The defaults are the baseline: what a competent team writes first. Nothing here imports torch, so
Arbor reads the list of switches without starting an engine.
"""

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import yaml

from arbor.targets.engine.server.errors import SettingsError


def _bounded(default: int, minimum: int, maximum: int) -> int:
    """An integer switch with its inclusive bounds kept beside the default."""
    value: int = field(default=default, metadata={"minimum": minimum, "maximum": maximum})
    return value


@dataclass(frozen=True)
class ApplicationSettings:
    """Scheduling, sampling and streaming."""

    decode_batching: bool = False
    max_num_seqs: int = _bounded(4, 1, 256)
    max_num_batched_tokens: int = _bounded(2048, 64, 65_536)
    kv_capacity_tokens: int = _bounded(65_536, 256, 1_048_576)
    prefix_reuse: bool = False
    sampler: Literal["per_sequence", "vectorised", "native"] = "per_sequence"
    stream_interval: int = _bounded(1, 1, 1024)
    admission: Literal["fifo", "shortest_first", "longest_first"] = "fifo"
    speculation: Literal["none", "prompt_lookup"] = "none"
    speculation_tokens: int = _bounded(4, 1, 16)


@dataclass(frozen=True)
class FrameworkSettings:
    """How the forward pass is written in PyTorch."""

    kv_cache: Literal["concatenated", "preallocated"] = "concatenated"
    attention: Literal["manual", "sdpa"] = "manual"
    prefill_logits: Literal["all", "last"] = "all"
    rope: Literal["computed", "table"] = "computed"
    prefill_packing: bool = False
    grad_mode: Literal["no_grad", "inference_mode"] = "no_grad"
    masks: Literal["built", "static"] = "built"
    decode_layout: Literal["padded", "ragged"] = "padded"


@dataclass(frozen=True)
class CompilerSettings:
    """What torch.compile sees, and how precise float32 products are asked to be."""

    compile: Literal["none", "pieces", "whole"] = "none"
    matmul_precision: Literal["highest", "high", "medium"] = "highest"


@dataclass(frozen=True)
class KernelSettings:
    """Which kernels and which number formats run."""

    operators: Literal["torch", "cpp"] = "torch"
    norm: Literal["composed", "fused"] = "composed"
    linear: Literal["default", "onednn_packed"] = "default"
    fused_projections: bool = False
    weights: Literal["float32", "bfloat16", "int8"] = "float32"
    head_weights: Literal["same", "float32", "bfloat16", "int8"] = "same"


@dataclass(frozen=True)
class DispatchSettings:
    """What the process asks of the machine and of the interpreter."""

    threads: int = _bounded(1, 1, 256)
    affinity: Literal["none", "pinned", "apart"] = "none"
    allocator: Literal["system", "jemalloc", "tcmalloc"] = "system"
    malloc: Literal["default", "arena_tuned", "huge_pages"] = "default"
    gc: Literal["on", "off", "frozen"] = "on"
    denormals: Literal["kept", "flushed"] = "kept"
    switch_interval_us: int = _bounded(5000, 50, 100_000)
    placebo: int = _bounded(0, 0, 999)
    """Changes nothing; a campaign over its values must keep none."""


@dataclass(frozen=True)
class Settings:
    """A whole serve.yaml, resolved."""

    application: ApplicationSettings = field(default_factory=ApplicationSettings)
    framework: FrameworkSettings = field(default_factory=FrameworkSettings)
    compiler: CompilerSettings = field(default_factory=CompilerSettings)
    kernel: KernelSettings = field(default_factory=KernelSettings)
    dispatch: DispatchSettings = field(default_factory=DispatchSettings)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Section -> switch -> value, ready for JSON and YAML."""
        return asdict(self)


SECTIONS: dict[str, type[Any]] = {
    "application": ApplicationSettings,
    "framework": FrameworkSettings,
    "compiler": CompilerSettings,
    "kernel": KernelSettings,
    "dispatch": DispatchSettings,
}


@dataclass(frozen=True)
class Switch:
    """One switch: where it stands, its default, and the choices or inclusive bounds it allows."""

    section: str
    name: str
    default: bool | int | str
    choices: tuple[bool | str, ...]
    minimum: int | None
    maximum: int | None

    @property
    def allowed(self) -> str:
        """The allowed values in words."""
        if self.minimum is not None:
            return f"an integer from {self.minimum} to {self.maximum}"
        return "one of " + ", ".join(str(choice).lower() for choice in self.choices)

    def admits(self, value: object) -> bool:
        """Whether the value has the right type and range."""
        if self.minimum is not None and self.maximum is not None:
            return type(value) is int and self.minimum <= value <= self.maximum
        return any(type(value) is type(choice) and value == choice for choice in self.choices)


def switches() -> tuple[Switch, ...]:
    """Every switch of every section in order."""
    found = []
    for section, kind in SECTIONS.items():
        hints = get_type_hints(kind)
        for spec in fields(kind):
            hint = hints[spec.name]
            choices: tuple[bool | str, ...] = ()
            if get_origin(hint) is Literal:
                choices = get_args(hint)
            elif hint is bool:
                choices = (False, True)
            found.append(
                Switch(
                    section=section,
                    name=spec.name,
                    default=getattr(kind, spec.name),
                    choices=choices,
                    minimum=spec.metadata.get("minimum"),
                    maximum=spec.metadata.get("maximum"),
                )
            )
    return tuple(found)


def parse_settings(document: object) -> Settings:
    """Check a parsed serve.yaml and fill in the defaults.

    YAML 1.1 reads bare `on` and `off` as booleans; they are taken as the words where a switch
    has these words as choices.

    Raises:
        SettingsError: A section or key is unknown, or a value is of a wrong type or range.
    """
    if document is None:
        document = {}
    if not isinstance(document, dict):
        raise SettingsError(f"serve.yaml: must be a mapping of sections, one of {_names()}")
    known = {(switch.section, switch.name): switch for switch in switches()}
    chosen: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for section, entries in document.items():
        if section not in SECTIONS:
            raise SettingsError(f"serve.yaml: unknown section {section!r}; allowed: {_names()}")
        if not isinstance(entries, dict | None):
            raise SettingsError(f"serve.yaml: section {section} must be a mapping")
        for name, value in (entries or {}).items():
            switch = known.get((section, name))
            if switch is None:
                keys = ", ".join(other for part, other in known if part == section)
                raise SettingsError(
                    f"serve.yaml: unknown key {section}.{name}; allowed keys: {keys}"
                )
            chosen[section][name] = _checked(switch, value)
    return Settings(**{section: kind(**chosen[section]) for section, kind in SECTIONS.items()})


def load_settings(path: Path) -> Settings:
    """Read and check serve.yaml.

    Raises:
        SettingsError: The file is missing, is not YAML or breaks a rule of `parse_settings`.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        line = " ".join(str(error).split())
        raise SettingsError(f"{path}: is not YAML: {line}") from error
    return parse_settings(document)


def _checked(switch: Switch, value: object) -> object:
    if isinstance(value, bool) and {"on", "off"} <= {str(choice) for choice in switch.choices}:
        value = "on" if value else "off"
    if not switch.admits(value):
        raise SettingsError(
            f"serve.yaml: {switch.section}.{switch.name} is {value!r}; allowed: {switch.allowed}"
        )
    return value


def _names() -> str:
    return ", ".join(SECTIONS)
