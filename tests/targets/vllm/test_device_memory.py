"""Memory of devices: others' is found, ours is known, and what stays behind is told."""

from pathlib import Path

import pytest

from arbor.events.types import Accelerator
from arbor.targets.base import ServerFailedError
from arbor.targets.hardware.reading import Reading, Readings
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


def test_memory_of_others_is_waited_for(tmp_path: Path) -> None:
    device = DeviceFile(tmp_path / "device", 9 * GIB)
    assert memory(device, 5 * GIB, GIB).check_free() == {0: GIB}
    assert memory(device).check_free() == {0: GIB}


def test_memory_that_stays_taken(tmp_path: Path) -> None:
    device = DeviceFile(tmp_path / "device", 9 * GIB)
    with pytest.raises(ServerFailedError, match=r"device 0: 9\.0 GiB; 1\.0 GiB are let pass"):
        memory(device, limit_s=0.0).check_free()


def test_own_servers_are_no_strangers(tmp_path: Path) -> None:
    device = DeviceFile(tmp_path / "device")
    watched = memory(device, GIB // 2)
    before = watched.check_free()
    device.path.write_text(str(8 * GIB))
    watched.started("a", before)
    assert watched.check_free() == {0: 8 * GIB}
    # it ends, and its memory becomes free with the next look
    assert watched.ended("a") == 0
    assert watched.check_free() == {0: GIB // 2}


def test_what_is_not_given_back_is_told(tmp_path: Path) -> None:
    device = DeviceFile(tmp_path / "device")
    watched = memory(device, limit_s=0.0)
    before = watched.check_free()
    device.path.write_text(str(8 * GIB))
    watched.started("a", before)
    assert watched.ended("a") == 8 * GIB
    assert watched.ended("a") == 0
    assert watched.ended("never") == 0


def test_nothing_is_claimed_of_what_cannot_be_read() -> None:
    broken = DeviceMemory(lambda: Readings((Reading(0),)), {0}, GIB, 60.0)
    assert broken.check_free() == {}
    broken.started("a", {})
    assert broken.ended("a") == 0
    silent = DeviceMemory(lambda: Readings(problem="no tool"), {0}, GIB, 60.0)
    assert silent.check_free() == {}


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
