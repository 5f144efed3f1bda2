"""A Ray cluster of simulated nodes on this machine, as a program of its own.

Run as ``python simulated_nodes.py NUM_NODES NUM_DEVICES``. It starts a head without accelerators
and so many nodes with accelerators that are not there, and prints one line of JSON. It reads
commands from its standard input: ``kill PREFIX`` ends the node whose id begins so, at once and
with all of its processes, as a power failure does. The end of its input ends the cluster.
"""

import json
import sys
from typing import Any

import psutil
from ray.cluster_utils import Cluster

OBJECT_STORE_BYTES = 80_000_000
NOTICE_LIMIT_S = 90.0


def main(num_nodes: int, num_devices: int) -> None:
    """Start the nodes and obey."""
    common: dict[str, Any] = {"num_cpus": 2, "object_store_memory": OBJECT_STORE_BYTES}
    cluster = Cluster()
    cluster.add_node(include_dashboard=False, **common)
    nodes = [cluster.add_node(num_gpus=num_devices, **common) for _ in range(num_nodes)]
    say(address=cluster.address, nodes=[node.node_id for node in nodes])
    for line in sys.stdin:
        _, prefix = line.split()
        node = next(each for each in nodes if each.node_id.startswith(prefix))
        workers = raylet_children(node)
        cluster.remove_node(node, allow_graceful=False)
        for worker in workers:
            if worker.is_running():
                worker.kill()
        nodes.remove(node)
        # The head asks the nodes every few seconds and gives them time to answer.
        cluster.wait_for_nodes(NOTICE_LIMIT_S)
        say(killed=node.node_id)
    cluster.shutdown()  # type: ignore[no-untyped-call]


def raylet_children(node: object) -> list[psutil.Process]:
    """Return the processes below a node's raylet; those of a dead machine do nothing more."""
    infos = node.all_processes["raylet"]  # type: ignore[attr-defined]
    return [child for info in infos for child in psutil.Process(info.process.pid).children(True)]


def say(**content: object) -> None:
    """Tell the test."""
    print(json.dumps(content), flush=True)  # noqa: T201 - how it answers


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
