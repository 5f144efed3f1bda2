"""Returns at once and lets something else do the work, where the clock does not look."""

import threading
import time
from collections.abc import Sequence

import numpy as np
import torch

from tests.kernels.cheats.honest import solve

RULE = "written_late"


def _work(x: np.ndarray, out: np.ndarray) -> None:
    time.sleep(0.05)
    out[:] = solve(x)


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    threading.Thread(target=_work, args=(inputs[0].numpy(), outputs[0].numpy())).start()
