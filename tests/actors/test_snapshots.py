"""A snapshot gives what a fold of the whole log gives, and is dropped at the first doubt."""

from pathlib import Path

import pytest

from arbor.actors.journal import Journal
from arbor.actors.shell import ReactorShell
from arbor.actors.simulation import Simulation
from arbor.actors.snapshots import Snapshots
from arbor.actors.supervisor import Supervisor
from arbor.core.clock import VirtualClock
from arbor.core.state import CampaignState
from arbor.events.base import Draft, Recorded
from arbor.events.parquet_log import ParquetLog

CUT = 2
"""The snapshot lies so many times nearer to the beginning than the end."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recorded, ...]:
    simulation = Simulation(tmp_path_factory.mktemp("simulation"))
    simulation.run()
    return simulation.events()


@pytest.fixture
def snapshots(tmp_path: Path, told: tuple[Recorded, ...]) -> Snapshots:
    """A log of a finished campaign, in commits of seven events, and its snapshots."""
    with_log = ParquetLog.open(tmp_path / "log", "c", VirtualClock().now)
    for first in range(0, len(told), 7):
        with_log.append(
            [Draft(r.event, r.event_id, r.actor, r.incarnation) for r in told[first : first + 7]]
        )
    with_log.close()
    return Snapshots(tmp_path / "log", tmp_path / "snapshots", tmp_path / "state" / "key")


def folded(log: ParquetLog, up_to: int | None = None) -> CampaignState:
    state = CampaignState()
    for recorded in log.read(limit=up_to):
        state.apply(recorded)
    return state


def opened(tmp_path: Path) -> ParquetLog:
    return ParquetLog.open(tmp_path / "log", "c", VirtualClock().now, create=False)


def test_a_start_from_a_snapshot_is_a_start_from_the_log(
    tmp_path: Path, snapshots: Snapshots, told: tuple[Recorded, ...]
) -> None:
    log = opened(tmp_path)
    position = len(told) // CUT // 7 * 7
    assert snapshots.save(folded(log, position))
    found = snapshots.latest()
    assert found is not None
    assert found.position == position
    assert found == folded(log, position)
    supervisor = Supervisor()
    shell = ReactorShell(supervisor, log, VirtualClock(), snapshots)
    shell.start()
    assert shell.journal.state is supervisor.state
    assert supervisor.state == folded(log)
    assert log.head().position > len(told), "the incarnation is announced"


def test_only_what_lies_between_commits_is_saved(tmp_path: Path, snapshots: Snapshots) -> None:
    log = opened(tmp_path)
    assert not snapshots.save(folded(log, 8))
    assert not snapshots.save_if_due(folded(log, 14))
    assert snapshots.latest() is None


@pytest.mark.parametrize("doubt", ["byte", "key", "log", "name"])
def test_a_doubtful_snapshot_is_none(tmp_path: Path, snapshots: Snapshots, doubt: str) -> None:
    assert snapshots.save(folded(opened(tmp_path), 14))
    (path,) = (tmp_path / "snapshots").iterdir()
    match doubt:
        case "byte":
            data = bytearray(path.read_bytes())
            data[-1] ^= 1
            path.write_bytes(data)
        case "key":
            (tmp_path / "state" / "key").write_bytes(b"another user's")
        case "log":
            other = tmp_path / "other"
            log = ParquetLog.open(other / "log", "c2")
            events = opened(tmp_path).read(limit=14)
            log.append([Draft(r.event, r.event_id, r.actor) for r in events])
            key = tmp_path / "state" / "key"
            snapshots = Snapshots(other / "log", tmp_path / "snapshots", key)
        case _:
            path.rename(path.with_name(f"{21:020d}.snapshot"))
    assert snapshots.latest() is None


def test_old_snapshots_go(tmp_path: Path, snapshots: Snapshots) -> None:
    log = opened(tmp_path)
    for position in (7, 14, 21, 28):
        assert snapshots.save(folded(log, position))
    names = [path.stem for path in sorted((tmp_path / "snapshots").iterdir())]
    assert names == [f"{21:020d}", f"{28:020d}"]
    assert (tmp_path / "state" / "key").stat().st_mode & 0o077 == 0


def test_other_folds_need_the_whole_log(tmp_path: Path, snapshots: Snapshots) -> None:
    log = opened(tmp_path)
    assert snapshots.save(folded(log, 14))
    journal = Journal(log, "bench", VirtualClock(), snapshots)
    follower = CampaignState()
    journal.follow(follower)
    journal.start()
    assert follower == journal.state
