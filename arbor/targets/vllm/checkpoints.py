"""Other forms of the served model, such as a quantised one, as actions."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from arbor.events.errors import InvalidInputError
from arbor.events.types import ActionTemplate, Edit, Layer, Value, Witness
from arbor.targets.vllm.arguments import MODEL_KEY
from arbor.targets.vllm.entry import RISK_RATIOS, Risk

_SAME = ("vocab_size", "hidden_size", "num_hidden_layers")


class Checkpoint(Value):
    """A folder with the same model in another form."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    path: Path
    prior_speedup_ratio: float = Field(default=1.2, ge=0.9, le=3.0)
    """Expected gain of the matrix products' share."""
    accuracy_risk: Risk = "medium"
    crash_risk: Risk = "low"
    cost_s: float = Field(default=300.0, gt=0)


def checkpoint_actions(
    checkpoints: Sequence[Checkpoint], cost_ratio: float
) -> tuple[ActionTemplate, ...]:
    """Return an action for each checkpoint; costs are multiplied by ``cost_ratio``."""
    return tuple(
        ActionTemplate(
            template_id=f"checkpoint_{checkpoint.name}",
            layer=Layer.FRAMEWORK,
            category="gemm",
            title=f"Serve the {checkpoint.name} form of the model",
            # servers run in folders of their own
            edits=(Edit(key=MODEL_KEY, value=os.path.abspath(checkpoint.path)),),  # noqa: PTH100
            prior_speedup_ratio=checkpoint.prior_speedup_ratio,
            prior_accuracy_risk_ratio=RISK_RATIOS[checkpoint.accuracy_risk],
            prior_crash_risk_ratio=RISK_RATIOS[checkpoint.crash_risk],
            cost_s=checkpoint.cost_s * cost_ratio,
            is_exact=False,
            witness=Witness(kind="config"),
        )
        for checkpoint in checkpoints
    )


def check_checkpoints(model: Path, checkpoints: Sequence[Checkpoint]) -> None:
    """Check that each checkpoint is a form of the served model.

    Raises:
        InvalidInputError: two have one name, or one is missing or another model; one line with
            the fix.
    """
    names = [checkpoint.name for checkpoint in checkpoints]
    if len(set(names)) < len(names):
        raise InvalidInputError("two checkpoints have one name; rename one of them")
    if not checkpoints:
        return
    served = _config(model, f"model {model}")
    for checkpoint in checkpoints:
        where = f"checkpoint {checkpoint.name}: {checkpoint.path}"
        config = _config(checkpoint.path, where)
        for key in _SAME:
            if config.get(key) != served.get(key):
                raise InvalidInputError(
                    f"{where} has {key} {config.get(key)}, the model {served.get(key)}; "
                    "give a form of the same model"
                )


def _config(folder: Path, where: str) -> dict[str, Any]:
    try:
        config: Any = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{where} has no readable config.json; give a folder in the Hugging Face layout"
        ) from error
    return config if isinstance(config, dict) else {}
