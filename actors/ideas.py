"""What becomes of a model's ideas: templates with a modest prior, or the reason why not; pure."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from pydantic import BaseModel, Field

from arbor.actors.choosing import mean_cost_s
from arbor.actors.commands import custom_template, known_template
from arbor.core.patches import refusal
from arbor.core.state import CampaignState
from arbor.events.base import canonical_json
from arbor.events.errors import InvalidInputError
from arbor.events.types import ActionTemplate, Edit, Layer, PatchTask, Scalar, Witness

IDEA_PREFIX = "idea:"
"""How the name of a template begins that a model thought of."""
MAX_SPEEDUP_RATIO = 1.2
"""No idea is believed to speed its share up by more before it was tried."""
MIN_SPEEDUP_RATIO = 1.02
ACCURACY_RISK_RATIO = 0.1
CRASH_RISK_RATIO = 0.2
PATCH_COST_FACTOR = 3.0
"""A patch is drafted several times before it is measured."""
_TITLE_CHARACTERS = 80
_REASON_CHARACTERS = 1000
_NUM_DIGITS = 8


class IdeaEdit(BaseModel):
    """A key and the value that it shall have."""

    key: str
    value: Scalar


class Idea(BaseModel):
    """One action as a model proposes it."""

    title: str
    reason: str = ""
    category: str = ""
    layer: Layer = Layer.FRAMEWORK
    edits: list[IdeaEdit] = Field(default_factory=list)
    files: list[str] = Field(default_factory=list)
    expected_ratio: float = 1.05


class Ideas(BaseModel):
    """What a model answers, best first."""

    ideas: list[Idea] = Field(default_factory=list)


def template_of(
    state: CampaignState, idea: Idea, patchable: Mapping[str, str]
) -> ActionTemplate | str:
    """Return the template of an idea, or why there is none in one line.

    Args:
        state: the campaign.
        idea: what the model said.
        patchable: files that a patch may change, with their categories.
    """
    if bool(idea.edits) == bool(idea.files):
        return "an idea has either edits or files"
    found = _of_files(state, idea, patchable) if idea.files else _of_edits(state, idea)
    if isinstance(found, ActionTemplate) and found.template_id in state.tree.templates:
        return f"{found.template_id} was proposed before"
    return found


def _of_edits(state: CampaignState, idea: Idea) -> ActionTemplate | str:
    edits = tuple(Edit(key=each.key, value=each.value) for each in idea.edits)
    known = known_template(state, edits)
    if known is not None:
        return f"the catalog has it as {known.template_id}"
    try:
        own = custom_template(state, edits)
    except InvalidInputError as error:
        return str(error)
    config = state.tree.config_at(state.tree.current_id)
    if all(config.get(edit.key) == edit.value for edit in own.edits):
        return "it is in force already"
    return _believed(state, idea, own, {"edits": [[e.key, e.value] for e in own.edits]})


def _of_files(
    state: CampaignState, idea: Idea, patchable: Mapping[str, str]
) -> ActionTemplate | str:
    if not patchable:
        return "nothing of this target can be patched"
    files = tuple(sorted(dict.fromkeys(idea.files)))
    reason = refusal(files, sorted(patchable))
    if reason is not None:
        return reason
    categories = {patchable[path] for path in files}
    own = ActionTemplate(
        template_id=IDEA_PREFIX,
        layer=idea.layer,
        category=categories.pop() if len(categories) == 1 else "all",
        title="",
        is_exact=False,
        cost_s=PATCH_COST_FACTOR * mean_cost_s(state),
        witness=Witness(kind="config"),
        patch=PatchTask(files=files, idea=_line(idea.reason or idea.title, _REASON_CHARACTERS)),
    )
    return _believed(state, idea, own, {"files": files, "idea": _line(idea.title, 200)})


def _believed(
    state: CampaignState, idea: Idea, own: ActionTemplate, what: Mapping[str, object]
) -> ActionTemplate:
    """Return a template with the idea's words and a prior that claims little."""
    digest = sha256(canonical_json(what).encode()).hexdigest()[:_NUM_DIGITS]
    return own.model_copy(
        update={
            "template_id": f"{IDEA_PREFIX}{digest}",
            "title": _line(idea.title, _TITLE_CHARACTERS) or "An idea without a title",
            "category": _category(state, idea, own),
            "prior_speedup_ratio": _modest(idea.expected_ratio),
            "prior_accuracy_risk_ratio": ACCURACY_RISK_RATIO,
            "prior_crash_risk_ratio": CRASH_RISK_RATIO,
        }
    )


def _category(state: CampaignState, idea: Idea, own: ActionTemplate) -> str:
    """Return the profile's category that the idea names, if there is one; else what it touches."""
    profile = state.tree.profile_at(state.tree.current_id)
    known = {share.category for share in profile.shares} if profile is not None else set()
    return idea.category if idea.category in known else own.category


def _modest(ratio: float) -> float:
    # a NaN fails both comparisons of min and max in the order that keeps the lower bound
    return max(MIN_SPEEDUP_RATIO, min(MAX_SPEEDUP_RATIO, ratio if ratio > 0 else 0.0))


def _line(text: str, num_characters: int) -> str:
    return " ".join(text.split())[:num_characters]


def accepted(
    state: CampaignState, ideas: Sequence[Idea], patchable: Mapping[str, str], limit: int
) -> tuple[list[ActionTemplate], list[str]]:
    """Return the templates of ideas, at most a number of them, and why each other has none."""
    templates: list[ActionTemplate] = []
    refused: list[str] = []
    for idea in ideas:
        name = _line(idea.title, _TITLE_CHARACTERS)
        found = template_of(state, idea, patchable)
        if isinstance(found, str):
            refused.append(f"{name}: {found}")
        elif any(found.template_id == each.template_id for each in templates):
            refused.append(f"{name}: said twice")
        elif len(templates) >= limit:
            refused.append(f"{name}: more than {limit}")
        else:
            templates.append(found)
    return templates, refused
