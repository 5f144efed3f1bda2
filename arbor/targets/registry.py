"""Targets by name: one line each, imported when asked for."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pydantic import BaseModel, ValidationError

from arbor.events.errors import InvalidInputError
from arbor.targets.base import Target

# name -> module, configuration model, class
_TARGETS = {
    "command": ("arbor.targets.command.target", "CommandTargetConfig", "CommandTarget"),
    "engine": ("arbor.targets.engine.target", "EngineTargetConfig", "EngineTarget"),
    "kernel": ("arbor.targets.kernel.target", "KernelTargetConfig", "KernelTarget"),
    "landscape": ("arbor.targets.landscape", "LandscapeConfig", "LandscapeTarget"),
    "vllm": ("arbor.targets.vllm.target", "VllmTargetConfig", "VllmTarget"),
}


def target_names() -> list[str]:
    """Return the names of the known targets."""
    return sorted(_TARGETS)


def create_target(name: str, options: Mapping[str, Any]) -> Target:
    """Return a target from its name and its options as YAML gives them.

    Raises:
        InvalidInputError: the name is unknown, or an option is.
    """
    if name not in _TARGETS:
        known = ", ".join(target_names())
        raise InvalidInputError(f"unknown target {name!r}; known targets: {known}")
    module_name, model_name, class_name = _TARGETS[name]
    module = import_module(module_name)
    model: type[BaseModel] = getattr(module, model_name)
    try:
        config = model.model_validate(dict(options))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "options"
        raise InvalidInputError(f"target {name}: {where}: {first['msg']}") from error
    target: Target = getattr(module, class_name)(config)
    return target
