"""The crew on the cluster: who sits where, what a lost node takes away, who works on what."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.placement_group import PlacementGroup, remove_placement_group

from arbor.actors import ray_nodes
from arbor.actors.bench import Bench
from arbor.actors.crew import DispatchBoard
from arbor.actors.journal import Journal
from arbor.actors.ray_environment import is_cluster_named
from arbor.actors.ray_nodes import RayNode
from arbor.actors.ray_seats import (
    Hand,
    is_standing,
    on_seat,
    open_seat,
    seat_borrower,
    seat_specialist,
)
from arbor.core.names import specialist_name
from arbor.core.seats import Seats, plan_seats
from arbor.events.choice import ActionDispatched
from arbor.events.errors import InvalidInputError, WaitTimeoutError
from arbor.events.life import HealthReported
from arbor.events.outcome import Crashed
from arbor.events.work import SpecialistRetired

PLACEMENT_TIMEOUT_S = 60.0
"""The bench and the first specialists must have their seats within this."""
LATE_PLACEMENT_TIMEOUT_S = 1.0
"""A later seat is asked for again and again, so that the driver stays awake."""
LOOK_S = 1.0
"""Pause between two looks at nodes and seats."""


@dataclass(slots=True)
class Crew:
    """Specialists' processes and the bench's seat, as the driver holds them.

    Attributes:
        directory: the campaign's.
        num_specialists: that may work at once.
        seats: the plan for the nodes that are alive.
    """

    directory: Path
    campaign_id: str
    num_specialists: int
    seats: Seats
    _bench: PlacementGroup | None = None
    """Seat of the bench; None when servers take no devices, and it may sit anywhere."""
    _has_bench_seat: bool = True
    _hands: dict[str, Hand] = field(default_factory=dict)
    """Node of the tree to who works on it."""
    _idle: list[Hand] = field(default_factory=list)
    _unplaced: set[str] = field(default_factory=set)
    """Nodes of the tree for which there was no room; reported once."""
    _nodes: dict[str, RayNode] = field(default_factory=dict)
    _next_look_s: float = 0.0

    def open_bench_seat(self) -> dict[str, Any]:
        """Return the options of the bench's actor, which takes its seat before everybody.

        Raises:
            WaitTimeoutError: others use the devices.
        """
        num_devices = self.seats.num_devices
        if num_devices == 0:
            return {"num_cpus": 0}
        self._bench = open_seat(num_devices, PLACEMENT_TIMEOUT_S)
        if self._bench is None:
            raise WaitTimeoutError(
                f"no node has {num_devices} accelerators free for the bench (waited "
                f"{PLACEMENT_TIMEOUT_S:.0f} s): others use them; see `ray status`"
            )
        return on_seat(self._bench, num_devices)

    def start(self) -> list[Any]:
        """Start the processes of the first specialists; return references that are their ids."""
        deadline = time.monotonic() + PLACEMENT_TIMEOUT_S
        for _ in range(self.seats.num_own):
            hand = self._own_hand(max(0.0, deadline - time.monotonic()))
            if hand is not None:
                self._idle.append(hand)
        if self._bench is not None and not self._idle:
            self._idle += [self._borrower(self._bench) for _ in range(self.num_specialists)]
        return [hand.actor.process_id.remote() for hand in self._idle]

    def _own_hand(self, timeout_s: float) -> Hand | None:
        num_devices = self.seats.num_devices
        group = open_seat(num_devices, timeout_s)
        if group is None:
            return None
        return seat_specialist(group, num_devices, self.directory, self.campaign_id)

    def _borrower(self, bench: PlacementGroup) -> Hand:
        return seat_borrower(bench, self.directory, self.campaign_id)

    # Who works on what

    def employ(self, dispatch: ActionDispatched, journal: Journal) -> None:
        """Have a specialist built for a dispatch, once; nobody sits down before the bench.

        Processes of retired specialists are used again: importing is most of a start.
        """
        if dispatch.node_id in self._hands or not self._has_bench_seat:
            return
        hand = self._idle.pop() if self._idle else self._late_hand()
        if hand is None:
            if len(self._seated()) < self.seats.num_own:
                self._report_unplaced(dispatch, journal)
            return
        self._unplaced.discard(dispatch.node_id)
        hand.run = hand.actor.run.remote(dispatch.node_id)
        self._hands[dispatch.node_id] = hand

    def _late_hand(self) -> Hand | None:
        """Return a further process, or None when there is no room."""
        own, hand = self._seated(), None
        if self._bench is None or len(own) < self.seats.num_own:
            hand = self._own_hand(LATE_PLACEMENT_TIMEOUT_S)
        if hand is None and self._bench is not None and not own:
            hand = self._borrower(self._bench)
        return hand

    def _seated(self) -> list[Hand]:
        """Return the processes that have a seat of their own."""
        return [hand for hand in (*self._hands.values(), *self._idle) if hand.group is not None]

    def _report_unplaced(self, dispatch: ActionDispatched, journal: Journal) -> None:
        if dispatch.node_id in self._unplaced:
            return
        self._unplaced.add(dispatch.node_id)
        needed = "1 CPU"
        if self.seats.num_devices:
            needed += f", {self.seats.num_devices} accelerators of one node"
        journal.append(
            HealthReported(
                action_id=dispatch.action_id,
                subject="placement",
                is_healthy=False,
                detail=(
                    f"no room for a specialist ({needed}); it is asked for again until there is: "
                    "lower search.parallel, or free the cluster"
                ),
            )
        )

    def release_finished(self, board: DispatchBoard, journal: Journal) -> None:
        """Let specialists go that returned; what broke one is recorded as a crash."""
        for node_id, hand in list(self._hands.items()):
            done, _ = ray.wait([hand.run], timeout=0)
            if not done and board.has_stalled(node_id):
                # The process is Arbor's own, and its servers end with their guards.
                del self._hands[node_id]
                hand.let_go()
                journal.append(_retired(board.get(node_id), "it had stalled"))
            if not done:
                continue
            del self._hands[node_id]
            try:
                ray.get(hand.run)
                self._idle.append(hand)
            except RayError as error:
                _record_broken(board.get(node_id), error, journal)
                hand.let_go()

    # What a lost node takes away

    def look(self, board: DispatchBoard, journal: Journal) -> None:
        """Look at nodes and seats from time to time; a private instance has one node for good."""
        now_s = time.monotonic()
        if not is_cluster_named() or now_s < self._next_look_s:
            return
        self._next_look_s = now_s + LOOK_S
        self._look_at_nodes(journal)
        self._look_at_bench(journal)
        self._look_at_specialists(board, journal)

    def _look_at_nodes(self, journal: Journal) -> None:
        alive = {node.node_id: node for node in ray_nodes.nodes()}
        if alive.keys() == self._nodes.keys():
            return
        lost = [node for key, node in self._nodes.items() if key not in alive]
        new = [node for key, node in alive.items() if key not in self._nodes]
        reports = [_health(f"node {n.name} is gone; others take its work", ok=False) for n in lost]
        if self._nodes:
            reports += [_health(f"node {node.name} joined", ok=True) for node in new]
        if reports:
            journal.append(*reports)
        self._nodes = alive
        rooms = [node.room for node in alive.values()]
        try:
            self.seats = plan_seats(rooms, self.seats.num_devices, self.num_specialists)
        except InvalidInputError as error:
            # A node may come back: the campaign waits until its budget ends.
            journal.append(_health(str(error), ok=False))

    def _look_at_bench(self, journal: Journal) -> None:
        """Note whether the bench has its seat; while Ray seeks one, idle hands leave theirs."""
        if self._bench is None:
            return
        had_seat, self._has_bench_seat = self._has_bench_seat, is_standing(self._bench)
        if self._has_bench_seat:
            return
        if had_seat:
            # Specialists that wait for its leases may sit where it could go, and never leave.
            detail = "the bench has lost its seat and waits for another"
            freed = journal.state.leases.given_up_by(Bench.name)
            journal.append(_health(detail, ok=False), *freed)
        self._keep_idle(lambda hand: hand.group is None)

    def _look_at_specialists(self, board: DispatchBoard, journal: Journal) -> None:
        self._keep_idle(lambda hand: hand.group is None or is_standing(hand.group))
        for node_id, hand in list(self._hands.items()):
            if hand.group is None or is_standing(hand.group):
                continue
            # Its dispatch stays open, so that the driver employs somebody else for it.
            del self._hands[node_id]
            hand.let_go()
            journal.append(_retired(board.get(node_id), "its node was lost"))

    def _keep_idle(self, is_kept: Callable[[Hand], bool]) -> None:
        judged = [(hand, is_kept(hand)) for hand in self._idle]
        for hand in (hand for hand, keeps in judged if not keeps):
            hand.let_go()
        self._idle = [hand for hand, keeps in judged if keeps]

    # The end

    def runs(self) -> Sequence[Any]:
        """Return references to what is being worked on."""
        return [hand.run for hand in self._hands.values()]

    def stop(self) -> None:
        """End all processes and give up all seats."""
        for hand in (*self._hands.values(), *self._idle):
            hand.let_go()
        if self._bench is not None:
            remove_placement_group(self._bench)


def _health(detail: str, *, ok: bool) -> HealthReported:
    return HealthReported(subject="cluster", is_healthy=ok, detail=detail)


def _retired(dispatch: ActionDispatched, reason: str) -> SpecialistRetired:
    return SpecialistRetired(
        action_id=dispatch.action_id,
        specialist_id=specialist_name(dispatch.node_id),
        reason=reason,
    )


def _record_broken(dispatch: ActionDispatched, error: RayError, journal: Journal) -> None:
    lines = tuple(str(error).strip().splitlines())
    journal.append(
        Crashed(
            action_id=dispatch.action_id,
            node_id=dispatch.node_id,
            phase="specialist",
            message=lines[-1] if lines else type(error).__name__,
            log_tail=lines[-20:],
        ),
        _retired(dispatch, "its process broke"),
    )
