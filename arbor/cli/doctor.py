"""`arbor doctor`: one line a check, exit 1 when something needed is missing."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from arbor.cli.checks import Level, all_checks
from arbor.cli.cluster_checks import cluster
from arbor.cli.console import people
from arbor.cli.model_checks import models
from arbor.cli.sandbox_check import sandbox
from arbor.cli.text import one_line

EXIT_MISSING = 1
_STYLES = {Level.OK: "green", Level.NOTE: "yellow", Level.MISSING: "bold red"}


def doctor(
    directory: Annotated[
        Path | None,
        typer.Option("--dir", help="Directory that all nodes of RAY_ADDRESS should share."),
    ] = None,
    campaign: Annotated[
        Path | None,
        typer.Option("--campaign", help="Campaign file whose language models are looked at."),
    ] = None,
) -> None:
    """Check this machine: packages, compilers, memory, devices, models; nodes of RAY_ADDRESS."""
    console = people()
    num_missing = 0
    for check in (*all_checks(), *sandbox(), *models(campaign), *cluster(directory)):
        line = Text(f"{check.level:<8}", style=_STYLES[check.level])
        line.append(f"{check.name:<15} ", style="bold")
        line.append(one_line(check.detail))
        if check.fix:
            line.append(f"  -> {check.fix}", style=_STYLES[check.level])
        console.print(line, soft_wrap=True)
        num_missing += check.level is Level.MISSING
    if num_missing:
        console.print(Text(f"{num_missing} needed things are missing", style="bold red"))
        raise typer.Exit(EXIT_MISSING)
