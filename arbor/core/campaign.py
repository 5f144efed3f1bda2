"""A campaign file: YAML checked by pydantic, errors in one line with the fix."""

import json
import re
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from arbor.events.errors import InvalidInputError
from arbor.events.model_settings import ModelSettings
from arbor.events.settings import (
    BudgetSettings,
    GateSettings,
    MeasureSettings,
    PatchSettings,
    SearchSettings,
    Settings,
)

_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def parse_duration_s(text: str | float) -> float:
    """Return seconds of ``90``, ``90s``, ``10m``, ``1h30m`` or ``2d``.

    Raises:
        InvalidInputError: the text is no duration, or not above zero.
    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        value = float(text)
    else:
        stripped = str(text).strip().lower()
        parts = _DURATION.findall(stripped)
        if parts and "".join(number + unit for number, unit in parts) == stripped:
            value = sum(float(number) * _UNITS_S[unit] for number, unit in parts)
        elif re.fullmatch(r"\d+(\.\d+)?", stripped):
            value = float(stripped)
        else:
            raise InvalidInputError(
                f"{text!r} is no duration; write seconds or 90s, 10m, 1h30m, 2d"
            )
    if not 0 < value < 1e8:
        raise InvalidInputError(f"duration {text!r} must be above 0 and below three years")
    return value


Duration = Annotated[float, BeforeValidator(parse_duration_s)]


class CampaignBudget(BaseModel):
    """Budget section of a campaign file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    wall: Duration = Field(
        default=600.0,
        description="Wall-clock time: seconds or 90s, 10m, 1h30m, 2d",
        json_schema_extra={"type": ["number", "string"]},
    )
    max_trials: int = Field(default=1000, ge=1, description="Actions that may be dispatched")
    usd: float = Field(default=0.0, ge=0, description="Money for model calls")


class Campaign(BaseModel):
    """A campaign file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(default="campaign", min_length=1, max_length=80)
    target: str = Field(default="engine", description="Registered name of the target")
    target_config: dict[str, Any] = Field(
        default_factory=dict, description="The target's own settings, checked by the target"
    )
    seed: int = Field(default=0, ge=0)
    budget: CampaignBudget = CampaignBudget()
    search: SearchSettings = SearchSettings()
    measure: MeasureSettings = MeasureSettings()
    gate: GateSettings = GateSettings()
    patches: PatchSettings = PatchSettings()
    models: ModelSettings | None = Field(
        default=None, description="Language models by role; none: the campaign does without"
    )

    def settings(self) -> Settings:
        """Return what the reactors obey."""
        return Settings(
            seed=self.seed,
            budget=BudgetSettings(
                wall_s=self.budget.wall,
                max_trials=self.budget.max_trials,
                usd=self.budget.usd,
            ),
            search=self.search,
            measure=self.measure,
            gate=self.gate,
            patches=self.patches,
            models=self.models,
        )


def describe(error: ValidationError, source: str) -> str:
    """Return one line about the first problem of a validation error."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "the file"
    if first["type"] == "extra_forbidden":
        return f"{source}: unknown key {where!r}; `arbor schema` prints the known ones"
    if first["loc"][:1] == ("models",):
        # whoever writes a key in a wrong place must not find it in a terminal's history
        return f"{source}: {where}: {first['msg']}; see `arbor schema`"
    given = first.get("input")
    return f"{source}: {where}: {first['msg']} (got {given!r}); see `arbor schema`"


def parse_campaign(text: str, source: str) -> Campaign:
    """Return the campaign of a YAML text.

    Raises:
        InvalidInputError: the text is no YAML, has unknown keys or wrong values.
    """
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        line = str(error).replace("\n", " ")
        raise InvalidInputError(f"{source}: not valid YAML: {line}") from error
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise InvalidInputError(
            f"{source}: a campaign file is a mapping; got {type(data).__name__}"
        )
    try:
        return Campaign.model_validate(data)
    except ValidationError as error:
        raise InvalidInputError(describe(error, source)) from error


def load_campaign(path: Path) -> Campaign:
    """Read a campaign file.

    Raises:
        InvalidInputError: the file is missing, unreadable or wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"cannot read campaign file {path}: {error}") from error
    return parse_campaign(text, str(path))


def dump_campaign(campaign: Campaign) -> str:
    """Return the YAML text of a campaign."""
    return yaml.safe_dump(campaign.model_dump(mode="json"), sort_keys=False)


def json_schema() -> str:
    """Return the JSON schema of a campaign file."""
    return json.dumps(Campaign.model_json_schema(), indent=2)
