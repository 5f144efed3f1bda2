"""Arms that do not fit beside each other are started in turn; others may work in turns."""

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from arbor.actors.arms import MAX_SLICE_RATIO, Arms, ArmSeeds
from arbor.actors.place import Place
from arbor.events.campaign import CampaignStarted
from arbor.events.types import Load, Objective
from arbor.targets.base import STANDARD_LOAD, ArmPlan, ArmWindows
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


class TurnsLandscape(LandscapeTarget):
    """A landscape that plays both arms at once, and notes how it was asked to."""

    def __init__(self) -> None:
        super().__init__(LandscapeConfig())
        self.asked: list[tuple[ArmPlan, ArmPlan]] = []

    def benchmark_in_turns(
        self, arms: tuple[ArmPlan, ArmPlan], num_requests: int, load: Load = STANDARD_LOAD
    ) -> tuple[ArmWindows, ArmWindows]:
        """Play one arm after the other."""
        self.asked.append(arms)
        played = []
        for arm in arms:
            future: ArmWindows = Future()
            windows = [self.benchmark(arm.server, seed, num_requests, load) for seed in arm.seeds]
            future.set_result(windows)
            played.append(future)
        return played[0], played[1]


@pytest.fixture
def turning(tmp_path: Path) -> Iterator[tuple[TurnsLandscape, Arms, str]]:
    simulation = Simulation(tmp_path)
    target = TurnsLandscape()
    old = simulation.place
    arms = Arms(Place(target, old.workspace, old.blobs, tmp_path, host="h"))
    [started] = simulation.of_kind(CampaignStarted)
    yield target, arms, started.root_commit
    arms.close()


@pytest.mark.parametrize("is_candidate_first", [True, False])
def test_the_candidates_windows_come_first_whoever_began(
    turning: tuple[TurnsLandscape, Arms, str], is_candidate_first: bool
) -> None:
    target, arms, root = turning
    candidate, incumbent = ArmSeeds(root, "a", (5, 6)), ArmSeeds(root, "b", (5,))
    played = arms.in_turns(candidate, incumbent, 15, 0.02, is_candidate_first=is_candidate_first)
    assert [[w.seed for w in windows.result()] for windows in played] == [[5, 6], [5]]
    seeds = [tuple(arm.seeds) for arm in target.asked[0]]
    assert seeds == ([(5, 6), (5,)] if is_candidate_first else [(5,), (5, 6)])


def test_the_slower_arm_has_longer_turns_once_both_are_known(
    turning: tuple[TurnsLandscape, Arms, str],
) -> None:
    target, arms, root = turning
    for num_seeds in (1, 3, 9):
        candidate = ArmSeeds(root, "a", tuple(range(num_seeds)))
        arms.in_turns(candidate, ArmSeeds(root, "b", (0,)), 15, 0.02, is_candidate_first=True)
    slices = [[arm.slice_s for arm in asked] for asked in target.asked]
    assert slices[0] == [0.02, 0.02]
    assert slices[1] == pytest.approx([0.06, 0.02])
    assert slices[2] == pytest.approx([0.02 * MAX_SLICE_RATIO, 0.02])


@pytest.mark.parametrize(
    ("objective", "can"),
    [
        (Objective(), True),
        (Objective(metric="ttft_ms_p99"), True),
        (Objective(metric="tokens_per_joule"), False),
        (Objective(metric="hypervolume", sweep=(1, 2)), False),
    ],
)
def test_what_can_be_played_in_turns(
    turning: tuple[TurnsLandscape, Arms, str], objective: Objective, can: bool
) -> None:
    assert turning[1].can_take_turns(objective) is can


def test_others_play_whole_windows(tmp_path: Path) -> None:
    place = Simulation(tmp_path).place
    arms = Arms(place)
    assert not arms.can_take_turns(Objective())
    with pytest.raises(TypeError, match="cannot play servers in turns"):
        arms.in_turns(
            ArmSeeds("a", "a", (1,)), ArmSeeds("b", "a", (1,)), 15, 0.02, is_candidate_first=True
        )
