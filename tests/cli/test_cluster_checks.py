"""What the doctor says of a cluster's nodes, and of a cluster that does not answer."""

from collections.abc import Iterator
from dataclasses import replace

from arbor.actors.node_facts import NodeFacts
from arbor.cli.checks import Check, Level
from arbor.cli.cluster_checks import node_checks
from arbor.core.seats import NodeRoom

OWN = NodeFacts("head", "3.11.9", "2.60.0", "0.1.0", "cpu", 0, "", False, 0, ())
AMD = replace(OWN, kind="amd", num_devices=8, device_name="AMD Instinct MI300X", has_amdsmi=True)


def _checks(room: NodeRoom, facts: NodeFacts) -> Iterator[Check]:
    return node_checks(room, facts, OWN)


def test_a_node_with_accelerators_says_what_nobody_confirmed() -> None:
    versions, devices = _checks(NodeRoom("n1", 64, 8), AMD)
    assert (versions.name, versions.level) == ("n1", Level.OK)
    assert "Ray 2.60.0, Arbor 0.1.0" in versions.detail
    assert devices.level is Level.NOTE
    assert "Ray counts 8, tools see 8 amd accelerators (AMD Instinct MI300X)" in devices.detail
    assert "not confirmed on hardware" in devices.detail


def test_accelerators_that_ray_does_not_count() -> None:
    blind = replace(AMD, has_amdsmi=False)
    _, devices = _checks(NodeRoom("n1", 64, 0), blind)
    assert devices.level is Level.MISSING
    assert devices.fix.startswith("pip install amdsmi")
    _, devices = _checks(NodeRoom("n1", 64, 4), AMD)
    assert devices.level is Level.MISSING
    assert "without a mask" in devices.fix


def test_a_node_of_another_version() -> None:
    versions, _ = _checks(NodeRoom("n1", 64, 0), replace(OWN, ray="2.59.0"))
    assert versions.level is Level.MISSING
    assert "2.60.0" in versions.fix


def test_a_nice_node_with_two_masks() -> None:
    facts = replace(OWN, niceness=15, masks=("HIP_VISIBLE_DEVICES=0", "ROCR_VISIBLE_DEVICES=0"))
    _, _, nice, masks = _checks(NodeRoom("n1", 64, 0), facts)
    assert "RAY_worker_niceness=0" in nice.fix
    assert "never ROCR_VISIBLE_DEVICES" in masks.fix
