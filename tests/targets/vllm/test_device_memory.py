"""Memory of devices: others' is found, ours is known, and what stays behind is told."""

import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from arbor.events.types import Accelerator
from arbor.targets.base import ServerFailedError
from arbor.targets.hardware.reading import Reading, Readings
from arbor.targets.vllm.device_ledger import DeviceLedger
from arbor.targets.vllm.device_memory import DeviceMemory
from arbor.targets.vllm.devices import visible
from tests.fakes.device_file import DeviceFile

GIB = 2**30


class Pauses:
    """Instead of waiting, lets something happen."""

    def __init__(self, device: DeviceFile, *amounts: int) -> None:
        self._device = device
        self._amounts = list(amounts)

    def __call__(self, _: float) -> None:
        if self._amounts:
            self._device.path.write_text(str(self._amounts.pop(0)))


def memory(device: DeviceFile, *amounts: int, limit_s: float = 60.0) -> DeviceMemory:
    return DeviceMemory(device, {0}, GIB, limit_s, Pauses(device, *amounts))


@pytest.fixture
def ledger(tmp_path: Path) -> DeviceLedger:
    return DeviceLedger(tmp_path / "devices")


@pytest.fixture
def device(tmp_path: Path) -> DeviceFile:
    return DeviceFile(tmp_path / "device")


def test_memory_of_others_is_waited_for(device: DeviceFile, ledger: DeviceLedger) -> None:
    device.path.write_text(str(9 * GIB))
    assert memory(device, 5 * GIB, GIB).check_free(ledger) == {0: GIB}
    assert memory(device).check_free(ledger) == {0: GIB}


def test_memory_that_stays_taken(device: DeviceFile, ledger: DeviceLedger) -> None:
    device.path.write_text(str(9 * GIB))
    with pytest.raises(ServerFailedError, match=r"device 0: 9\.0 GiB; 1\.0 GiB are let pass"):
        memory(device, limit_s=0.0).check_free(ledger)


def test_own_servers_are_no_strangers(device: DeviceFile, ledger: DeviceLedger) -> None:
    watched = memory(device, GIB // 2)
    before = watched.check_free(ledger)
    device.path.write_text(str(8 * GIB))
    watched.started(ledger, "a", os.getpid(), before)
    # it grows under load, and another process of the campaign knows of it
    device.path.write_text(str(9 * GIB))
    assert memory(device).check_free(ledger) == {0: 9 * GIB}
    # it ends, and its memory becomes free with the next look
    assert watched.ended(ledger, "a") == 0
    assert watched.check_free(ledger) == {0: GIB // 2}


def test_what_is_not_given_back_is_told(device: DeviceFile, ledger: DeviceLedger) -> None:
    watched = memory(device, limit_s=0.0)
    before = watched.check_free(ledger)
    device.path.write_text(str(8 * GIB))
    watched.started(ledger, "a", os.getpid(), before)
    assert watched.ended(ledger, "a") == 8 * GIB
    device.path.write_text("0")
    assert watched.ended(ledger, "never") == 0


def test_nothing_is_claimed_of_what_cannot_be_read(ledger: DeviceLedger) -> None:
    broken = DeviceMemory(lambda: Readings((Reading(0),)), {0}, GIB, 60.0)
    assert broken.check_free(ledger) == {}
    broken.started(ledger, "a", os.getpid(), {})
    assert broken.ended(ledger, "a") == 0
    silent = DeviceMemory(lambda: Readings(problem="no tool"), {0}, GIB, 60.0)
    assert silent.check_free(ledger) == {}


def test_a_dead_server_holds_nothing(ledger: DeviceLedger) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    ledger.note("dead", gone.pid, {0: 5 * GIB})
    ledger.note("alive", os.getpid(), {0: GIB, 1: 2 * GIB})
    ledger.note("other", os.getpid(), {0: GIB})
    assert ledger.held_bytes() == {0: 2 * GIB, 1: 2 * GIB}
    ledger.forget("other")
    ledger.forget("other")
    assert ledger.held_bytes()[0] == GIB


def test_a_broken_record_is_passed_over(ledger: DeviceLedger) -> None:
    ledger.note("sound", os.getpid(), {0: GIB})
    [path] = ledger._folder.glob("*.json")
    for number, text in enumerate(("", "[]", "{}", '{"pid": "x", "held_bytes": {}}')):
        path.with_name(f"{socket.gethostname()}.{number}.json").write_text(text)
    assert ledger.held_bytes() == {0: GIB}


def test_starts_of_other_processes_are_waited_for(
    device: DeviceFile, ledger: DeviceLedger, tmp_path: Path
) -> None:
    order: list[str] = []
    with memory(device).turn(ledger):
        other = threading.Thread(target=_take_turn, args=(tmp_path / "devices", order))
        other.start()
        other.join(0.2)
        order.append("first")
    other.join(30)
    assert order == ["first", "second"]
    # without accelerators nobody waits
    with DeviceMemory(device, (), GIB, 1.0).turn(DeviceLedger(tmp_path / "none")):
        assert not (tmp_path / "none").exists()


def _take_turn(folder: Path, order: list[str]) -> None:
    with DeviceLedger(folder).turn():
        order.append("second")


@pytest.mark.parametrize(
    ("env", "numbers"),
    [
        ({}, {0, 1, 2}),
        ({"CUDA_VISIBLE_DEVICES": "2, 0"}, {0, 2}),
        ({"HIP_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0"}, {1}),
        ({"CUDA_VISIBLE_DEVICES": "GPU-b"}, {1}),
        ({"CUDA_VISIBLE_DEVICES": "7"}, set()),
        ({"CUDA_VISIBLE_DEVICES": ""}, {0, 1, 2}),
    ],
)
def test_masks(env: dict[str, str], numbers: set[int]) -> None:
    devices = [
        Accelerator(index=index, name="x", uuid=f"GPU-{letter}")
        for index, letter in enumerate("abc")
    ]
    assert visible(devices, env) == numbers
