"""SIGKILL of every kind of process: the campaign goes on, nothing is lost, nothing twice.

One campaign for all of it, since two starts of Ray are most of the time: its actors are killed
one after the other, at last its driver, and ``arbor resume`` brings it to its end.
"""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from arbor.events.base import Recorded
from arbor.events.evidence import PairMeasured
from arbor.events.work import AttemptStarted, TrialMeasured
from tests.system.campaigns import (
    LIMIT_S,
    Driver,
    arbor,
    driver,
    kill,
    landscape,
    num_lives,
    only,
    pid_of,
    read_log,
)
from tests.system.invariants import most_at_work, require_sound

pytestmark = pytest.mark.system

USUAL_PORTS = (6379, 8265, 10001)
"""Where Ray would like to listen; a private instance must not care."""
QUERY = """
import sys, duckdb
files = [f"{sys.argv[1]}/log/{folder}/*.parquet" for folder in ("tail", "segments")]
sql = f"from read_parquet({files}, union_by_name = true) where kind = 'PairMeasured'"
print(duckdb.sql(f"select count(distinct position) {sql}").fetchall()[0][0])
"""


@dataclass
class Disturbed:
    """A campaign whose processes were killed, and what was seen meanwhile."""

    directory: Path
    seen: list[list[Recorded]]
    screen: str
    lines: str
    num_pairs_queried: int
    refusals: list["subprocess.CompletedProcess[str]"]


@contextmanager
def occupied(ports: tuple[int, ...]) -> Iterator[None]:
    """Listen on ports, unless somebody else does so already."""
    with ExitStack() as stack:
        for port in ports:
            listener = stack.enter_context(socket.socket())
            with suppress(OSError):
                listener.bind(("127.0.0.1", port))
                listener.listen()
        yield


def kill_specialist(running: Driver) -> None:
    """Kill a specialist between two of its screening trials."""
    recorded = running.wait_for(lambda log: only(log, TrialMeasured), "trial")
    actor = next(r.actor for r in recorded if isinstance(r.event, TrialMeasured))
    kill(pid_of(recorded, actor))
    running.wait_for(lambda log: num_lives(log, actor) == 2, f"second life of {actor}")


def kill_actor(running: Driver, actor: str) -> None:
    """Kill the Bench or the Orchestrator right after a pair; another must follow."""
    num = len(only(read_log(running.directory), PairMeasured))
    recorded = running.wait_for(lambda log: len(only(log, PairMeasured)) > num, "pair")
    kill(pid_of(recorded, actor))
    num = len(only(recorded, PairMeasured))
    running.wait_for(
        lambda log: num_lives(log, actor) == 2 and len(only(log, PairMeasured)) > num + 1,
        f"pairs in the second life of {actor}",
    )


def kill_keeper(running: Driver) -> None:
    """Kill the only writer; the log must grow on in its next epoch."""
    epoch = read_log(running.directory)[-1].epoch
    kill(running.keeper_pid())
    running.wait_for(lambda log: log[-1].epoch > epoch, "event of a new keeper")


def query_pairs(directory: Path) -> int:
    """Return the number of pairs as another process finds them with DuckDB."""
    query = [sys.executable, "-c", QUERY, str(directory)]
    return int(subprocess.run(query, check=True, capture_output=True, timeout=LIMIT_S).stdout)


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory: pytest.TempPathFactory) -> Disturbed:
    directory = tmp_path_factory.mktemp("kills") / "campaign"
    file = landscape(directory.with_suffix(".yaml"), search={"tuning_trials": 10})
    arguments = ("run", file, "--dir", directory)
    with occupied(USUAL_PORTS), driver(directory, *arguments, terminal=True) as first:
        kill_specialist(first)
        kill_actor(first, "bench")
        kill_actor(first, "orchestrator")
        kill_keeper(first)
        num_pairs = query_pairs(directory)
        refusals = [arbor(*arguments), arbor(*arguments, "--fresh"), arbor("resume", directory)]
        first.wait_for(lambda _: True, "look")
        kill(first.process.pid)
        first.wait()
        first.require_no_orphans()
        screen = first.text()
    with driver(directory, "resume", directory) as second:
        assert second.wait() == 0, second.text()
        second.require_no_orphans()
        second.require_quiet()
        return Disturbed(
            directory, first.seen, screen, second.out.read_text(), num_pairs, refusals
        )


def test_nothing_is_lost_and_nothing_is_done_twice(disturbed: Disturbed) -> None:
    recorded = require_sound(disturbed.directory, *disturbed.seen)
    assert "the campaign is over" in disturbed.lines
    searched = [trial for trial in only(recorded, TrialMeasured) if trial.engine != "none"]
    numbered = [(trial.action_id, trial.trial) for trial in searched]
    assert len(set(numbered)) == len(numbered), "a second life goes on after the last trial"


def test_everybody_lived_again(disturbed: Disturbed) -> None:
    recorded = read_log(disturbed.directory)
    # The driver's second process started all of them once more.
    assert num_lives(recorded, "bench") == 3
    assert num_lives(recorded, "orchestrator") == 3
    assert num_lives(recorded, "critic") == 2
    assert {event.attempt for event in only(recorded, AttemptStarted)} >= {1, 2}


def test_two_specialists_work_at_once(disturbed: Disturbed) -> None:
    assert most_at_work(read_log(disturbed.directory)) == 2


def test_another_process_can_query_the_log_meanwhile(disturbed: Disturbed) -> None:
    pairs = [len(only(log, PairMeasured)) for log in disturbed.seen]
    assert pairs[-2] <= disturbed.num_pairs_queried <= pairs[-1]


def test_a_second_driver_is_refused(disturbed: Disturbed) -> None:
    run, fresh, resume = disturbed.refusals
    assert "already holds a campaign" in run.stderr
    assert "another run owns" in fresh.stderr
    assert "another run owns" in resume.stderr
    for refusal in disturbed.refusals:
        assert refusal.returncode == 2
        assert len(refusal.stderr.splitlines()) == 1


def test_the_terminal_shows_the_campaign_and_no_noise(disturbed: Disturbed) -> None:
    assert "disturbed" in disturbed.screen
    assert "running" in disturbed.screen
    for noise in ("raylet", "ray::", "Traceback", "Warning", "retries remaining"):
        assert noise not in disturbed.screen
