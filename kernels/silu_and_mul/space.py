"""Configurations of SiLU-and-multiply."""

from collections.abc import Mapping, Sequence

from arbor.kernels.architectures import Architecture
from arbor.kernels.base import Shape
from arbor.kernels.launching import Config, next_power_of_2
from arbor.kernels.rowwise_space import rowwise_problem


def choices(architecture: Architecture) -> Mapping[str, Sequence[int | str]]:  # noqa: ARG001 - for all
    """Return the values of every key."""
    return {"BLOCK_N": (64, 128, 256, 512, 1024, 2048, 4096, 8192), "num_warps": (1, 2, 4, 8, 16)}


def problem(config: Config, shape: Shape, dtype: str, architecture: Architecture) -> str:  # noqa: ARG001 - any dtype
    """Return why a configuration cannot run; empty when it may."""
    return rowwise_problem({"BLOCK_M": 1, **config}, shape["width"], architecture)


def default(shape: Shape, dtype: str, architecture: Architecture) -> Config:  # noqa: ARG001 - any dtype
    """Return the configuration that is shipped for a shape."""
    block_n = min(max(next_power_of_2(shape["width"]), 64), 1024)
    num_warps = max(1, min(4, block_n // (8 * architecture.warp_size)))
    return {"BLOCK_N": block_n, "num_warps": num_warps}
