"""What `arbor doctor` looks at on the nodes of the cluster that ``RAY_ADDRESS`` names."""

import io
import os
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path

from arbor.actors import ray_environment
from arbor.actors.node_facts import NodeFacts, describe_node
from arbor.cli.checks import CONFIRMED, Check, Level
from arbor.core.seats import NodeRoom
from arbor.events.errors import ArborError, InvalidInputError


def cluster(directory: Path | None) -> Iterator[Check]:
    """Check every node, and whether all of them share a directory when one is given."""
    if not ray_environment.is_cluster_named():
        return
    ray_environment.prepare()
    # Ray takes a second to import and reads its environment then.
    from arbor.actors import cluster as ray_cluster  # noqa: PLC0415
    from arbor.actors import ray_nodes  # noqa: PLC0415

    address = os.environ["RAY_ADDRESS"]
    try:
        # What Ray prints about itself is no finding.
        with redirect_stdout(io.StringIO()):
            ray_cluster.connect(1)
            found = ray_nodes.nodes()
            facts = ray_nodes.describe_nodes(found)
    except ArborError as error:
        yield Check("cluster", Level.MISSING, str(error), "see `ray status`, or unset RAY_ADDRESS")
        return
    try:
        rooms = [node.room for node in found]
        yield Check("cluster", Level.OK, f"{_whole(rooms)} at {address}")
        own = describe_node()
        for room in rooms:
            yield from node_checks(room, facts[room.name], own)
        if directory is None:
            hint = "arbor doctor --dir DIR tries out whether all nodes share it"
            yield Check("directory", Level.NOTE, "not looked at", hint)
        else:
            path = directory.absolute()
            yield _directory(lambda: ray_nodes.require_shared(found, path), path)
    finally:
        ray_cluster.disconnect()


def _whole(rooms: list[NodeRoom]) -> str:
    return (
        f"{len(rooms)} nodes, {sum(room.num_devices for room in rooms)} accelerators and "
        f"{sum(room.num_cpus for room in rooms)} CPUs in all"
    )


def node_checks(room: NodeRoom, facts: NodeFacts, own: NodeFacts) -> Iterator[Check]:
    """Check one node.

    Args:
        room: what Ray counts there.
        facts: what the node says about itself.
        own: the same of the driver's machine, whose versions all nodes must have.
    """
    python, ray, arbor = facts.versions
    is_same = facts.versions == own.versions
    yield Check(
        room.name,
        Level.OK if is_same else Level.MISSING,
        f"Python {python}, Ray {ray}, Arbor {arbor}",
        "" if is_same else "install the driver's versions: " + " ".join(own.versions),
    )
    yield _devices(room, facts)
    if facts.niceness:
        yield Check(
            room.name,
            Level.NOTE,
            f"workers run at nice {facts.niceness}, and so would measured servers",
            "start the node with RAY_worker_niceness=0",
        )
    if len(facts.masks) > 1:
        yield Check(
            room.name,
            Level.NOTE,
            f"several masks hide accelerators: {', '.join(facts.masks)}",
            "start the node with one of them at most, and never ROCR_VISIBLE_DEVICES",
        )


def _devices(room: NodeRoom, facts: NodeFacts) -> Check:
    label = CONFIRMED.get(facts.kind, "")
    seen = f"{facts.num_devices} {facts.kind} accelerators" if facts.num_devices else "none"
    described = f"{seen} ({facts.device_name})" if facts.device_name else seen
    amdsmi = f"amdsmi is {'' if facts.has_amdsmi else 'not '}installed" if label else ""
    detail = "; ".join(
        part
        for part in (f"Ray counts {room.num_devices}, tools see {described}", amdsmi, label)
        if part
    )
    if room.num_devices >= facts.num_devices:
        return Check(room.name, Level.NOTE if facts.kind == "amd" else Level.OK, detail)
    fix = (
        "pip install amdsmi in Ray's environment, then restart the node; never force --num-gpus"
        if facts.kind == "amd" and not facts.has_amdsmi
        else "restart the node without a mask and without --num-gpus"
    )
    return Check(room.name, Level.MISSING, detail, fix)


def _directory(try_out: Callable[[], None], directory: Path) -> Check:
    try:
        try_out()
    except InvalidInputError as error:
        return Check("directory", Level.MISSING, str(error))
    except ArborError as error:
        return Check("directory", Level.MISSING, f"{directory}: {error}", "see `ray status`")
    return Check("directory", Level.OK, f"{directory} is shared by all nodes")
