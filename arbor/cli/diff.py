"""`arbor diff`: what changed between two moments of a campaign, or between two campaigns."""

from itertools import groupby
from typing import Annotated

import typer
from rich.text import Text

from arbor.cli.console import people, say
from arbor.cli.moments import parse_place
from arbor.cli.text import one_line
from arbor.replay.difference import Change, compare
from arbor.replay.snapshot import snapshot

_STYLES = {"+": "green", "-": "red", "~": "yellow"}


def diff(
    before: Annotated[
        str, typer.Argument(metavar="A", help="DIR, or DIR@MOMENT such as DIR@120 or DIR@+90s.")
    ],
    after: Annotated[
        str, typer.Argument(metavar="B", help="The same, or @MOMENT of the same campaign.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the difference as JSON.")] = False,
) -> None:
    """Show how two moments of a campaign, or two campaigns, differ."""
    first, first_at = parse_place(before)
    second, second_at = parse_place(after, default=first.directory.path)
    moments = snapshot(first, first_at), snapshot(second, second_at)
    found = compare(*moments)
    if as_json:
        say(found.model_dump_json(indent=2))
        return
    console = people()
    for recording, mark, moment in zip((first, second), ("-", "+"), moments, strict=True):
        when = f"{moment.recorded_at:%Y-%m-%d %H:%M:%S}"
        head = f"{mark} {moment.name} in {recording.directory.path}, position {moment.position}"
        console.print(Text(f"{head} ({when})", style="bold"), soft_wrap=True)
    if not found.changes:
        console.print("nothing differs")
    for section, changes in groupby(found.changes, key=lambda change: change.section):
        console.print(Text(section, style="bold"))
        for change in changes:
            console.print(_line(change), soft_wrap=True)


def _line(change: Change) -> Text:
    line = Text(f"  {change.mark} ", style=_STYLES[change.mark])
    line.append(one_line(change.what))
    sides = [one_line(side, 400) for side in (change.before, change.after) if side]
    if sides:
        line.append("  " + " -> ".join(sides), style="dim")
    return line
