"""The configuration file of a workspace: two levels, scalars only, dumped the same way always."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from arbor.events.errors import InvalidInputError
from arbor.events.types import Edit, Scalar

CONFIG_FILE = "serve.yaml"


def load_config(text: str) -> dict[str, Scalar]:
    """Return the flat configuration of a file's text, in the file's order.

    Raises:
        InvalidInputError: the text is no YAML mapping of sections of scalars.
    """
    try:
        document: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        line = str(error).splitlines()[0]
        raise InvalidInputError(f"{CONFIG_FILE} is no YAML: {line}") from error
    flat: dict[str, Scalar] = {}
    for section, body in _mapping(document, CONFIG_FILE).items():
        for name, value in _mapping(body, f"section {section} of {CONFIG_FILE}").items():
            if not isinstance(value, bool | int | float | str):
                raise InvalidInputError(
                    f"{CONFIG_FILE}: {section}.{name} is {value!r}; "
                    "true, false, a number or a string is needed"
                )
            flat[f"{section}.{name}"] = value
    return flat


def apply_edits(config: Mapping[str, Scalar], edits: Sequence[Edit]) -> dict[str, Scalar]:
    """Return a configuration with keys set; new keys come last."""
    return {**config, **{edit.key: edit.value for edit in edits}}


def dump_config(config: Mapping[str, Scalar]) -> bytes:
    """Return the text of a flat configuration; sections keep the order of their first key.

    Raises:
        InvalidInputError: a key is not ``section.key``.
    """
    document: dict[str, dict[str, Scalar]] = {}
    for key, value in config.items():
        section, dot, name = key.partition(".")
        if not (section and dot and name):
            raise InvalidInputError(f"configuration key {key!r} is not of the form section.key")
        document.setdefault(section, {})[name] = value
    text: str = yaml.safe_dump(
        document, sort_keys=False, default_flow_style=False, allow_unicode=True, width=1000
    )
    return text.encode()


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise InvalidInputError(f"{what} is not a mapping from names to values")
    return value
