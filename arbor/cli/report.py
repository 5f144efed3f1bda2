"""`arbor report`: what a campaign found, for people and machines."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown

from arbor.cli.console import people, say
from arbor.events.errors import InvalidInputError
from arbor.replay.report import markdown_report, tell
from arbor.replay.report_html import html_report


def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="PATH", help="Write one HTML page.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown as text.")] = False,
) -> None:
    """Report a campaign, finished or not."""
    result, story = tell(directory)
    name = str(directory)
    if html is not None:
        _write(html, html_report(result, story, name))
        if not as_json and not markdown:
            say(f"wrote {html}")
    if as_json:
        say(result.model_dump_json(indent=2))
    elif markdown:
        say(markdown_report(result, story, name))
    elif html is None:
        console = people()
        text = markdown_report(result, story, name)
        if console.is_terminal:
            console.print(Markdown(text))
        else:
            say(text)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"cannot write {path}: {error.strerror}") from error
