"""Other processes widen a claim; a quiet machine does not."""

import math

import pytest

from arbor.core.measure.foreign import foreign_ratio, load_sd
from arbor.core.measure.interval import Series, claim_effect
from arbor.events.evidence import PairMeasured
from tests.fakes.stage import window


def _pair(candidate: float | None, incumbent: float | None, **fields: object) -> PairMeasured:
    own: dict[str, object] = {
        "request_id": "r1",
        "node_id": "n1",
        "commit": "c",
        "pair": 1,
        "start": 1,
        "is_candidate_first": True,
        "candidate": window(120.0, foreign_cpu_ratio=candidate),
        "incumbent": window(100.0, foreign_cpu_ratio=incumbent),
        "log_ratio": 0.18,
    }
    return PairMeasured.model_validate(own | fields)


def test_load_is_the_mean_over_what_counts() -> None:
    pairs = [_pair(0.4, 0.6), _pair(0.9, 0.9, is_valid=False)]
    assert foreign_ratio(pairs) == 0.5
    assert foreign_ratio([_pair(None, None)]) == 0.0


def test_a_quiet_machine_widens_nothing() -> None:
    assert load_sd(0.1, 2.0) == 0.0


def test_a_large_gain_under_load_is_less_certain_than_a_small_one() -> None:
    assert load_sd(0.5, 2.0) == pytest.approx(10 * load_sd(0.5, 0.2))
    series = Series.of((2.0, 2.01, 1.99), (2.0, 2.02, 1.98))
    quiet = claim_effect(series, 0.05, start_sd=0.01)
    loaded = claim_effect(series, 0.05, start_sd=0.01, foreign=0.5)
    assert loaded.ratio == quiet.ratio
    assert math.log(loaded.high / loaded.low) > 3 * math.log(quiet.high / quiet.low)
