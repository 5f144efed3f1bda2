"""Nothing foreign becomes an element, and no tick hides another."""

from html.parser import HTMLParser
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from arbor.replay.html.markup import clean, join, shorten, tag, text
from arbor.replay.html.scale import LogScale, round_up


class Seen(HTMLParser):
    """What a browser would see."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((name, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


@given(st.text(), st.text())
def test_foreign_text_is_only_text(content: str, value: str) -> None:
    seen = Seen(tag("p", content, title=value))
    assert [name for name, _ in seen.tags] == ["p"]
    assert seen.words == clean(content)
    assert seen.tags[0][1] == {"title": clean(value)}


def test_markup_is_kept_and_none_is_nothing() -> None:
    inner = tag("b", "<")
    assert join(inner, None, "&", 3) == "<b>&lt;</b>&amp;3"
    assert tag("g", inner, class_="x", aria_label="y", hidden=None, open=True) == (
        '<g class="x" aria-label="y" open><b>&lt;</b></g>'
    )
    assert text("\u202e\x07\n") == "\ufffd\ufffd\n"


@given(st.text(), st.integers(2, 50))
def test_shortened_text_fits(content: str, limit: int) -> None:
    assert len(shorten(content, limit)) <= limit


@given(st.floats(0.2, 0.99), st.floats(1.02, 60.0))
def test_ticks_are_apart_and_hold_one(low: float, high: float) -> None:
    scale = LogScale(low, high, 0.0, 430.0)
    ticks = scale.ticks()
    assert 1.0 in ticks
    places = [scale.at(tick) for tick in ticks]
    assert places == sorted(places)
    assert all(b - a >= 36.0 for a, b in pairwise(places))
    assert scale.at(low / 2) == 0.0
    assert scale.at(high * 2) == 430.0


@given(st.floats(1e-6, 1e9))
def test_rounded_up_is_close_above(value: float) -> None:
    assert value <= round_up(value) * (1 + 1e-9)
    assert round_up(value) <= value * 1.7
