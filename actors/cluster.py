"""A campaign's actors as Ray actors; the modules `ray_*` beside it are its parts.

Nobody else imports ray.
"""

import logging
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from arbor.actors import ray_nodes
from arbor.actors.bench import Bench
from arbor.actors.crew import DispatchBoard
from arbor.actors.founding import Ground
from arbor.actors.journal import Journal
from arbor.actors.keeper import Keeper, KeptLog
from arbor.actors.processes import REACTORS
from arbor.actors.ray_actors import (
    KEEPER_NAME,
    AdviserActor,
    BenchActor,
    CallKeeper,
    ReactorActor,
    namespace,
    what_happened,
)
from arbor.actors.ray_crew import Crew
from arbor.core.campaign import Campaign
from arbor.core.layout import CampaignDirectory
from arbor.core.names import ADVISER
from arbor.core.seats import SEAT_CPUS, Seats, plan_seats
from arbor.events.choice import ActionDispatched
from arbor.events.errors import ArborError, WaitTimeoutError
from arbor.events.log import EventLog

START_TIMEOUT_S = 120.0
"""Processes of actors must be up within this."""
CONNECT_TIMEOUT_S = 10.0
"""A named cluster must answer within this; Ray itself would try for ever."""
OBJECT_STORE_BYTES = 80_000_000
"""Arbor passes nothing large through Ray; this is its smallest object store."""


