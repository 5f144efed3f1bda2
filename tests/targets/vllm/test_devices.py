"""A vLLM server takes one accelerator a rank."""

import pytest

from arbor.events.types import Scalar
from arbor.targets.vllm.devices import num_devices


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, 1),
        ({"args.tensor-parallel-size": 8}, 8),
        ({"args.tensor-parallel-size": 4, "args.data-parallel-size": 2}, 8),
        ({"args.tensor-parallel-size": 2, "args.pipeline-parallel-size": 2}, 4),
        # Ranks of these are the same ranks.
        ({"args.tensor-parallel-size": 8, "args.decode-context-parallel-size": 8}, 8),
        ({"args.tensor-parallel-size": 2, "args.enable-expert-parallel": True}, 2),
    ],
)
def test_ranks(config: dict[str, Scalar], expected: int) -> None:
    assert num_devices(config) == expected
