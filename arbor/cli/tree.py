"""`arbor tree`: the search tree now, at an earlier position, or as it grows."""

from pathlib import Path
from typing import Annotated

import typer

from arbor.cli.console import now, people
from arbor.cli.moments import At, position_of
from arbor.cli.progress import ProgressView
from arbor.cli.tree_view import awaiting, interactions, summary, tree_view
from arbor.core.state import CampaignState
from arbor.events.errors import InvalidInputError
from arbor.replay.reading import Recording, open_campaign

POLL_S = 1.0

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")]


def tree(
    directory: Directory,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the end.")] = False,
    at: At = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also nodes that a rebase replaced.")
    ] = False,
) -> None:
    """Show the search tree with outcomes and intervals."""
    recording = open_campaign(directory)
    if follow:
        if at is not None:
            raise InvalidInputError("--follow and --at exclude each other: leave one out")
        _follow(recording)
        return
    console = people()
    last_at = None
    state = CampaignState()
    for recorded in recording.events(up_to=position_of(recording, at)):
        state.apply(recorded)
        last_at = recorded.recorded_at
    ascii_only = console.options.ascii_only
    console.print(tree_view(state, ascii_only=ascii_only, with_rebased=everything), soft_wrap=True)
    for line in awaiting(state):
        console.print(line, soft_wrap=True)
    for line in interactions(state):
        console.print(line, soft_wrap=True)
    console.print(summary(state, last_at or now()), soft_wrap=True)


def _follow(recording: Recording) -> None:
    view = ProgressView(people(), now)
    state = CampaignState()
    try:
        while True:
            for recorded in recording.events(after=state.position):
                state.apply(recorded)
            view.update(state, now())
            if state.is_ended:
                return
            recording.reader.wait_beyond(state.position, POLL_S)
    except KeyboardInterrupt:
        return
    finally:
        view.close()
