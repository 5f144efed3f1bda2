"""Options of the ``engine`` target."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from arbor.events.types import Value
from arbor.targets.engine.accuracy_prompts import CheckSettings
from arbor.targets.engine.model_cache import SyntheticModel


class EngineTargetConfig(Value):
    """What is served, under which load, and within which limits."""

    model: Path | None = None
    """Hugging Face Llama-style folder; a synthetic model if there is none."""
    synthetic: SyntheticModel = SyntheticModel()
    cache: Path | None = None
    """Folder of models and compiled code; ARBOR_CACHE or ~/.cache/arbor by default."""
    concurrency: int = Field(default=24, ge=1)
    """Requests that the client keeps open."""
    num_requests: int = Field(default=24, ge=1)
    """Requests of a window before its length is calibrated."""
    length_scale: float = Field(default=0.25, gt=0)
    """Multiplies the lengths of prompts and outputs; 1 means 81 output tokens on average."""
    catalog: Literal["full", "placebo"] = "full"
    """``placebo`` offers actions that change nothing, to show that a campaign keeps none."""
    check: CheckSettings = CheckSettings()
    start_limit_s: float = Field(default=45.0, gt=0)
    request_limit_s: float = Field(default=60.0, gt=0)
    load_limit_s: float = Field(default=120.0, gt=0)
    """Limit of a window, a profile's load and a warm-up each."""
