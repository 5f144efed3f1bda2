"""A model's ideas become actions only after code has looked at them."""

import math

import pytest

from arbor.actors.ideas import (
    ACCURACY_RISK_RATIO,
    IDEA_PREFIX,
    MAX_SPEEDUP_RATIO,
    MIN_SPEEDUP_RATIO,
    Idea,
    IdeaEdit,
    accepted,
    template_of,
)
from arbor.core.state import CampaignState
from arbor.events.types import ActionTemplate, Layer
from tests.fakes.stage import Stage, template

PATCHABLE = {"overlay/attention.py": "attention", "overlay/sampler.py": "sampler"}


@pytest.fixture
def state() -> CampaignState:
    return Stage(template("fused"), template("paged")).state


def _patch(**fields: object) -> Idea:
    own: dict[str, object] = {"title": "Faster", "files": ["overlay/attention.py"]}
    return Idea.model_validate(own | fields)


def _edit(key: str, value: bool | str) -> Idea:
    return Idea(title="Set it", edits=[IdeaEdit(key=key, value=value)])


def test_a_patch_touches_the_category_of_its_files(state: CampaignState) -> None:
    found = template_of(state, _patch(layer=Layer.KERNEL), PATCHABLE)
    assert isinstance(found, ActionTemplate)
    assert found.template_id.startswith(IDEA_PREFIX)
    assert (found.layer, found.category) == (Layer.KERNEL, "attention")
    assert found.patch is not None
    assert found.patch.files == ("overlay/attention.py",)
    assert not found.is_exact
    assert found.prior_accuracy_risk_ratio == ACCURACY_RISK_RATIO


def test_a_patch_of_several_categories_touches_all(state: CampaignState) -> None:
    found = template_of(state, _patch(files=list(PATCHABLE)), PATCHABLE)
    assert isinstance(found, ActionTemplate)
    assert found.category == "all"


@pytest.mark.parametrize("ratio", [1e9, -3.0, 0.0, math.inf, math.nan])
def test_no_promise_becomes_a_prior(state: CampaignState, ratio: float) -> None:
    found = template_of(state, _patch(expected_ratio=ratio), PATCHABLE)
    assert isinstance(found, ActionTemplate)
    assert MIN_SPEEDUP_RATIO <= found.prior_speedup_ratio <= MAX_SPEEDUP_RATIO


@pytest.mark.parametrize(
    ("idea", "reason"),
    [
        (Idea(title="Nothing"), "either edits or files"),
        (_patch(edits=[IdeaEdit(key="s.fused", value=True)]), "either edits or files"),
        (_patch(files=["benchmarks/run.py"]), "benchmark, gate data and harness"),
        (_patch(files=["overlay/../serve.yaml"]), "which the action does not name"),
        (_edit("s.fused", value=True), "the catalog has it as fused"),
        (_edit("s.fused", value=False), "in force already"),
        (_edit("s.fused", "yes"), "is no bool"),
        (_edit("s.unknown", value=True), "has no key 's.unknown'"),
    ],
)
def test_what_cannot_be_tried_is_refused_with_the_reason(
    state: CampaignState, idea: Idea, reason: str
) -> None:
    found = template_of(state, idea, PATCHABLE)
    assert isinstance(found, str)
    assert reason in found
    assert "\n" not in found


def test_a_target_without_sources_takes_no_patches(state: CampaignState) -> None:
    assert template_of(state, _patch(), {}) == "nothing of this target can be patched"


def test_edits_of_several_keys_that_the_catalog_lacks_are_an_action(state: CampaignState) -> None:
    edits = [IdeaEdit(key=f"s.{name}", value=True) for name in ("paged", "fused")]
    found = template_of(state, Idea(title="Both at once", edits=edits), PATCHABLE)
    assert isinstance(found, ActionTemplate)
    assert found.patch is None
    assert [edit.key for edit in found.edits] == ["s.fused", "s.paged"]


def test_their_number_is_bounded_and_none_counts_twice(state: CampaignState) -> None:
    ideas = [_patch(), _patch(), _patch(title="Other"), _patch(title="Third\nline")]
    templates, refused = accepted(state, ideas, PATCHABLE, 2)
    assert [each.title for each in templates] == ["Faster", "Other"]
    assert refused == ["Faster: said twice", "Third line: more than 2"]
