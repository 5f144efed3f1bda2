"""The split of failure cases: by source, stable, both halves of a useful size."""

import pytest

from benchmarks.rca_split import half_of, load, source_key


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("a/b#12", "a/b#12"),
        ("a/b PR#12 (fix a/b#13)", "a/b#12"),
        ("a/b#12; c/d#3", "a/b#12"),
        ("a/b notes of a release", "a/b"),
    ],
)
def test_a_source_is_its_first_issue(source: str, key: str) -> None:
    assert source_key(source) == key
    assert half_of(source) == half_of(key)


def test_cases_of_one_issue_stay_together_and_both_halves_are_large() -> None:
    cases = load()
    halves = {source_key(c["source"]): half_of(c["source"]) for c in cases}
    assert all(half_of(c["source"]) == halves[source_key(c["source"])] for c in cases)
    num_open = sum(half_of(c["source"]) == "open" for c in cases)
    assert 0.4 < num_open / len(cases) < 0.6
    assert len({c["id"] for c in cases}) == len(cases) == 80
