"""Targets are found by name, and their options are checked."""

from typing import Any

import pytest

from arbor.events.errors import InvalidInputError
from arbor.targets.registry import create_target, target_names

# what a target cannot do without
NEEDED: dict[str, dict[str, Any]] = {
    "command": {"launch": {"command": "run ${port}"}, "accuracy": {"kind": "logprobs"}},
    "vllm": {"model": "/models/some"},
}
GIVEN: dict[str, dict[str, Any]] = {**NEEDED, "kernel": {"operator": "rms_norm"}}


def test_known_targets_are_made_with_their_defaults() -> None:
    made = [create_target(name, GIVEN.get(name, {})).name for name in target_names()]
    assert made == target_names()


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_what_a_target_needs_is_asked_for(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"target {name}: [a-z]+: Field required"):
        create_target(name, {})


def test_an_unknown_target_is_told_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match="unknown target 'x'; known targets: command, eng"):
        create_target("x", {})


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"target landscape: noise\.volume: Extra inputs"):
        create_target("landscape", {"noise": {"volume": 1}})
