"""`arbor export`: the final stack as patches, a branch, a launch script and reports."""

import json
from pathlib import Path
from typing import Annotated

import typer

from arbor.cli.console import people, say
from arbor.cli.launching import launch_script
from arbor.core.campaign import Campaign
from arbor.replay.export import BUNDLE, FINAL_BRANCH
from arbor.replay.export import export as write_export
from arbor.replay.reading import open_campaign


def export(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")],
    out: Annotated[Path, typer.Option("--out", metavar="OUT", help="New folder to write.")],
) -> None:
    """Write the final stack: patch series, branch bundle, launch script, result and report."""
    started = open_campaign(directory).started
    campaign = Campaign(target=started.target, target_config=json.loads(started.target_config))
    done = write_export(directory, out, launch_script(campaign))
    if people().is_terminal:
        say(f"{len(done.patches)} patches up to commit {done.commit[:10]} in {done.path}")
        say(f"  start it:   {done.path / 'launch.sh'}")
        say(f"  fetch it:   git fetch {done.path / BUNDLE} {FINAL_BRANCH}")
        return
    say(str(done.path))
