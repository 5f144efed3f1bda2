"""`arbor kb`: what campaigns taught, pooled over any number of logs."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from math import exp
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from arbor.cli.console import people, say, show_table
from arbor.cli.text import one_line
from arbor.cli.warm_start import show_refused
from arbor.core.lessons import Lesson, lessons
from arbor.replay.warm_start import Sources, read_sources

DEFAULT_FOLDER = Path("runs")

app = typer.Typer(
    name="kb",
    help="What campaigns taught: show.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _commands() -> None:
    """Keep `show` a command of its own while it is the only one."""


@app.command("show")
def show(
    directories: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[DIR]...", help="Campaigns, or folders of them; `runs` when none is given."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Show what each action gained and how often it was kept, by hardware, model and workload.

    Raises:
        NotFoundError: a directory does not exist, or holds no campaign.
    """
    sources = read_sources(directories or [DEFAULT_FOLDER])
    show_refused(sources)
    found = lessons(each for source in sources.usable for each in source.found())
    if as_json:
        say(json.dumps(_document(sources, found), indent=2, ensure_ascii=False))
        return
    _show_table(found)
    say(
        f"{len(found)} lessons from {len(sources.usable)} campaigns; gain: mean and 95 % interval"
        " of the whole stack, shrunk towards none"
    )


def _document(sources: Sources, found: Sequence[Lesson]) -> dict[str, object]:
    return {
        "schema_version": 1,
        "sources": [
            {
                "path": str(source.path),
                "campaign_id": source.campaign_id,
                "position": source.head.position,
                "digest": source.head.digest,
            }
            for source in sources.usable
        ],
        "refused": list(sources.refused),
        "lessons": [
            asdict(lesson) | {"ratio": exp(lesson.log_gain), "interval": list(lesson.interval())}
            for lesson in found
        ],
    }


def _show_table(found: Sequence[Lesson]) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("action", "layer", "hardware", "model", "workload"):
        table.add_column(name, no_wrap=True)
    for name in ("n", "kept", "crash", "gain", "interval"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("sources", no_wrap=True)
    for lesson in found:
        table.add_row(*(Text(cell) for cell in _cells(lesson)))
    show_table(people(), table)


def _cells(lesson: Lesson) -> tuple[str, ...]:
    scene = lesson.scene
    low, high = lesson.interval()
    return (
        one_line(lesson.template_id, 40),
        lesson.layer,
        one_line(scene.hardware, 32),
        one_line(scene.model_family, 24) or "-",
        one_line(scene.workload, 40) or "default",
        str(lesson.num_tries),
        f"{lesson.keep_ratio:.0%}",
        f"{lesson.crash_ratio:.0%}",
        f"{exp(lesson.log_gain):.3f}x",
        f"[{low:.3f}, {high:.3f}]",
        ", ".join(one_line(source, 8).rstrip("…") for source in lesson.sources),
    )
