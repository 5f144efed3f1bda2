"""Ctrl-C: the first asks for a clean end, a second one ends at once."""

import signal
import threading
from collections.abc import Callable
from types import FrameType


class Interrupts:
    """Counts SIGINT and SIGTERM: the first asks for a clean end, a second one ends at once."""

    def __init__(self, on_second: Callable[[], None]) -> None:
        self.is_set = threading.Event()
        self._on_second = on_second
        self._previous = {
            number: signal.signal(number, self._handle)
            for number in (signal.SIGINT, signal.SIGTERM)
        }

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.is_set.is_set():
            self._on_second()
        self.is_set.set()

    def restore(self) -> None:
        """Put the earlier handlers back."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)
