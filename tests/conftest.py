"""What several folders of tests share: finished campaigns, to look at or to damage."""

import shutil
from pathlib import Path

import pytest

from arbor.events.base import Recorded
from arbor.replay.reading import open_campaign
from tests.fakes.simulation import Simulation
from tests.fakes.stories import eventful_campaign
from tests.replay.recorded import record


@pytest.fixture(scope="session")
def eventful(tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    """A campaign in which nearly everything happened; look at it only."""
    return eventful_campaign(tmp_path_factory.mktemp("eventful"))


@pytest.fixture(scope="session")
def eventful_log(eventful: Simulation) -> tuple[Recorded, ...]:
    """The log of that campaign."""
    return eventful.events()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished campaign that was killed once; read it only."""
    return record(tmp_path_factory.mktemp("recorded") / "campaign")


@pytest.fixture(scope="session")
def history(finished: Path) -> tuple[Recorded, ...]:
    """All events of the finished campaign."""
    return tuple(open_campaign(finished).events())


@pytest.fixture
def campaign(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished campaign to damage."""
    return Path(shutil.copytree(finished, tmp_path / "campaign"))
