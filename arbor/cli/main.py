"""The `arbor` command: every subcommand is registered here, every error is one line."""

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from arbor import __version__
from arbor.cli import catalog, control, kernels, landscape, log, run
from arbor.cli.audit import audit
from arbor.cli.console import say, show_error
from arbor.cli.diagnose import diagnose
from arbor.cli.diff import diff
from arbor.cli.doctor import doctor
from arbor.cli.events import events
from arbor.cli.export import export
from arbor.cli.init import init
from arbor.cli.plan import plan
from arbor.cli.recheck import recheck
from arbor.cli.replay import replay
from arbor.cli.report import report
from arbor.cli.sql import projections, sql
from arbor.cli.tree import tree
from arbor.cli.whatif import whatif
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


def schema() -> None:
    """Print the JSON schema of campaign files."""
    say(json_schema())


def version() -> None:
    """Print the version."""
    say(f"arbor {__version__} (Python {sys.version.split()[0]})")


COMMANDS = (
    init,
    run.run,
    run.resume,
    control.pause,
    control.resume_campaign,
    control.veto,
    control.approve,
    control.propose,
    control.lift,
    plan,
    tree,
    events,
    report,
    export,
    audit,
    recheck,
    diagnose,
    replay,
    diff,
    whatif,
    sql,
    projections,
    schema,
    doctor,
    version,
)
"""In the order of `arbor --help`; a new command is a file and a line here."""

app = typer.Typer(
    cls=_Group,
    name="arbor",
    help="Makes a running LLM inference stack faster by measured tree search.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(catalog.app)
app.add_typer(log.app)
app.add_typer(kernels.app)
app.add_typer(landscape.app)


def main() -> None:
    """Run the command line."""
    app()
