"""Ctrl-C and SIGTERM: a clean end that can be resumed; a second one ends at once."""

import signal
import time
from pathlib import Path

import pytest

from arbor.events.campaign import CampaignPaused, CampaignResumed
from arbor.events.evidence import PairMeasured
from arbor.events.outcome import Crashed
from tests.system.campaigns import driver, landscape, only, read_log, small_engine
from tests.system.invariants import require_sound

pytestmark = pytest.mark.system

EXIT_INTERRUPTED = 130


def test_an_interrupted_campaign_pauses_and_resumes(tmp_path: Path) -> None:
    # Two starts of Ray: the one that is interrupted, and the one that goes on.
    directory = tmp_path / "campaign"
    file = landscape(tmp_path / "campaign.yaml")
    with driver(directory, "run", file, "--dir", directory) as first:
        first.wait_for(lambda log: len(only(log, PairMeasured)) > 8, "pairs")
        first.signal_group(signal.SIGINT)
        assert first.wait() == EXIT_INTERRUPTED
        first.require_no_orphans()
        first.require_quiet()
        assert f"arbor resume {directory}" in first.text()
    paused = read_log(directory)
    assert len(only(paused, CampaignPaused)) == 1
    with driver(directory, "resume", directory) as second:
        assert second.wait() == 0, second.text()
        second.require_no_orphans()
        second.require_quiet()
    recorded = require_sound(directory, *first.seen, paused)
    assert len(only(recorded, CampaignResumed)) == 1


def test_no_server_outlives_an_interrupted_driver(tmp_path: Path) -> None:
    # Two starts of Ray: one ends by SIGTERM, which Ray would like to have; one ends at once.
    directory = tmp_path / "campaign"
    file = small_engine(tmp_path / "campaign.yaml")
    with driver(directory, "run", file, "--dir", directory) as first:
        first.wait_for(lambda log: only(log, PairMeasured) and first.servers(), "pair")
        first.process.terminate()
        assert first.wait() == EXIT_INTERRUPTED
        first.require_no_orphans()
        first.require_quiet()
    paused = read_log(directory)
    # What the bench was doing may still land behind it.
    assert len(only(paused, CampaignPaused)) == 1
    with driver(directory, "resume", directory) as second:
        second.wait_for(lambda log: len(log) > len(paused) and second.servers(), "server")
        # The whole group, as a terminal does: servers, actors and Ray hear it too.
        second.signal_group(signal.SIGINT)
        time.sleep(0.05)
        second.signal_group(signal.SIGINT)
        assert second.wait() == EXIT_INTERRUPTED
        second.require_no_orphans()
        second.require_quiet()
        assert "stopped" not in second.text(), "it did not wait for a clean end"
    recorded = read_log(directory)
    assert recorded[: len(paused)] == paused
    assert not only(recorded, Crashed), "an interrupted server is no crash of a candidate"
