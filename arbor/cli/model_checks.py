"""What `arbor doctor` says of language models: which are configured, and whether keys are set."""

import os
from collections.abc import Iterator
from pathlib import Path

from arbor.actors.model import LiteLLM
from arbor.cli.checks import Check, Level
from arbor.core.campaign import load_campaign
from arbor.events.errors import InvalidInputError
from arbor.events.model_settings import ROLES, Endpoint, ModelSettings


def models(campaign_file: Path | None) -> Iterator[Check]:
    """Check the language models of a campaign file; no model is called.

    Args:
        campaign_file: the file; None: nothing is configured.
    """
    if campaign_file is None:
        yield Check("models", Level.NOTE, "no campaign given", "arbor doctor --campaign FILE")
        return
    try:
        campaign = load_campaign(campaign_file)
    except InvalidInputError as error:
        yield Check("models", Level.MISSING, str(error), "correct the campaign file")
        return
    if campaign.models is None:
        yield Check("models", Level.OK, f"none in {campaign_file}: it does without")
        return
    yield from _roles(campaign.models)


def _roles(configured: ModelSettings) -> Iterator[Check]:
    for role in ROLES:
        chosen = configured.of(role)
        if chosen is None:
            yield Check(
                f"model {role}", Level.NOTE, "none", f"give models.{role}, if it is wanted"
            )
            continue
        for place, endpoint in enumerate((chosen, *chosen.fallbacks)):
            name = f"model {role}" if place == 0 else f"fallback {role}"
            yield _endpoint(name, role, endpoint, is_replayed=configured.replay == "recorded")


def _endpoint(name: str, role: str, endpoint: Endpoint, *, is_replayed: bool) -> Check:
    """Describe a model; of its key only whether there is one is said."""
    at = f" at {endpoint.api_base}" if endpoint.api_base else ""
    described = f"{endpoint.model}{at}"
    if is_replayed:
        return Check(name, Level.OK, f"{described}; replies come from a log")
    if LiteLLM().price(endpoint) is None:
        return Check(
            name, Level.MISSING, f"{described}; price unknown", f"give models.{role}.price"
        )
    variable = endpoint.key_variable
    if variable is None:
        return Check(name, Level.OK, f"{described}; no key variable is named")
    if not os.environ.get(variable):
        return Check(
            name, Level.MISSING, f"{described}; {variable} is not set", f"export {variable}=..."
        )
    return Check(name, Level.OK, f"{described}; {variable} is set")
