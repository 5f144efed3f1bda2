"""Seats: the bench first, then specialists, or turns; what never fits is said at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.core.seats import NodeRoom, Seats, plan_seats
from arbor.events.errors import InvalidInputError


def _nodes(*devices: int, cpus: int = 64) -> list[NodeRoom]:
    return [NodeRoom(f"n{i}", cpus, num) for i, num in enumerate(devices, 1)]


@pytest.mark.parametrize(
    ("devices", "needed", "specialists", "expected"),
    [
        # No accelerators are asked for: everybody sits anywhere.
        ((0,), 0, 4, Seats(0, 4, 0)),
        # One node, one device a server: the bench and seven beside it.
        ((8,), 1, 9, Seats(1, 7, 0)),
        ((8,), 1, 2, Seats(1, 2, 0)),
        # One server fills the node: the bench and the specialists take turns.
        ((8,), 8, 2, Seats(8, 0, 2)),
        ((8, 0, 4), 8, 2, Seats(8, 0, 2)),
        # Three nodes: a specialist on each of the other two.
        ((8, 8, 8), 8, 4, Seats(8, 2, 0)),
        # A server never spans nodes: each has room for two.
        ((8, 8, 8), 3, 9, Seats(3, 5, 0)),
    ],
)
def test_seats(devices: tuple[int, ...], needed: int, specialists: int, expected: Seats) -> None:
    assert plan_seats(_nodes(*devices), needed, specialists) == expected


def test_a_seat_needs_a_processor_too() -> None:
    assert plan_seats(_nodes(8, cpus=3), 1, 7) == Seats(1, 2, 0)
    with pytest.raises(InvalidInputError, match=r"and 1 CPU beside them, .*--num-cpus above 0"):
        plan_seats(_nodes(8, cpus=0), 8, 2)


def test_what_never_fits_names_what_is_asked_and_the_largest_node() -> None:
    with pytest.raises(InvalidInputError) as caught:
        plan_seats(_nodes(4, 8, 2), 16, 2)
    assert str(caught.value) == (
        "a server of this campaign takes 16 accelerators of one node; the largest of 3, n2, has "
        "8 accelerators: lower the parallel sizes of the baseline, or search.max_server_devices"
    )


def test_nodes_without_accelerators_are_told_what_ray_needs_to_see_them() -> None:
    with pytest.raises(InvalidInputError, match="n1, has 0 accelerators: start its nodes so that"):
        plan_seats(_nodes(0), 1, 2)


def test_a_cluster_without_nodes() -> None:
    with pytest.raises(InvalidInputError, match="the cluster has no node"):
        plan_seats([], 1, 2)


@given(
    devices=st.lists(st.integers(0, 16), min_size=1, max_size=6),
    needed=st.integers(1, 16),
    specialists=st.integers(1, 64),
)
def test_seats_fit_on_the_nodes(devices: list[int], needed: int, specialists: int) -> None:
    if max(devices) < needed:
        with pytest.raises(InvalidInputError):
            plan_seats(_nodes(*devices), needed, specialists)
        return
    seats = plan_seats(_nodes(*devices), needed, specialists)
    assert seats.num_own + 1 <= sum(num // needed for num in devices)
    assert seats.num_own <= specialists
    assert (seats.num_own == 0) == (seats.num_borrowed == specialists)
