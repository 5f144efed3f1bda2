"""Settings of a campaign, changed as people write it: ``score=as_printed``."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import yaml
from pydantic import ValidationError

from arbor.core.campaign import describe
from arbor.events.errors import InvalidInputError
from arbor.events.settings import Settings

SECTIONS = ("search", "measure", "gate", "budget")
UNKNOWABLE = {
    "measure.objective": "another objective was not measured",
    "measure.guards": "other guard workloads were not measured",
    "measure.window_s": "windows of another length were not measured",
    "gate.alpha": "accuracy was measured for intervals of the recorded level",
    "gate.required_passes": "accuracy was measured in the recorded passes",
}
"""What no recorded result can answer, and why."""


def changed_settings(settings: Settings, texts: Sequence[str]) -> Settings:
    """Return settings with keys replaced.

    Args:
        settings: the recorded ones.
        texts: ``key=value`` each; the section may be left out where the key is in one only.

    Raises:
        InvalidInputError: a text is no change, its key is unknown, or its value wrong.
    """
    if not texts:
        raise InvalidInputError("say what changes: --set score=as_printed")
    fields = settings.model_dump(mode="json")
    for text in texts:
        key, sign, value = (part.strip() for part in text.partition("="))
        if not sign or not key:
            raise InvalidInputError(f"{text!r} is no change: write --set KEY=VALUE")
        section, name = _placed(fields, key)
        full = f"{section}.{name}"
        if full in UNKNOWABLE:
            raise InvalidInputError(
                f"--set {text}: {UNKNOWABLE[full]}, so nothing recorded can tell; run a campaign"
            )
        fields[section][name] = _parsed(text, value)
    try:
        return Settings.model_validate(fields)
    except ValidationError as error:
        raise InvalidInputError(describe(error, "--set")) from error


def _placed(fields: dict[str, Any], key: str) -> tuple[str, str]:
    """Return section and name of a key.

    Raises:
        InvalidInputError: there is none, or more than one.
    """
    names = [f"{section}.{name}" for section in SECTIONS for name in fields[section]]
    found = [full for full in names if key in {full, full.partition(".")[2]}]
    if len(found) == 1:
        section, _, name = found[0].partition(".")
        return section, name
    if found:
        raise InvalidInputError(f"--set {key} is not clear: write {' or '.join(found)}")
    short = [full.partition(".")[2] for full in names]
    near = get_close_matches(key, [*names, *short], n=3) or names[:6]
    raise InvalidInputError(f"no setting {key!r} that decisions obey; near it: {', '.join(near)}")


def _parsed(text: str, value: str) -> object:
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise InvalidInputError(f"--set {text}: {value!r} is no value") from error


def settings_difference(before: Settings, after: Settings) -> tuple[tuple[str, str, str], ...]:
    """Return key, old and new value of every setting that differs."""
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    return tuple(
        (f"{section}.{name}", str(old[section][name]), str(new[section][name]))
        for section in SECTIONS
        for name in old[section]
        if old[section][name] != new[section][name]
    )
