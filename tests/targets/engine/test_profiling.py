"""Shares of a profile sum to one, and the parts are unwrapped afterwards."""

from typing import Any

import pytest

from arbor.targets.engine.server.profiling import CATEGORIES, Profiler

from .tiny import EXACT_STACK, Generate, MakeEngine


@pytest.mark.parametrize("document", [{}, EXACT_STACK], ids=["baseline", "exact"])
def test_shares_sum_to_one_and_nothing_stays_wrapped(
    document: dict[str, Any],
    make_engine: MakeEngine,
    generate: Generate,
    baseline_tokens: list[list[int]],
) -> None:
    engine = make_engine(document)
    before = [vars(owner).copy() for owner in (engine, engine.decoder, engine.decoder.operators)]
    profiler = Profiler(engine)
    profiler.start()
    assert generate(engine) == baseline_tokens
    profile = profiler.stop()
    assert set(profile["shares"]) == set(CATEGORIES)
    assert sum(profile["shares"].values()) == pytest.approx(1.0)
    for category in set(CATEGORIES) - {"compiled_model", "http"}:
        assert profile["shares"][category] > 0.0, category
    # nobody talks to a client here
    assert profile["shares"]["http"] == 0.0
    assert profile["shares"]["other"] < 0.2
    assert profile["num_steps"] > 0
    after = [vars(owner) for owner in (engine, engine.decoder, engine.decoder.operators)]
    assert [set(names) for names in after] == [set(names) for names in before]
    assert not any("timed" in repr(value) for names in after for value in names.values())


def test_an_empty_profile_has_no_shares(make_engine: MakeEngine) -> None:
    profiler = Profiler(make_engine())
    profiler.start()
    profiler.start()
    assert profiler.stop()["shares"] == {}
