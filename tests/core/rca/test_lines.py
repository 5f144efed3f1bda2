"""Prefixes of servers and libraries come off; level and kind of a line are told."""

import pytest

from arbor.core.rca.excerpt import numbered
from arbor.core.rca.lines import parse


@pytest.mark.parametrize(
    ("raw", "text", "level"),
    [
        (
            "(Worker_TP0 pid=7) ERROR 01-02 10:00:00 [core.py:9] KeyError: 'x'",
            "KeyError: 'x'",
            "error",
        ),
        ("(EngineCore pid=7) INFO 01-02 10:00:00 [core.py:9] hello", "hello", "info"),
        ("INFO:     Application startup complete.", "Application startup complete.", "info"),
        ("[rank0]: ValueError: no", "ValueError: no", ""),
        ("[rank1]:[W101 10:00:00.1 Graph.cpp:9] odd", "odd", "warning"),
        ("2026-01-02 10:00:00,123 - WARNING - odd", "odd", "warning"),
        ("[2026-01-02 10:00:00 TP0] gone", "gone", ""),
        ("n:1:2 [0] NCCL INFO Connected", "n:1:2 [0] NCCL INFO Connected", "info"),
        ("n:1:2 [0] x.cc:1 NCCL WARN broke", "n:1:2 [0] x.cc:1 NCCL WARN broke", "error"),
        ("x.py:1: FutureWarning: old", "x.py:1: FutureWarning: old", "warning"),
        ("plain", "plain", ""),
    ],
)
def test_prefixes_and_levels(raw: str, text: str, level: str) -> None:
    (line,) = parse(numbered([raw]))
    assert (line.text.strip(), line.level, line.number) == (text, level, 1)


def test_frames_and_their_code_are_told_from_messages() -> None:
    log = ('  File "/a/b.py", line 1, in f', "    raise ValueError(", "    ^^^^^", "ValueError: x")
    lines = list(parse(numbered(log)))
    assert [line.kind for line in lines] == ["frame", "source", "source", "plain"]
    assert lines[0].path == "/a/b.py"


def test_long_lines_are_cut() -> None:
    (line,) = parse(numbered(["x" * 5000]))
    assert len(line.text) == 1000
