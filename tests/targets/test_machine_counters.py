"""Counters are read where the machine has them, and None stands for everything else."""

from pathlib import Path

from arbor.targets.machine_counters import MachineCounters, read_machine_counters


def _machine(folder: Path, throttled: list[str], energies_uj: list[str]) -> Path:
    for core, text in enumerate(throttled):
        path = folder / f"devices/system/cpu/cpu{core}/thermal_throttle/core_throttle_count"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    for package, text in enumerate(energies_uj):
        path = folder / f"class/powercap/intel-rapl:{package}/energy_uj"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return folder


def test_cores_and_packages_are_summed(tmp_path: Path) -> None:
    machine = _machine(tmp_path, ["3\n", "4\n"], ["1500000\n", "500000\n"])
    assert read_machine_counters(machine) == MachineCounters(7, 2.0)


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    assert read_machine_counters(tmp_path) == MachineCounters(None, None)
    broken = _machine(tmp_path, ["<unknown>"], [])
    assert read_machine_counters(broken) == MachineCounters(None, None)


def test_growth() -> None:
    earlier = MachineCounters(7, 100.0)
    assert MachineCounters(9, 130.0).since(earlier) == MachineCounters(2, 30.0)
    # an energy counter starts again from zero every few minutes
    assert MachineCounters(9, 20.0).since(earlier) == MachineCounters(2, None)
    assert MachineCounters(None, None).since(earlier) == MachineCounters(None, None)
