"""Actions that a campaign's file brings along, beside those of the catalog."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Self

from pydantic import Field, model_validator

from arbor.events.errors import InvalidInputError
from arbor.events.types import ActionTemplate, Edit, Layer, Scalar, Value, Witness
from arbor.targets.vllm.entry import RISK_RATIOS, Category, Risk

_KEY = re.compile(r"(args\.[a-z0-9][\w.-]*|env\.[A-Za-z_]\w*)")


class OwnAction(Value):
    """Values of options and variables to try; the server has to report them."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: str = Field(min_length=1)
    edits: dict[str, Scalar] = Field(min_length=1)
    """Keys as in the catalog, ``args.max-num-seqs`` or ``env.NAME``."""
    layer: Layer = Layer.FRAMEWORK
    category: Category = "all"
    prior_speedup_ratio: float = Field(default=1.05, ge=0.9, le=3.0)
    accuracy_risk: Risk = "low"
    crash_risk: Risk = "low"
    cost_s: float = Field(default=300.0, gt=0)

    @model_validator(mode="after")
    def _has_good_keys(self) -> Self:
        for key, value in self.edits.items():
            if _KEY.fullmatch(key) is None:
                raise ValueError(f"key {key!r} is neither args.some-option nor env.SOME_NAME")
            if key.startswith("env.") and not isinstance(value, str):
                raise ValueError(f"{key} is {value!r}; the environment holds strings, quote it")
        return self


def own_templates(
    actions: Sequence[OwnAction], taken: Collection[str], cost_ratio: float
) -> tuple[ActionTemplate, ...]:
    """Return the templates of a campaign's own actions.

    Args:
        actions: of the campaign.
        taken: names of other actions.
        cost_ratio: multiplies the costs.

    Raises:
        InvalidInputError: a name is there twice.
    """
    names = [action.id for action in actions]
    for name in names:
        if name in taken or names.count(name) > 1:
            raise InvalidInputError(f"own_actions: {name!r} is there twice; rename one")
    return tuple(
        ActionTemplate(
            template_id=action.id,
            layer=action.layer,
            category=action.category,
            title=action.title,
            edits=_edits(action.edits),
            prior_speedup_ratio=action.prior_speedup_ratio,
            prior_accuracy_risk_ratio=RISK_RATIOS[action.accuracy_risk],
            prior_crash_risk_ratio=RISK_RATIOS[action.crash_risk],
            cost_s=action.cost_s * cost_ratio,
            is_exact=False,
            witness=Witness(kind="config"),
        )
        for action in actions
    )


def _edits(values: Mapping[str, Scalar]) -> tuple[Edit, ...]:
    return tuple(Edit(key=key, value=value) for key, value in values.items())
