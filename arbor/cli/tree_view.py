"""The search tree for terminals: one line a node, the path in force in bold."""

import math
from collections.abc import Iterator
from datetime import datetime

from rich.text import Text
from rich.tree import Tree as RichTree

from arbor.cli.text import edits, interval, one_line
from arbor.core.approval import awaits_approval
from arbor.core.interactions import learn
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID, Node, Status
from arbor.replay.wording import percent

NUM_INTERACTIONS = 5
MIN_LOG_CHANGE = 0.02
"""Smaller changes are noise to a reader."""
STYLES: dict[Status, str] = {
    Status.WORKING: "cyan",
    Status.READY: "cyan",
    Status.MEASURING: "bold cyan",
    Status.KEPT: "green",
    Status.REVERTED: "yellow",
    Status.CRASHED: "red",
    Status.WITHDRAWN: "bright_black",
    Status.VETOED: "magenta",
    Status.REBASED: "bright_black",
    Status.REVOKED: "magenta",
}
MARKS: dict[Status, str] = {
    Status.WORKING: "…",
    Status.READY: "…",
    Status.MEASURING: "≈",
    Status.KEPT: "✓",
    Status.REVERTED: "-",
    Status.CRASHED: "✗",
    Status.WITHDRAWN: "o",
    Status.VETOED: "!",
    Status.REBASED: "→",
    Status.REVOKED: "!",
}


def node_label(state: CampaignState, node: Node, *, is_on_path: bool, ascii_only: bool) -> Text:
    """Return the line of a node: mark, id, what it is, effect or reason."""
    style = STYLES[node.status]
    mark = MARKS[node.status]
    text = Text()
    text.append(("*" if ascii_only and not mark.isascii() else mark) + " ", style=style)
    text.append(node.node_id + " ", style="dim")
    if node.node_id == ROOT_ID:
        text.append("baseline", style="bold")
        return text
    text.append(f"{node.action_id} ", style="dim")
    text.append(one_line(node.template_id or ""), style="bold" if is_on_path else "")
    if node.status is Status.KEPT and node.effect is not None:
        text.append(f"  {percent(node.effect.ratio)}", style="bold green")
        text.append(f"  {interval(node.effect)}", style="dim")
        text.append(_voices(state, node), style="magenta")
        return text
    text.append(f"  {node.status}", style=style)
    text.append(_voices(state, node), style="magenta")
    template = state.tree.templates.get(node.template_id or "")
    shown = node.reason
    if not shown and template is not None and tuple(node.edits) != template.edits:
        shown = edits(node.edits)
    if shown:
        text.append(f"  {one_line(shown, 110)}", style="dim")
    return text


def _voices(state: CampaignState, node: Node) -> str:
    """Return who had a say in a node beside the search, and what it was rebuilt from."""
    action = state.tree.actions.get(node.action_id or "")
    if action is None:
        return ""
    said = []
    if action.source == "human":
        said.append("proposed by a human")
    if action.parts:
        verb = "rebuilt from" if action.source == "rebuild" else "together"
        said.append(
            f"{verb} " + ", ".join(part.node_id or part.template_id for part in action.parts)
        )
    if (approver := state.constraints.approved.get(action.action_id)) is not None:
        said.append(f"approved by {one_line(approver, 40)}")
    vetoes = state.constraints.vetoed.get(action.action_id, ())
    said += [f"vetoed by {one_line(veto.by, 40)}" for veto in vetoes]
    return "".join(f"  {each}" for each in said)


def awaiting(state: CampaignState) -> Iterator[Text]:
    """Yield a line for every candidate that waits for a human, or that a human wants."""
    for action in state.tree.candidates():
        if awaits_approval(state, action):
            said = "waits for `arbor approve`"
        elif action.source == "human":
            said = "proposed by a human, has not started"
        else:
            continue
        text = Text("? ", style="magenta")
        text.append(f"{action.action_id} {one_line(action.template_id, 60)}")
        text.append(f"  {said}", style="magenta")
        yield text


def interactions(state: CampaignState) -> Iterator[Text]:
    """Yield a line for every keep that was seen to change the worth of another action."""
    for each in learn(state.tree).largest(NUM_INTERACTIONS):
        if abs(each.log_change) >= MIN_LOG_CHANGE:
            said = f"~ {one_line(each.kept, 60)} changed {one_line(each.changed, 60)}"
            times = f"{each.num} time{'s' if each.num > 1 else ''}"
            change = percent(math.exp(each.log_change))
            yield Text(f"{said}: {change} of its speed-up, measured {times}", style="dim")


def tree_view(
    state: CampaignState, *, ascii_only: bool = False, with_rebased: bool = False
) -> RichTree:
    """Return the tree as a rich renderable.

    Args:
        state: the campaign.
        ascii_only: True when the terminal has no Unicode.
        with_rebased: also show nodes that a rebase replaced.
    """
    tree = state.tree
    on_path = {node.node_id for node in tree.path(tree.current_id)} if tree.nodes else set()
    branches: dict[str, RichTree] = {}
    root = RichTree(Text("no nodes yet", style="dim"), guide_style="dim")
    for node in tree.nodes.values():
        if node.status is Status.REBASED and not with_rebased:
            continue
        label = node_label(state, node, is_on_path=node.node_id in on_path, ascii_only=ascii_only)
        parent = branches.get(node.parent_id or "")
        if parent is None:
            root = RichTree(label, guide_style="dim") if node.node_id == ROOT_ID else root
            branches[node.node_id] = root
        else:
            branches[node.node_id] = parent.add(label)
    return root


def summary(state: CampaignState, now: datetime) -> Text:
    """Return one line: how far the campaign is and what it found."""
    outcomes = [action.outcome for action in state.tree.actions.values()]
    gain = state.tree.gain_ratio(state.tree.current_id) if state.tree.nodes else 1.0
    where = "ended" if state.is_ended else "paused" if state.is_paused else "running"
    text = Text(where, style="bold")
    text.append(
        f"  {state.budget.elapsed_s(now):.0f} of {state.budget.wall_s:.0f} s"
        f"  kept {outcomes.count(Status.KEPT)}"
        f"  reverted {outcomes.count(Status.REVERTED)}"
        f"  crashed {outcomes.count(Status.CRASHED)}"
    )
    text.append(f"  product of keeps {gain:.3f}x", style="green")
    return text
