"""The nodes of the Ray cluster: who is there, what they have, and what is tried on each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import ray
from ray.exceptions import GetTimeoutError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from arbor.actors.node_facts import NodeFacts, describe_node, differing
from arbor.actors.ray_actors import DEVICE_RESOURCE, what_happened
from arbor.actors.shared_directory import gather, leave_token, look, refusal, sweep
from arbor.core.seats import NodeRoom
from arbor.events.errors import ArborError, InvalidInputError, WaitTimeoutError

ANSWER_TIMEOUT_S = 120.0
"""A node must run a function within this; most of it is the start of a process."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RayNode:
    """A node that is alive.

    Attributes:
        node_id: Ray's id.
        name: host and the beginning of the id, since simulated nodes share a host.
        room: what it has in all.
    """

    node_id: str
    name: str
    room: NodeRoom


def nodes() -> tuple[RayNode, ...]:
    """Return the nodes that are alive."""
    rows: list[Mapping[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return tuple(_node(row) for row in rows if row["Alive"])


def _node(row: Mapping[str, Any]) -> RayNode:
    node_id, resources = row["NodeID"], row["Resources"]
    name = f"{row['NodeManagerHostname']} ({node_id[:8]})"
    room = NodeRoom(name, int(resources.get("CPU", 0)), int(resources.get(DEVICE_RESOURCE, 0)))
    return RayNode(node_id, name, room)


def on_drivers_node() -> NodeAffinitySchedulingStrategy:
    """Return the strategy of actors that are of no use without the driver.

    The loss of another node then costs none of them; where the driver's has no room, others do.
    """
    return NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)


def on_each(
    where: Sequence[RayNode],
    function: Callable[..., T],
    arguments: Callable[[RayNode], tuple[Any, ...]],
) -> dict[str, Any]:
    """Start a function on every node; return the references to its results by the node's name."""
    remote: Any = ray.remote(function)
    return {
        node.name: remote.options(
            num_cpus=0,
            max_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node.node_id, soft=False),
        ).remote(*arguments(node))
        for node in where
    }


def collect(started: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of ``on_each``.

    Raises:
        WaitTimeoutError: a node did not answer.
        ArborError: a function failed; the message names the node.
    """
    results = {}
    for name, reference in started.items():
        try:
            results[name] = ray.get(reference, timeout=ANSWER_TIMEOUT_S)
        except GetTimeoutError as error:
            raise WaitTimeoutError(
                f"node {name} ran nothing within {ANSWER_TIMEOUT_S:.0f} s; see `ray status`"
            ) from error
        except RayError as error:
            raise ArborError(f"node {name} failed: {what_happened(error)}") from error
    return results


def describe_nodes(where: Sequence[RayNode]) -> dict[str, NodeFacts]:
    """Return what every node says about itself.

    Raises:
        ArborError: a node did not answer, or failed.
    """
    return collect(on_each(where, describe_node, lambda _: ()))


def require_same_versions(where: Sequence[RayNode]) -> None:
    """Check that all nodes have the driver's Python, Ray and Arbor.

    Raises:
        InvalidInputError: one has not.
        ArborError: a node did not answer, or failed.
    """
    difference = differing(describe_nodes(where), describe_node())
    if difference is not None:
        raise InvalidInputError(difference)


def require_shared(where: Sequence[RayNode], directory: Path) -> None:
    """Check that all nodes see what the driver and they write into a directory, and soon.

    Raises:
        InvalidInputError: one does not.
        ArborError: a node did not answer, or failed.
    """
    token = leave_token(directory)
    ids = {node.name: node.node_id for node in where}
    try:
        looking = on_each(where, look, lambda node: (token, node.node_id))
        unseen = gather(token, ids.values())
        for name, wrong in collect(looking).items():
            if wrong is not None:
                raise refusal(directory, name, wrong)
            if ids[name] in unseen:
                raise refusal(directory, name, "writes there and the driver does not see it soon")
    finally:
        sweep(token)
