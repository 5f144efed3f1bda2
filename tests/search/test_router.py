"""The router: what probes say, which engines they leave, and which of these has the record."""

import pytest

from arbor.search.probes import collapse, rate
from arbor.search.router import WINDOW, Play, Probes, Thresholds, choose, density, readings

ARMS = ("tpe", "cma", "llm")
ADVISED = frozenset({"llm"})


def _density(probes: Probes) -> str:
    return density(readings(probes, Thresholds()))


def test_nothing_known_takes_the_first_engine() -> None:
    choice = choose(ARMS, ADVISED, Probes(), ())
    assert (choice.engine, choice.density) == ("tpe", "unknown")
    assert [arm.bound for arm in choice.arms] == [None, None, None]
    assert "never played here" in choice.evidence()


def test_a_router_without_engines_is_refused() -> None:
    with pytest.raises(ValueError, match="one engine at least"):
        choose((), ADVISED, Probes(), ())


def test_a_dense_prior_goes_to_the_adviser_and_a_sparse_one_to_search() -> None:
    assert choose(ARMS, ADVISED, Probes(correct=rate(40, 41)), ()).engine == "llm"
    sparse = choose(ARMS, ADVISED, Probes(correct=rate(1, 40)), ())
    assert sparse.engine == "tpe"
    assert [arm.engine for arm in sparse.arms] == ["tpe", "cma"]


def test_few_answers_say_nothing() -> None:
    assert _density(Probes(correct=rate(4, 4))) == "unknown"
    assert _density(Probes(correct=rate(5, 5))) == "unknown"


def test_answers_that_ignore_sizes_are_a_collapsed_prior() -> None:
    sizes = [size for size in (64, 128, 256, 512) for _ in range(5)]
    assert _density(Probes(collapse=collapse(sizes, [32] * 20))) == "sparse"
    assert _density(Probes(collapse=collapse(sizes, sizes))) == "dense"


def test_shifted_sizes_and_a_flat_start_speak_for_search() -> None:
    assert _density(Probes(size_shift=3.0)) == "sparse"
    assert _density(Probes(size_shift=0.5)) == "unknown"
    assert _density(Probes(slope=0.0, num_rounds=6)) == "sparse"
    assert _density(Probes(slope=0.1, num_rounds=6)) == "unknown"
    assert _density(Probes(correct=rate(40, 41), size_shift=3.0)) == "mixed"


def test_a_verdict_that_leaves_no_engine_leaves_all() -> None:
    choice = choose(("tpe", "cma"), ADVISED, Probes(correct=rate(40, 41)), ())
    assert choice.engine == "tpe"
    assert choice.density == "dense"


def test_gain_per_cost_decides_once_all_were_played() -> None:
    plays = [Play("tpe", 0.1, 10), Play("cma", 0.4, 10), Play("llm", 0.5, 100)] * 4
    choice = choose(ARMS, ADVISED, Probes(), plays)
    assert choice.engine == "cma"
    by_name = {arm.engine: arm.gain_per_cost for arm in choice.arms}
    assert by_name == pytest.approx({"tpe": 0.01, "cma": 0.04, "llm": 0.005})


def test_what_lies_beyond_the_window_is_forgotten() -> None:
    old = [Play("tpe", 9.0, 1)] * 5
    recent = [Play("tpe", 0.0, 1), Play("cma", 0.1, 1)] * (WINDOW // 2)
    assert choose(("tpe", "cma"), ADVISED, Probes(), (*old, *recent)).engine == "cma"


def test_a_rarely_played_engine_gets_another_turn() -> None:
    plays = [Play("cma", 0.02, 1), *[Play("tpe", g, 1) for g in (0.0, 0.05, 0.0, 0.05) * 4]]
    assert choose(("tpe", "cma"), ADVISED, Probes(), plays).engine == "cma"
