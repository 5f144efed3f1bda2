"""The doctor names models and key variables, never a key."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from arbor.cli.checks import Level
from arbor.cli.main import app
from arbor.cli.model_checks import models

KEY = "planted-key-2718281828"
FREE = "{prompt_usd_per_million_tokens: 0, completion_usd_per_million_tokens: 0}"
TEXT = f"""
models:
  coder: {{model: openai/own, api_base: "http://h:1/v1", key_variable: OWN_API_KEY, price: {FREE}}}
  planner: {{model: openai/own, price: {FREE}, fallbacks: [openai/no-such-model]}}
"""


def _file(folder: Path, text: str) -> Path:
    path = folder / "campaign.yaml"
    path.write_text(text)
    return path


def test_models_and_keys_are_named_and_no_key_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN_API_KEY", KEY)
    done = CliRunner().invoke(app, ["doctor", "--campaign", str(_file(tmp_path, TEXT))])
    coder = next(line for line in done.stdout.splitlines() if "model coder" in line)
    assert "openai/own at http://h:1/v1; OWN_API_KEY is set" in coder
    assert KEY not in done.output
    assert "fallback planner openai/no-such-model; price unknown" in done.stdout


def test_a_key_that_is_not_set_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OWN_API_KEY", raising=False)
    found = {check.name: check for check in models(_file(tmp_path, TEXT))}
    assert found["model coder"].level is Level.MISSING
    assert found["model coder"].fix == "export OWN_API_KEY=..."
    assert found["model planner"].level is Level.OK
    assert "price unknown" in found["fallback planner"].detail
    assert found["fallback planner"].level is Level.MISSING
    assert found["model critic"].level is Level.NOTE


@pytest.mark.parametrize(
    ("text", "level", "words"),
    [
        ("name: x", Level.OK, "does without"),
        ("modles: {}", Level.MISSING, "unknown key"),
    ],
)
def test_a_campaign_without_models(tmp_path: Path, text: str, level: Level, words: str) -> None:
    (found,) = models(_file(tmp_path, text))
    assert found.level is level
    assert words in found.detail


def test_without_a_campaign_the_way_to_ask_is_named() -> None:
    (found,) = models(None)
    assert (found.level, found.fix) == (Level.NOTE, "arbor doctor --campaign FILE")
