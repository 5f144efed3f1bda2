"""Problems that tests of the harness solve on the processor."""

import torch

from arbor.kernels.architectures import architecture
from arbor.kernels.harness.problem import OperatorProblem
from arbor.kernels.silu_and_mul.operator import SiluAndMul


def small_problem(num_rows: int = 5, width: int = 100) -> OperatorProblem:
    """Return SiLU-and-multiply in float32."""
    shape = {"num_rows": num_rows, "width": width}
    return OperatorProblem(SiluAndMul(), shape, "fp32", torch.device("cpu"), architecture("sm_90"))
