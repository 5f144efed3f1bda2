"""A campaign's own actions: checked like the catalog's."""

import pytest
from pydantic import ValidationError

from arbor.events.errors import InvalidInputError
from arbor.events.types import Layer
from arbor.targets.vllm.own_actions import OwnAction, own_templates


def own(name: str = "big_batches", **fields: object) -> OwnAction:
    """Return an action."""
    values = {"id": name, "title": "t", "edits": {"args.max-num-seqs": 512}, **fields}
    return OwnAction.model_validate(values)


def test_values_become_edits() -> None:
    [action] = own_templates([own(layer="application", cost_s=100)], (), cost_ratio=2.0)
    assert [(e.key, e.value) for e in action.edits] == [("args.max-num-seqs", 512)]
    assert (action.layer, action.cost_s, action.witness.kind) == (
        Layer.APPLICATION,
        200.0,
        "config",
    )


@pytest.mark.parametrize("taken", [(), ("big_batches",)])
def test_a_name_is_there_once(taken: tuple[str, ...]) -> None:
    actions = [own()] if taken else [own(), own()]
    with pytest.raises(InvalidInputError, match="'big_batches' is there twice"):
        own_templates(actions, taken, cost_ratio=1.0)


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ({"max-num-seqs": 4}, "neither args"),
        ({"args.Max": 4}, "neither args"),
        ({"env.NAME": 4}, "holds strings, quote it"),
        ({}, "at least 1 item"),
    ],
)
def test_bad_keys_and_values_are_refused(edits: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        own(edits=edits)
