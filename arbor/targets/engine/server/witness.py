"""Counts how often each implementation really ran: the proof that a switch took effect."""


class Witness:
    """Call counters by name, such as `attention.sdpa`.

    A silent witness counts nothing: code under torch.compile must not touch a counter, since
    every new value would be a reason to compile again. Its caller counts outside instead.
    """

    def __init__(self, *, silent: bool = False) -> None:
        self.counts: dict[str, int] = {}
        self._silent = silent

    def count(self, name: str) -> None:
        """Record one call of the named implementation."""
        if not self._silent:
            self.counts[name] = self.counts.get(name, 0) + 1
