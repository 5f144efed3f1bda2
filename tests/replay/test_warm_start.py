"""Warm start: knowledge with its provenance from honest logs, one line about all others."""

import json
import math
from functools import partial
from pathlib import Path

import pytest

from arbor.core.lessons import MAX_LOG_GAIN
from arbor.core.scene import SAME
from arbor.events.base import Event, Recorded
from arbor.events.campaign import CampaignStarted
from arbor.events.errors import CorruptLogError, InvalidInputError, NotFoundError
from arbor.events.evidence import BenchmarkMeasured
from arbor.events.knowledge import KnowledgeImported, StackImported
from arbor.events.verify import verify
from arbor.replay.audit import audit
from arbor.replay.reading import open_campaign
from arbor.replay.warm_start import (
    MAX_STACK_RATIO,
    Source,
    campaigns_in,
    knowledge_events,
    read_source,
    read_sources,
)
from tests.fakes.forged_log import ForgedLog, with_values
from tests.replay.recorded import changed, record, rewrite

Events = tuple[Recorded, ...]


def beliefs(events: tuple[Event, ...]) -> dict[str, KnowledgeImported]:
    """Return the imported beliefs by template."""
    return {e.template_id: e for e in events if isinstance(e, KnowledgeImported)}


def position_of(events: Events, kind: type[Event], number: int = 0) -> int:
    """Return the position of an event of a kind."""
    return [r.position for r in events if isinstance(r.event, kind)][number]


@pytest.fixture(scope="module")
def source(finished: Path) -> Source:
    """The finished campaign as something to learn from."""
    return read_source(finished)


def test_beliefs_say_where_they_come_from(source: Source, finished: Path) -> None:
    found = beliefs(knowledge_events([source], source.started))
    head = verify(finished / "log").head
    assert {"fast", "lossy", "size"} <= {*found}
    for belief in found.values():
        assert (belief.source_campaign_id, belief.source_digest) == ("campaign-1", head.digest)
        assert belief.source_hardware == "Test CPU"
        assert belief.transfer_ratio == SAME
        assert belief.num_tries >= belief.num_observations
    assert found["fast"].speedup_ratio > 1.3 > found["dead"].speedup_ratio


def test_the_final_stack_comes_with_what_was_claimed(source: Source) -> None:
    (stack,) = [
        e for e in knowledge_events([source], source.started) if isinstance(e, StackImported)
    ]
    tree = source.state.tree
    config = tree.config_at(tree.current_id)
    assert {e.key: e.value for e in stack.edits} == {
        key: value for key, value in config.items() if tree.root_config[key] != value
    }
    assert {"fast", "size"} <= {*stack.template_ids}
    (claim,) = [
        r.result
        for r in source.state.requests_of_session("revalidation")
        if isinstance(r.result, BenchmarkMeasured)
    ]
    assert stack.ratio == claim.effect.low


def test_only_the_own_catalog_and_target_count(source: Source) -> None:
    few = tuple(t for t in source.started.actions if t.template_id in {"fast", "opener"})
    smaller = source.started.model_copy(update={"actions": few})
    events = knowledge_events([source], smaller)
    assert {*beliefs(events)} <= {"fast", "opener"}
    for event in events:
        if isinstance(event, StackImported):
            assert {*event.template_ids} <= {"fast", "opener"}
    other = source.started.model_copy(update={"target": "vllm"})
    assert knowledge_events([source], other) == ()


def test_distance_is_in_the_events(source: Source) -> None:
    hardware = source.started.hardware.model_copy(update={"device_name": "Another CPU"})
    elsewhere = source.started.model_copy(update={"hardware": hardware})
    for event in knowledge_events([source], elsewhere):
        assert isinstance(event, KnowledgeImported | StackImported)
        assert event.transfer_ratio < SAME


def test_a_warm_campaign_is_sound_and_tries_the_stack_as_a_whole(
    source: Source, tmp_path: Path
) -> None:
    teach = partial(knowledge_events, [source])
    path = record(tmp_path / "warm", knowledge=teach, campaign_id="campaign-2")
    report = audit(path)
    assert report.first_failure is None
    warm = read_source(path)
    tree = warm.state.tree
    actions = [a for a in tree.actions.values() if a.source == "imported"]
    assert [tree.node(action.node_id or "").status for action in actions] == ["kept"]
    assert tree.gain_ratio(tree.current_id) > 1.3
    # Only its own measurements are lessons; what it was told is nobody's evidence.
    assert {f.observation.template.template_id for f in warm.found()} <= {
        t.template_id for t in warm.started.actions
    }


