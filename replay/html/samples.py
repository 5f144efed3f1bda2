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
    low = min([*ratios, effect.low, 0.99]) * 0.99
    high = max([*ratios, effect.high, 1.01]) * 1.01
    scale = LogScale(low, high, 20.0, _WIDTH - 20.0)
    left, middle = scale.at(effect.low), scale.at(effect.ratio)
    parts = [
        *axis(scale, 18.0, 52.0),
        rectangle(left, 24, scale.at(effect.high) - left, 22, class_="band"),
        line(middle, 22, middle, 48, class_="whisker"),
    ]
    if shrunk_ratio is not None:
        x = scale.at(shrunk_ratio)
        mark = tag("title", f"shrunk: {shrunk_ratio:.3f}x")
        parts.append(tag("g", mark, line(x, 20, x, 50, class_="limit")))
    for pair, ratio in zip(pairs, ratios, strict=True):
        parts.append(_dot(scale, pair, ratio))
    legend = (
        "dots: pairs; band: interval; dashed: shrunk"
        if shrunk_ratio is not None
        else ("dots: pairs; band: interval")
    )
    parts.append(label(_WIDTH - 20, 66, legend, class_="end tiny dim"))
    return picture(_WIDTH, 70, f"Ratios of {len(pairs)} pairs", *parts)


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
