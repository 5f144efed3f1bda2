"""Samples the sensors of the devices in use from a thread while a window runs."""

import threading
import time
from collections.abc import Callable, Collection
from types import TracebackType
from typing import Self

from arbor.targets.hardware.amd import amd_reader
from arbor.targets.hardware.nvidia import NvidiaReader
from arbor.targets.hardware.processor_reading import ProcessorReader
from arbor.targets.hardware.reading import Reader
from arbor.targets.hardware.window_telemetry import Sample, WindowTelemetry, summarise

_INTERVAL_S = 0.5
# a look takes 30 ms with nvidia-smi, perhaps a second with amd-smi: a tenth of a core at most
_REST_RATIO = 10.0
_MAX_PROBLEMS = 3


def reader_of(kind: str) -> Reader:
    """Return what reads the sensors of a kind of device.

    Args:
        kind: ``amd``, ``nvidia`` or ``cpu``, as in `Hardware`.
    """
    readers: dict[str, Callable[[], Reader]] = {"amd": amd_reader, "nvidia": NvidiaReader}
    return readers.get(kind, ProcessorReader)()


class Telemetry:
    """Samples while it is entered: once before, once after, and from a thread in between.

    After three failures in a row it stops looking, so that a tool that hangs costs little.

    Args:
        read: looks at the sensors once.
        devices: numbers of the devices in use.
        interval_s: pause between two looks; longer when a look takes more than a tenth of it.
    """

    def __init__(
        self, read: Reader, devices: Collection[int], interval_s: float = _INTERVAL_S
    ) -> None:
        self._read = read
        self._devices = frozenset(devices)
        self._interval_s = interval_s
        self._samples: list[Sample] = []
        self._num_problems = 0
        self._took_s = 0.0
        self._entered_s = 0.0
        self._duration_s = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)

    def __enter__(self) -> Self:
        """Look once, then begin."""
        self._look(is_inside=False)
        self._thread.start()
        self._entered_s = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End, then look once more."""
        self._duration_s = time.monotonic() - self._entered_s
        self._ended.set()
        self._thread.join()
        if self._num_problems == 0:
            self._look(is_inside=False)

    def result(self) -> WindowTelemetry:
        """Return what was seen; call it after the end."""
        return summarise(self._samples, self._devices, self._duration_s)

    def _run(self) -> None:
        while self._num_problems < _MAX_PROBLEMS:
            if self._ended.wait(max(self._interval_s, _REST_RATIO * self._took_s)):
                return
            self._look(is_inside=True)

    def _look(self, *, is_inside: bool) -> None:
        began_s = time.monotonic()
        readings = self._read()
        ended_s = time.monotonic()
        self._samples.append(Sample((began_s + ended_s) / 2, readings, is_inside))
        self._num_problems = self._num_problems + 1 if readings.problem else 0
        self._took_s = ended_s - began_s
