"""The option `--warm-start` of `arbor run`: which campaigns it reads, and what it says of them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from arbor.actors.founding import Knowledge, know_nothing
from arbor.cli.console import say
from arbor.cli.text import one_line
from arbor.replay.warm_start import Sources, knowledge_events, read_sources

WarmStart = Annotated[
    list[Path] | None,
    typer.Option(
        "--warm-start",
        metavar="DIR",
        help="An earlier campaign, or a folder of them, to learn from; repeatable.",
    ),
]


def gather(paths: Sequence[Path] | None) -> Knowledge:
    """Return what earlier campaigns teach, and say which were used and which left out.

    Raises:
        NotFoundError: a path does not exist, or holds no campaign.
    """
    if not paths:
        return know_nothing
    sources = read_sources(paths)
    show_refused(sources)
    for source in sources.usable:
        num, last = len(source.state.tree.actions), source.head.position
        line = f"warm start from {source.path}: {num} actions up to position {last}"
        say(one_line(line, 400))
    if not sources.usable:
        say("warm start: no campaign is left to learn from; this one starts cold")
    return partial(knowledge_events, sources.usable)


def show_refused(sources: Sources) -> None:
    """Say on stderr, in one line each, what cannot be used."""
    console = Console(stderr=True)
    for line in sources.refused:
        console.print(Text(one_line(line, 600), style="yellow"), soft_wrap=True)
