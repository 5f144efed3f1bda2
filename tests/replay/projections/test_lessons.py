"""Projection ``lessons``: the core's fold as a table, at once or bit by bit."""

import math

import pytest

from arbor.core.lessons import Found, lessons, observations
from arbor.core.scene import scene_of
from arbor.core.state import CampaignState
from arbor.events.base import Recorded
from arbor.replay.database import CampaignDatabase
from arbor.replay.projections.lessons import Lessons
from tests.fakes.files import MemoryFiles

Events = tuple[Recorded, ...]


def test_the_table_is_the_cores_lessons(history: Events) -> None:
    state = CampaignState()
    for recorded in history:
        state.apply(recorded)
    assert state.started is not None
    scene = scene_of(state.started)
    expected = lessons(Found(scene, "c", each) for each in observations(state))
    assert len(expected) > 3
    with CampaignDatabase(MemoryFiles(history, len(history))) as database:
        query = "select template_id, num_tries, num_kept, num_crashed, gain_ratio from lessons"
        rows = database.query(query).rows
    gains = [pytest.approx(math.exp(each.log_gain)) for each in expected]
    assert rows == tuple(
        (each.template_id, each.num_tries, each.num_kept, each.num_crashed, gain)
        for each, gain in zip(expected, gains, strict=True)
    )


def test_one_event_at_a_time_gives_the_same_rows(history: Events) -> None:
    slow, fast = Lessons(), Lessons()
    assert list(slow.rows()) == []
    for recorded in history:
        slow.apply(recorded)
        if recorded.position % 40 == 0:
            list(slow.rows())
        fast.apply(recorded)
    assert list(slow.rows()) == list(fast.rows()) != []
