"""Charts of the report: measured effects with intervals, throughput over the keeps."""

from arbor.core.tree import ROOT_ID, Node
from arbor.events.types import Effect
from arbor.replay.html.markup import Markup, label, line, picture, rectangle, shorten, tag
from arbor.replay.html.scale import LogScale, round_up
from arbor.replay.result_models import Result
from arbor.replay.story import Story

WIDTH = 980.0
_NUMBERS_X = 674.0


def forest_plot(story: Story, result: Result) -> Markup | None:
    """Return every measured effect with its interval, in the order of measuring."""
    measured: list[tuple[Node, Effect]] = [
        (node, found[1].effect)
        for node in story.state.tree.nodes.values()
        if (found := story.benchmark_of(node.node_id)) is not None
    ]
    if not measured:
        return None
    gain = result.gain
    lows = [effect.low for _, effect in measured]
    highs = [effect.high for _, effect in measured]
    low = max(0.2, min(0.9, min(lows) * 0.97))
    scale = LogScale(low, max(1.15, max(highs) * 1.03), 220.0, 650.0)
    height = 26.0 * (len(measured) + (1.6 if gain else 0.0)) + 46.0
    parts = [
        *axis(scale, 22.0, height - 8.0),
        line(scale.at(1.0), 22, scale.at(1.0), height - 8, class_="limit"),
        label(scale.at(1.0) + 4, height, "keeps are proved to lie above", class_="tiny dim"),
    ]
    y = 42.0
    for node, effect in measured:
        parts.append(_whisker(scale, y, effect, f"mark {node.status}"))
        parts += _columns(y, f"{node.node_id} {node.template_id or ''}", str(node.status), effect)
        y += 26.0
    if gain is not None:
        y += 14.0
        parts.append(line(14, y - 22, WIDTH - 14, y - 22, class_="rule"))
        parts.append(_diamond(scale, y, gain.low, gain.ratio, gain.high))
        text = _numbers(gain.ratio, gain.low, gain.high)
        parts += [
            label(14, y + 4, "whole stack, re-validated", class_="strong small"),
            label(_NUMBERS_X, y + 4, text, class_="small strong"),
            label(WIDTH - 14, y + 4, f"{gain.num_pairs} pairs", class_="end tiny dim"),
        ]
    level = f"{1 - measured[0][1].alpha:.0%}"
    title = f"Effects of {len(measured)} measured actions with {level} intervals"
    return picture(WIDTH, height + 6, title, *parts)


def axis(scale: LogScale, top: float, bottom: float) -> list[Markup]:
    """Return the ticks of a horizontal axis of ratios."""
    parts = []
    for tick in scale.ticks():
        x = scale.at(tick)
        kind = "one" if tick == 1.0 else "grid"
        parts.append(line(x, top, x, bottom, class_=kind))
        parts.append(label(x, top - 8, f"{tick:g}x", class_="middle tiny dim"))
    return parts


def _whisker(scale: LogScale, y: float, effect: Effect, kind: str) -> Markup:
    size = min(9.0, 4.0 + effect.num_pairs / 3.0)
    x = scale.at(effect.ratio)
    return tag(
        "g",
        line(scale.at(effect.low), y, scale.at(effect.high), y, class_="whisker"),
        line(scale.at(effect.low), y - 4, scale.at(effect.low), y + 4, class_="whisker"),
        line(scale.at(effect.high), y - 4, scale.at(effect.high), y + 4, class_="whisker"),
        rectangle(x - size / 2, y - size / 2, size, size),
        class_=kind,
    )


def _diamond(scale: LogScale, y: float, low: float, ratio: float, high: float) -> Markup:
    """Return the final claim; an arrow at the edge when it lies beyond the axis."""
    left, x, right = scale.at(low), scale.at(ratio), scale.at(high)
    if low > scale.high:
        points = (
            f"{right - 12:.1f},{y - 7:.1f} {right + 4:.1f},{y:.1f} {right - 12:.1f},{y + 7:.1f}"
        )
        return tag("polygon", points=points, class_="final")
    left, right = min(left, x - 5), max(right, x + 5)
    points = f"{left:.1f},{y:.1f} {x:.1f},{y - 7:.1f} {right:.1f},{y:.1f} {x:.1f},{y + 7:.1f}"
    return tag("polygon", points=points, class_="final")


def _numbers(ratio: float, low: float, high: float) -> str:
    return f"{ratio:.3f}x [{low:.3f}, {high:.3f}]"


def _columns(y: float, name: str, status: str, effect: Effect) -> list[Markup]:
    numbers = _numbers(effect.ratio, effect.low, effect.high)
    return [
        label(14, y + 4, shorten(name, 30), class_="small"),
        label(_NUMBERS_X, y + 4, numbers, class_="small"),
        label(WIDTH - 76, y + 4, status, class_="end tiny dim"),
        label(WIDTH - 14, y + 4, f"{effect.num_pairs} pairs", class_="end tiny dim"),
    ]


def step_chart(story: Story, result: Result) -> Markup | None:
    """Return throughput over the kept nodes, and the final measurement beside it."""
    steps = [
        ("baseline" if node.node_id == ROOT_ID else node.template_id or "", value, "step")
        for node, value in story.steps()
    ]
    gain = result.gain
    final: list[tuple[str, float, str]] = []
    if gain is not None and gain.baseline_tok_s and gain.final_tok_s:
        final = [
            ("baseline, final", gain.baseline_tok_s, "again"),
            ("stack, final", gain.final_tok_s, "again best"),
        ]
    bars = [*steps, *final]
    if len(bars) < 2:
        return None
    top = round_up(max(value for _, value, _ in bars))
    left, bottom, height = 64.0, 250.0, 216.0
    slot = min(120.0, (WIDTH - left - 50.0) / len(bars))
    width = slot * 0.68
    parts = []
    for number in range(5):
        y = bottom - height * number / 4
        parts.append(line(left, y, WIDTH - 14, y, class_="grid"))
        parts.append(label(left - 8, y + 4, f"{top * number / 4:,.0f}", class_="end tiny dim"))
    previous: float | None = None
    for number, (name, value, kind) in enumerate(bars):
        gap = 34.0 if number >= len(steps) else 0.0
        x = left + 10 + slot * number + gap
        y = bottom - height * value / top
        parts.append(rectangle(x, y, width, bottom - y, rx=3, class_=kind))
        if slot > 40:
            parts.append(label(x + width / 2, y - 6, f"{value:,.0f}", class_="middle tiny strong"))
        if previous is not None and number < len(steps):
            before = bottom - height * previous / top
            parts.append(line(x - slot + width, before, x, before, class_="twig"))
        if number == len(steps):
            parts.append(line(x - 24, bottom - height - 10, x - 24, bottom + 60, class_="rule"))
        parts.append(_slanted(x + width / 2 + 4, bottom + 14, name))
        previous = value
    parts.append(label(left - 8, bottom - height - 14, "tok/s", class_="end tiny dim"))
    return picture(WIDTH, bottom + 92, "Output throughput over the kept nodes", *parts)


def _slanted(x: float, y: float, name: str) -> Markup:
    turn = f"rotate(-32 {x:.1f} {y:.1f})"
    return label(x, y, shorten(name, 22), class_="end tiny", transform=turn)
