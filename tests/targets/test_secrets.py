"""Secrets leave no trace in evidence, and what is none stays readable."""

import pytest

from arbor.targets.secrets import is_secret_name, scrub, without_secrets


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "OPENAI_API_KEY", "db_password", "MY_SECRET_X", "TOKEN", "AWS_TOKEN_2"]
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "TOKENIZERS_PARALLELISM",
        "VLLM_USE_FASTOKENS",
        "VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD",
        "VLLM_MAX_TOKENS_PER_EXPERT_FUSED_MOE",
    ],
)
def test_names_of_plain_settings(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("line", "clean"),
    [
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer ***"),
        ("{'authorization': 'Bearer abcdef'}", "{'authorization': 'Bearer ***'}"),
        ("HF_TOKEN=hf_abcdefghijklmnopqrst rest", "HF_TOKEN=*** rest"),
        ("token hf_abcdefghijklmnopqrst given", "token *** given"),
        ("args: {'api_key': ['sesame'], 'port': 1}", "args: {'api_key': ***'], 'port': 1}"),
        ("vllm serve m --api-key sesame --port 1", "vllm serve m --api-key *** --port 1"),
        ("http://me:sesame@proxy:80/x", "http://me:***@proxy:80/x"),
        ("OPENAI_API_KEY: sk-abcdefghijklmnopqrstuv", "OPENAI_API_KEY: ***"),
    ],
)
def test_secrets_are_taken_out(line: str, clean: str) -> None:
    assert scrub([line]) == (clean,)


@pytest.mark.parametrize(
    "line",
    [
        "non-default args: {'model': '/models/tiny', 'max_num_batched_tokens': 4096}",
        "with config: tokenizer='/models/tiny', tokenizer_mode=auto, skip_tokenizer_init=False",
        "{'api_key': None}",
        'INFO: 127.0.0.1:45050 - "GET /health HTTP/1.1" 200 OK',
    ],
)
def test_plain_lines_stay(line: str) -> None:
    assert scrub([line]) == (line,)


def test_own_secrets_are_known_by_their_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "unremarkable-words")
    assert scrub(["it said unremarkable-words twice"]) == ("it said *** twice",)


def test_code_loses_only_values_and_what_looks_like_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "unremarkable-words")
    code = 'api_key = "x"; password = ask(); say("unremarkable-words", "sk-0123456789abcdefghij")'
    assert without_secrets(code) == 'api_key = "x"; password = ask(); say("***", "***")'
