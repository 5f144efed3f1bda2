"""What the scope of a constraint covers, whether a proposal lies in it, and how it is said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arbor.events.campaign import CampaignStarted
from arbor.events.limits import ConstraintPublished
from arbor.events.types import (
    ConstraintScope,
    Edit,
    Hardware,
    Layer,
    LiftCondition,
    Parameter,
    Scalar,
    ValueRange,
)

_GIB = 1 << 30
_NAMED = "constraint "


@dataclass(frozen=True, slots=True)
class Proposal:
    """Edits that somebody wants on a configuration, and where.

    Attributes:
        template_id: template that they belong to.
        edits: what is set; numbers that are still to be searched are missing.
        config: the configuration before.
        space: numbers that are still to be searched.
        layer: of the template; None when it is not known.
        category: that the template touches.
        path: nodes from the root to the one that it is proposed on.
        hardware: the machine, as ``machine_name`` tells it.
        software: versions of the stack.
    """

    template_id: str
    edits: Sequence[Edit]
    config: Mapping[str, Scalar]
    space: Sequence[Parameter] = ()
    layer: Layer | None = None
    category: str = ""
    path: frozenset[str] = frozenset()
    hardware: str = ""
    software: frozenset[str] = frozenset()


def machine_name(hardware: Hardware) -> str:
    """Return what the limits of a machine depend on: its accelerators, or processor and memory."""
    if hardware.devices:
        first = hardware.devices[0]
        memory = f" {first.memory_bytes // _GIB} GiB" if first.memory_bytes else ""
        return f"{len(hardware.devices)} x {first.name or first.architecture}{memory}"
    limit_bytes = hardware.memory_limit_bytes or hardware.memory_bytes
    return f"{hardware.device_name} {limit_bytes // _GIB} GiB"


def software_of(started: CampaignStarted) -> tuple[str, ...]:
    """Return the versions that a campaign's stack runs on, each ``name version``."""
    return (*started.software, *filter(None, (started.hardware.runtime_version,)))


def covers(scope: ConstraintScope, proposal: Proposal) -> bool:
    """Return whether a scope forbids a proposal.

    Numbers that are still to be searched are forbidden only when all of their values are.
    """
    if not _is_place(scope, proposal) or not _is_kind(scope, proposal):
        return False
    proposed = {edit.key: edit.value for edit in proposal.edits}
    searched = {parameter.key for parameter in proposal.space}
    known = {**proposal.config, **proposed}
    # what is still to be searched may end anywhere
    after = {key: value for key, value in known.items() if key not in searched}
    if scope.template_id:
        return (
            _holds(scope.edits, proposed)
            and _holds(scope.context, proposal.config)
            and all(_is_inside(each, after, proposal.space) for each in scope.ranges)
        )
    own = {key for key, value in proposed.items() if proposal.config.get(key) != value}
    own |= searched
    keys = {edit.key for edit in scope.edits} | {each.key for each in scope.ranges}
    return (
        # what holds already is nobody's doing here
        (not keys or not own.isdisjoint(keys))
        and _holds((*scope.edits, *scope.context), after)
        and all(_is_inside(each, after, proposal.space) for each in scope.ranges)
    )


def _is_place(scope: ConstraintScope, proposal: Proposal) -> bool:
    return (
        (not scope.hardware or scope.hardware == proposal.hardware)
        and proposal.software.issuperset(scope.software)
        and (not scope.below_node_id or scope.below_node_id in proposal.path)
    )


def _is_kind(scope: ConstraintScope, proposal: Proposal) -> bool:
    return (
        (not scope.template_id or scope.template_id == proposal.template_id)
        and (scope.layer is None or scope.layer == proposal.layer)
        and (not scope.category or scope.category == proposal.category)
    )


def _holds(edits: Sequence[Edit], config: Mapping[str, Scalar]) -> bool:
    return all(config.get(edit.key) == edit.value for edit in edits)


def _is_inside(
    wanted: ValueRange, after: Mapping[str, Scalar], space: Sequence[Parameter]
) -> bool:
    """Return whether a key can only end in a range."""
    parameter = next((each for each in space if each.key == wanted.key), None)
    if parameter is None:
        return wanted.holds(after.get(wanted.key))
    if parameter.kind == "categorical":
        return all(wanted.holds(choice) for choice in parameter.choices)
    return (
        wanted.low is None or (parameter.low is not None and parameter.low >= wanted.low)
    ) and (wanted.high is None or (parameter.high is not None and parameter.high <= wanted.high))


def because(constraint: ConstraintPublished) -> str:
    """Return a constraint as the reason of what it stops."""
    return f"{_NAMED}{constraint.constraint_id}: {constraint.reason}"


def named_in(reason: str) -> str | None:
    """Return the constraint that a reason names at its beginning, as ``because`` does, or None."""
    if not reason.startswith(_NAMED):
        return None
    return reason.removeprefix(_NAMED).partition(":")[0]


def scope_words(scope: ConstraintScope) -> str:
    """Return a scope for people, on one line."""
    what = scope.template_id or "every action"
    kind = [f"of layer {scope.layer.value}"] if scope.layer is not None else []
    kind += [f"that touches {scope.category}"] if scope.category else []
    sets = [f"{e.key}={e.value}" for e in scope.edits] + list(map(range_words, scope.ranges))
    kind += [f"with {', '.join(sets)}"] if sets else []
    where = [f"{e.key}={e.value}" for e in scope.context]
    where += [f"below {scope.below_node_id}"] if scope.below_node_id else []
    where += [scope.hardware] if scope.hardware else []
    where += list(scope.software)
    place = f", where {', '.join(where)}" if where else ""
    return " ".join((what, *kind)) + place


def range_words(wanted: ValueRange) -> str:
    """Return a range for people, such as ``cache.blocks >= 64``."""
    if wanted.low is not None and wanted.high is not None:
        return f"{wanted.low:g} <= {wanted.key} <= {wanted.high:g}"
    if wanted.low is not None:
        return f"{wanted.key} >= {wanted.low:g}"
    if wanted.high is not None:
        return f"{wanted.key} <= {wanted.high:g}"
    return f"any {wanted.key}"


def lift_words(lift: LiftCondition) -> str:
    """Return when a constraint ends, for people."""
    ways = [f"after {lift.after_s:.0f} s"] if lift.after_s is not None else []
    if lift.num_keeps is not None:
        ways.append(f"after {lift.num_keeps} further keep{'s' if lift.num_keeps > 1 else ''}")
    ways += [f"once {' or '.join(lift.kept_any_of)} is kept"] if lift.kept_any_of else []
    return ", or ".join(ways) or "never by itself; `arbor lift` ends it"
