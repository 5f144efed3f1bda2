"""Moments as people write them, what a campaign was then, and how two moments differ."""

from collections import defaultdict
from datetime import timedelta
from pathlib import Path

import pytest

from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.events.base import Recorded
from arbor.events.campaign import CampaignStarted
from arbor.events.errors import InvalidInputError
from arbor.events.outcome import ActionKept
from arbor.replay.difference import Change, compare
from arbor.replay.moments import position_at
from arbor.replay.reading import Recording, open_campaign
from arbor.replay.snapshot import snapshot
from tests.replay.recorded import record

Events = tuple[Recorded, ...]


@pytest.fixture(scope="module")
def recording(finished: Path) -> Recording:
    """The finished campaign."""
    return open_campaign(finished)


def test_a_position_is_itself(recording: Recording) -> None:
    assert position_at(recording, " 60 ") == 60


def test_a_time_is_the_last_event_up_to_it(recording: Recording, history: Events) -> None:
    at = history[99].recorded_at
    expected = max(r.position for r in history if r.recorded_at <= at)
    assert position_at(recording, at.isoformat()) == expected
    naive = at.replace(tzinfo=None)
    assert position_at(recording, naive.isoformat()) == expected
    later = history[-1].recorded_at + timedelta(days=1)
    assert position_at(recording, later.isoformat()) == len(history)


def test_seconds_count_from_the_start(recording: Recording, history: Events) -> None:
    start = next(r.recorded_at for r in history if isinstance(r.event, CampaignStarted))
    expected = max(r.position for r in history if r.recorded_at <= start + timedelta(seconds=20))
    assert position_at(recording, "+20s") == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0", "goes from 1 to"),
        ("100000", "goes from 1 to"),
        ("soon", "no moment of a log: give a position"),
        ("+soon", "no duration"),
        ("1999-01-01", "give a later time"),
    ],
)
def test_what_is_no_moment_is_one_line(recording: Recording, text: str, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words) as caught:
        position_at(recording, text)
    assert "\n" not in str(caught.value)


def test_a_snapshot_is_the_state_then(recording: Recording, history: Events) -> None:
    for position in (1, 2, 40, len(history) // 2, len(history)):
        state = CampaignState()
        for recorded in history[:position]:
            state.apply(recorded)
        then = snapshot(recording, position)
        assert then.position == position
        assert then.latest == history[position - 1].event.kind
        assert {node.node_id: node.status for node in then.nodes} == {
            node.node_id: node.status for node in state.tree.nodes.values()
        }
        assert {c.constraint_id for c in then.constraints} == set(state.constraints.in_force)
        assert then.costs.num_trials == state.budget.num_trials
        assert len(then.candidates) == len(state.tree.candidates())
        scores = [c.score for c in then.candidates if c.score is not None]
        assert scores == sorted(scores, reverse=True)


def test_equal_moments_do_not_differ(recording: Recording) -> None:
    then = snapshot(recording, 70)
    assert compare(then, then).changes == ()


def test_a_keep_shows_in_path_and_configuration(recording: Recording, history: Events) -> None:
    at, keep = next((r.position, r.event) for r in history if isinstance(r.event, ActionKept))
    found = compare(snapshot(recording, at - 1), snapshot(recording, at))
    assert found.is_same_campaign
    by_section: dict[str, list[Change]] = defaultdict(list)
    for change in found.changes:
        by_section[change.section].append(change)
    assert by_section["path"][0].after.endswith(keep.node_id)
    assert [c.what for c in by_section["config"]] == [edit.key for edit in keep.edits]
    [node] = by_section["nodes"]
    assert node.before.startswith(str(Status.MEASURING))
    assert node.after == (
        f"kept {keep.effect.ratio:.3f}x [{keep.effect.low:.3f}, {keep.effect.high:.3f}]"
    )
    back = compare(snapshot(recording, at), snapshot(recording, at - 1))
    assert {(c.what, c.before, c.after) for c in back.changes} == {
        (c.what, c.after, c.before) for c in found.changes
    }


def test_two_campaigns_compare_by_template(recording: Recording, tmp_path: Path) -> None:
    other = open_campaign(
        record(tmp_path / "other", score="as_printed", wall_s=120.0, is_killed=False)
    )
    moments = [
        snapshot(each, each.reader.head().position).model_copy(update={"campaign_id": str(n)})
        for n, each in enumerate((recording, other))
    ]
    found = compare(*moments)
    assert not found.is_same_campaign
    settings = {c.what: (c.before, c.after) for c in found.changes if c.section == "settings"}
    assert settings["search.score"] == ("risk_averse", "as_printed")
    templates = {node.template_id for moment in moments for node in moment.nodes}
    nodes = [c.what for c in found.changes if c.section == "nodes"]
    assert set(nodes) <= templates
