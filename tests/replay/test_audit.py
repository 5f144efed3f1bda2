"""The audit passes on honest campaigns and fails on every edited, missing or rewritten part."""

import contextlib
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from arbor.core.layout import CampaignDirectory
from arbor.events.base import Event, Recorded
from arbor.events.blobs import BlobStore
from arbor.events.errors import ArborError, NotFoundError
from arbor.events.log import Head
from arbor.events.outcome import ActionKept
from arbor.events.parquet_log import ParquetLog
from arbor.events.work import PatchProposed
from arbor.replay.audit import RULES, RuleReport, audit, run_rule
from arbor.replay.rules.base import Evidence, difference
from tests.replay.recorded import changed, record, rewrite

E = TypeVar("E", bound=Event)
Events = tuple[Recorded, ...]


def rule_on(name: str, events: Sequence[Recorded]) -> RuleReport:
    """Return what one rule finds in events that never were on a disk."""
    rule = next(rule for rule in RULES if rule.name == name)
    return run_rule(rule, Evidence(CampaignDirectory(Path("nowhere")), tuple(events)))


def position_of(events: Sequence[Recorded], kind: type[E]) -> tuple[int, E]:
    """Return position and payload of the first event of a kind."""
    return next((r.position, r.event) for r in events if isinstance(r.event, kind))


def test_honest_campaign_is_sound(finished: Path) -> None:
    report = audit(finished)
    assert [rule.problems for rule in report.rules] == [()] * len(report.rules)
    assert report.is_sound
    assert report.first_failure is None
    checked = {rule.name: rule.num_checked for rule in report.rules}
    assert all(checked.values())
    assert checked["decisions"] > 50


def test_other_score_form_and_compacted_log(tmp_path: Path) -> None:
    path = record(
        tmp_path / "c", score="as_printed", wall_s=120, is_killed=False, compact_after=40
    )
    assert len(list((path / "log" / "segments").iterdir())) > 1
    assert audit(path).is_sound


@pytest.mark.parametrize("policy", ["backtracking", "puct", "stacked", "single_agent"])
def test_campaigns_under_other_policies(policy: str, tmp_path: Path) -> None:
    path = record(tmp_path / "c", policy=policy, wall_s=200, is_killed=True)
    report = audit(path)
    assert [rule.problems for rule in report.rules] == [()] * len(report.rules)


def _whole_batches(history: Events, cut: int) -> int:
    """Return the first cut from here on that splits no decision: a batch lands all or nothing."""

    def batch(index: int) -> tuple[object, ...]:
        recorded = history[index]
        return recorded.actor, recorded.decided_after, recorded.decided_at

    while cut < len(history) and history[cut].decided_at and batch(cut) == batch(cut - 1):
        cut += 1
    return cut


def test_running_campaign_is_sound(history: Events) -> None:
    for start in range(1, len(history), 37):
        cut = _whole_batches(history, start)
        for rule in RULES:
            if rule.name != "blobs":
                assert rule_on(rule.name, history[:cut]).is_sound


def test_no_campaign(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        audit(tmp_path / "none")


@pytest.mark.parametrize("seed", range(12))
def test_any_edited_byte_fails(campaign: Path, seed: int) -> None:
    chance = random.Random(seed)
    folder = campaign / ("blobs" if seed % 4 == 3 else "log")
    path = chance.choice(sorted(p for p in folder.rglob("*") if p.is_file() and p.stat().st_size))
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data))
    data[at] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    # Some damage is refused before any rule can run.
    with contextlib.suppress(ArborError):
        assert not audit(campaign).is_sound, f"byte {at} of {path}"


def test_removed_file_fails(campaign: Path) -> None:
    tails = sorted((campaign / "log" / "tail").iterdir())
    tails[len(tails) // 2].unlink()
    report = audit(campaign)
    assert [rule.name for rule in report.rules] == ["log"]
    assert "missing" in report.rules[0].problems[0].text


def test_cut_log_needs_an_anchor(campaign: Path) -> None:
    whole = audit(campaign).head
    max((campaign / "log" / "tail").iterdir()).unlink()
    assert audit(campaign).rules[0].is_sound
    report = audit(campaign, anchors=[whole])
    assert report.first_failure is not None
    assert "anchor" in report.first_failure[1].text
    assert audit(campaign, anchors=[Head(0, "0" * 64)]).rules[0].is_sound


def test_missing_and_changed_blobs_fail(campaign: Path, history: Events) -> None:
    position, patch = position_of(history, PatchProposed)
    path = campaign / "blobs" / patch.diff_digest[:2] / patch.diff_digest
    text = path.read_bytes()
    path.write_bytes(text + b"+")
    failure = audit(campaign).first_failure
    assert failure is not None
    assert (failure[0].name, failure[1].position) == ("blobs", position)
    path.unlink()
    failure = audit(campaign).first_failure
    assert failure is not None
    assert "missing" in failure[1].text
    BlobStore(campaign / "blobs").put(text)
    assert audit(campaign).is_sound


def test_rewritten_log_with_all_digests_right(history: Events, tmp_path: Path) -> None:
    """Whoever owns the directory can redo every digest; the content still gives them away."""
    position, keep = position_of(history, ActionKept)
    better = keep.effect.model_copy(update={"ratio": 9.0, "high": 9.9})
    forged = changed(history, position, effect=better)
    (tmp_path / "blobs").mkdir()
    report = audit(rewrite(forged, tmp_path))
    assert report.rules[0].is_sound
    named = {rule.name: rule.problems[0].position for rule in report.rules if rule.problems}
    assert named["two_keys"] == named["decisions"] == position


def test_log_of_another_campaign_in_between(campaign: Path) -> None:
    log = ParquetLog.open(campaign / "log", "campaign-1")
    log.close()
    assert audit(campaign).is_sound


def test_difference_names_the_place() -> None:
    assert difference({"a": [1.0, 2.0]}, {"a": [1.0, 2.0 + 1e-12]}) is None
    assert difference({"a": [1.0, 2.0]}, {"a": [1.0, 2.1]}) == "a[1]: 2.1 is not 2.0"
    assert difference({"a": 1}, {"b": 1}) == "a: None is not 1"
    assert difference([1], [1, 2]) == ": [1, 2] is not [1]"
