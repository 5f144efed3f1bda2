"""`arbor log`: whether the event log alone is whole, without asking what it says."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from arbor.cli.console import people, show_error
from arbor.cli.text import one_line
from arbor.core.layout import CampaignDirectory
from arbor.events.anchors import read_anchors
from arbor.events.verify import VerifyReport
from arbor.events.verify import verify as run_verify

EXIT_UNSOUND = 1
_SHOWN_PROBLEMS = 20

app = typer.Typer(
    name="log",
    help="The event log alone: verify DIR.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def log() -> None:
    """Keep `verify` a command of its own while it is the only one."""


@app.command("verify")
def verify(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A campaign's directory, or its log folder.")
    ],
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="ANCHOR",
            help="A file of `arbor audit --anchor`, or POSITION:DIGEST: must still hold.",
        ),
    ] = None,
) -> None:
    """Check seals, page checksums, positions, ids and the chain of digests; exit 1 on damage."""
    folder = CampaignDirectory(directory).log
    report = run_verify(
        folder if folder.is_dir() else directory,
        read_anchors(against) if against is not None else (),
    )
    _show(report)
    if not report.is_sound:
        show_error(f"log: {len(report.problems)} problems, first: {report.problems[0].text}")
        raise typer.Exit(EXIT_UNSOUND)


def _show(report: VerifyReport) -> None:
    console = people()
    for problem in report.problems[:_SHOWN_PROBLEMS]:
        text = f"position {problem.position}: {one_line(problem.text, 400)}"
        console.print(Text(text, style="red"), soft_wrap=True)
    hidden = len(report.problems) - _SHOWN_PROBLEMS
    if hidden > 0:
        console.print(Text(f"and {hidden} more", style="red"))
    whole = "whole" if report.is_sound else "hang together"
    counts = f"{report.num_events} events in {report.num_commits} commits {whole}"
    console.print(f"{counts}, {report.num_files} files read")
    console.print(f"head: {report.head.position}:{report.head.digest}", soft_wrap=True)
