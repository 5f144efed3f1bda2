"""The `arbor` command: every subcommand is registered here, every error is one line."""

import os
import sys
from typing import Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from arbor import __version__
from arbor.cli import run
from arbor.cli.text import one_line
from arbor.core.campaign import json_schema
from arbor.events.errors import ArborError

EXIT_ERROR = 2


class _Group(TyperGroup):
    """Turns Arbor's errors into one line and exit code 2; ARBOR_DEBUG=1 shows the traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except ArborError as error:
            if os.environ.get("ARBOR_DEBUG") == "1":
                raise
            show_error(str(error))
            raise typer.Exit(EXIT_ERROR) from error


def show_error(message: str) -> None:
    """Print one red line on stderr."""
    text = Text("error: ", style="bold red")
    text.append(one_line(message, 2000), style="red")
    Console(stderr=True).print(text, soft_wrap=True)


app = typer.Typer(
    cls=_Group,
    name="arbor",
    help="Makes a running LLM inference stack faster by measured tree search.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(run.run)
app.command()(run.resume)


@app.command()
def schema() -> None:
    """Print the JSON schema of campaign files."""
    typer.echo(json_schema())


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"arbor {__version__} (Python {sys.version.split()[0]})")


def main() -> None:
    """Run the command line."""
    app()
