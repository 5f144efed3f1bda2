"""Scopes: a template, a family, a range, a place; what lies in them and what does not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.core.scopes import (
    Proposal,
    because,
    covers,
    lift_words,
    machine_name,
    named_in,
    scope_words,
    software_of,
)
from arbor.events.limits import ConstraintPublished
from arbor.events.settings import Settings
from arbor.events.types import (
    Accelerator,
    ConstraintScope,
    Edit,
    Hardware,
    Layer,
    LiftCondition,
    Parameter,
    ValueRange,
)
from tests.fakes.stage import started, template

SIZE = "cache.blocks"
FAST = Edit(key="s.fast", value=True)
AT_LEAST_64 = ConstraintScope(template_id="", ranges=(ValueRange(key=SIZE, low=64.0),))
SPACE = Parameter(key=SIZE, kind="int", low=1, high=512)


def _size(value: int, before: int = 8, **more: Any) -> Proposal:
    return Proposal("any", (Edit(key=SIZE, value=value),), {SIZE: before}, **more)


@given(st.integers(-1000, 1000), st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_a_range_holds_its_bounds_and_what_lies_between(value: int, low: int, high: int) -> None:
    wanted = ValueRange(key=SIZE, low=low, high=high)
    assert wanted.holds(value) == (low <= value <= high)
    assert ValueRange(key=SIZE).holds(value)


@pytest.mark.parametrize("value", [None, True, "64"])
def test_what_is_no_number_lies_in_no_range(value: bool | str | None) -> None:
    assert not ValueRange(key=SIZE).holds(value)


@pytest.mark.parametrize(("value", "is_forbidden"), [(63, False), (64, True), (512, True)])
def test_a_family_is_whoever_sets_the_key_that_far(value: int, is_forbidden: bool) -> None:
    assert covers(AT_LEAST_64, _size(value)) is is_forbidden


def test_what_holds_already_is_nobodys_doing() -> None:
    other = Proposal("other", (FAST,), {SIZE: 128})
    assert not covers(AT_LEAST_64, other)
    assert not covers(AT_LEAST_64, _size(128, before=128))


def test_a_combination_is_forbidden_from_either_side() -> None:
    scope = ConstraintScope(
        template_id="", edits=(FAST,), ranges=(ValueRange(key=SIZE, low=64.0),)
    )
    assert covers(scope, Proposal("fast", (FAST,), {SIZE: 128}))
    assert covers(scope, Proposal("size", (Edit(key=SIZE, value=128),), {FAST.key: True, SIZE: 8}))
    assert not covers(scope, Proposal("fast", (FAST,), {SIZE: 8}))


def test_numbers_to_be_searched_are_forbidden_only_when_all_of_them_are() -> None:
    def searched(low: float, high: float) -> Proposal:
        space = (SPACE.model_copy(update={"low": low, "high": high}),)
        return Proposal("tune", (), {SIZE: 8}, space)

    assert not covers(AT_LEAST_64, searched(1, 512))
    assert covers(AT_LEAST_64, searched(64, 512))
    below = ConstraintScope(template_id="", ranges=(ValueRange(key=SIZE, high=16.0),))
    assert covers(below, searched(1, 16))
    assert not covers(below, searched(1, 17))


def test_choices_to_be_searched_are_forbidden_only_when_all_of_them_are() -> None:
    def chosen(*choices: int) -> Proposal:
        space = (Parameter(key=SIZE, kind="categorical", choices=choices),)
        return Proposal("tune", (), {SIZE: 8}, space)

    assert covers(AT_LEAST_64, chosen(64, 128))
    assert not covers(AT_LEAST_64, chosen(32, 64))


def test_a_searched_key_may_end_anywhere() -> None:
    scope = ConstraintScope(template_id="", edits=(Edit(key=SIZE, value=8),))
    assert not covers(scope, Proposal("tune", (), {SIZE: 8}, (SPACE,)))


@pytest.mark.parametrize(
    ("narrower", "there", "elsewhere"),
    [
        ({"hardware": "A"}, {"hardware": "A"}, {"hardware": "B"}),
        ({"software": ("x 1",)}, {"software": frozenset({"x 1", "y 2"})}, {}),
        ({"below_node_id": "n3"}, {"path": frozenset({"n0", "n3"})}, {"path": frozenset({"n0"})}),
        ({"layer": Layer.KERNEL}, {"layer": Layer.KERNEL}, {"layer": Layer.COMPILER}),
        ({"category": "head"}, {"category": "head"}, {"category": "sampler"}),
        ({"template_id": "any"}, {}, None),
    ],
)
def test_every_field_narrows(
    narrower: dict[str, object], there: dict[str, Any], elsewhere: dict[str, Any] | None
) -> None:
    scope = AT_LEAST_64.model_copy(update=narrower)
    assert covers(scope, _size(64, **there))
    if elsewhere is not None:
        assert not covers(scope, _size(64, **elsewhere))


def test_a_template_may_be_limited_to_a_range() -> None:
    scope = AT_LEAST_64.model_copy(update={"template_id": "tune"})
    edits = (Edit(key=SIZE, value=64),)
    assert covers(scope, Proposal("tune", edits, {SIZE: 8}))
    assert not covers(scope, Proposal("other", edits, {SIZE: 8}))


def test_the_name_of_a_machine_is_what_its_limits_depend_on() -> None:
    bare = Hardware(host="h", kind="cpu", device_name="EPYC", num_cores=2, memory_bytes=8 << 30)
    assert machine_name(bare) == "EPYC 8 GiB"
    limited = bare.model_copy(update={"memory_limit_bytes": 4 << 30})
    assert machine_name(limited) == "EPYC 4 GiB"
    device = Accelerator(index=0, name="MI300X", memory_bytes=192 << 30)
    many = bare.model_copy(update={"devices": (device, device)})
    assert machine_name(many) == "2 x MI300X 192 GiB"


def test_software_is_what_the_target_and_the_runtime_say() -> None:
    event = started((template("a"),), Settings())
    assert software_of(event) == ()
    hardware = event.hardware.model_copy(update={"runtime_version": "ROCm 7.0.2"})
    own = {"software": ("vllm 0.11",), "hardware": hardware}
    assert software_of(event.model_copy(update=own)) == ("vllm 0.11", "ROCm 7.0.2")


def test_a_reason_names_its_constraint() -> None:
    limit = ConstraintPublished(constraint_id="c7", scope=AT_LEAST_64, reason="oom: less")
    assert because(limit) == "constraint c7: oom: less"
    assert named_in(because(limit)) == "c7"
    assert named_in("benchmark: no gain") is None


def test_words_say_all_of_a_scope() -> None:
    scope = ConstraintScope(
        template_id="",
        edits=(FAST,),
        ranges=(
            ValueRange(key=SIZE, low=64.0),
            ValueRange(key="b", high=2.0),
            ValueRange(key="c", low=1.0, high=2.0),
            ValueRange(key="d"),
        ),
        context=(Edit(key="w.dtype", value="int8"),),
        layer=Layer.KERNEL,
        category="head",
        hardware="EPYC 8 GiB",
        software=("x 1",),
        below_node_id="n3",
    )
    assert scope_words(scope) == (
        "every action of layer kernel that touches head with s.fast=True, cache.blocks >= 64,"
        " b <= 2, 1 <= c <= 2, any d, where w.dtype=int8, below n3, EPYC 8 GiB, x 1"
    )
    assert scope_words(ConstraintScope(template_id="int8")) == "int8"


def test_words_say_when_a_constraint_ends() -> None:
    assert lift_words(LiftCondition()) == "never by itself; `arbor lift` ends it"
    every = LiftCondition(after_s=60.0, num_keeps=3, kept_any_of=("a", "b"))
    assert lift_words(every) == "after 60 s, or after 3 further keeps, or once a or b is kept"
