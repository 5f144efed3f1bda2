"""The raw pairs of one measurement: as dots around their interval, and as a table."""

import math
from collections.abc import Sequence

from arbor.events.evidence import PairMeasured
from arbor.events.types import Effect
from arbor.replay.evidence import PAIR_HEADER, pair_cells
from arbor.replay.html.charts import axis
from arbor.replay.html.markup import Markup, label, line, picture, rectangle, tag
from arbor.replay.html.scale import LogScale

_WIDTH = 560.0
_WIDEST_LOG_RATIO = 6.9
"""A window that produced nothing would push all others to the edge."""
_NEAR_ONE = 1.3
"""When all lies above this ratio, no change at all need not be on the picture."""
_ROOM = 0.12
"""Share of the axis that is left free on each side."""


def pairs_plot(
    pairs: Sequence[PairMeasured], effect: Effect, shrunk_ratio: float | None
) -> Markup:
    """Return the ratios of single pairs as dots around their interval.

    Args:
        pairs: the pairs, at least one; those that do not count are drawn hollow.
        effect: the band is its interval, the line its ratio.
        shrunk_ratio: drawn as a dashed line.
    """
    ratios = [
        math.exp(min(_WIDEST_LOG_RATIO, max(-_WIDEST_LOG_RATIO, pair.log_ratio))) for pair in pairs
    ]
    scale = _scale([*ratios, effect.low, effect.high])
    left, middle, right = (scale.at(x) for x in (effect.low, effect.ratio, effect.high))
    parts = [
        *axis(scale, 18.0, 52.0),
        rectangle(left, 24, right - left, 22, class_="band"),
        line(middle, 22, middle, 48, class_="whisker"),
        label(left, 64, f"{effect.low:.3f}", class_="end tiny dim"),
        label(right, 64, f"{effect.high:.3f}", class_="tiny dim"),
    ]
    if shrunk_ratio is not None:
        x = scale.at(shrunk_ratio)
        mark = tag("title", f"shrunk: {shrunk_ratio:.3f}x")
        parts.append(tag("g", mark, line(x, 20, x, 50, class_="limit")))
    for pair, ratio in zip(pairs, ratios, strict=True):
        parts.append(_dot(scale, pair, ratio))
    return picture(_WIDTH, 70, f"Ratios of {len(pairs)} pairs", *parts)


def _scale(values: Sequence[float]) -> LogScale:
    """Return an axis that holds all values with room for labels, and 1 unless it is far away."""
    low, high = min(values), max(values)
    if low < _NEAR_ONE:
        low, high = min(low, 0.99), max(high, 1.01)
    room = (high / low) ** _ROOM
    return LogScale(low / room, high * room, 20.0, _WIDTH - 20.0)


def _dot(scale: LogScale, pair: PairMeasured, ratio: float) -> Markup:
    return tag(
        "circle",
        tag("title", f"pair {pair.pair}: {ratio:.3f}x"),
        cx=scale.at(ratio),
        cy=35.0 + (pair.pair % 3 - 1) * 5.0,
        r=4,
        class_="dot" if pair.is_valid else "dot out",
    )


def pairs_table(pairs: Sequence[PairMeasured]) -> Markup:
    """Return one row a pair."""
    return tag(
        "table",
        tag("tr", *(tag("th", cell) for cell in PAIR_HEADER)),
        *(tag("tr", *(tag("td", cell) for cell in pair_cells(pair))) for pair in pairs),
        class_="samples",
    )
