"""A witness proves that an action took effect in every window."""

from arbor.core.witness import has_witness
from arbor.events.types import Counter, Edit, Scalar, WindowSample, Witness
from tests.fakes.stage import window

USED = Witness(kind="counter", key="fused.used")
RESOLVED = Witness(kind="config")
EDITS = (Edit(key="s.fused", value=True), Edit(key="s.size", value=16))


def _windows(*values: float) -> list[WindowSample]:
    return [window(1.0, counters=(Counter(key="fused.used", value=v),)) for v in values]


def test_a_counter_must_grow_in_every_window() -> None:
    assert has_witness(USED, EDITS, _windows(3, 5), {})[0]
    is_seen, detail = has_witness(USED, EDITS, _windows(3, 0), {})
    assert not is_seen
    assert "fused.used did not grow" in detail


def test_a_missing_counter_proves_nothing() -> None:
    assert not has_witness(USED, EDITS, [*_windows(3), window(1.0)], {})[0]
    other = window(1.0, counters=(Counter(key="other", value=3),))
    assert not has_witness(USED, EDITS, [other], {})[0]


def test_no_windows_prove_nothing() -> None:
    assert not has_witness(USED, EDITS, [], {})[0]


def test_the_server_must_report_every_edit() -> None:
    config: dict[str, Scalar] = {"s.fused": True, "s.size": 16, "s.more": "x"}
    assert has_witness(RESOLVED, EDITS, [], config)[0]
    wrong: list[dict[str, Scalar]] = [{"s.fused": True, "s.size": 8}, {"s.fused": True}, {}]
    for broken in wrong:
        is_seen, detail = has_witness(RESOLVED, EDITS, [], broken)
        assert not is_seen
        assert detail.startswith("the server reports s.")


def test_changed_code_is_proved_by_a_reported_key() -> None:
    changed = Witness(kind="config", key="overlay.sampler.py")
    assert has_witness(changed, (), [], {"overlay.sampler.py": "0d1f"}) == (
        True,
        "the server reports overlay.sampler.py=0d1f",
    )
    is_seen, detail = has_witness(changed, (), [], {"overlay.decoder.py": "0d1f"})
    assert not is_seen
    assert detail == "the server does not report overlay.sampler.py"


def test_all_parts_must_be_seen() -> None:
    reported = Witness(kind="config", key="overlay.sampler.py")
    both = Witness(kind="all", parts=(RESOLVED, reported))
    config: dict[str, Scalar] = {"s.fused": True, "s.size": 16}
    is_seen, detail = has_witness(both, EDITS, [], config)
    assert not is_seen
    assert detail == "the server does not report overlay.sampler.py"
    is_seen, detail = has_witness(both, EDITS, [], {**config, "overlay.sampler.py": "0d1f"})
    assert is_seen
    assert "s.fused=True" in detail
    assert "overlay.sampler.py=0d1f" in detail
