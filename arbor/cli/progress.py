"""Live view of a running campaign: a picture on a terminal, plain lines elsewhere."""

from collections.abc import Callable, Iterator
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from arbor.cli.notable import Notable
from arbor.cli.text import interval, one_line
from arbor.cli.tree_view import STYLES, awaiting, summary, tree_view
from arbor.core.measure.interval import series_effect
from arbor.core.requests import Request
from arbor.core.state import CampaignState
from arbor.core.tree import Node
from arbor.replay.wording import duration

_BAR_WIDTH = 40


class ProgressView:
    """Shows a campaign to whoever waits for it; call ``update`` as often as there is news.

    Args:
        console: where to show it; a terminal gets the live picture.
        now_fn: clock for updates that do not say the time.
    """

    def __init__(self, console: Console, now_fn: Callable[[], datetime]) -> None:
        self._console = console
        self._now_fn = now_fn
        self._notable = Notable()
        self._live: Live | None = None

    def update(self, state: CampaignState, now: datetime | None = None) -> None:
        """Show the state as it is at ``now``."""
        moment = self._now_fn() if now is None else now
        if not self._console.is_terminal:
            for line in self._notable.lines(state):
                elapsed_s = state.budget.elapsed_s(moment)
                self._console.print(
                    Text(f"{elapsed_s:8.1f} s  {line}"), soft_wrap=True, highlight=False
                )
            return
        if self._live is None:
            # What others print on stdout is not for the picture.
            self._live = Live(
                console=self._console, auto_refresh=False, transient=False, redirect_stdout=False
            )
            self._live.start()
        self._live.update(picture(state, moment, self._console), refresh=True)

    def close(self) -> None:
        """Leave the last picture on the screen; closing twice is harmless."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def picture(state: CampaignState, now: datetime, console: Console) -> RenderableType:
    """Return the whole live view of a state."""
    if state.started is None:
        return Text("starting the campaign", style="dim")
    head = Text(one_line(state.started.name), style="bold")
    head.append(f"  {one_line(state.started.target)}", style="dim")
    return Group(
        head,
        _budget(state, now),
        Text(),
        _bounded_tree(state, console),
        Text(),
        *_in_flight(state, now),
        *awaiting(state),
        *_measurement(state),
        *_bottleneck(state),
        summary(state, now),
    )


def _bounded_tree(state: CampaignState, console: Console) -> RenderableType:
    """Return the tree, or its last lines when the screen is too small for all of it."""
    view = tree_view(state, ascii_only=console.options.ascii_only)
    room = max(5, console.height - 12)
    lines = console.render_lines(view, pad=False)
    if len(lines) <= room:
        return view
    rows = ["".join(segment.text for segment in line).rstrip() for line in lines]
    shown = Text(f"… {len(lines) - room} earlier lines; `arbor tree` shows all\n", style="dim")
    shown.append("\n".join(rows[-room:]))
    return shown


def _budget(state: CampaignState, now: datetime) -> RenderableType:
    elapsed_s = state.budget.elapsed_s(now)
    row = Table.grid(padding=(0, 1))
    row.add_row(
        ProgressBar(
            total=state.budget.wall_s,
            completed=min(elapsed_s, state.budget.wall_s),
            width=_BAR_WIDTH,
        ),
        Text(f"{duration(elapsed_s)} of {duration(state.budget.wall_s)}", style="dim"),
    )
    return row


def _in_flight(state: CampaignState, now: datetime) -> Iterator[Text]:
    for node in state.tree.in_flight():
        yield _trial(state, node, now)


def _trial(state: CampaignState, node: Node, now: datetime) -> Text:
    text = Text("  ")
    text.append(f"{node.status}".ljust(10), style=STYLES[node.status])
    text.append(f"{node.node_id} {one_line(node.template_id or '')}")
    template = state.tree.templates.get(node.template_id or "")
    if template is not None:
        text.append(f"  {template.layer}", style="dim")
    begun = state.dispatched_at.get(node.action_id or "")
    if begun is not None:
        text.append(f"  {duration((now - begun).total_seconds())}", style="dim")
    trials = state.trials.get(node.node_id, [])
    if trials:
        text.append(f"  {len(trials)} screening trials", style="dim")
    return text


def _measurement(state: CampaignState) -> Iterator[Text]:
    request = next((r for r in state.requests.open() if r.num_attempts), None)
    if request is not None:
        yield Text(f"  bench     {running(request, state)}", style="cyan")


def running(request: Request, state: CampaignState) -> str:
    """Return what a measurement under way has shown so far."""
    asked = request.asked
    series = request.series()
    num_valid = series.num_pairs
    text = f"{asked.purpose} of {asked.node_id}"
    if request.pairs:
        text += f", {num_valid} pairs"
    if len(request.pairs) > num_valid:
        text += f" ({len(request.pairs) - num_valid} discarded)"
    measure = state.settings.measure
    if num_valid >= measure.min_pairs:
        plan = asked.plan
        effect = series_effect(
            series,
            measure.alpha,
            start_sd=measure.start_sd,
            noise_sd_high=plan.noise_sd_high if plan is not None else None,
            max_pairs=plan.max_pairs if plan is not None else None,
        )
        text += f", {interval(effect)}"
    return text


def _bottleneck(state: CampaignState) -> Iterator[Text]:
    profile = state.tree.profile_at(state.tree.current_id)
    if profile is None or not profile.shares:
        return
    shares = sorted(profile.shares, key=lambda s: -s.share_ratio)[:4]
    listed = ", ".join(f"{one_line(s.category)} {s.share_ratio:.0%}" for s in shares)
    yield Text(f"  time goes to  {listed}", style="dim")
