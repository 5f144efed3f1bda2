"""Actors as Ray actors: the only module that imports ray."""

import logging
import os
import re
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError
from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    remove_placement_group,
)
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from arbor.actors.bench import Bench
from arbor.actors.crew import DispatchBoard, specialist_name
from arbor.actors.journal import Journal
from arbor.actors.keeper import Keeper, KeptLog
from arbor.actors.processes import (
    REACTORS,
    BenchProcess,
    ReactorProcess,
    SpecialistProcess,
)
from arbor.core.layout import CampaignDirectory
from arbor.events.choice import ActionDispatched
from arbor.events.errors import ArborError, LogError, WaitTimeoutError
from arbor.events.life import HealthReported
from arbor.events.log import EventLog
from arbor.events.outcome import Crashed
from arbor.events.work import SpecialistRetired

START_TIMEOUT_S = 120.0
"""Processes of actors must be up within this."""
CONNECT_TIMEOUT_S = 10.0
"""A named cluster must answer within this; Ray itself would try for ever."""
PLACEMENT_TIMEOUT_S = 60.0
"""The first specialists' placement groups must be had within this."""
LATE_PLACEMENT_TIMEOUT_S = 1.0
"""A later placement group is asked for again and again, so that the driver stays awake."""
KEEPER_NAME = "keeper"
"""Actors find the keeper by name within the campaign's namespace."""
OBJECT_STORE_BYTES = 80_000_000
"""Arbor passes nothing large through Ray; this is its smallest object store."""


class _CallKeeper:
    """Calls the keeper actor; a restarted keeper answers the same call again."""

    def __init__(self, campaign_id: str) -> None:
        self._keeper = ray.get_actor(KEEPER_NAME, namespace=_namespace(campaign_id))

    def __call__(self, method: str, *args: Any) -> Any:
        """Return the value of a keeper's method.

        Raises:
            LogError: the keeper is gone for good, or could not open the log.
        """
        try:
            return ray.get(getattr(self._keeper, method).remote(*args))
        except RayActorError as error:
            raise LogError(f"the keeper of the log is gone: {_what_happened(error)}") from error


def _namespace(campaign_id: str) -> str:
    return f"arbor-{campaign_id}"


def kept_log(directory: Path, campaign_id: str) -> KeptLog:
    """Return the log of a campaign whose keeper lives in this cluster."""
    return KeptLog(CampaignDirectory(directory).log, _CallKeeper(campaign_id))


