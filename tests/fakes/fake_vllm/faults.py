"""What can be wrong with the fake: told by one variable, such as ``die_after:3,flood@--dtype``.

A fault behind an @ is there only where the text after it is among the arguments or is the name of
a variable: what one action breaks.
"""

import os
import sys

VARIABLE = "FAKE_VLLM"


def fault(name: str) -> int | None:
    """Return the number of a fault, 0 without one; None when it is not asked for."""
    for word in os.environ.get(VARIABLE, "").split(","):
        condition, _, marker = word.partition("@")
        told, _, number = condition.partition(":")
        if told == name and _applies(marker):
            return int(number or 0)
    return None


def _applies(marker: str) -> bool:
    return marker in os.environ or any(marker in word for word in sys.argv) or not marker
