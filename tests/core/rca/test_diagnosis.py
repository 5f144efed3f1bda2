"""Crashes are sorted by evidence; an idea is blamed only on evidence."""

import pytest

from arbor.core.rca import Group, diagnose
from arbor.events.outcome import Crashed


def _crash(*log: str, message: str = "the server ended", **fields: object) -> Crashed:
    return Crashed.model_validate({"phase": "start", "message": message, "log_tail": log} | fields)


@pytest.mark.parametrize(
    ("line", "cause", "group"),
    [
        ("OSError: [Errno 98] Address already in use", "port_busy", "environment"),
        ("OSError: [Errno 28] No space left on device", "disk_full", "environment"),
        ("foreign load came and went", "foreign_load", "environment"),
        ("ModuleNotFoundError: No module named 'flash_attn'", "missing_dependency", "environment"),
        ("torch.OutOfMemoryError: HIP out of memory. Tried 2 GiB", "out_of_memory", "idea"),
        ("ValueError: No available memory for the cache blocks", "out_of_memory", "idea"),
        ("RuntimeError: mat1 and mat2 must have the same dtype", "dtype_mismatch", "idea"),
        ("NotImplementedError: \"add\" not implemented for 'Half'", "dtype_mismatch", "idea"),
        ("error: unrecognized arguments: --fast", "bad_setting", "idea"),
        ("pydantic.ValidationError: 1 error for Engine", "bad_setting", "idea"),
        ("torch._dynamo.exc.Unsupported: call_function", "compile_failure", "idea"),
        ("RuntimeError: probability tensor contains either inf", "invalid_numbers", "idea"),
        ("AssertionError: head size", "assertion", "idea"),
    ],
)
def test_knows_classes_of_errors(line: str, cause: str, group: Group) -> None:
    found = diagnose(_crash("INFO ready soon", line))
    assert (found.cause, found.group) == (cause, group)
    assert found.blames_idea == (group == "idea")
    assert found.evidence == (line,)
    assert 0 < found.confidence_ratio <= 1
    assert found.remedy


@pytest.mark.parametrize(
    ("signal", "cause", "group"),
    [
        (4, "illegal_instruction", "idea"),
        (6, "abort", "idea"),
        (8, "arithmetic_fault", "idea"),
        (9, "killed", "environment"),
        (11, "memory_fault", "idea"),
        (15, "terminated", "environment"),
    ],
)
def test_knows_signals(signal: int, cause: str, group: Group) -> None:
    found = diagnose(_crash("INFO decoding", signal=signal))
    assert (found.cause, found.group) == (cause, group)
    assert found.evidence == (f"ended by signal {signal}",)


def test_a_line_of_the_log_says_more_than_a_signal() -> None:
    assert diagnose(_crash("CUDA out of memory", signal=9)).cause == "out_of_memory"


def test_the_environment_is_asked_first() -> None:
    found = diagnose(_crash("RuntimeError: worker failed", "OSError: Address already in use"))
    assert found.cause == "port_busy"


def test_the_message_counts_as_a_line() -> None:
    assert diagnose(_crash(message="port 8000 is busy")).cause == "port_busy"


@pytest.mark.parametrize("message", ["did not become ready in 60 s", "warmup timed out"])
def test_knows_timeouts(message: str) -> None:
    found = diagnose(_crash(message=message))
    assert (found.cause, found.group, found.evidence) == ("timeout", "idea", (message,))


def test_what_no_rule_knows_blames_nobody() -> None:
    found = diagnose(_crash("a", "b", "c", message="the server ended", exit_code=3))
    assert (found.cause, found.group, found.confidence_ratio) == ("unknown", "unknown", 0.0)
    assert not found.blames_idea
    assert found.evidence == ("b", "c", "the server ended")


@pytest.mark.parametrize("line", ["INFO loading nano-gpt", "INFO model requires_grad off"])
def test_harmless_lines_blame_nobody(line: str) -> None:
    assert diagnose(_crash(line)).group == "unknown"


def test_an_unknown_signal_blames_nobody() -> None:
    assert diagnose(_crash(signal=12)).group == "unknown"


def test_evidence_is_short() -> None:
    log = [f"MemoryError: block {number}" for number in range(9)]
    assert diagnose(_crash(*log)).evidence == tuple(log[-3:])
