"""Checks operators against float64, in the given or the shipped configuration."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from arbor.kernels.architectures import Architecture, is_interpreted, local_architecture
from arbor.kernels.base import Operator, Shape
from arbor.kernels.harness.examining import Verdict, examine
from arbor.kernels.harness.problem import OperatorCandidate, OperatorProblem
from arbor.kernels.harness.watching import Tripwire
from arbor.kernels.launching import Config

NUM_TRIALS = 3
"""Calls with fresh inputs, one for each distribution."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Outcome for one shape and dtype.

    Attributes:
        operator: name.
        dtype: of the inputs.
        shape: sizes.
        config: that was run.
        verdict: what was found.
    """

    operator: str
    dtype: str
    shape: Shape
    config: Config
    verdict: Verdict


def compute_device() -> torch.device:
    """Return where kernels run in this process."""
    return torch.device("cpu" if is_interpreted() else "cuda")


def check_operator(
    operator: Operator,
    shapes: Sequence[Shape],
    dtypes: Sequence[str] = (),
    config: Config | None = None,
    seed: int = 0,
) -> Iterator[Checked]:
    """Check an operator shape by shape, where kernels run in this process.

    Args:
        operator: what to check.
        shapes: sizes.
        dtypes: of the inputs; empty for all that can be checked here.
        config: None for the shipped one of each shape.
        seed: of the first inputs.

    Raises:
        KernelInputError: a shape or dtype does not fit, or there is no accelerator.
    """
    architecture = local_architecture()
    chosen = dtypes or (operator.interpreted_dtypes() if is_interpreted() else operator.dtypes)
    for dtype in chosen:
        for shape in shapes:
            operator.check_shape(shape, dtype)
            used = config or operator.space.default(shape, dtype, architecture)
            verdict = check_config(operator, shape, dtype, used, architecture, seed=seed)
            yield Checked(operator.name, dtype, shape, used, verdict)


def check_config(
    operator: Operator,
    shape: Shape,
    dtype: str,
    config: Config,
    architecture: Architecture,
    *,
    seed: int = 0,
) -> Verdict:
    """Check one configuration."""
    problem = OperatorProblem(operator, shape, dtype, compute_device(), architecture)
    candidate = OperatorCandidate(operator, config)
    seeds = range(seed, seed + NUM_TRIALS)
    return examine(candidate, problem, seeds, Tripwire())
