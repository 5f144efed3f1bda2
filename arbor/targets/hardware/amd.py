"""AMD devices: amd-smi, else rocm-smi, else the kernel's files."""

from dataclasses import replace
from pathlib import Path

from arbor.events.types import Accelerator, NotObserved
from arbor.targets.hardware import amd_smi, rocm_smi
from arbor.targets.hardware.found import Found, gaps_of
from arbor.targets.hardware.kfd import TOPOLOGY, KfdNode, read_nodes
from arbor.targets.hardware.quantity import integer_of, text_of
from arbor.targets.hardware.reading import Reader
from arbor.targets.hardware.tool import is_installed


def find_amd(topology: Path = TOPOLOGY) -> Found:
    """Return the AMD devices, and what could not be observed about them.

    Args:
        topology: where the kernel's compute driver shows its nodes.
    """
    nodes = read_nodes(topology)
    tools = [tool for tool in (amd_smi.TOOL, rocm_smi.TOOL) if is_installed(tool)]
    if not nodes and not tools:
        return Found()
    gaps: list[NotObserved] = []
    for tool, find in ((amd_smi.TOOL, _by_amd_smi), (rocm_smi.TOOL, _by_rocm_smi)):
        if tool not in tools:
            continue
        found, problem = find(nodes)
        if not problem:
            return replace(found, not_observed=(*gaps, *found.not_observed))
        gaps.append(NotObserved(what="AMD devices", reason=problem))
    if not tools:
        gaps.append(NotObserved(what="AMD devices", reason="no amd-smi and no rocm-smi"))
    return Found(num_present=len(nodes), not_observed=tuple(gaps))


def amd_reader() -> Reader:
    """Return what reads the sensors of AMD devices."""
    if is_installed(amd_smi.TOOL) or not is_installed(rocm_smi.TOOL):
        return amd_smi.AmdSmiReader()
    return rocm_smi.RocmSmiReader()


def _by_amd_smi(nodes: tuple[KfdNode, ...]) -> tuple[Found, str]:
    entries, problem = amd_smi.query("static", "--json")
    if problem:
        return Found(), problem
    listed, list_problem = amd_smi.query("list", "--json")
    versions, version_problem = amd_smi.query("version", "--json", key="rocm_version")
    by_index = {integer_of(entry.get("gpu")): entry for entry in listed}
    node_numbers = {index: integer_of(entry.get("node_id")) for index, entry in by_index.items()}
    devices = tuple(
        amd_smi.accelerator(entry, by_index.get(integer_of(entry.get("gpu")), {}))
        for entry in entries
    )
    devices = _with_nodes(devices, nodes, node_numbers)
    version = versions[0] if versions else {}
    rocm = text_of(version.get("rocm_version"))
    driver = text_of(version.get("amdgpu_version"))
    problems = (("UUIDs", list_problem), ("versions", version_problem))
    gaps = [NotObserved(what=what, reason=reason) for what, reason in problems if reason]
    return Found(
        devices=devices,
        num_present=len(nodes),
        driver_version=driver or text_of(amd_smi.part(entries[0], "driver").get("version")),
        runtime_version=f"ROCm {rocm}" if rocm else "",
        not_observed=(*gaps, *gaps_of(amd_smi.TOOL, devices), *_die_gap(devices)),
    ), ""


def _by_rocm_smi(nodes: tuple[KfdNode, ...]) -> tuple[Found, str]:
    cards, problem = rocm_smi.query(*rocm_smi.STATIC)
    if problem:
        return Found(), problem
    devices = _with_nodes(rocm_smi.accelerators(cards), nodes, {})
    rocm = rocm_smi.rocm_version()
    return Found(
        devices=devices,
        num_present=len(nodes),
        driver_version=rocm_smi.driver_version(cards),
        runtime_version=f"ROCm {rocm}" if rocm else "",
        not_observed=(*gaps_of(rocm_smi.TOOL, devices), *_die_gap(devices)),
    ), ""


def _with_nodes(
    devices: tuple[Accelerator, ...],
    nodes: tuple[KfdNode, ...],
    node_numbers: dict[int | None, int | None],
) -> tuple[Accelerator, ...]:
    """Add what only the kernel's files tell: by the node's number, else by order."""
    by_number = {node.number: node for node in nodes}
    by_order = dict(enumerate(nodes)) if len(nodes) == len(devices) else {}
    completed = []
    for position, device in enumerate(devices):
        number = node_numbers.get(device.index)
        node = by_number.get(number) if number is not None else by_order.get(position)
        if node is not None:
            update = {
                "architecture": device.architecture or node.architecture,
                "num_compute_dies": node.num_compute_dies,
            }
            completed.append(device.model_copy(update=update))
        else:
            completed.append(device)
    return tuple(completed)


def _die_gap(devices: tuple[Accelerator, ...]) -> tuple[NotObserved, ...]:
    if all(device.num_compute_dies for device in devices):
        return ()
    reason = "the driver's topology files do not tell"
    return (NotObserved(what="number of compute dies", reason=reason),)