def test_copies_of_a_campaign_count_once(finished: Path, campaign: Path) -> None:
    sources = read_sources([finished, campaign, finished])
    assert len(sources.usable) == 1
    assert sources.refused == ()


def test_a_folder_of_campaigns_is_read_whole(campaign: Path) -> None:
    (campaign.parent / "notes").mkdir()
    assert campaigns_in(campaign.parent) == (campaign,)
    assert campaigns_in(campaign) == (campaign,)


def test_a_typing_error_is_no_cold_start(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no directory"):
        read_sources([tmp_path / "none"])
    with pytest.raises(NotFoundError, match="holds no campaign"):
        read_sources([tmp_path])


def _refused(path: Path) -> str:
    sources = read_sources([path])
    assert sources.usable == ()
    (line,) = sources.refused
    assert line.startswith(f"{path} is left out: ")
    return line


def test_damage_is_one_line(campaign: Path) -> None:
    tail = max((campaign / "log" / "tail").iterdir())
    data = bytearray(tail.read_bytes())
    data[len(data) // 2] ^= 1
    tail.write_bytes(data)
    assert tail.name in _refused(campaign)
    assert "\n" not in _refused(campaign)


def test_a_missing_file_in_the_middle_is_one_line(campaign: Path) -> None:
    tails = sorted((campaign / "log" / "tail").iterdir())
    tails[len(tails) // 2].unlink()
    assert "missing" in _refused(campaign)


def test_another_format_is_one_line(campaign: Path) -> None:
    (campaign / "log" / "format.json").write_text(json.dumps({"format": 7}))
    assert "log format 7" in _refused(campaign)


def test_a_file_and_an_empty_log_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("nothing")
    assert "is a file" in _refused(path)
    (tmp_path / "empty" / "log").mkdir(parents=True)
    assert "no event log" in _refused(tmp_path / "empty")


def test_another_schema_is_one_line(campaign: Path) -> None:
    forged = ForgedLog(campaign / "log")
    forged.commits = [with_values(each, "schema_version", lambda _: 99) for each in forged.commits]
    forged.write()
    with pytest.raises(InvalidInputError, match="event schema 99"):
        read_source(campaign)


def test_events_that_contradict_each_other_are_one_line(history: Events, tmp_path: Path) -> None:
    at = position_of(history, BenchmarkMeasured)
    path = rewrite(changed(history, at, node_id="n999"), tmp_path / "odd")
    with pytest.raises(CorruptLogError, match=f"event {at} of"):
        read_source(path)


def test_a_start_that_makes_no_sense_is_one_line(history: Events, tmp_path: Path) -> None:
    at = position_of(history, CampaignStarted)
    path = rewrite(changed(history, at, root_config="[" * 50_000), tmp_path / "deep")
    assert "is left out" in _refused(path)


def test_boasting_is_bounded(history: Events, tmp_path: Path) -> None:
    """A log with all digests right may claim anything; little of it is believed."""
    boasting = history
    for at in [r.position for r in history if isinstance(r.event, BenchmarkMeasured)]:
        effect = history[at - 1].event.effect  # type: ignore[attr-defined]
        huge = effect.model_copy(update={"ratio": 1e300, "low": 1e299, "high": 1e301})
        boasting = changed(boasting, at, effect=huge)
    source = read_source(rewrite(boasting, tmp_path / "boasting"))
    for event in knowledge_events([source], source.started):
        if isinstance(event, KnowledgeImported):
            assert 0.5 <= event.speedup_ratio <= 20.0 + 1e-9
        elif isinstance(event, StackImported):
            assert event.ratio <= MAX_STACK_RATIO
    assert all(
        f.observation.log_gain is None or abs(f.observation.log_gain) <= MAX_LOG_GAIN
        for f in source.found()
    )
    assert math.isfinite(sum(f.observation.variance for f in source.found()))


def test_what_is_used_is_what_was_verified(finished: Path, source: Source) -> None:
    assert source.head == verify(finished / "log").head
    assert source.state.position == source.head.position
    assert open_campaign(finished).state() == source.state
