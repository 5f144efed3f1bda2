"""Campaign files: durations, and one line about whatever is wrong."""

import json
from pathlib import Path

import pytest

from arbor.core.campaign import (
    Campaign,
    dump_campaign,
    json_schema,
    load_campaign,
    parse_campaign,
    parse_duration_s,
)
from arbor.events.errors import InvalidInputError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("1.5m", 90),
        ("10m", 600),
        ("1h30m", 5400),
        ("2d", 172_800),
        (" 1H 30M ".replace(" 30M", "30M"), 5400),
        (45, 45),
        (0.5, 0.5),
    ],
)
def test_durations(text: str | float, seconds: float) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "fast", "10 minutes", "1h-3m", "-5", "0", "0s", 0, -1, "h", "1e3", "5000d", True]
)
def test_what_is_no_duration(text: str | float) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_duration_s(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_duration_is_finite(value: float) -> None:
    with pytest.raises(InvalidInputError, match="above 0 and below three years"):
        parse_duration_s(value)


def test_an_empty_file_is_all_defaults() -> None:
    assert parse_campaign("", "f") == Campaign()


def test_settings_are_what_the_file_says() -> None:
    text = """
name: x
target: landscape
seed: 3
budget: {wall: 1h30m, max_trials: 7, usd: 2.5}
search: {score: as_printed, parallel: 4}
measure: {max_pairs: 5}
gate: {max_kl_mean: 0.2}
"""
    settings = parse_campaign(text, "f").settings()
    assert (settings.seed, settings.budget.wall_s, settings.budget.max_trials) == (3, 5400, 7)
    assert (settings.budget.usd, settings.search.score) == (2.5, "as_printed")
    assert (settings.search.parallel, settings.measure.max_pairs) == (4, 5)
    assert settings.gate.max_kl_mean == 0.2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("budgett: {}", ["budgett", "unknown key", "arbor schema"]),
        ("search: {paralel: 2}", ["search.paralel", "unknown key"]),
        ("budget: {wall: soon}", ["budget.wall", "soon"]),
        ("budget: {wall: -3}", ["budget.wall", "-3"]),
        ("search: {parallel: many}", ["search.parallel", "integer", "many"]),
        ("search: {parallel: 0}", ["search.parallel", "greater than or equal to 1"]),
        ("search: {score: best}", ["search.score", "risk_averse"]),
        ("name: ''", ["name", "at least 1 character"]),
        ("seed: -1", ["seed"]),
        ("- a\n- b", ["mapping", "list"]),
        ("just text", ["mapping", "str"]),
        ("a: [1", ["not valid YAML"]),
        ("search: 3", ["search"]),
        ("measure: {alpha: .nan}", ["measure.alpha"]),
    ],
)
def test_one_line_says_what_is_wrong(text: str, words: list[str]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_campaign(text, "campaign.yaml")
    line = str(caught.value)
    assert line.startswith("campaign.yaml: ")
    assert "\n" not in line
    assert len(line) < 300
    for word in words:
        assert word in line


def test_what_is_dumped_is_read_again(tmp_path: Path) -> None:
    campaign = parse_campaign("target_config: {a: [1, x]}\nbudget: {wall: 2m}", "f")
    path = tmp_path / "campaign.yaml"
    path.write_text(dump_campaign(campaign))
    assert load_campaign(path) == campaign


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"cannot read campaign file .*nothing\.yaml"):
        load_campaign(tmp_path / "nothing.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInputError, match="cannot read campaign file"):
        load_campaign(tmp_path / "binary.yaml")


def test_the_schema_accepts_durations_as_text() -> None:
    schema = json.loads(json_schema())
    wall = schema["$defs"]["CampaignBudget"]["properties"]["wall"]
    assert wall["type"] == ["number", "string"]
    assert schema["additionalProperties"] is False


def test_models_are_read_by_role_with_their_defaults() -> None:
    text = """
models:
  default: anthropic/some-model
  coder:
    model: openai/own
    api_base: http://127.0.0.1:8000/v1
    key_variable: OWN_API_KEY
    fallbacks: [openai/other]
    budget: {tokens: 1000}
  max_concurrent: 3
  replay: off
"""
    models = parse_campaign(text, "f").settings().models
    assert models is not None
    coder, critic = models.of("coder"), models.of("critic")
    assert coder is not None
    assert critic is not None
    assert (coder.fallbacks[0].model, coder.budget.tokens) == ("openai/other", 1000)
    assert (critic.model, models.max_concurrent) == ("anthropic/some-model", 3)
    assert (models.replay, models.key_variables()) == ("off", ("OWN_API_KEY",))


@pytest.mark.parametrize(
    "coder",
    [
        "{model: m, key_variable: sk-abcdefghijklmnop1234}",
        "{model: m, key_variable: abcdefghijklmnop1234}",
        "{model: m, api_key: abcdefghijklmnop1234}",
        "{model: m, api_base: 'http://user:abcdefghijklmnop1234@host/v1'}",
    ],
)
def test_a_key_in_the_file_is_refused_and_not_repeated(coder: str) -> None:
    with pytest.raises(InvalidInputError, match="models") as caught:
        parse_campaign(f"models: {{coder: {coder}}}", "f")
    assert "abcdefghijklmnop" not in str(caught.value)


def test_a_replay_names_its_log() -> None:
    with pytest.raises(InvalidInputError, match="recorded_in"):
        parse_campaign("models: {default: m, replay: recorded}", "f")
