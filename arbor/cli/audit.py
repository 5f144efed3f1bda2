"""`arbor audit`: proof that a campaign's log is whole and every step justified."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from arbor.cli.console import people, show_error
from arbor.cli.text import one_line
from arbor.events.anchors import note_anchor, read_anchors, require_elsewhere
from arbor.replay.audit import AuditReport, RuleReport
from arbor.replay.audit import audit as run_audit

EXIT_UNSOUND = 1
_SHOWN_PROBLEMS = 3


def audit(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")],
    anchor: Annotated[
        Path | None,
        typer.Option("--anchor", metavar="FILE", help="Add the head to a file kept elsewhere."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="ANCHOR", help="Such a file, or POSITION:DIGEST: must still hold."
        ),
    ] = None,
) -> None:
    """Recompute digests, effects, scores and decisions; exit 1 when something does not hold."""
    if anchor is not None:
        require_elsewhere(anchor, directory)
    report = run_audit(directory, read_anchors(against) if against is not None else ())
    console = people()
    for rule in report.rules:
        _show(console, rule)
    failure = report.first_failure
    if failure is not None:
        rule, problem = failure
        show_error(f"audit: rule {rule.name} fails at position {problem.position}: {problem.text}")
        raise typer.Exit(EXIT_UNSOUND)
    _conclude(console, report)
    if anchor is not None:
        note_anchor(anchor, report.head)


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


def _conclude(console: Console, report: AuditReport) -> None:
    head = report.head
    console.print(Text(f"sound: {head.position} events, {len(report.rules)} rules", style="green"))
    console.print(f"head: {head.position}:{head.digest}", soft_wrap=True)
