"""A pretended accelerator: a file with the bytes that servers hold of its memory."""

import fcntl
import os
from pathlib import Path

VARIABLE = "FAKE_VLLM_DEVICE"
HELD_BYTES = 8 * 2**30


def hold(num_bytes: int) -> None:
    """Add to what is held; negative numbers give back."""
    named = os.environ.get(VARIABLE)
    if named is None:
        return
    with Path(named).open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        held = int(file.read() or 0) + num_bytes
        file.seek(0)
        file.truncate()
        file.write(str(held))
