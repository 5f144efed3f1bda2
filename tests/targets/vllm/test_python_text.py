"""Printed Python values are read without running anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.targets.vllm.python_text import parse_fields, parse_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 1, 'b': [None, 'x, y']}", {"a": 1, "b": [None, "x, y"]}),
        ("<Mode.FAST: 3>", ("FAST", 3)),
        ("{'mode': <Mode.FAST: 'fast'>, 'n': 2}", {"mode": ("FAST", "fast"), "n": 2}),
        ("{'a': Some(b=1, c='d'), 'e': 2}", {"a": {"b": 1, "c": "d"}, "e": 2}),
        ("{'a': <object at 0x7f>, 'b': 1}", {"a": "<object at 0x7f>", "b": 1}),
        ("torch.bfloat16", "torch.bfloat16"),
        ("__import__('os').abort()", "__import__('os').abort()"),
        ("", ""),
    ],
)
def test_values(text: str, value: object) -> None:
    assert parse_value(text) == value


def test_fields() -> None:
    text = "a='x, y=z', b=Config(c=1, d=[2, 3]), e=None, 7=8, f"
    assert parse_fields(text) == {"a": "x, y=z", "b": {"c": 1, "d": [2, 3]}, "e": None}


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    parse_value(text)
    parse_fields(text)
