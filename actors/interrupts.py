"""Ctrl-C: the first asks for a clean end, a second one ends at once."""

import os
import signal
import threading
from collections.abc import Callable

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Counts SIGINT and SIGTERM: the first asks for a clean end, a second one ends at once.

    A thread counts them, from a pipe that the interpreter writes to as they arrive: handlers
    would wait until the main thread comes back from a call into Ray, and two become one there.

    Attributes:
        is_set: set by the first.
    """

    def __init__(self, on_second: Callable[[], None]) -> None:
        self.is_set = threading.Event()
        self._on_second = on_second
        self._arrivals, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        self._previous = {number: signal.getsignal(number) for number in _NUMBERS}
        self._previous_pipe = signal.set_wakeup_fd(self._pipe, warn_on_full_buffer=False)
        self.install()
        threading.Thread(target=self._count, daemon=True, name="interrupts").start()

    def install(self) -> None:
        """Take the signals; again after ``ray.init``, which takes SIGTERM for itself."""
        for number in _NUMBERS:
            signal.signal(number, lambda *_: None)

    def _count(self) -> None:
        while arrived := os.read(self._arrivals, 1):
            if arrived[0] not in _NUMBERS:
                continue
            if self.is_set.is_set():
                self._on_second()
            self.is_set.set()
        os.close(self._arrivals)

    def restore(self) -> None:
        """Put the earlier handlers back."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._previous_pipe)
        os.close(self._pipe)
