"""`arbor replay`: a campaign as it was at one moment, folded from its log."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from arbor.cli.console import people, say
from arbor.cli.moments import At, position_of
from arbor.cli.text import edits, one_line
from arbor.cli.tree_view import summary, tree_view
from arbor.core.state import CampaignState
from arbor.replay.reading import Recording, open_campaign
from arbor.replay.snapshot import Snapshot, snapshot

_SHOWN_CANDIDATES = 12
_SHOWN_NEXT = 3


def replay(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of the campaign.")],
    at: At = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the moment as JSON.")] = False,
) -> None:
    """Show everything that a campaign was at a moment: tree, candidates, limits, costs."""
    recording = open_campaign(directory)
    position = position_of(recording, at)
    then = snapshot(recording, position)
    if as_json:
        say(then.model_dump_json(indent=2))
        return
    console = people()
    head = recording.reader.head().position
    console.print(
        Text(
            f"position {position} of {head}  {then.recorded_at:%Y-%m-%d %H:%M:%S} UTC"
            f"  {then.latest}",
            style="bold",
        ),
        soft_wrap=True,
    )
    _show_tree(console, recording, then)
    for line in (*_lines(then), *_next(recording, position)):
        console.print(line, soft_wrap=True)


def _show_tree(console: Console, recording: Recording, then: Snapshot) -> None:
    state: CampaignState = recording.state(up_to=then.position)
    console.print(tree_view(state, ascii_only=console.options.ascii_only), soft_wrap=True)
    console.print(summary(state, then.recorded_at), soft_wrap=True)


def _lines(then: Snapshot) -> Iterator[Text]:
    shares = ", ".join(f"{share.category} {share.share_ratio:.0%}" for share in then.profile)
    yield _titled("profile", shares or "not taken yet")
    for number, candidate in enumerate(then.candidates[:_SHOWN_CANDIDATES]):
        score = "not scored" if candidate.score is None else f"{candidate.score:.4f}"
        waits = ", waits for approval" if candidate.awaits_approval else ""
        text = f"{candidate.action_id} {one_line(candidate.template_id, 60)}  {score}{waits}"
        yield _titled("candidates" if number == 0 else "", text)
    if (num_more := len(then.candidates) - _SHOWN_CANDIDATES) > 0:
        yield _titled("", f"and {num_more} more")
    for request in then.requests:
        pairs = f", {request.num_pairs} pairs so far" if request.num_pairs else ""
        yield _titled("measuring", f"{request.purpose} of {request.node_id}{pairs}")
    for constraint in then.constraints:
        what = f"{constraint.constraint_id} {constraint.template_id}"
        scope = f" with {edits(constraint.edits)}" if constraint.edits else ""
        yield _titled("constraint", f"{what}{scope}: {one_line(constraint.reason)}")
    costs = then.costs
    yield _titled(
        "costs",
        f"{costs.active_s:.0f} of {costs.budget_s:.0f} s, {costs.num_trials} trials,"
        f" {costs.usd_micro / 1e6:.4f} USD, {costs.gpu_s / 3600:.3f} GPU hours",
    )


def _titled(title: str, text: str) -> Text:
    line = Text(f"{title:<11}", style="bold")
    line.append(text, style="default")
    return line


def _next(recording: Recording, position: int) -> Iterator[Text]:
    """Yield what was decided next, by whom and when."""
    num_shown = 0
    for recorded in recording.events(after=position):
        if recorded.decided_after is None:
            continue
        who = f"{recorded.position} {recorded.event.kind} by {recorded.actor}"
        about = recorded.event.action_id
        yield _titled("then" if num_shown == 0 else "", f"{who}{f', {about}' if about else ''}")
        num_shown += 1
        if num_shown == _SHOWN_NEXT:
            return
