"""Where a campaign's workers sit on a cluster: pure arithmetic over nodes and accelerators."""

from collections.abc import Sequence
from dataclasses import dataclass

from arbor.events.errors import InvalidInputError

SEAT_CPUS = 1
"""Processors that Ray counts for one seat; real use is held apart by leases."""


@dataclass(frozen=True, slots=True)
class NodeRoom:
    """What a node of the cluster has in all, taken or not.

    Attributes:
        name: how people know it.
        num_cpus: processors that Ray counts.
        num_devices: accelerators that Ray counts.
    """

    name: str
    num_cpus: int
    num_devices: int

    def num_seats(self, num_devices: int) -> int:
        """Return how many seats of ``num_devices`` accelerators fit on this node."""
        by_cpus = self.num_cpus // SEAT_CPUS
        return min(by_cpus, self.num_devices // num_devices) if num_devices else by_cpus


@dataclass(frozen=True, slots=True)
class Seats:
    """Who sits where; a seat is one placement group on one node.

    Attributes:
        num_devices: accelerators of every seat, as many as one server takes.
        num_own: specialists with a seat of their own, at work beside each other and the bench.
        num_borrowed: specialists that use the bench's devices in turn with it, when there is no
            seat beside it.
    """

    num_devices: int
    num_own: int
    num_borrowed: int


def plan_seats(nodes: Sequence[NodeRoom], num_devices: int, num_specialists: int) -> Seats:
    """Return the seats of a campaign.

    The bench has the first seat, for the whole campaign. Both arms of a comparison are served
    on its devices, so that two chips never stand behind one ratio. Every further seat is for a
    specialist, up to ``num_specialists``.

    Args:
        nodes: the nodes that are alive.
        num_devices: accelerators that one server takes; all of them are on one node.
        num_specialists: specialists that may work at once.

    Raises:
        InvalidInputError: one server fits on no node.
    """
    if num_devices == 0:
        return Seats(0, num_specialists, 0)
    total = sum(node.num_seats(num_devices) for node in nodes)
    if total == 0:
        raise InvalidInputError(_never_fits(nodes, num_devices))
    num_own = min(num_specialists, total - 1)
    return Seats(num_devices, num_own, 0 if num_own else num_specialists)


def _never_fits(nodes: Sequence[NodeRoom], num_devices: int) -> str:
    asked = f"a server of this campaign takes {_devices(num_devices)} of one node"
    if not nodes:
        return f"{asked}, and the cluster has no node; start its nodes, then try again"
    largest = max(nodes, key=lambda node: (node.num_devices, node.num_cpus))
    if largest.num_devices >= num_devices:
        return (
            f"{asked} and {SEAT_CPUS} CPU beside them, and none has both; "
            "start its nodes with --num-cpus above 0"
        )
    has = f"the largest of {len(nodes)}, {largest.name}, has {_devices(largest.num_devices)}"
    fix = (
        "start its nodes so that Ray sees them (AMD: pip install amdsmi in Ray's environment)"
        if largest.num_devices == 0
        else "lower the parallel sizes of the baseline, or search.max_server_devices"
    )
    return f"{asked}; {has}: {fix}"


def _devices(num: int) -> str:
    return f"{num} accelerator{'' if num == 1 else 's'}"
