"""The vLLM catalog: its files read and checked, and the actions that suit a machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from arbor.events.errors import InvalidInputError
from arbor.events.types import (
    ActionTemplate,
    Hardware,
    Layer,
    Parameter,
    Requirement,
    Value,
    Witness,
)
from arbor.targets.vllm.entry import (
    RISK_RATIOS,
    CounterProof,
    Entry,
    LogProof,
    ModelFacts,
    SearchParameter,
)
from arbor.targets.vllm.validation import fixed_values, problems

FOLDER = Path(__file__).with_name("catalog")


class Leads(Value):
    """What became of the leads that a file was made of."""

    num_given: int = Field(ge=0)
    left_out: dict[str, str]
    """Why a lead gave no entry."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """All entries, in the order of the layers and of their files.

    Attributes:
        entries: what can be tried on some machine.
        leads: what became of the leads, by layer.
    """

    entries: tuple[Entry, ...]
    leads: dict[Layer, Leads]


@cache
def load_catalog(folder: Path = FOLDER) -> Catalog:
    """Return the catalog of a folder with one file for each layer.

    Raises:
        InvalidInputError: a file is missing or wrong; one line with file, entry and fix.
    """
    entries: list[Entry] = []
    leads: dict[Layer, Leads] = {}
    for layer in Layer:
        path = folder / f"{layer.value}.yaml"
        document = _document(path)
        if document.get("layer") != layer.value:
            raise InvalidInputError(f"{path.name}: layer is not {layer.value}; correct it")
        found = [_entry(path.name, layer, fields) for fields in document.get("entries") or []]
        leads[layer] = _leads(path.name, document.get("leads"), found)
        entries += found
    problem = next(problems(entries), None)
    if problem is not None:
        raise InvalidInputError(problem)
    return Catalog(tuple(entries), leads)


def applicable(
    catalog: Catalog,
    hardware: Hardware,
    model: ModelFacts,
    version: str,
    architecture: str = "",
) -> tuple[ActionTemplate, ...]:
    """Return the actions for a machine, a model and a vLLM release.

    Args:
        catalog: all entries.
        hardware: the machine.
        model: what is served.
        version: of vLLM; empty when it is not known, which meets every range.
        architecture: of the devices, such as gfx942; empty when it is not known, which leaves
            out what asks for one.
    """
    chosen: dict[str, tuple[Entry, tuple[Parameter, ...]]] = {}
    for entry in catalog.entries:
        reason = entry.applies.obstacle(
            hardware.kind, hardware.num_devices, architecture, model, version
        )
        space = tuple(_bounded(parameter, hardware) for parameter in entry.space)
        if reason is None and None not in space:
            chosen[entry.id] = (entry, tuple(p for p in space if p is not None))
    return tuple(
        template(entry, catalog, space, frozenset(chosen)) for entry, space in chosen.values()
    )


def template(
    entry: Entry,
    catalog: Catalog,
    space: tuple[Parameter, ...],
    present: frozenset[str],
) -> ActionTemplate:
    """Return the action of an entry.

    Args:
        entry: the entry.
        catalog: the entries that it names, and those that name it as a conflict.
        space: its parameters within the machine's bounds.
        present: entries that become actions; hints name no others.
    """
    by_id = {other.id: other for other in catalog.entries}
    conflicts = list(_requirements(entry.conflicts, by_id))
    for other in catalog.entries:
        if entry.id in other.conflicts:
            conflicts += fixed_values(other)
    # what the entry sets itself cannot stand in its way
    own = set(entry.config_keys())
    conflicts = [c for c in conflicts if c.key not in own]
    key = f"log.{entry.id}" if isinstance(entry.witness, LogProof) else ""
    return ActionTemplate(
        template_id=entry.id,
        layer=entry.layer,
        category=entry.category,
        title=entry.title,
        edits=entry.edits,
        space=space,
        requires=_requirements(entry.requires, by_id),
        conflicts=tuple(dict.fromkeys(conflicts)),
        unlocked_by=tuple(name for name in entry.unlocked_by if name in present),
        prior_speedup_ratio=entry.prior_speedup_ratio,
        prior_accuracy_risk_ratio=RISK_RATIOS[entry.accuracy_risk],
        prior_crash_risk_ratio=RISK_RATIOS[entry.crash_risk],
        cost_s=entry.cost_s,
        is_exact=entry.exactness == "exact",
        witness=Witness(kind="counter", key=entry.witness.name)
        if isinstance(entry.witness, CounterProof)
        else Witness(kind="config", key=key),
    )


def _document(path: Path) -> dict[str, Any]:
    try:
        document: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(f"{path.name}: cannot be read ({error.strerror})") from error
    except yaml.YAMLError as error:
        text = " ".join(str(error).split())
        raise InvalidInputError(f"{path.name}: is no YAML: {text}") from error
    if not isinstance(document, dict):
        raise InvalidInputError(f"{path.name}: is no mapping; it needs layer, leads and entries")
    return document


def _entry(file: str, layer: Layer, fields: Any) -> Entry:
    name = fields.get("id", "without id") if isinstance(fields, dict) else repr(fields)
    try:
        return Entry.model_validate({"layer": layer} | fields)
    except (ValidationError, TypeError) as error:
        raise InvalidInputError(f"{file}: entry {name}: {_first(error)}") from error


def _leads(file: str, fields: Any, entries: Sequence[Entry]) -> Leads:
    try:
        leads = Leads.model_validate(fields)
    except ValidationError as error:
        raise InvalidInputError(f"{file}: leads: {_first(error)}") from error
    taken = {entry.lead for entry in entries}
    both = sorted(taken & set(leads.left_out))
    if both:
        raise InvalidInputError(f"{file}: leads: {both[0]} is taken and left out; keep one")
    if len(taken) + len(leads.left_out) != leads.num_given:
        raise InvalidInputError(
            f"{file}: leads: {len(taken)} taken and {len(leads.left_out)} left out are not "
            f"{leads.num_given}; say why the others were left out"
        )
    return leads


def _first(error: ValidationError | TypeError) -> str:
    if isinstance(error, TypeError):
        return "is no mapping from fields to values; write id, title, edits, ..."
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    fix = "; add the field" if first["type"] == "missing" else ""
    return f"{where}: {first['msg']}{fix}" if where else str(first["msg"])


def _bounded(parameter: SearchParameter, hardware: Hardware) -> Parameter | None:
    """Return a parameter within the machine's bounds, or None when nothing is left to search."""
    fields = parameter.model_dump(exclude={"at_most"})
    if parameter.at_most:
        limit = hardware.num_devices if parameter.at_most == "num_devices" else hardware.num_cores
        if parameter.kind == "categorical":
            fields["choices"] = tuple(c for c in parameter.choices if int(c) <= limit)
            if len(fields["choices"]) < 2:
                return None
        else:
            fields["high"] = min(parameter.high or 0, limit)
            if fields["high"] <= (parameter.low or 0):
                return None
    return Parameter(**fields)


def _requirements(
    named: Sequence[str | Requirement], by_id: dict[str, Entry]
) -> tuple[Requirement, ...]:
    found: list[Requirement] = []
    for one in named:
        found += fixed_values(by_id[one]) if isinstance(one, str) else [one]
    return tuple(found)