def connect(num_seats: int) -> float:
    """Join the cluster that ``RAY_ADDRESS`` names, or start a private one; return the seconds.

    ``ray_environment.prepare`` must have run before this module was imported. A private instance
    is given one CPU a seat, which is all that Arbor asks of Ray, whatever the machine has: Ray
    starts a process for every CPU at once, and specialists are never short of a place.

    Raises:
        ArborError: Ray could not be started or reached.
    """
    begin = time.monotonic()
    address = os.environ.get("RAY_ADDRESS")
    try:
        if address:
            _require_listening(address)
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        else:
            ray.init(
                address="local",
                num_cpus=max(2, num_seats * SEAT_CPUS),
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    except (RayError, ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = f"reach Ray at {address} (RAY_ADDRESS)" if address else "start Ray"
        raise ArborError(f"cannot {where}: {what_happened(error)}") from error
    return time.monotonic() - begin


def _require_listening(address: str) -> None:
    """Check that somebody listens at ``host:port``; other forms of address are left to Ray.

    Raises:
        OSError: nobody does.
    """
    host, _, port = address.rpartition(":")
    if host and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT_S).close()


def disconnect() -> None:
    """Leave the cluster; a private one ends with all of its processes."""
    ray.shutdown()


def survey(directory: Path, num_devices: int, num_specialists: int) -> Seats:
    """Return the seats of a campaign on the nodes that are there, once these are fit for it.

    Args:
        directory: the campaign's, which all nodes must share.
        num_devices: accelerators that one server takes.
        num_specialists: specialists that may work at once.

    Raises:
        InvalidInputError: a server fits on no node, versions differ, or a node does not share
            the directory.
        ArborError: a node did not answer, or failed.
    """
    nodes = ray_nodes.nodes()
    seats = plan_seats([node.room for node in nodes], num_devices, num_specialists)
    if len(nodes) > 1:
        ray_nodes.require_same_versions(nodes)
        ray_nodes.require_shared(nodes, directory)
    return seats


_SURVIVES: dict[str, Any] = {"max_restarts": -1, "max_task_retries": -1}
"""A dead actor is restarted and its run begins anew, from the log."""


@dataclass(slots=True)
class Cluster:
    """The campaign's actors, owned by the driver: when it goes they go.

    Attributes:
        directory: the campaign's directory, shared by all nodes.
        log: the log as the driver sees it.
    """

    directory: Path
    campaign_id: str
    log: EventLog = field(init=False)
    _keeper: Any = field(init=False)
    _crew: Crew = field(init=False)
    _runs: dict[str, Any] = field(default_factory=dict)
    _actors: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        where = CampaignDirectory(self.directory)
        keeper_class: Any = ray.remote(Keeper)
        self._keeper = keeper_class.options(
            name=KEEPER_NAME,
            namespace=namespace(self.campaign_id),
            num_cpus=0,
            max_concurrency=64,
            scheduling_strategy=ray_nodes.on_drivers_node(),
            **_SURVIVES,
        ).remote(str(where.log), self.campaign_id)
        call = CallKeeper(self.campaign_id)
        call("process_id")
        self.log = KeptLog(where.log, call)

    def start(self, num_specialists: int, seats: Seats, *, has_models: bool = False) -> None:
        """Start the processes of all actors and wait until they have imported what they need.

        Args:
            num_specialists: that may work at once.
            seats: where they may sit.
            has_models: whether language models are asked; an adviser does so then.

        Raises:
            WaitTimeoutError: a process did not come up, or others use the devices.
        """
        reactor_class: Any = ray.remote(ReactorActor)
        for name in REACTORS:
            self._actors[name] = reactor_class.options(
                num_cpus=0,
                max_concurrency=2,
                scheduling_strategy=ray_nodes.on_drivers_node(),
                **_SURVIVES,
            ).remote(name, str(self.directory), self.campaign_id)
        if has_models:
            adviser_class: Any = ray.remote(AdviserActor)
            self._actors[ADVISER] = adviser_class.options(
                num_cpus=0,
                max_concurrency=2,
                scheduling_strategy=ray_nodes.on_drivers_node(),
                **_SURVIVES,
            ).remote(str(self.directory), self.campaign_id)
        self._crew = Crew(self.directory, self.campaign_id, num_specialists, seats)
        bench_class: Any = ray.remote(BenchActor)
        options = self._crew.open_bench_seat() | _SURVIVES
        self._actors[Bench.name] = bench_class.options(max_concurrency=2, **options).remote(
            str(self.directory), self.campaign_id
        )
        starting = self._crew.start()
        starting += [actor.process_id.remote() for actor in self._actors.values()]
        ready, late = ray.wait(starting, num_returns=len(starting), timeout=START_TIMEOUT_S)
        if late:
            raise WaitTimeoutError(
                f"{len(late)} of {len(ready) + len(late)} actors did not start within "
                f"{START_TIMEOUT_S:.0f} s; see the logs in {ray_log_folder()}"
            )

    def lay_ground(self, campaign: Campaign) -> Ground:
        """Return what the campaign starts from on the bench's machine, once that is fit for it.

        Raises:
            ArborError: it is not, or the bench broke.
        """
        try:
            found = ray.get(self._actors[Bench.name].lay_ground.remote(campaign))
        except RayError as error:
            raise ArborError(f"{Bench.name} broke: {what_happened(error)}") from error
        if isinstance(found, ArborError):
            raise found
        if not isinstance(found, Ground):
            raise ArborError(f"the bench answered {type(found).__name__}, expected its ground")
        return found

    def run(self) -> None:
        """Let Orchestrator, Critic and Bench follow the log."""
        for name, actor in self._actors.items():
            self._runs[name] = actor.run.remote()

    def employ(self, dispatch: ActionDispatched, journal: Journal) -> None:
        """Have a specialist built for a dispatch, once."""
        self._crew.employ(dispatch, journal)

    def release_finished(self, board: DispatchBoard, journal: Journal) -> None:
        """Let specialists go that returned, or whose node was lost."""
        self._crew.release_finished(board, journal)
        self._crew.look(board, journal)

    def check(self) -> None:
        """Check that no long-lived actor has broken.

        Raises:
            ArborError: one has; the message names it.
        """
        for name, run in self._runs.items():
            done, _ = ray.wait([run], timeout=0)
            if done:
                try:
                    ray.get(run)
                except RayError as error:
                    raise ArborError(f"{name} broke: {what_happened(error)}") from error

    def stop(self, timeout_s: float) -> None:
        """Let the actors return by themselves, then end them."""
        runs = [*self._runs.values(), *self._crew.runs()]
        if runs:
            ray.wait(runs, num_returns=len(runs), timeout=timeout_s)
        self._crew.stop()
        for actor in (*self._actors.values(), self._keeper):
            with suppress(RayError):
                ray.kill(actor)


def ray_log_folder() -> str:
    """Return the folder of the logs of Ray's session."""
    return f"{ray.get_runtime_context().get_temp_dir()}/session_latest/logs"
