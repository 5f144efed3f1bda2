"""`arbor whatif`: the decisions that another setting would have made, from recorded results."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from arbor.cli.console import people, say
from arbor.cli.moments import position_of
from arbor.cli.text import one_line
from arbor.replay.moments import FORMS
from arbor.replay.reading import open_campaign
from arbor.replay.settings_change import changed_settings
from arbor.replay.whatif import Outcome, WhatIf, what_if
from arbor.replay.wording import percent

_SHOWN_RANKS = 10


def whatif(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")],
    at: Annotated[
        str, typer.Option("--at", metavar="MOMENT", help=f"Where it branches off: {FORMS}.")
    ],
    changes: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="A setting; repeatable.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the branch as JSON.")] = False,
) -> None:
    """Show the decisions that changed settings would have made, where recorded results suffice."""
    recording = open_campaign(directory)
    settings = changed_settings(recording.started.settings, changes)
    position = position_of(recording, at)
    found = what_if(tuple(recording.events()), position, settings)
    if as_json:
        say(found.model_dump_json(indent=2))
        return
    console = people()
    for line in _lines(found):
        console.print(line, soft_wrap=True)


def _lines(found: WhatIf) -> Iterator[Text]:
    changed = ", ".join(f"{key} {old} -> {new}" for key, old, new in found.changes)
    yield Text(f"from position {found.position} on: {changed or 'nothing changed'}", style="bold")
    if found.ranking:
        yield Text("rank  was  score        was          candidate", style="dim")
    for ranked in found.ranking[:_SHOWN_RANKS]:
        was = "-" if ranked.recorded_rank is None else str(ranked.recorded_rank)
        score = "-" if ranked.recorded_score is None else f"{ranked.recorded_score:.4f}"
        yield Text(
            f"{ranked.changed_rank:>4}  {was:>3}  {ranked.changed_score:<11.4f}  {score:<11}"
            f"  {ranked.action_id} {one_line(ranked.template_id, 60)}"
        )
    yield Text("decisions ('=' as recorded, '!' other)", style="dim")
    for step in found.steps:
        mark = "=" if step.is_recorded else "!"
        line = Text(f"{step.active_s:>9.1f} s ", style="dim")
        line.append(f"{mark} ", style="dim" if step.is_recorded else "bold yellow")
        line.append(f"{step.actor:<12} ", style="dim")
        line.append(one_line(step.what, 200))
        yield line
    yield Text(f"stopped: {found.stopped}", style="bold")
    yield _outcome("branch", found.branch)
    yield _outcome("recording", found.recorded)


def _outcome(name: str, outcome: Outcome) -> Text:
    kept = " > ".join(outcome.kept_templates) or "nothing"
    return Text(
        f"{name:<9}  kept {kept}; product {percent(outcome.gain_ratio)}"
        f" after {outcome.active_s:.0f} s"
    )
