"""`arbor catalog`: what a target can try, one entry in full, and whether all of it holds."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import typer
import yaml
from pydantic import BaseModel
from rich.table import Table
from rich.text import Text

from arbor.cli.console import people, say, show_table
from arbor.cli.text import one_line
from arbor.events.errors import InvalidInputError, NotFoundError
from arbor.events.types import ActionTemplate
from arbor.targets.hardware import probe_hardware
from arbor.targets.registry import create_target
from arbor.targets.vllm.catalog import Catalog, load_catalog
from arbor.targets.vllm.entry import Entry
from arbor.targets.vllm.installed import (
    installed_options,
    installed_variables,
    unknown_options,
    unknown_variables,
)

EXIT_PROBLEMS = 1

app = typer.Typer(
    name="catalog",
    help="What a target can try: list, show ID, check.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

TargetName = Annotated[
    Literal["vllm", "engine"], typer.Option("--target", help="Whose catalog to read.")
]
DeviceName = Annotated[
    Literal["amd", "nvidia", "cpu"] | None,
    typer.Option("--device", help="Only what can be tried on such a device."),
]


@app.command("list")
def list_entries(target: TargetName = "vllm", device: DeviceName = None) -> None:
    """List the actions of a target with their priors, risks and proofs."""
    table = Table(box=None, pad_edge=False)
    for name in ("id", "layer", "touches", "prior", "acc.", "crash", "cost", "numbers", "proof"):
        table.add_column(name, no_wrap=True)
    table.add_column("title")
    entries = _entries(target, device)
    for entry in entries:
        table.add_row(*(Text(one_line(cell)) for cell in _row(entry)))
    show_table(people(), table)
    people().print(f"{len(entries)} entries", highlight=False)


@app.command("show")
def show_entry(
    name: Annotated[str, typer.Argument(metavar="ID", help="As `arbor catalog list` has it.")],
    target: TargetName = "vllm",
) -> None:
    """Show one action in full, as YAML.

    Raises:
        NotFoundError: there is no such action.
    """
    for entry in _entries(target, None):
        if _name(entry) == name:
            fields = entry.model_dump(mode="json", exclude_defaults=True)
            say(yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=96))
            return
    raise NotFoundError(
        f"the catalog of {target} has no {name!r}; `arbor catalog list --target {target}` has all"
    )


@app.command("check")
def check_entries(target: TargetName = "vllm", device: DeviceName = None) -> None:
    """Check the files, and the options against an installed vLLM; exit 1 on problems."""
    entries = _entries(target, device)
    if target == "engine":
        found = list(_template_problems([e for e in entries if isinstance(e, ActionTemplate)]))
        people().print(f"engine: {len(entries)} actions", highlight=False)
    else:
        _say_counts(load_catalog(), entries)
        found = list(_installed_problems([e for e in entries if isinstance(e, Entry)]))
    for problem in found:
        people().print(Text(problem, style="red"), soft_wrap=True)
    if found:
        raise typer.Exit(EXIT_PROBLEMS)


def _entries(target: str, device: str | None) -> Sequence[Entry | ActionTemplate]:
    if target == "vllm":
        entries = load_catalog().entries
        return [e for e in entries if device is None or device in e.applies.devices]
    if device not in {None, "cpu"}:
        raise InvalidInputError(f"the engine runs on a processor, not {device}; use --device cpu")
    return list(create_target("engine", {}).actions(probe_hardware()))


def _name(entry: Entry | ActionTemplate) -> str:
    return entry.id if isinstance(entry, Entry) else entry.template_id


def _row(entry: Entry | ActionTemplate) -> tuple[str, ...]:
    risks: tuple[str, str]
    if isinstance(entry, Entry):
        risks = (entry.accuracy_risk, entry.crash_risk)
        numbers: str = entry.exactness
    else:
        ratios = (entry.prior_accuracy_risk_ratio, entry.prior_crash_risk_ratio)
        risks = (f"{ratios[0]:.1%}", f"{ratios[1]:.1%}")
        numbers = "exact" if entry.is_exact else "approximate"
    return (
        _name(entry),
        entry.layer.value,
        entry.category,
        f"{entry.prior_speedup_ratio:.2f}x",
        *risks,
        f"{entry.cost_s:.0f} s",
        numbers,
        entry.witness.kind,
        entry.title,
    )


def _say_counts(catalog: Catalog, entries: Sequence[BaseModel]) -> None:
    console = people()
    for layer, leads in catalog.leads.items():
        num = sum(isinstance(e, Entry) and e.layer is layer for e in entries)
        num_taken = leads.num_given - len(leads.left_out)
        console.print(
            f"{layer.value}.yaml: {num} entries; {num_taken} of {leads.num_given} leads taken",
            highlight=False,
        )


def _installed_problems(entries: Sequence[Entry]) -> Iterator[str]:
    options = installed_options()
    if options is None:
        people().print("no vLLM is installed: options were not compared", highlight=False)
        return
    people().print(f"vLLM is installed: {len(options)} options compared", highlight=False)
    yield from unknown_options(entries, options)
    variables = installed_variables()
    if variables is None:
        people().print("its variables could not be told: not compared", highlight=False)
        return
    yield from unknown_variables(entries, variables)


def _template_problems(templates: Sequence[ActionTemplate]) -> Iterator[str]:
    names = [t.template_id for t in templates]
    for template in templates:
        if names.count(template.template_id) > 1:
            yield f"{template.template_id} is there more than once; rename all but one"
        for name in template.unlocked_by:
            if name not in names:
                yield f"{template.template_id}: unlocked_by names {name!r}, which is no action"
