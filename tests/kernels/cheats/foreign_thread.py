"""Leaves a thread behind that may work while nobody measures."""

import threading
import time
from collections.abc import Sequence

import torch

from tests.kernels.cheats.honest import candidate as honest

RULE = "foreign_thread"


def candidate(inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
    honest(inputs, outputs)
    threading.Thread(target=time.sleep, args=(1.0,), daemon=True).start()
