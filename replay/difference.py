"""How two moments differ: of one campaign node by node, of two campaigns template by template."""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeVar

from arbor.core.tree import ROOT_ID, Status
from arbor.events.types import Effect, Value
from arbor.replay.snapshot import NodeThen, Snapshot

K = TypeVar("K")
V = TypeVar("V")
Mark = Literal["+", "-", "~"]
"""Only in the second, only in the first, in both and different."""


class Change(Value):
    """One thing that differs."""

    section: str
    """One of ``settings``, ``path``, ``config``, ``nodes``, ``candidates``, ``constraints`` and
    ``costs``."""
    mark: Mark
    what: str
    before: str = ""
    after: str = ""


class Difference(Value):
    """All that differs between two moments; the JSON of ``arbor diff A B --json``."""

    schema_version: int = 1
    is_same_campaign: bool
    before_position: int
    after_position: int
    changes: tuple[Change, ...]


def compare(before: Snapshot, after: Snapshot) -> Difference:
    """Return what differs; nothing when the moments are equal."""
    is_same = before.campaign_id == after.campaign_id
    sections = (
        _settings(before, after),
        _path(before, after, is_same=is_same),
        _maps("config", _config(before), _config(after)),
        _nodes(before, after) if is_same else _templates(before, after),
        _candidates(before, after, is_same=is_same),
        _constraints(before, after, is_same=is_same),
        _maps("costs", _costs(before), _costs(after)),
    )
    return Difference(
        is_same_campaign=is_same,
        before_position=before.position,
        after_position=after.position,
        changes=tuple(change for section in sections for change in section),
    )


def _maps(
    section: str,
    before: Mapping[K, V],
    after: Mapping[K, V],
    show: Callable[[V], str] = str,
) -> Iterator[Change]:
    """Yield what two maps do not have in common, in the order of their keys."""
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key), after.get(key)
        if old == new:
            continue
        mark: Mark = "+" if old is None else "-" if new is None else "~"
        yield Change(
            section=section,
            mark=mark,
            what=str(key),
            before="" if old is None else show(old),
            after="" if new is None else show(new),
        )


def _settings(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    yield from _maps("settings", _flat(before), _flat(after))


def _flat(moment: Snapshot) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, section in moment.settings.model_dump(mode="json").items():
        if isinstance(section, dict):
            found |= {f"{name}.{key}": str(value) for key, value in section.items()}
        else:
            found[name] = str(section)
    return found


def _config(moment: Snapshot) -> dict[str, str]:
    return {key: str(value) for key, value in sorted(moment.config.items())}


def _path(before: Snapshot, after: Snapshot, *, is_same: bool) -> Iterator[Change]:
    """Yield the change of the stack in force; ids of two campaigns mean nothing to each other."""
    paths = [
        " > ".join(moment.path if is_same else moment.kept_templates) for moment in (before, after)
    ]
    if paths[0] != paths[1]:
        yield Change(
            section="path", mark="~", what="stack in force", before=paths[0], after=paths[1]
        )
    gains = [f"{moment.gain_ratio:.3f}x" for moment in (before, after)]
    if gains[0] != gains[1]:
        yield Change(
            section="path", mark="~", what="product of keeps", before=gains[0], after=gains[1]
        )


def outcome(status: Status, effect: Effect | None) -> str:
    """Return how a node stood, as ``kept 1.243x [1.204, 1.283]``."""
    if effect is None:
        return str(status)
    return f"{status} {effect.ratio:.3f}x [{effect.low:.3f}, {effect.high:.3f}]"


def _nodes(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    def named(moment: Snapshot) -> dict[str, str]:
        return {
            f"{node.node_id} {node.template_id}": outcome(node.status, node.effect)
            for node in moment.nodes
            if node.node_id != ROOT_ID
        }

    yield from _maps("nodes", named(before), named(after))


def _templates(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    """Yield the templates that fared differently; of several tries the kept one, or the last."""

    def fared(moment: Snapshot) -> dict[str, str]:
        found: dict[str, NodeThen] = {}
        for node in moment.nodes:
            earlier = found.get(node.template_id or "")
            if node.node_id == ROOT_ID or node.status is Status.REBASED:
                continue
            if earlier is None or earlier.status is not Status.KEPT:
                found[node.template_id or ""] = node
        return {name: outcome(node.status, node.effect) for name, node in found.items()}

    yield from _maps("nodes", fared(before), fared(after))


def _candidates(before: Snapshot, after: Snapshot, *, is_same: bool) -> Iterator[Change]:
    def named(moment: Snapshot) -> dict[str, str]:
        return {
            f"{each.action_id} {each.template_id}" if is_same else each.template_id: (
                "not scored" if each.score is None else f"{each.score:.4f}"
            )
            for each in moment.candidates
        }

    yield from _maps("candidates", named(before), named(after))


def _constraints(before: Snapshot, after: Snapshot, *, is_same: bool) -> Iterator[Change]:
    def named(moment: Snapshot) -> dict[str, str]:
        return {
            f"{each.constraint_id} {each.template_id}"
            if is_same
            else each.template_id: each.reason
            for each in moment.constraints
        }

    yield from _maps("constraints", named(before), named(after))


def _costs(moment: Snapshot) -> dict[str, str]:
    costs = moment.costs
    return {
        "active time": f"{costs.active_s:.1f} s",
        "trials": str(costs.num_trials),
        "money": f"{costs.usd_micro / 1e6:.6f} USD",
        "GPU time": f"{costs.gpu_s / 3600:.4f} h",
    }
