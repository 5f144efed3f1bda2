"""What several folders of tests share."""

import pytest

from arbor.events.base import Recorded
from tests.fakes.simulation import Simulation
from tests.fakes.stories import eventful_campaign


@pytest.fixture(scope="session")
def eventful(tmp_path_factory: pytest.TempPathFactory) -> Simulation:
    """A campaign in which nearly everything happened; look at it only."""
    return eventful_campaign(tmp_path_factory.mktemp("eventful"))


@pytest.fixture(scope="session")
def eventful_log(eventful: Simulation) -> tuple[Recorded, ...]:
    """The log of that campaign."""
    return eventful.events()
