"""Consoles: one for people on stdout, one for errors on stderr; machines get plain text."""

import sys
from datetime import UTC, datetime

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from arbor.cli.text import one_line

PIPE_WIDTH = 200
"""Columns of a pipe, which has no width of its own."""
_WIDEST = 100_000


def people() -> Console:
    """Return a console on stdout as it is now."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def show_table(console: Console, table: Table) -> None:
    """Print a table; a pipe has no width, so that nothing is folded there."""
    if not console.is_terminal:
        options = console.options.update(max_width=_WIDEST)
        console.width = max(PIPE_WIDTH, Measurement.get(console, options, table).maximum)
    console.print(table)


def now() -> datetime:
    """Return the system's time."""
    return datetime.now(UTC)


def say(text: str) -> None:
    """Write text for machines or pipes, exactly as it is."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def show_error(message: str) -> None:
    """Print one red line on stderr."""
    text = Text("error: ", style="bold red")
    text.append(one_line(message, 2000), style="red")
    Console(stderr=True).print(text, soft_wrap=True)
