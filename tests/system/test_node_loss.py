"""A cluster of several nodes: what is refused, what the doctor sees, and the loss of a node.

The nodes are simulated on this machine and so are their accelerators; the landscape checks that
every server sees as many as it takes. One cluster for all of it, since its start is most of the
time.
"""

import json
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arbor.events.base import Recorded
from arbor.events.evidence import PairMeasured
from arbor.events.life import HealthReported, IncarnationStarted, LeaseTaken
from arbor.events.outcome import Crashed
from arbor.events.work import AttemptStarted, SpecialistConstructed, TrialMeasured
from tests.system.campaigns import (
    LIMIT_S,
    Driver,
    arbor,
    driver,
    environment,
    kill,
    landscape,
    num_lives,
    only,
    pid_of,
    read_log,
)
from tests.system.invariants import require_sound

pytestmark = pytest.mark.system

NUM_NODES = 3
NUM_DEVICES = 8
PROGRAM = Path(__file__).with_name("simulated_nodes.py")


@dataclass
class Nodes:
    """A running cluster of simulated nodes.

    Attributes:
        process: the program that holds it.
        variables: what a driver needs to join.
        ids: of the nodes with accelerators that are alive.
    """

    process: "subprocess.Popen[str]"
    variables: dict[str, str]
    ids: list[str]

    def kill(self, prefix: str) -> None:
        """End a node at once; return when Ray has noticed."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"kill {prefix}\n")
        self.process.stdin.flush()
        killed = _answer(self.process)["killed"]
        assert killed.startswith(prefix)
        self.ids.remove(killed)


def _answer(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):
            answer: dict[str, Any] = json.loads(line)
            return answer
    pytest.fail(f"the nodes ended with {process.wait(LIMIT_S)}")


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    # Ray's socket names are too long below pytest's own folders.
    with tempfile.TemporaryDirectory(prefix="arbor-nodes-", ignore_cleanup_errors=True) as folder:
        secret = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        variables = environment(
            **secret,
            RAY_TMPDIR=folder,
            RAY_USAGE_STATS_ENABLED="0",
            RAY_worker_niceness="0",
            RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0",
        )
        with (Path(folder) / "nodes.err").open("wb") as err:
            process = subprocess.Popen(
                [sys.executable, str(PROGRAM), str(NUM_NODES), str(NUM_DEVICES)],
                env=variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
            )
        try:
            started = _answer(process)
            joining = {**secret, "RAY_ADDRESS": started["address"], "RAY_TMPDIR": folder}
            yield Nodes(process, joining, started["nodes"])
        finally:
            process.communicate(timeout=LIMIT_S)


def test_a_server_that_fits_on_no_node_is_refused(nodes: Nodes, tmp_path: Path) -> None:
    file = landscape(tmp_path / "c.yaml", target_config={"num_devices": 16})
    refused = arbor("run", file, "--dir", tmp_path / "campaign", **nodes.variables)
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
    assert "takes 16 accelerators of one node; the largest of 4" in refused.stderr
    assert f"has {NUM_DEVICES} accelerators: lower the parallel sizes" in refused.stderr


def test_the_doctor_looks_at_every_node(nodes: Nodes, tmp_path: Path) -> None:
    found = arbor("doctor", "--dir", tmp_path, **nodes.variables).stdout
    assert "4 nodes, 24 accelerators and 8 CPUs in all" in found
    for node_id in nodes.ids:
        lines = [line for line in found.splitlines() if f"({node_id[:8]})" in line]
        assert not any(line.startswith("missing") for line in lines)
        assert "Python" in lines[0]
        assert f"Ray counts {NUM_DEVICES}, tools see" in lines[1]
    assert f"{tmp_path} is shared by all nodes" in found


def test_a_cluster_that_does_not_answer() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        found = arbor("doctor", RAY_ADDRESS=address, RAY_AUTH_MODE="disabled")
    assert found.returncode == 1
    line = next(line for line in found.stdout.splitlines() if " cluster " in line)
    assert line.startswith("missing")
    assert f"cannot reach Ray at {address}" in line


@dataclass
class Disturbed:
    """A campaign that lost a node, and what was seen meanwhile."""

    directory: Path
    seen: list[list[Recorded]]
    lost: str
    deadly: str
    """Specialist that was killed at every attempt."""


@pytest.fixture(scope="module")
def disturbed(nodes: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Disturbed:
    directory = tmp_path_factory.mktemp("nodes") / "campaign"
    file = landscape(
        directory.with_suffix(".yaml"),
        target_config={"time_scale": 0.03, "num_devices": NUM_DEVICES},
        search={"tuning_trials": 40},
        budget={"wall": "5m", "max_trials": 14},
    )
    arguments = ("run", file, "--dir", directory)
    with driver(directory, *arguments, terminal=False, **nodes.variables) as running:
        deadly = kill_twice(running)
        recorded = running.wait_for(lambda log: only(log, PairMeasured), "pair")
        lost = devices_of(recorded, "bench")[0].split(":")[0]
        nodes.kill(lost)
        num = len(only(read_log(directory), PairMeasured))
        running.wait_for(
            lambda log: num_lives(log, "bench") >= 2 and len(only(log, PairMeasured)) > num,
            "pair on another node",
        )
        assert running.wait() == 0, running.text()
        running.require_no_orphans()
        return Disturbed(directory, running.seen, lost, deadly)


def kill_twice(running: Driver) -> str:
    """Kill a specialist in each of its attempts until it is given up; return its name."""
    recorded = running.wait_for(_searched, "trial of a search")
    actor = _searched(recorded)[0].actor
    for attempt in (1, 2):
        recorded = running.wait_for(
            partial(_has_begun, actor, attempt), f"attempt {attempt} of {actor}"
        )
        kill(pid_of(recorded, actor))
    running.wait_for(lambda log: _given_up(log, actor), f"end of {actor}")
    return actor


def _searched(recorded: list[Recorded]) -> list[Recorded]:
    return [r for r in recorded if isinstance(r.event, TrialMeasured) and r.event.engine != "none"]


def _begun(recorded: list[Recorded], actor: str) -> list[Recorded]:
    return [r for r in recorded if r.actor == actor and isinstance(r.event, AttemptStarted)]


def _has_begun(actor: str, attempt: int, recorded: list[Recorded]) -> bool:
    return len(_begun(recorded, actor)) == attempt


def _given_up(recorded: list[Recorded], actor: str) -> list[Crashed]:
    return [
        crash
        for crash in only(recorded, Crashed)
        if crash.phase == "specialist" and f"specialist-{crash.node_id}" == actor
    ]


def devices_of(recorded: list[Recorded], actor: str) -> tuple[str, ...]:
    """Return the devices of an actor's latest incarnation."""
    return next(
        r.event.devices
        for r in reversed(recorded)
        if r.actor == actor and isinstance(r.event, IncarnationStarted)
    )


