"""The log in memory keeps the contract."""

import pytest

from arbor.events.ledger import Clock
from arbor.events.log import EventLog
from arbor.events.memory import MemoryLog
from tests.contracts.event_log import EventLogContract, MakeLog


class TestMemoryLog(EventLogContract):
    """The contract."""

    @pytest.fixture
    def make_log(self) -> MakeLog:
        def make(clock: Clock) -> EventLog:
            return MemoryLog("c1", clock)

        return make
