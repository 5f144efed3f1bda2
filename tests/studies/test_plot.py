"""Plots are well-formed SVG, whatever the names hold."""

from xml.etree import ElementTree as ET

from arbor.studies.plot import Bar, bars, lines


def test_lines_and_bars_are_well_formed() -> None:
    texts = (
        lines("a < b", "x", {"one & two": [1.0, 2.0], "flat": [3.0]}),
        lines("empty", "x", {}),
        bars("b", [Bar("<i>", 0.5, 0.2, 1.3), Bar("j", -0.5, -1.0, 0.0)]),
        bars("none", []),
    )
    for text in texts:
        assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314 - our own text


def test_a_higher_value_lies_higher() -> None:
    root = ET.fromstring(lines("t", "x", {"a": [1.0, 2.0]}))  # noqa: S314 - our own text
    (line,) = [each for each in root.iter() if each.tag.endswith("polyline")]
    first, second = (float(place.split(",")[1]) for place in line.attrib["points"].split())
    assert second < first
