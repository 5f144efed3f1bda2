"""Only what was written after the mark counts."""

from pathlib import Path

from arbor.targets.server_log import LoggedLines, LogMark

LINES = """\
INFO 11-30 10:00:00 engine ready
WARNING 11-30 10:00:01 Unknown vLLM environment variable detected: VLLM_FOO
UserWarning: the given buffer is not writable
[aiter] start build [module_moe_asm]
INFO 11-30 10:00:02 Compiling a graph for dynamic shape takes 9.60 s
RuntimeError: no kernel image
the word warning alone, or Errors, say nothing
"""


def test_lines_are_sorted_by_what_they_say(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("ERROR before the mark\n")
    mark = LogMark(path)
    assert mark.read() == LoggedLines(0, 0)
    with path.open("a") as log:
        log.write(LINES)
    assert mark.read() == LoggedLines(num_warnings=3, num_compilations=2)


def test_a_log_that_is_not_there_yet(tmp_path: Path) -> None:
    mark = LogMark(tmp_path / "log")
    assert mark.read() == LoggedLines(0, 0)
    (tmp_path / "log").write_text(LINES)
    assert mark.read().num_warnings == 3


def test_a_log_that_was_rotated_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("x" * 1000)
    mark = LogMark(path)
    path.write_text("ERROR after\n")
    assert mark.read().num_warnings == 1
