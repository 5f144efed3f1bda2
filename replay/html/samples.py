"""The raw pairs of one measurement as dots around their interval."""

from collections.abc import Sequence

from arbor.events.evidence import PairMeasured
from arbor.events.types import Effect
from arbor.replay.html.charts import axis
from arbor.replay.html.markup import Markup, line, picture, rectangle, tag
from arbor.replay.html.scale import LogScale


def pairs_plot(pairs: Sequence[PairMeasured], effect: Effect) -> Markup | None:
    """Return the ratios of single pairs as dots around their interval."""
    if not pairs:
        return None
    ratios = [
        pair.candidate.throughput_tok_s / max(1e-9, pair.incumbent.throughput_tok_s)
        for pair in pairs
    ]
    positive = [max(ratio, 1e-3) for ratio in ratios]
    low = min([*positive, effect.low, 0.99]) * 0.99
    high = max([*positive, effect.high, 1.01]) * 1.01
    scale = LogScale(low, high, 20.0, 440.0)
    left = scale.at(effect.low)
    parts = [
        *axis(scale, 18.0, 52.0),
        rectangle(left, 24, scale.at(effect.high) - left, 22, class_="band"),
        line(scale.at(effect.ratio), 22, scale.at(effect.ratio), 48, class_="whisker"),
    ]
    for pair, ratio in zip(pairs, positive, strict=True):
        kind = "dot" if pair.is_valid else "dot out"
        circle = tag(
            "circle",
            tag("title", f"pair {pair.pair}: {ratio:.3f}x"),
            cx=scale.at(ratio),
            cy=35.0 + (pair.pair % 3 - 1) * 5.0,
            r=4,
            class_=kind,
        )
        parts.append(circle)
    return picture(460, 56, f"Ratios of {len(pairs)} pairs", *parts)
