"""Plots as SVG, written by hand: lines over steps and bars with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 190, 40, 50
_COLOURS = (
    "#1f77b4",
    "#ff7f0e",
    "#2ca02c",
    "#d62728",
    "#9467bd",
    "#8c564b",
    "#e377c2",
    "#7f7f7f",
    "#bcbd22",
    "#17becf",
)


@dataclass(frozen=True, slots=True)
class Bar:
    """A value with its interval.

    Attributes:
        label: below it.
        value: its height.
        low: lower end of the interval.
        high: upper end.
    """

    label: str
    value: float
    low: float
    high: float


def lines(title: str, x_label: str, series: Mapping[str, Sequence[float]]) -> str:
    """Return a plot of one line for each series, over 1, 2, ..."""
    values = [value for each in series.values() for value in each]
    frame = _Frame(min([*values, 0.0]), max([*values, 1e-9]))
    longest = max((len(each) for each in series.values()), default=1)
    parts = []
    for number, (name, each) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [
            f"{_LEFT + frame.width * step / max(1, longest - 1):.1f},{frame.y(value):.1f}"
            for step, value in enumerate(each)
        ]
        parts.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="2" '
            f'points="{" ".join(places)}"><title>{escape(name)}</title></polyline>'
        )
        y = _TOP + 16 * number
        parts.append(
            f'<rect x="{_WIDTH - _RIGHT + 12}" y="{y}" width="12" height="4" fill="{colour}"/>'
        )
        parts.append(_text(_WIDTH - _RIGHT + 30, y + 6, name))
    parts += [
        _text(_LEFT, _HEIGHT - 20, "1"),
        _text(_LEFT + frame.width - 12, _HEIGHT - 20, str(longest)),
    ]
    parts.append(_text(_LEFT + frame.width / 2, _HEIGHT - 8, x_label, anchor="middle"))
    return _document(title, frame, parts)


def bars(title: str, heights: Sequence[Bar]) -> str:
    """Return a plot of bars with intervals, between 0 and 1 at least."""
    frame = _Frame(
        min([0.0, *(each.low for each in heights)]), max([1.0, *(each.high for each in heights)])
    )
    # Labels lie on the right, one line each, since many do not fit below.
    room = frame.width / max(1, len(heights))
    parts = []
    for number, each in enumerate(heights):
        colour = _COLOURS[number % len(_COLOURS)]
        x = _LEFT + room * number + room * 0.15
        top, zero = sorted((frame.y(each.value), frame.y(0.0)))
        middle = x + room * 0.35
        parts.append(
            f'<rect x="{x:.1f}" y="{top:.1f}" width="{room * 0.7:.1f}" '
            f'height="{zero - top:.1f}" fill="{colour}"><title>{escape(each.label)}: '
            f"{each.value:.3f} [{each.low:.3f}, {each.high:.3f}]</title></rect>"
        )
        parts.append(
            f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{frame.y(each.low):.1f}" '
            f'y2="{frame.y(each.high):.1f}" stroke="#222"/>'
        )
        y = _TOP + 14 * number
        parts.append(
            f'<rect x="{_WIDTH - _RIGHT + 12}" y="{y}" width="8" height="8" fill="{colour}"/>'
        )
        parts.append(_text(_WIDTH - _RIGHT + 26, y + 8, each.label, size=10))
    return _document(title, frame, parts)


class _Frame:
    """Maps values to the height of the plot."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high if high > low else low + 1.0
        self.width = _WIDTH - _LEFT - _RIGHT

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def _text(x: float, y: float, text: str, size: int = 11, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )


def _document(title: str, frame: _Frame, parts: Sequence[str]) -> str:
    axis = [
        f'<line x1="{_LEFT}" x2="{_LEFT}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}" stroke="#222"/>'
    ]
    for tick in range(5):
        value = frame.low + tick / 4 * (frame.high - frame.low)
        y = frame.y(value)
        axis.append(
            f'<line x1="{_LEFT}" x2="{_LEFT + frame.width}" y1="{y:.1f}" y2="{y:.1f}" '
            'stroke="#ddd"/>'
        )
        axis.append(_text(_LEFT - 6, y + 4, f"{value:.3g}", anchor="end"))
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
                'font-family="sans-serif">'
            ),
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
            _text(_LEFT, 22, title, size=14),
            *axis,
            *parts,
            "</svg>\n",
        ]
    )
