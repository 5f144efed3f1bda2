"""The picture of one measurement: a dot a pair, hollow when it does not count."""

import re

from arbor.events.evidence import PairMeasured
from arbor.events.types import Effect, WindowSample
from arbor.replay.html.samples import pairs_plot, pairs_table

EFFECT = Effect(
    ratio=1.2, low=1.1, high=1.3, alpha=0.05, num_pairs=3, sd_log_ratio=0.02, num_starts_per_arm=1
)


def pair(number: int, log_ratio: float, *, is_valid: bool = True) -> PairMeasured:
    window = WindowSample(
        num_completed=4,
        num_failed=0,
        num_input_tokens=8,
        num_output_tokens=8,
        duration_s=1.0,
        throughput_tok_s=100.0,
    )
    return PairMeasured(
        request_id="r",
        node_id="n",
        commit="c",
        pair=number,
        start=1,
        is_candidate_first=True,
        candidate=window,
        incumbent=window,
        log_ratio=log_ratio,
        is_valid=is_valid,
        flaw=None if is_valid else "busy",
    )


def test_every_pair_is_a_dot() -> None:
    pairs = [pair(1, 0.18), pair(2, 0.2), pair(3, -0.1, is_valid=False)]
    picture = pairs_plot(pairs, EFFECT, 1.15)
    assert picture.count("<circle") == 3
    assert picture.count('class="dot out"') == 1
    assert "shrunk: 1.150x" in picture
    assert "shrunk" not in pairs_plot(pairs, EFFECT, None)
    assert pairs_table(pairs).count("<tr>") == 4


def test_a_window_without_tokens_does_not_push_the_others_away() -> None:
    picture = pairs_plot([pair(1, 0.18), pair(2, -25.0)], EFFECT, None)
    places = [float(x) for x in re.findall(r'cx="([\d.]+)"', picture)]
    assert all(0.0 <= x <= 560.0 for x in places)
