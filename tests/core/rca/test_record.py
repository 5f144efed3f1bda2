"""The exception at the root, what was survived, and how the program ended."""

from arbor.core.rca.base import Incident
from arbor.core.rca.excerpt import numbered
from arbor.core.rca.record import Record


def _record(*log: str, exit_code: int | None = None) -> Record:
    return Record.of(Incident(lines=numbered(log), exit_code=exit_code))


def test_the_root_of_a_chain_is_its_first_exception() -> None:
    record = _record(
        '  File "/a/first.py", line 1, in f',
        "    x = y[3]",
        "KeyError: 3",
        "The above exception was the direct cause of the following exception:",
        '  File "/a/second.py", line 1, in g',
        "ValueError: wrapped",
    )
    assert record.root is not None
    assert (record.root.name, record.root.text, record.root.source) == (
        "KeyError",
        "3",
        "x = y[3]",
    )
    assert record.frames == ("/a/first.py",)


def test_what_other_processes_say_of_a_death_is_no_root() -> None:
    record = _record(
        "EngineDeadError: EngineCore encountered an issue.",
        "RuntimeError: Engine core initialization failed. See root cause above.",
    )
    assert record.root is None


def test_what_came_before_the_server_was_ready_was_survived() -> None:
    log = (
        "ImportError: no fast path",
        "INFO:     Application startup complete.",
        "MemoryError: x",
    )
    root = _record(*log).root
    assert root is not None
    assert root.name == "MemoryError"
    early = _record(*log[:2]).root
    assert early is not None
    assert early.name == "ImportError"


def test_the_end_is_read_from_the_log_where_nobody_gave_it() -> None:
    assert _record("exit status 137").signal == 9
    assert _record("exit status 2").exit_code == 2
    assert _record("exit status 2", exit_code=3).exit_code == 3
    assert _record("INFO exit status 2").exit_code is None
    assert _record("x", exit_code=-11).signal == 11


def test_a_run_is_clean_when_nothing_broke() -> None:
    assert _record("throughput 3", "exit status 0").is_clean
    assert not _record("ERROR 01-02 10:00:00 [a.py:1] no").is_clean
    assert not _record("exit status 1").is_clean
    assert not _record("ValueError: x").is_clean
