"""`arbor audit`: proof that a campaign's log is whole and every step justified."""

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from arbor.cli.console import people, show_error
from arbor.cli.text import one_line
from arbor.events.errors import InvalidInputError
from arbor.events.log import Head
from arbor.replay.audit import AuditReport, RuleReport
from arbor.replay.audit import audit as run_audit

EXIT_UNSOUND = 1
_SHOWN_PROBLEMS = 3


def audit(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")],
    expect: Annotated[
        str | None,
        typer.Option("--expect", metavar="POSITION:DIGEST", help="A head noted earlier."),
    ] = None,
    anchor: Annotated[
        bool, typer.Option("--anchor", help="Print the head, to be kept elsewhere.")
    ] = False,
) -> None:
    """Recompute digests, effects, scores and decisions; exit 1 when something does not hold."""
    report = run_audit(directory, _head(expect) if expect is not None else None)
    console = people()
    for rule in report.rules:
        _show(console, rule)
    failure = report.first_failure
    if failure is not None:
        rule, problem = failure
        show_error(f"audit: rule {rule.name} fails at position {problem.position}: {problem.text}")
        raise typer.Exit(EXIT_UNSOUND)
    _conclude(console, report, with_anchor=anchor)


def _head(text: str) -> Head:
    match = re.fullmatch(r"(\d+):([0-9a-f]{64})", text.strip())
    if match is None:
        raise InvalidInputError(
            f"--expect {text!r} is no anchor: give POSITION:DIGEST as --anchor printed it"
        )
    return Head(int(match[1]), match[2])


def _show(console: Console, rule: RuleReport) -> None:
    ascii_only = console.options.ascii_only
    tick, cross = ("ok", "FAIL") if ascii_only else ("✓", "✗")
    line = Text()
    if rule.is_sound:
        line.append(f"{tick} ", style="green")
    else:
        line.append(f"{cross} ", style="bold red")
    line.append(f"{rule.name:<10}", style="bold")
    line.append(f"{rule.num_checked:>8}  ", style="dim")
    line.append(rule.title)
    console.print(line, soft_wrap=True)
    for note in rule.notes:
        console.print(Text(f"    note: {one_line(note, 400)}", style="yellow"), soft_wrap=True)
    for problem in rule.problems[:_SHOWN_PROBLEMS]:
        text = f"    position {problem.position}: {one_line(problem.text, 400)}"
        console.print(Text(text, style="red"), soft_wrap=True)
    hidden = len(rule.problems) - _SHOWN_PROBLEMS
    if hidden > 0:
        console.print(Text(f"    and {hidden} more", style="red"), soft_wrap=True)


def _conclude(console: Console, report: AuditReport, *, with_anchor: bool) -> None:
    console.print(
        Text(f"sound: {report.head.position} events, {len(report.rules)} rules", style="green")
    )
    if with_anchor:
        console.print(f"{report.head.position}:{report.head.digest}", soft_wrap=True)
