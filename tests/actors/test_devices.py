"""Workers with accelerators: who holds them when, who makes way, and what does not fit."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from arbor.actors.bench import Bench
from arbor.actors.crew import build_specialist
from arbor.actors.journal import Journal
from arbor.actors.place import Place
from arbor.core.names import specialist_name
from arbor.core.tree import ROOT_ID, Status
from arbor.events.campaign import CampaignPaused, CampaignStarted
from arbor.events.choice import ActionDispatched, ActionProposed, ActionWithdrawn
from arbor.events.evidence import ProfileTaken
from arbor.events.life import IncarnationStarted, LeaseReleased, LeaseRequested, LeaseTaken
from arbor.events.requests import MeasurementRequested, Purpose
from arbor.events.types import Edit, Scalar
from arbor.events.work import AttemptStarted
from arbor.targets.base import ServerFailedError
from arbor.targets.landscape import LandscapeTarget
from tests.fakes.simulation import Simulation

DEVICES = ("n:0", "n:1")


class Floor:
    """A bench on devices, and others who may want them."""

    def __init__(self, directory: Path) -> None:
        self.simulation = Simulation(directory)
        self.place = replace(self.simulation.place, devices=DEVICES)
        self.root = self.simulation.of_kind(CampaignStarted)[0].root_commit
        self.orchestrator = self.journal("orchestrator")
        self.hand = self.journal("bench")
        self.hand.start(DEVICES)
        self.bench = Bench(self.place, self.hand)

    def journal(self, name: str) -> Journal:
        return Journal(self.simulation.log, name, self.simulation.clock)

    def ask(self, purpose: Purpose = "profile") -> None:
        number = len(self.simulation.of_kind(MeasurementRequested)) + 1
        self.orchestrator.append(
            MeasurementRequested(
                request_id=f"r{number}",
                purpose=purpose,
                node_id=ROOT_ID,
                parent_commit=self.root,
                edits=(),
                incumbent_commit=self.root,
                seed=number,
            )
        )

    def answer(self) -> None:
        """Let the bench do one request and look around, as its process does."""
        request = self.bench.next_request()
        assert request is not None
        self.bench.perform(request)
        self.bench.make_way()

    def devices_held(self) -> list[str]:
        leases = self.simulation.state().leases
        return [lease.holder for lease in leases.held.values() if lease.devices]

    def wait_for_devices(self, name: str) -> None:
        self.journal(name).append(LeaseRequested(lease_id=f"l-{name}", host="h", devices=DEVICES))


def test_an_incarnation_announces_its_devices(tmp_path: Path) -> None:
    floor = Floor(tmp_path)
    assert floor.simulation.of_kind(IncarnationStarted)[-1].devices == DEVICES
    assert floor.simulation.state().workers.devices["bench"] == DEVICES


def test_the_bench_keeps_its_devices_while_nobody_waits(tmp_path: Path) -> None:
    floor = Floor(tmp_path)
    assert not floor.devices_held()
    for _ in range(2):
        floor.ask()
        floor.answer()
        assert floor.devices_held() == ["bench"]
    taken = [lease for lease in floor.simulation.of_kind(LeaseTaken) if lease.devices]
    assert [lease.devices for lease in taken] == [DEVICES]
    assert len(floor.simulation.of_kind(ProfileTaken)) == 2


def test_the_bench_makes_way_when_it_has_nothing_to_do(tmp_path: Path) -> None:
    floor = Floor(tmp_path)
    floor.ask()
    floor.answer()
    floor.wait_for_devices("specialist-n001")
    floor.hand.catch_up()
    floor.bench.make_way()
    assert not floor.devices_held()
    released = floor.simulation.of_kind(LeaseReleased)[-1]
    assert floor.simulation.of_kind(LeaseTaken)[0].lease_id == released.lease_id


def test_the_bench_stays_while_a_measurement_is_on_its_way(tmp_path: Path) -> None:
    floor = Floor(tmp_path)
    _dispatch(floor)
    floor.ask()
    floor.answer()
    floor.wait_for_devices("specialist-n002")
    floor.hand.catch_up()
    floor.bench.make_way()
    assert floor.devices_held() == ["bench"], "a patch waits to be measured"
    floor.orchestrator.append(ActionWithdrawn(action_id="a001", reason="no"))
    floor.hand.catch_up()
    floor.bench.make_way()
    assert not floor.devices_held()


@pytest.mark.parametrize("event", [CampaignPaused(reason="x"), None])
def test_a_pause_lets_others_have_the_devices(
    tmp_path: Path, event: CampaignPaused | None
) -> None:
    floor = Floor(tmp_path)
    _dispatch(floor)
    floor.ask()
    floor.answer()
    floor.wait_for_devices("specialist-n002")
    if event is not None:
        floor.simulation.say(event)
    floor.hand.catch_up()
    floor.bench.make_way()
    assert floor.devices_held() == ([] if event is not None else ["bench"])


def test_the_bench_waits_its_turn(tmp_path: Path) -> None:
    floor = Floor(tmp_path)
    other = floor.journal("specialist-n001")
    other.start()
    lease_id = other.take_lease("h", "screening", exclusive=True, devices=DEVICES)
    floor.ask()
    request = floor.bench.next_request()
    assert request is not None
    # The wait for devices is a wait for news; the virtual log has it while the bench sleeps.
    patience = Patience(floor, lease_id, other)
    floor.hand._log = patience
    floor.bench.perform(request)
    assert patience.num_waits == 1
    assert floor.devices_held() == ["bench"]


class Patience:
    """The log of a worker that gets what it waits for when it waits for the first time."""

    def __init__(self, floor: Floor, lease_id: str, holder: Journal) -> None:
        self._log = floor.simulation.log
        self._lease_id = lease_id
        self._holder = holder
        self.num_waits = 0
        self.append = self._log.append
        self.read = self._log.read
        self.head = self._log.head
        self.close = self._log.close

    def wait_beyond(self, position: int, timeout_s: float) -> bool:  # noqa: ARG002 - never waits
        """Let the holder release its lease instead of waiting."""
        self.num_waits += 1
        self._holder.release_lease(self._lease_id, "h")
        return True


def test_a_specialist_holds_devices_and_host_for_a_window(tmp_path: Path) -> None:
    floor = Floor(tmp_path)
    _dispatch(floor)
    taken = [r.event for r in floor.simulation.events() if isinstance(r.event, LeaseTaken)]
    assert [(lease.devices, lease.is_exclusive) for lease in taken] == [
        (DEVICES, True),
        ((), False),
    ]
    assert not floor.simulation.state().leases.held


def _dispatch(floor: Floor) -> None:
    """Have a specialist do one dispatched action."""
    edits = (Edit(key="sampler.vectorised", value=True),)
    dispatch = ActionDispatched(
        action_id="a001",
        node_id="n001",
        parent_id=ROOT_ID,
        parent_commit=floor.root,
        template_id="vectorised",
        specialist="config",
        edits=edits,
        brief="",
    )
    proposed = ActionProposed(
        action_id="a001", template_id="vectorised", node_id=ROOT_ID, reason="new"
    )
    floor.orchestrator.append(proposed, dispatch)
    journal = floor.journal(specialist_name("n001"))
    journal.start()
    build_specialist(floor.place, journal, dispatch, "here").perform()


class Growing(LandscapeTarget):
    """A landscape that takes more devices with a switch on."""

    def num_devices(self, config: Mapping[str, Scalar]) -> int:
        return 4 if config["sampler.vectorised"] else 2


def test_what_takes_more_devices_than_there_are_is_not_started(tmp_path: Path) -> None:
    floor = Floor(tmp_path)
    target = Growing(floor.simulation.landscape)
    place: Place = replace(floor.place, target=target)
    with place.serve(floor.root, "test"):
        pass
    commit = place.commit(floor.root, (Edit(key="sampler.vectorised", value=True),))
    with (
        pytest.raises(ServerFailedError, match="needs 4 devices, and 2 are given to it"),
        place.serve(commit, "test"),
    ):
        pass


def test_without_devices_nobody_divides_them(tmp_path: Path) -> None:
    floor = Floor(tmp_path)
    target = Growing(floor.simulation.landscape)
    commit = floor.place.commit(floor.root, (Edit(key="sampler.vectorised", value=True),))
    with replace(floor.place, target=target, devices=()).serve(commit, "test"):
        pass
    assert not floor.devices_held()


def test_a_request_that_is_cancelled_in_the_queue_is_not_begun(tmp_path: Path) -> None:
    floor = Floor(tmp_path)
    _dispatch(floor)
    node = floor.simulation.state().tree.node("n001")
    assert node.status is Status.READY
    floor.orchestrator.append(
        MeasurementRequested(
            action_id="a001",
            request_id="r9",
            purpose="accuracy",
            node_id="n001",
            parent_commit=floor.root,
            edits=node.edits,
            incumbent_commit=floor.root,
            seed=9,
        )
    )
    request = floor.bench.next_request()
    assert request is not None
    floor.orchestrator.append(ActionWithdrawn(action_id="a001", reason="no"))
    floor.bench.perform(request)
    attempts = [each.request_id for each in floor.simulation.of_kind(AttemptStarted)]
    assert "r9" not in attempts
