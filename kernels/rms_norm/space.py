"""Configurations of RMSNorm."""

from collections.abc import Mapping, Sequence

from arbor.kernels.architectures import Architecture
from arbor.kernels.base import Shape
from arbor.kernels.launching import Config
from arbor.kernels.rowwise_space import rowwise_choices, rowwise_default, rowwise_problem


def choices(architecture: Architecture) -> Mapping[str, Sequence[int | str]]:
    """Return the values of every key."""
    return rowwise_choices(architecture)


def problem(config: Config, shape: Shape, dtype: str, architecture: Architecture) -> str:  # noqa: ARG001 - any dtype
    """Return why a configuration cannot run; empty when it may."""
    return rowwise_problem(config, shape["width"], architecture)


def default(shape: Shape, dtype: str, architecture: Architecture) -> Config:  # noqa: ARG001 - any dtype
    """Return the configuration that is shipped for a shape."""
    return rowwise_default(shape["width"], architecture, elements_per_thread=16)
