"""Profiles from Chrome traces of torch's profiler, as vLLM and SGLang write them, one per rank."""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

from arbor.events.errors import InvalidInputError
from arbor.events.types import Profile
from arbor.targets.profiles.categories import kernel_category
from arbor.targets.profiles.json_arrays import read_arrays
from arbor.targets.profiles.operators import OperatorTimeline
from arbor.targets.profiles.summary import profile_of
from arbor.targets.profiles.timeline import Measured, Step, Ticks, Timeline

_DEVICE_TIME = frozenset(("kernel", "gpu_memcpy", "gpu_memset"))
_STEP = re.compile(r"execute_context_\d+\((\d+)\)_generation_\d+\((\d+)\)")
"""vLLM's name of a step: requests and, in brackets, tokens of prompts and of decoding."""
_ENDINGS = (".json", ".json.gz")
_US = 1e-6


def profile_of_trace(path: Path) -> Profile:
    """Return where the time goes, by the kernels of a trace, or its operators without a device.

    The file is read as a stream: memory grows by some 30 bytes for each kernel, whatever the size
    of the file. Unknown events and missing fields are skipped.

    Args:
        path: a trace, compressed or not, or a folder with one trace for each rank.

    Raises:
        InvalidInputError: there is no trace, it is truncated, or nothing ran while it was taken.
    """
    files = _files(path)
    ranks = [_Rank(file) for file in files]
    on_device = [measured for rank in ranks for measured in rank.devices()]
    if on_device:
        return profile_of(on_device, "torch profiler, kernels")
    on_host = [measured for rank in ranks if (measured := rank.host()) is not None]
    if on_host:
        return profile_of(on_host, "torch profiler, processor operators")
    raise InvalidInputError(
        f"{path} holds neither kernels nor operators: send requests between start and stop"
    )


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.name.endswith(_ENDINGS))
    if not found:
        raise InvalidInputError(f"{path} holds no trace (*.json, *.json.gz): was it profiled?")
    return found


class _Rank:
    """Everything of one trace that takes time."""

    def __init__(self, path: Path) -> None:
        self._devices: dict[Hashable, Timeline] = defaultdict(lambda: Timeline(kernel_category))
        self._steps: dict[Hashable, list[Step]] = defaultdict(list)
        self._host_steps: list[Step] = []
        self._operators = OperatorTimeline()
        self._ticks = Ticks(_US)
        for _, event in read_arrays(path, ("traceEvents",)):
            if event.get("ph") == "X":
                self._take(event)

    def devices(self) -> Iterable[Measured]:
        """Return the times of each device that did something."""
        for device, timeline in self._devices.items():
            yield timeline.measure(self._steps.get(device, ()))

    def host(self) -> Measured | None:
        """Return the times of the processor's operators, None when there are none."""
        timeline = self._operators.exclusive()
        return timeline.measure(self._host_steps) if len(timeline) else None

    def _take(self, event: dict[str, Any]) -> None:
        kind, name = event.get("cat"), str(event.get("name", ""))
        try:
            start_s = self._ticks.seconds(float(event["ts"]))
            end_s = start_s + float(event["dur"]) * _US
        except (KeyError, TypeError, ValueError):
            return
        if kind in _DEVICE_TIME:
            arguments = event.get("args") or {}
            stream = str(arguments.get("stream", event.get("tid")))
            self._devices[_device(event)].add(name, start_s, end_s, stream)
        elif kind == "cpu_op":
            self._operators.add(name, start_s, end_s, (event.get("pid"), event.get("tid")))
        elif kind == "gpu_user_annotation" and (step := _step(name, start_s, end_s)):
            self._steps[_device(event)].append(step)
        elif kind == "user_annotation" and (step := _step(name, start_s, end_s)):
            self._host_steps.append(step)


def _device(event: dict[str, Any]) -> Hashable:
    """Return what tells a device from the others of its trace."""
    return str(event.get("pid"))


def _step(name: str, start_s: float, end_s: float) -> Step | None:
    found = _STEP.search(name)
    if found is None:
        return None
    return Step(start_s, end_s, "prefill" if int(found[1]) else "decode")
