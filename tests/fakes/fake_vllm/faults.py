"""What can be wrong with the fake: told by one variable, such as ``die_after:3,flood``."""

import os

VARIABLE = "FAKE_VLLM"


def fault(name: str) -> int | None:
    """Return the number of a fault, 0 without one; None when it is not asked for."""
    for word in os.environ.get(VARIABLE, "").split(","):
        told, _, number = word.partition(":")
        if told == name:
            return int(number or 0)
    return None
