"""Projection ``lessons``: what a campaign teaches about every action, shrunk."""

import math
from collections.abc import Iterator
from typing import ClassVar

from arbor.core.lessons import Found, lessons, observations
from arbor.core.scene import scene_of
from arbor.core.state import CampaignState
from arbor.events.base import Recorded
from arbor.replay.projections.base import PythonProjection


class Lessons(PythonProjection):
    """Per action and scene: tries, chances of a keep and of a crash, gain with its interval."""

    name: ClassVar[str] = "lessons"
    columns: ClassVar[dict[str, str]] = {
        "template_id": "VARCHAR",
        "layer": "VARCHAR",
        "category": "VARCHAR",
        "target": "VARCHAR",
        "hardware": "VARCHAR",
        "model_family": "VARCHAR",
        "workload": "VARCHAR",
        "num_tries": "BIGINT",
        "num_kept": "BIGINT",
        "num_crashed": "BIGINT",
        "num_inexact": "BIGINT",
        "num_effects": "BIGINT",
        "keep_ratio": "DOUBLE",
        "crash_ratio": "DOUBLE",
        "gain_ratio": "DOUBLE",
        "low": "DOUBLE",
        "high": "DOUBLE",
    }

    def __init__(self) -> None:
        self._state = CampaignState()
        self._campaign_id = ""

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        self._state.apply(recorded)
        self._campaign_id = recorded.campaign_id

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield the lessons, in the order of their actions."""
        if self._state.started is None:
            return
        scene = scene_of(self._state.started)
        seen = observations(self._state)
        for lesson in lessons(Found(scene, self._campaign_id, each) for each in seen):
            yield (
                lesson.template_id,
                lesson.layer,
                lesson.category,
                scene.target,
                scene.hardware,
                scene.model_family,
                scene.workload,
                lesson.num_tries,
                lesson.num_kept,
                lesson.num_crashed,
                lesson.num_inexact,
                lesson.num_effects,
                lesson.keep_ratio,
                lesson.crash_ratio,
                math.exp(lesson.log_gain),
                *lesson.interval(),
            )
