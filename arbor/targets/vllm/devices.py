"""How many accelerators a vLLM server takes, from its parallel sizes."""

from collections.abc import Mapping

from arbor.events.types import Scalar

PARALLEL_SIZES = (
    "args.tensor-parallel-size",
    "args.pipeline-parallel-size",
    "args.data-parallel-size",
)
"""Each multiplies the ranks of a server; a rank has an accelerator of its own."""


def num_devices(config: Mapping[str, Scalar]) -> int:
    """Return the accelerators of one node that a server takes; a size not given is 1.

    Context and expert parallelism divide the work of the same ranks. Nodes are not counted: a
    server lives on one.
    """
    num = 1
    for key in PARALLEL_SIZES:
        size = config.get(key, 1)
        num *= max(1, int(size)) if isinstance(size, int | float) else 1
    return num
