"""What is known beside the log counts: the end, the patch, the host, other crashes."""

import pytest

from arbor.core.rca import Diagnosis, Incident, Precedent, diagnose
from arbor.core.rca.base import MAX_EVIDENCE_LINES
from arbor.core.rca.excerpt import numbered
from arbor.events.causes import HostFacts

REFUSED = "RuntimeError: unsupported combination of a, b"


def _of(*log: str, **known: object) -> Diagnosis:
    return diagnose(Incident(lines=numbered(log), **known))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("signal", "cause", "fault"),
    [
        (4, "unsupported_arch", "implementation"),
        (6, "abort", "implementation"),
        (8, "arithmetic_fault", "implementation"),
        (9, "killed", "environment"),
        (11, "memory_fault", "implementation"),
        (15, "terminated", "environment"),
    ],
)
def test_a_signal_alone_is_a_weak_sign(signal: int, cause: str, fault: str) -> None:
    found = _of("INFO decoding", signal=signal)
    assert (found.cause, found.fault) == (cause, fault)
    assert found.evidence[0].text == f"ended by signal {signal}"
    assert found.confidence_ratio < 0.8
    assert _of("INFO decoding", exit_code=128 + signal).cause == cause


def test_a_line_of_the_log_says_more_than_a_signal() -> None:
    assert _of("torch.OutOfMemoryError: CUDA out of memory", signal=9).cause == "oom_runtime"


def test_the_message_counts_as_a_line() -> None:
    found = _of(message="port 8000 is busy")
    assert found.cause == "port_in_use"
    assert found.evidence[0].number == 0


@pytest.mark.parametrize("signal", [None, 12])
def test_without_evidence_nobody_is_blamed(signal: int | None) -> None:
    found = _of("a", "b", "c", message="the server ended", exit_code=3, signal=signal)
    assert (found.cause, found.fault, found.confidence_ratio) == ("unknown", "unknown", 0.0)
    assert [line.text for line in found.evidence] == ["b", "c", "the server ended"]


def test_evidence_is_short_and_numbered() -> None:
    log = ["INFO begin", *(f"MemoryError: block {number}" for number in range(9))]
    found = _of(*log)
    assert [line.number for line in found.evidence] == list(range(2, 2 + MAX_EVIDENCE_LINES))
    assert found.evidence[0].text == "MemoryError: block 0"


def test_code_of_the_attempt_is_told_from_what_is_installed() -> None:
    frames = (
        '  File "/opt/x/site-packages/engine/run.py", line 1, in f',
        "    step()",
        '  File "/opt/x/site-packages/engine/fast.py", line 7, in step',
        "    launch(q)",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
    )
    assert _of(*frames).group == "memory_fault"
    found = _of(*frames, patch_files=("engine/fast.py",))
    assert found.group == "implementation_error"
    assert found.evidence[0].number == 3


def test_a_full_disk_is_seen_where_the_program_could_not_say_so() -> None:
    full = HostFacts(disk_free_bytes=0, shared_memory_free_bytes=1 << 30)
    found = _of("INFO writing", exit_code=1, facts=full)
    assert (found.cause, found.step) == ("disk_full", "free_disk")
    assert _of("INFO writing", exit_code=1, facts=HostFacts(disk_free_bytes=1 << 30)).group == (
        "unknown"
    )


def test_what_the_incumbent_met_as_well_does_not_come_from_the_idea() -> None:
    alone = _of(REFUSED, template_id="a")
    assert alone.blames_idea
    shared = _of(REFUSED, template_id="a", precedents=(Precedent(alone.cause, None),))
    assert (shared.cause, shared.fault, shared.step) == (alone.cause, "environment", "retry")
    assert shared.confidence_ratio < alone.confidence_ratio
    assert "the incumbent" in shared.remedy


def test_what_many_ideas_met_does_not_come_from_one() -> None:
    others = [Precedent("incompatible_settings", name) for name in ("b", "c", "a")]
    assert _of(REFUSED, template_id="a", precedents=(others[0], others[2])).blames_idea
    assert not _of(REFUSED, template_id="a", precedents=tuple(others)).blames_idea


def test_the_same_incident_gives_the_same_diagnosis() -> None:
    assert _of(REFUSED, template_id="a") == _of(REFUSED, template_id="a")
