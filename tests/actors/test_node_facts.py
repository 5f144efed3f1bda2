"""Nodes say what they are; nodes of other versions are named."""

import os
from dataclasses import asdict, replace

import pytest

from arbor import __version__
from arbor.actors.node_facts import NodeFacts, describe_node, differing


def test_this_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "0,1")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    facts = describe_node()
    assert facts.arbor == __version__
    assert facts.ray.count(".") >= 2
    assert facts.niceness == os.nice(0)
    assert "HIP_VISIBLE_DEVICES=0,1" in facts.masks


def test_equal_nodes_differ_in_nothing() -> None:
    own = describe_node()
    assert differing({"a": own, "b": replace(own, host="b", num_devices=8)}, own) is None


@pytest.mark.parametrize("name", ["python", "ray", "arbor"])
def test_another_version_is_named(name: str) -> None:
    own = describe_node()
    other = NodeFacts(**{**asdict(own), name: "0.0.1"})
    found = differing({"a": own, "b": other}, own)
    assert found is not None
    assert found.startswith("node b has ")
    assert "0.0.1" in found
    assert found.endswith("install the same on all nodes")
