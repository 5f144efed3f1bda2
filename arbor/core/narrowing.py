"""The narrowest scope that a crash proves: what fails again wherever it holds, and nothing more.

A refuted idea is forbidden as the template that it was. Two kinds of failures refute no idea and
still come back whoever meets them:

- memory, or another resource of the machine, that ran out: the same numbers and any further in
  the direction in which the attempt moved them, on this machine. How much there is to give depends
  on the stack, so such limits are tried again after some keeps, the tightest first;
- a kernel that the installed software does not have: the same settings, with these versions, where
  the kinds of things that kept actions chose are the same. Amounts may differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arbor.core.rca import Diagnosis
from arbor.events.types import ConstraintScope, Edit, LiftCondition, Scalar, ValueRange

RETEST_AFTER_KEEPS = 3
"""What a machine is short of depends on the stack: a limit is tried again after so many keeps."""
_RESOURCES = frozenset({"kernel_resources"})
"""Causes beside the group ``oom`` that say that a machine has too little of something."""
_MISSING = frozenset({"missing_kernel_for_shape", "unsupported_arch"})
"""Causes that say that the installed software lacks something."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where something broke.

    Attributes:
        template_id: template that was tried.
        edits: what it set.
        before: the configuration that it was set on.
        context: what kept actions had changed there and the template does not need.
        full_context: all that kept actions had changed there, needed or not.
        hardware: the machine, as ``machine_name`` tells it.
        software: versions of the stack.
    """

    template_id: str
    edits: Sequence[Edit]
    before: Mapping[str, Scalar]
    context: tuple[Edit, ...]
    full_context: tuple[Edit, ...]
    hardware: str
    software: tuple[str, ...]


def narrow_scope(found: Diagnosis, setting: Setting) -> ConstraintScope | None:
    """Return what a diagnosed crash forbids, or None when another try may well work."""
    if found.blames_idea:
        return ConstraintScope(
            template_id=setting.template_id,
            edits=tuple(setting.edits),
            context=setting.context,
        )
    changed = tuple(e for e in setting.edits if setting.before.get(e.key) != e.value)
    if found.fault != "implementation" or not changed:
        return None
    if found.group == "oom" or found.cause in _RESOURCES:
        ranges = {edit.key: _beyond(edit, setting.before.get(edit.key)) for edit in changed}
        return ConstraintScope(
            template_id="",
            edits=tuple(edit for edit in changed if ranges[edit.key] is None),
            ranges=tuple(each for each in ranges.values() if each is not None),
            hardware=setting.hardware,
        )
    if found.cause in _MISSING:
        own = {edit.key for edit in changed}
        context = tuple(
            edit
            for edit in setting.full_context
            if edit.key not in own and isinstance(edit.value, bool | str)
        )
        return ConstraintScope(
            template_id="",
            edits=changed,
            context=context,
            hardware=setting.hardware if found.cause == "unsupported_arch" else "",
            software=setting.software,
        )
    return None


def lift_of(found: Diagnosis, num_before: int) -> LiftCondition:
    """Return when the constraint of a diagnosis ends by itself.

    Args:
        found: why it was published.
        num_before: how often that was lifted before; what breaks again is believed for twice as
            long each time.
    """
    if found.group == "oom" and not found.blames_idea:
        return LiftCondition(num_keeps=RETEST_AFTER_KEEPS * 2**num_before)
    return LiftCondition()


def _beyond(edit: Edit, before: Scalar | None) -> ValueRange | None:
    """Return a number and all beyond it, seen from where it was moved; None for other values."""
    if isinstance(edit.value, bool | str):
        return None
    if before is None or isinstance(before, bool | str):
        return ValueRange(key=edit.key, low=edit.value, high=edit.value)
    if edit.value > before:
        return ValueRange(key=edit.key, low=edit.value)
    return ValueRange(key=edit.key, high=edit.value)
