"""The search tree as a picture: the path in force as a trunk, everything else beside it."""

from collections.abc import Iterator

from arbor.core.tree import ROOT_ID, Node, Status
from arbor.replay.html.markup import Markup, join, label, line, picture, rectangle, shorten, tag
from arbor.replay.story import Story
from arbor.replay.wording import percent

WIDTH = 980.0
_TRUNK_X = 14.0
_TRUNK_WIDTH = 262.0
_CARD_HEIGHT = 50.0
_CHIP_X = 316.0
_CHIP_WIDTH = 212.0
_CHIP_HEIGHT = 40.0
_CHIP_GAP = 8.0
_CHIPS_A_ROW = 3
_ROW_GAP = 22.0

MARKS = {
    Status.KEPT: "✓",
    Status.REVERTED: "-",
    Status.CRASHED: "✗",
    Status.VETOED: "!",
    Status.REFUSED: "!",
    Status.REVOKED: "!",
    Status.WITHDRAWN: "○",
}


def tree_picture(story: Story) -> Markup:
    """Return the picture of the whole tree; nodes that a rebase replaced are left out."""
    tree = story.state.tree
    path = story.path()
    on_path = {node.node_id for node in path}
    parts: list[Markup] = []
    y = 8.0
    gain = 1.0
    for number, node in enumerate(path):
        if node.effect is not None:
            gain *= node.effect.ratio
        beside = list(_descendants(story, node.node_id, on_path))
        rows = -(-len(beside) // _CHIPS_A_ROW)
        height = max(_CARD_HEIGHT, rows * (_CHIP_HEIGHT + _CHIP_GAP) - _CHIP_GAP)
        if number + 1 < len(path):
            x = _TRUNK_X + 24
            parts.append(line(x, y + _CARD_HEIGHT, x, y + height + _ROW_GAP, class_="trunk"))
        parts.append(_card(story, node, y, gain))
        parts.extend(_chips(story, beside, node.node_id, y))
        y += height + _ROW_GAP
    title = f"Search tree: {len(tree.nodes)} nodes, {len(path) - 1} kept on the path in force"
    return picture(WIDTH, y, title, *parts)


def _descendants(story: Story, node_id: str, on_path: set[str]) -> Iterator[Node]:
    """Yield what hangs below a node of the path and is not on the path itself."""
    for node in story.state.tree.nodes.values():
        if node.parent_id != node_id or node.node_id in on_path:
            continue
        if node.status is not Status.REBASED:
            yield node
        yield from _descendants(story, node.node_id, on_path)


def _card(story: Story, node: Node, y: float, gain: float) -> Markup:
    """Return a node of the path in force."""
    x = _TRUNK_X + 12
    if node.node_id == ROOT_ID:
        throughput = story.baseline_throughput_tok_s()
        second = f"{throughput:,.0f} tok/s" if throughput is not None else "frozen baseline"
        first, right = "baseline", ""
    else:
        first = f"{MARKS[Status.KEPT]} {shorten(node.template_id or '', 17)}"
        effect = node.effect
        second = (
            f"{percent(effect.ratio)}   {effect.ratio:.3f}x [{effect.low:.3f}, {effect.high:.3f}]"
            if effect is not None
            else ""
        )
        right = f"{gain:.2f}x so far"
    return tag(
        "g",
        tag("title", _tooltip(node)),
        rectangle(_TRUNK_X, y, _TRUNK_WIDTH, _CARD_HEIGHT, rx=8, class_="card kept"),
        label(x, y + 20, first, class_="strong"),
        label(_TRUNK_X + _TRUNK_WIDTH - 12, y + 20, right or node.node_id, class_="end dim"),
        label(x, y + 38, second, class_="small"),
    )


def _chips(story: Story, nodes: list[Node], trunk_id: str, y: float) -> Iterator[Markup]:
    if not nodes:
        return
    start = _TRUNK_X + _TRUNK_WIDTH
    yield line(start, y + 20, _CHIP_X - 8, y + 20, class_="twig")
    for number, node in enumerate(nodes):
        row, column = divmod(number, _CHIPS_A_ROW)
        x = _CHIP_X + column * (_CHIP_WIDTH + _CHIP_GAP)
        top = y + row * (_CHIP_HEIGHT + _CHIP_GAP)
        if row and not column:
            middle = top + 20
            yield tag(
                "path",
                d=f"M {_CHIP_X - 16:.0f} {y + 20:.0f} V {middle:.0f} H {_CHIP_X - 8:.0f}",
                class_="twig",
            )
        yield tag(
            "g",
            tag("title", _tooltip(node)),
            rectangle(x, top, _CHIP_WIDTH, _CHIP_HEIGHT, rx=7, class_=f"card {node.status}"),
            label(
                x + 10,
                top + 16,
                f"{MARKS.get(node.status, '…')} {shorten(node.template_id or '', 18)}",
                class_="strong small",
            ),
            # Below a node that is off the path itself.
            label(x + _CHIP_WIDTH - 8, top + 16, f"on {node.parent_id}", class_="end tiny dim")
            if node.parent_id != trunk_id
            else None,
            label(x + 10, top + 31, shorten(_remark(story, node), 33), class_="tiny"),
        )


def _remark(story: Story, node: Node) -> str:
    """Return the few words of a chip."""
    if node.status is Status.CRASHED:
        action = story.state.tree.actions.get(node.action_id or "")
        found = action.root_cause if action is not None else None
        if action is None or found is None or action.node_id != node.node_id:
            return f"crashed: {node.reason}"
        return f"crashed: {found.cause.replace('_', ' ')}"
    if node.effect is not None and node.status is not Status.KEPT:
        effect = node.effect
        numbers = f"{effect.ratio:.3f}x [{effect.low:.3f}, {effect.high:.3f}]"
        return f"revoked, {numbers}" if node.status is Status.REVOKED else numbers
    if node.reason.startswith("accuracy"):
        return node.reason
    return f"{node.status}: {node.reason}" if node.reason else str(node.status)


def _tooltip(node: Node) -> Markup:
    edits = ", ".join(f"{edit.key}={edit.value}" for edit in node.edits)
    return join(f"{node.node_id} on {node.parent_id or '-'}\n{edits}\n{node.reason}".strip())
