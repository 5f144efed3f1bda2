"""From ``serve.yaml`` to the command line and the environment of ``vllm serve``."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from arbor.events.types import Scalar

MODEL_KEY = "args.model"
"""Holds the folder of the model, which vLLM takes as a word and not as an option."""
OWN_OPTIONS = frozenset(("host", "port", "served-model-name", "profiler-config", "api-key"))
"""Options that the target sets itself, or whose secrets must not stand in a commit."""


class BadOptionError(ValueError):
    """A configuration that this vLLM's command line cannot express."""


def environment(config: Mapping[str, Scalar]) -> dict[str, str]:
    """Return the variables of a configuration."""
    return {
        key.removeprefix("env."): str(value)
        for key, value in config.items()
        if key.startswith("env.")
    }


def options(config: Mapping[str, Scalar]) -> dict[str, Scalar | dict[str, Any]]:
    """Return options with their values; fields of a JSON option are put together.

    Raises:
        BadOptionError: an option has a value and fields, and the value is no JSON object.
    """
    keys = [key.removeprefix("args.") for key in config if key.startswith("args.")]
    found: dict[str, Scalar | dict[str, Any]] = {}
    # a whole value comes before its fields, however they are ordered
    for path in sorted(keys, key=lambda key: key.count(".")):
        value = config[f"args.{path}"]
        name, *fields = path.split(".")
        if not fields:
            found[name] = value
            continue
        body = _json(found.get(name, {}))
        if not isinstance(body, dict):
            raise BadOptionError(f"args.{name} is {body!r}; its fields need a JSON object")
        found[name] = _set(body, fields, _json(value), name)
    return found


def command_line(
    config: Mapping[str, Scalar], known: Collection[str], version: str
) -> tuple[str, ...]:
    """Return the options of a configuration as words.

    Args:
        config: of ``serve.yaml``.
        known: options of the installed vLLM, without dashes.
        version: of the installed vLLM, for messages.

    Raises:
        BadOptionError: an option is unknown to the installed vLLM, or the target's own.
    """
    words: list[str] = []
    for name, value in options(config).items():
        if f"args.{name}" == MODEL_KEY:
            continue
        if name in OWN_OPTIONS:
            raise BadOptionError(f"args.{name} is set by Arbor itself; leave it out")
        if name not in known:
            raise BadOptionError(
                f"unrecognized argument --{name}: vLLM {version} has no such option"
            )
        if isinstance(value, dict):
            words += [f"--{name}", json.dumps(value, sort_keys=True)]
        elif isinstance(items := _json(value), list):
            words += [f"--{name}", *map(str, items)]
        elif value is True:
            words.append(f"--{name}")
        elif value is False:
            # an option without a negative is off when it is left out
            words += [f"--no-{name}"] if f"no-{name}" in known else []
        else:
            # one word, so that a value may begin with a dash
            words.append(f"--{name}={value}")
    return tuple(words)


def _set(body: dict[str, Any], path: list[str], value: Any, name: str) -> dict[str, Any]:
    first, *rest = path
    if not rest:
        return {**body, first: value}
    below = body.get(first, {})
    if not isinstance(below, dict):
        raise BadOptionError(f"args.{name}: {first} is {below!r} and has fields")
    return {**body, first: _set(below, rest, value, name)}


def _json(value: Any) -> Any:
    """Return the list or mapping that a string holds; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
