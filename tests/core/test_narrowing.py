"""A crash forbids what it proves and nothing more."""

from dataclasses import replace

import pytest

from arbor.core.narrowing import RETEST_AFTER_KEEPS, Setting, lift_of, narrow_scope
from arbor.core.rca import Diagnosis, Incident, diagnose
from arbor.events.causes import LogLine
from arbor.events.types import ConstraintScope, Edit, Scalar, ValueRange

SIZE = "cache.blocks"
KEPT = Edit(key="s.kept", value=True)
NEEDED = Edit(key="s.needed", value=True)
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
NO_KERNEL = "RuntimeError: no kernel available for this shape"
REFUSED = "RuntimeError: unsupported combination of a, b"
PORT = "OSError: [Errno 98] Address already in use"
NO_ARCH = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


def _found(line: str) -> Diagnosis:
    return diagnose(Incident(lines=(LogLine(number=1, text=line),), exit_code=1))


def _setting(*edits: Edit, **before: Scalar) -> Setting:
    return Setting(
        template_id="t",
        edits=edits,
        before={SIZE: 8, **before},
        context=(KEPT,),
        full_context=(KEPT, NEEDED),
        hardware="EPYC 8 GiB",
        software=("x 1",),
    )


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (64, ValueRange(key=SIZE, low=64.0)),
        (2, ValueRange(key=SIZE, high=2.0)),
    ],
)
def test_what_ran_out_of_memory_does_so_further_on(value: int, wanted: ValueRange) -> None:
    scope = narrow_scope(_found(OOM), _setting(Edit(key=SIZE, value=value)))
    assert scope == ConstraintScope(template_id="", ranges=(wanted,), hardware="EPYC 8 GiB")


def test_a_switch_that_ran_out_of_memory_is_forbidden_as_it_was() -> None:
    edits = (Edit(key="s.big", value=True), Edit(key=SIZE, value=9))
    scope = narrow_scope(_found(OOM), _setting(*edits))
    assert scope is not None
    assert scope.edits == edits[:1]
    assert scope.ranges == (ValueRange(key=SIZE, low=9.0),)


def test_a_number_that_no_one_knew_is_forbidden_alone() -> None:
    scope = narrow_scope(_found(OOM), _setting(Edit(key="new.size", value=9)))
    assert scope is not None
    assert scope.ranges == (ValueRange(key="new.size", low=9.0, high=9.0),)


def test_own_keys_and_amounts_are_no_context_of_a_missing_kernel() -> None:
    edit = Edit(key="s.flash", value=True)
    full = (Edit(key="s.flash", value=False), Edit(key=SIZE, value=64), KEPT)
    scope = narrow_scope(_found(NO_KERNEL), replace(_setting(edit), full_context=full))
    assert scope is not None
    assert scope.context == (KEPT,)


def test_a_missing_kernel_is_missing_in_this_version() -> None:
    edit = Edit(key="s.flash", value=True)
    scope = narrow_scope(_found(NO_KERNEL), _setting(edit))
    assert scope == ConstraintScope(
        template_id="", edits=(edit,), context=(KEPT, NEEDED), software=("x 1",)
    )


def test_a_kernel_that_the_device_cannot_run_is_missing_on_this_hardware() -> None:
    found = _found(NO_ARCH)
    assert found.cause == "unsupported_arch"
    scope = narrow_scope(found, _setting(Edit(key="s.flash", value=True)))
    assert scope is not None
    assert (scope.hardware, scope.software) == ("EPYC 8 GiB", ("x 1",))


def test_a_refuted_idea_is_forbidden_as_it_was() -> None:
    edit = Edit(key="s.a", value=True)
    scope = narrow_scope(_found(REFUSED), _setting(edit))
    assert scope == ConstraintScope(template_id="t", edits=(edit,), context=(KEPT,))


@pytest.mark.parametrize("line", [PORT, "nobody knows", "IndexError: list index out of range"])
def test_what_another_try_may_cure_is_not_forbidden(line: str) -> None:
    assert narrow_scope(_found(line), _setting(Edit(key=SIZE, value=64))) is None


def test_what_changed_nothing_is_not_to_blame() -> None:
    assert narrow_scope(_found(OOM), _setting(Edit(key=SIZE, value=8))) is None
    assert narrow_scope(_found(OOM), _setting()) is None


def test_limits_of_a_machine_are_tried_again_and_then_believed_for_longer() -> None:
    keeps = [lift_of(_found(OOM), n).num_keeps for n in range(3)]
    assert keeps == [RETEST_AFTER_KEEPS, 2 * RETEST_AFTER_KEEPS, 4 * RETEST_AFTER_KEEPS]
    assert lift_of(_found(NO_KERNEL), 0).num_keeps is None
    assert lift_of(_found(REFUSED), 0).num_keeps is None
