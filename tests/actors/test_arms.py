"""Arms that do not fit beside each other are started in turn."""

from pathlib import Path

import pytest

from arbor.actors.arms import Arms
from arbor.actors.place import Place
from arbor.events.campaign import CampaignStarted
from arbor.targets.landscape import LandscapeConfig, LandscapeTarget
from tests.fakes.simulation import Simulation


class CrowdedLandscape(LandscapeTarget):
    """A landscape whose servers need so much memory that few of them fit."""

    def __init__(self, num_fitting: int) -> None:
        super().__init__(LandscapeConfig())
        self._num_fitting = num_fitting

    def max_servers(self) -> int:
        """Return how many fit."""
        return self._num_fitting


def running(tmp_path: Path, num_fitting: int | None, *, is_at_rest: bool = False) -> int:
    """Return how many servers stay up after both arms were asked for."""
    simulation = Simulation(tmp_path)
    place = simulation.place
    if num_fitting is not None:
        target = CrowdedLandscape(num_fitting)
        place = Place(target, place.workspace, place.blobs, tmp_path, host="h")
    arms = Arms(place)
    [started] = simulation.of_kind(CampaignStarted)
    for slot in ("a", "b"):
        arms.get(started.root_commit, slot)
    if is_at_rest:
        arms.rest()
    number = len(arms._running)
    arms.close()
    return number


@pytest.mark.parametrize(("num_fitting", "number"), [(None, 2), (2, 2), (5, 2), (1, 1), (0, 1)])
def test_as_many_stay_up_as_fit(tmp_path: Path, num_fitting: int | None, number: int) -> None:
    assert running(tmp_path, num_fitting) == number


@pytest.mark.parametrize(("num_fitting", "number"), [(None, 2), (1, 1), (0, 0)])
def test_none_stays_up_between_measurements_where_others_need_the_memory(
    tmp_path: Path, num_fitting: int | None, number: int
) -> None:
    assert running(tmp_path, num_fitting, is_at_rest=True) == number