def _what_happened(error: BaseException) -> str:
    """Return the line of a Ray error that says it: the last one of a traceback, or the first."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    has_traceback = any(line.startswith("  File ") for line in lines)
    line = lines[-1 if has_traceback else 0].strip()
    return re.sub(r"^arbor\.[\w.]+: ", "", line)


class _ReactorActor(ReactorProcess):
    def __init__(self, name: str, directory: str, campaign_id: str) -> None:
        super().__init__(name, Path(directory), kept_log(Path(directory), campaign_id))


class _BenchActor(BenchProcess):
    def __init__(self, directory: str, campaign_id: str) -> None:
        super().__init__(Path(directory), kept_log(Path(directory), campaign_id))


class _SpecialistActor(SpecialistProcess):
    def __init__(self, directory: str, campaign_id: str, where: str) -> None:
        super().__init__(Path(directory), kept_log(Path(directory), campaign_id), where)


def connect(num_specialists: int) -> float:
    """Join the cluster that ``RAY_ADDRESS`` names, or start a private one; return the seconds.

    ``ray_environment.prepare`` must have run before this module was imported. A private instance
    is given one CPU a specialist, which is all that Arbor asks of Ray, whatever the machine has:
    Ray starts a process for every CPU at once, and specialists are never short of a place.

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
                num_cpus=max(2, num_specialists),
                include_dashboard=False,
                object_store_memory=OBJECT_STORE_BYTES,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    except (RayError, ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = f"reach Ray at {address} (RAY_ADDRESS)" if address else "start Ray"
        raise ArborError(f"cannot {where}: {_what_happened(error)}") from error
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


_SURVIVES: dict[str, Any] = {"max_restarts": -1, "max_task_retries": -1}
"""A dead actor is restarted and its run begins anew, from the log."""


@dataclass(slots=True)
class _Hand:
    """A specialist's process in its placement group, and what it works on."""

    actor: Any
    group: PlacementGroup
    run: Any = None


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
    _runs: dict[str, Any] = field(default_factory=dict)
    _actors: dict[str, Any] = field(default_factory=dict)
    _hands: dict[str, _Hand] = field(default_factory=dict)
    _idle: list[_Hand] = field(default_factory=list)
    _unplaced: set[str] = field(default_factory=set)
    """Nodes for which there was no room; reported once."""

    def __post_init__(self) -> None:
        where = CampaignDirectory(self.directory)
        keeper_class: Any = ray.remote(Keeper)
        self._keeper = keeper_class.options(
            name=KEEPER_NAME,
            namespace=_namespace(self.campaign_id),
            num_cpus=0,
            max_concurrency=64,
            **_SURVIVES,
        ).remote(str(where.log), self.campaign_id)
        call = _CallKeeper(self.campaign_id)
        call("process_id")
        self.log = KeptLog(where.log, call)

    def start(self, num_specialists: int) -> None:
        """Start the processes of all actors and wait until they have imported what they need.

        Raises:
            WaitTimeoutError: a process did not come up.
        """
        reactor_class: Any = ray.remote(_ReactorActor)
        for name in REACTORS:
            self._actors[name] = reactor_class.options(
                num_cpus=0, max_concurrency=2, **_SURVIVES
            ).remote(name, str(self.directory), self.campaign_id)
        bench_class: Any = ray.remote(_BenchActor)
        self._actors[Bench.name] = bench_class.options(
            num_cpus=0, max_concurrency=2, **_SURVIVES
        ).remote(str(self.directory), self.campaign_id)
        deadline = time.monotonic() + PLACEMENT_TIMEOUT_S
        for _ in range(num_specialists):
            hand = self._new_hand(max(0.0, deadline - time.monotonic()))
            if hand is not None:
                self._idle.append(hand)
        starting = [actor.process_id.remote() for actor in self._actors.values()]
        starting += [hand.actor.process_id.remote() for hand in self._idle]
        ready, late = ray.wait(starting, num_returns=len(starting), timeout=START_TIMEOUT_S)
        if late:
            raise WaitTimeoutError(
                f"{len(late)} of {len(ready) + len(late)} actors did not start within "
                f"{START_TIMEOUT_S:.0f} s; see the logs in {ray_log_folder()}"
            )

    def run(self) -> None:
        """Let Orchestrator, Critic and Bench follow the log."""
        for name, actor in self._actors.items():
            self._runs[name] = actor.run.remote()

    def employ(self, dispatch: ActionDispatched, journal: Journal) -> None:
        """Have a specialist built for a dispatch in a placement group, once.

        Processes of retired specialists are used again: importing is most of a start.
        """
        if dispatch.node_id in self._hands:
            return
        hand = self._idle.pop() if self._idle else self._new_hand(LATE_PLACEMENT_TIMEOUT_S)
        if hand is None:
            self._report_unplaced(dispatch, journal)
            return
        self._unplaced.discard(dispatch.node_id)
        hand.run = hand.actor.run.remote(dispatch.node_id)
        self._hands[dispatch.node_id] = hand

    def _report_unplaced(self, dispatch: ActionDispatched, journal: Journal) -> None:
        if dispatch.node_id in self._unplaced:
            return
        self._unplaced.add(dispatch.node_id)
        journal.append(
            HealthReported(
                action_id=dispatch.action_id,
                subject="placement",
                is_healthy=False,
                detail=(
                    "no room for a specialist (1 CPU); it is asked for again until there is: "
                    "lower search.parallel, or free the cluster"
                ),
            )
        )

    def _new_hand(self, timeout_s: float) -> _Hand | None:
        group = placement_group([{"CPU": 1}], strategy="STRICT_PACK")
        if not group.wait(timeout_s):
            remove_placement_group(group)
            return None
        strategy = PlacementGroupSchedulingStrategy(placement_group=group)
        specialist_class: Any = ray.remote(_SpecialistActor)
        actor = specialist_class.options(
            num_cpus=1, max_concurrency=2, scheduling_strategy=strategy, **_SURVIVES
        ).remote(str(self.directory), self.campaign_id, f"placement group {group.id.hex()}")
        return _Hand(actor, group)

    def release_finished(self, board: DispatchBoard, journal: Journal) -> None:
        """Let specialists go that returned; what broke one is recorded as a crash."""
        for node_id, hand in list(self._hands.items()):
            done, _ = ray.wait([hand.run], timeout=0)
            if not done:
                continue
            del self._hands[node_id]
            try:
                ray.get(hand.run)
                self._idle.append(hand)
            except RayError as error:
                self._record_broken(board.get(node_id), error, journal)
                _let_go(hand)

    def _record_broken(
        self, dispatch: ActionDispatched, error: RayError, journal: Journal
    ) -> None:
        lines = tuple(str(error).strip().splitlines())
        journal.append(
            Crashed(
                action_id=dispatch.action_id,
                node_id=dispatch.node_id,
                phase="specialist",
                message=lines[-1] if lines else type(error).__name__,
                log_tail=lines[-20:],
            ),
            SpecialistRetired(
                action_id=dispatch.action_id,
                specialist_id=specialist_name(dispatch.node_id),
                reason="its process broke",
            ),
        )

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
                    raise ArborError(f"{name} broke: {_what_happened(error)}") from error

    def process_ids(self) -> dict[str, int]:
        """Return the process id of every actor that answers at once.

        Raises:
            WaitTimeoutError: an actor did not answer within 10 s.
        """
        actors = {
            "keeper": self._keeper,
            **self._actors,
            **{specialist_name(node): hand.actor for node, hand in self._hands.items()},
        }
        asked = {name: actor.process_id.remote() for name, actor in actors.items()}
        try:
            return {name: ray.get(ref, timeout=10) for name, ref in asked.items()}
        except GetTimeoutError as error:
            raise WaitTimeoutError("an actor did not tell its process id in 10 s") from error

    def stop(self, timeout_s: float) -> None:
        """Let the actors return by themselves, then end them."""
        runs = [*self._runs.values(), *(hand.run for hand in self._hands.values())]
        if runs:
            ray.wait(runs, num_returns=len(runs), timeout=timeout_s)
        for hand in (*self._hands.values(), *self._idle):
            _let_go(hand)
        for actor in (*self._actors.values(), self._keeper):
            with suppress(RayError):
                ray.kill(actor)


def _let_go(hand: _Hand) -> None:
    ray.kill(hand.actor)
    remove_placement_group(hand.group)


def ray_log_folder() -> str:
    """Return the folder of the logs of Ray's session."""
    return f"{ray.get_runtime_context().get_temp_dir()}/session_latest/logs"
