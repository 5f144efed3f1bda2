"""Targets are found by name, and their options are checked."""

import pytest

from arbor.events.errors import InvalidInputError
from arbor.targets.registry import create_target, target_names


def test_known_targets_are_made_with_their_defaults() -> None:
    needed = {"vllm": {"model": "/a/model"}}
    names = target_names()
    assert [create_target(name, needed.get(name, {})).name for name in names] == names


def test_an_unknown_target_is_told_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match="unknown target 'x'; known targets: engine, land"):
        create_target("x", {})


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"target landscape: noise\.volume: Extra inputs"):
        create_target("landscape", {"noise": {"volume": 1}})
