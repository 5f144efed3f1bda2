"""Numbers with units in all the forms that the tools have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.targets.hardware.quantity import bytes_of, integer_of, number_of, text_of


@pytest.mark.parametrize(
    ("leaf", "unit", "number"),
    [
        (7, "W", 7.0),
        ("120.20 W", "W", 120.2),
        ({"value": 7, "unit": "W"}, "W", 7.0),
        ({"value": "7", "unit": "W"}, "W", 7.0),
        ("(131Mhz)", "MHz", 131.0),
        ("35.0", "C", 35.0),
        ("7 mW", "W", None),
        ("N/A", "W", None),
        ("[N/A]", "W", None),
        ({"value": "N/A", "unit": "W"}, "W", None),
        ({"unit": "W"}, "W", None),
        (True, "", None),
        (None, "", None),
        ([7], "", None),
        (float("nan"), "", None),
        (10**400, "", None),
        ("9" * 400, "", None),
    ],
)
def test_number(leaf: object, unit: str, number: float | None) -> None:
    assert number_of(leaf, unit) == number


def test_bytes() -> None:
    assert bytes_of("143771 MiB") == 143771 * 2**20
    assert bytes_of({"value": 196592, "unit": "MB"}) == 196592 * 2**20
    assert bytes_of("206141652992", "B") == 206141652992
    assert bytes_of(196592, "MB") == 196592 * 2**20
    assert bytes_of(196592) is None
    assert bytes_of("7 parsecs", "MB") is None
    assert bytes_of("-7 MiB") is None
    assert bytes_of(1e299, "GB") is None


def test_text() -> None:
    assert text_of(" gfx942 ") == "gfx942"
    nothing: list[object] = ["N/A", "[N/A]", "[Not Supported]", None, {}, True]
    assert {text_of(leaf) for leaf in nothing} == {""}
    assert text_of("\ud800") == "?"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["value", "unit"]), inner),
    max_leaves=5,
)


@given(_JSON)
def test_any_leaf_is_a_value_or_none(leaf: object) -> None:
    assert isinstance(integer_of(leaf), int | None)
    size = bytes_of(leaf, "MB")
    assert size is None or size >= 0
    # what an event can hold
    assert text_of(leaf).encode("utf-8").decode("utf-8") == text_of(leaf)
