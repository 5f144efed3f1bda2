"""Constraints: what they forbid, where, and until when; vetoes."""

from arbor.core.constraints import Constraints, subject_of
from arbor.core.scopes import Proposal
from arbor.events.base import Event
from arbor.events.limits import (
    ActionApproved,
    ActionVetoed,
    ConstraintLifted,
    ConstraintPublished,
)
from arbor.events.outcome import ActionKept
from arbor.events.types import ConstraintScope, Edit, Effect, Scalar, ValueRange
from tests.fakes.recording import feed

INT8 = Edit(key="w.dtype", value="int8")
FAST = Edit(key="s.fast", value=True)


def _published(
    name: str, edits: tuple[Edit, ...] = (), context: tuple[Edit, ...] = ()
) -> ConstraintPublished:
    scope = ConstraintScope(template_id="int8", edits=edits, context=context)
    return ConstraintPublished(constraint_id=name, scope=scope, reason="it broke")


def _constraints(*events: Event) -> Constraints:
    constraints = Constraints()
    feed(constraints, events)
    return constraints


def _blocking(
    constraints: Constraints, *edits: Edit, template: str = "int8", **config: Scalar
) -> str | None:
    present = {k.replace("__", "."): v for k, v in config.items()}
    found = constraints.blocking(Proposal(template, edits, present))
    return None if found is None else found.constraint_id


def test_nothing_is_forbidden_at_first() -> None:
    assert _blocking(_constraints(), INT8) is None


def test_an_empty_scope_forbids_the_template_everywhere() -> None:
    constraints = _constraints(_published("c1"))
    assert _blocking(constraints, INT8) == "c1"
    assert _blocking(constraints) == "c1"
    assert _blocking(constraints, INT8, template="int4") is None


def test_only_proposals_with_all_of_the_edits_are_forbidden() -> None:
    constraints = _constraints(_published("c1", edits=(INT8, FAST)))
    assert _blocking(constraints, INT8) is None
    assert _blocking(constraints, FAST, INT8) == "c1"
    assert _blocking(constraints, FAST, INT8, Edit(key="more", value=1)) == "c1"
    assert _blocking(constraints, Edit(key="s.fast", value=False), INT8) is None


def test_only_where_the_context_holds() -> None:
    constraints = _constraints(_published("c1", context=(FAST,)))
    assert _blocking(constraints, INT8) is None
    assert _blocking(constraints, INT8, s__fast=False) is None
    assert _blocking(constraints, INT8, s__fast=True, other=3) == "c1"


def test_a_lifted_constraint_forbids_nothing() -> None:
    lifted = ConstraintLifted(constraint_id="c1", reason="fixed")
    constraints = _constraints(_published("c1"), _published("c2", edits=(FAST,)), lifted)
    assert _blocking(constraints, INT8) is None
    assert _blocking(constraints, FAST) == "c2"
    assert constraints.num_published == 2


def test_lifting_what_is_not_there_is_harmless() -> None:
    constraints = _constraints(ConstraintLifted(constraint_id="c9", reason="x"), _published("c1"))
    assert _blocking(constraints, INT8) == "c1"


def test_the_oldest_in_force_is_named() -> None:
    assert _blocking(_constraints(_published("c2"), _published("c1")), INT8) == "c2"


def _banned(*events: Event) -> bool:
    return _constraints(*events).ban("a1") is not None


def test_a_veto_is_remembered_and_holds() -> None:
    veto = ActionVetoed(action_id="a1", reason="no", by="human")
    constraints = _constraints(veto)
    assert constraints.vetoed == {"a1": [veto]}
    assert constraints.ban("a1") == veto
    assert constraints.ban("a2") is None
    assert constraints.ban(None) is None


def test_a_veto_by_a_constraint_holds_as_long_as_the_constraint() -> None:
    veto = ActionVetoed(action_id="a1", reason="c1", by="critic", constraint_id="c1")
    lifted = ConstraintLifted(constraint_id="c1", reason="fixed")
    assert _banned(_published("c1"), veto)
    assert not _banned(_published("c1"), veto, lifted)
    human = ActionVetoed(action_id="a1", reason="no", by="human")
    assert _banned(_published("c1"), veto, human, lifted), "another reason still holds"
    assert _banned(_published("c1"), veto, lifted, _published("c1")), "it was published again"


def test_an_approval_names_who_gave_it() -> None:
    assert _constraints(ActionApproved(action_id="a1", by="ann")).approved == {"a1": "ann"}


def test_a_subject_has_neither_bounds_nor_context() -> None:
    wide = ConstraintScope(
        template_id="", ranges=(ValueRange(key="s.size", low=8.0),), context=(FAST,)
    )
    narrow = ConstraintScope(template_id="", ranges=(ValueRange(key="s.size", low=64.0),))
    other = ConstraintScope(template_id="", ranges=(ValueRange(key="s.other", low=8.0),))
    assert subject_of(wide) == subject_of(narrow) != subject_of(other)


def test_what_was_lifted_is_counted_by_its_subject() -> None:
    def limit(name: str, low: float) -> ConstraintPublished:
        ranges = (ValueRange(key="s.size", low=low),)
        scope = ConstraintScope(template_id="", ranges=ranges)
        return ConstraintPublished(constraint_id=name, scope=scope, reason="oom")

    lifted = ConstraintLifted(constraint_id="c1", reason="later")
    constraints = _constraints(limit("c1", 64.0), limit("c2", 32.0))
    assert constraints.times_lifted(limit("x", 8.0).scope) == 0
    constraints = _constraints(limit("c1", 64.0), lifted, lifted, limit("c2", 32.0))
    assert constraints.times_lifted(limit("x", 8.0).scope) == 1
    assert constraints.lifted == {"c1"}
    assert not _constraints(limit("c1", 64.0), lifted, limit("c1", 64.0)).lifted


def _kept(action_id: str) -> ActionKept:
    effect = Effect(
        ratio=1.1,
        low=1.0,
        high=1.2,
        alpha=0.05,
        num_pairs=3,
        sd_log_ratio=0.1,
        num_starts_per_arm=1,
    )
    return ActionKept(
        action_id=action_id, node_id="n1", parent_id="n0", commit="c", edits=(), effect=effect
    )


def test_it_knows_which_keeps_came_later_and_which_event_was_the_cause() -> None:
    kept = _kept("a1")
    because = _published("c2").model_copy(update={"causation_id": "e7"})
    constraints = _constraints(_published("c1"), kept, because)
    assert constraints.kept == ["a1"]
    assert constraints.keeps_before == {"c1": 0, "c2": 1}
    assert constraints.causes == {"e7"}
    assert constraints.keeps_since(_published("c1")) == ["a1"]
    assert constraints.keeps_since(_published("c2")) == []


def test_of_one_subject_one_is_lifted_at_a_time() -> None:
    kept = _kept("a1")
    lifted = ConstraintLifted(constraint_id="c2", reason="3 keeps")
    constraints = _constraints(_published("c1"), _published("c2"), kept, lifted, _kept("a2"))
    assert constraints.keeps_since(_published("c1")) == ["a2"]
