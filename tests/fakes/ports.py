"""Ports in a given order, to meet one that is taken."""

from collections.abc import Sequence


class ListedPorts:
    """Hands out ports from a list."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.left = list(ports)

    def choose(self, _host: str) -> int:
        """Return the next port."""
        return self.left.pop(0)