def test_nothing_is_lost_and_nothing_is_done_twice(disturbed: Disturbed) -> None:
    require_sound(disturbed.directory, *disturbed.seen)


def test_the_bench_went_on_elsewhere_with_as_many_devices(disturbed: Disturbed) -> None:
    recorded = read_log(disturbed.directory)
    lives = [r.event for r in recorded if r.actor == "bench"]
    seats = [event.devices for event in lives if isinstance(event, IncarnationStarted)]
    assert all(len(devices) == NUM_DEVICES for devices in seats)
    assert seats[0][0].startswith(disturbed.lost)
    assert not seats[-1][0].startswith(disturbed.lost)
    details = [report.detail for report in only(recorded, HealthReported)]
    assert any(disturbed.lost in detail and "is gone" in detail for detail in details)


def test_specialists_had_seats_of_their_own(disturbed: Disturbed) -> None:
    recorded = read_log(disturbed.directory)
    births = [
        (r.actor, r.event.devices) for r in recorded if isinstance(r.event, IncarnationStarted)
    ]
    second_life = [actor for actor, _ in births].index("bench", _first(births, "bench") + 1)
    before = births[:second_life]
    bench = before[_first(before, "bench")][1]
    seats = {devices for actor, devices in before if actor.startswith("specialist")}
    assert len(seats) == NUM_NODES - 1
    assert all(len(devices) == NUM_DEVICES and not {*devices} & {*bench} for devices in seats)
    placements = {event.placement for event in only(recorded, SpecialistConstructed)}
    assert all(placement.startswith("placement group ") for placement in placements)
    assert all(lease.is_exclusive for lease in only(recorded, LeaseTaken) if lease.devices)


def _first(births: list[tuple[str, tuple[str, ...]]], actor: str) -> int:
    return [name for name, _ in births].index(actor)


def test_who_dies_of_its_work_is_given_up_with_evidence(disturbed: Disturbed) -> None:
    (crash,) = _given_up(read_log(disturbed.directory), disturbed.deadly)
    assert crash.message == "the specialist died in each of 2 attempts"
    assert "ended with process" in crash.log_tail[-1]


def test_a_node_that_is_left_alone_holds_the_campaign(nodes: Nodes, tmp_path: Path) -> None:
    """One seat is left once two nodes are gone: bench and specialists take turns on it."""
    for node_id in nodes.ids[1:]:
        nodes.kill(node_id)
    directory = tmp_path / "campaign"
    file = landscape(
        tmp_path / "c.yaml",
        target_config={"time_scale": 0.01, "num_devices": NUM_DEVICES},
        budget={"wall": "5m", "max_trials": 4},
    )
    done = arbor("run", file, "--dir", directory, **nodes.variables)
    assert done.returncode == 0, done.stdout + done.stderr
    recorded = require_sound(directory)
    placements = {event.placement for event in only(recorded, SpecialistConstructed)}
    assert placements
    assert all(placement.endswith(" of the bench") for placement in placements)
    taken = [r for r in recorded if isinstance(r.event, LeaseTaken) and r.event.devices]
    assert {r.actor == "bench" for r in taken} == {True, False}
