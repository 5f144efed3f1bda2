"""serve.yaml is checked with one line that names the key and what is allowed."""

from pathlib import Path

import pytest
import yaml

from arbor.targets.engine.server.errors import SettingsError
from arbor.targets.engine.server.settings import (
    Settings,
    load_settings,
    parse_settings,
    switches,
)


def test_an_empty_document_is_the_baseline() -> None:
    assert parse_settings(None) == parse_settings({}) == Settings()
    assert parse_settings({"kernel": None}) == Settings()


def test_a_resolved_document_reads_back_the_same(tmp_path: Path) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text(yaml.safe_dump(Settings().as_dict()), encoding="utf-8")
    assert load_settings(path) == Settings()


def test_every_switch_admits_its_default_and_says_what_it_allows() -> None:
    listed = switches()
    assert len(listed) >= 25
    for switch in listed:
        assert switch.admits(switch.default)
        assert not switch.admits(None)
        assert not switch.admits("nonsense")
        assert switch.allowed


def test_bare_on_and_off_of_yaml_are_words_where_a_switch_has_them() -> None:
    assert parse_settings(yaml.safe_load("dispatch: {gc: off}")).dispatch.gc == "off"
    assert parse_settings(yaml.safe_load("dispatch: {gc: on}")).dispatch.gc == "on"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[]", "serve.yaml: must be a mapping of sections, one of application, "),
        ("kernels: {}", "unknown section 'kernels'; allowed: application, framework, "),
        ("kernel: 3", "section kernel must be a mapping"),
        ("kernel: {weight: int8}", "unknown key kernel.weight; allowed keys: operators, "),
        ("kernel: {weights: int4}", "kernel.weights is 'int4'; allowed: one of float32, bfloat16"),
        ("dispatch: {threads: 0}", "dispatch.threads is 0; allowed: an integer from 1 to 256"),
        ("dispatch: {threads: true}", "dispatch.threads is True; allowed: an integer"),
        ("application: {decode_batching: 1}", "decode_batching is 1; allowed: one of false, true"),
        ("a: [", "is not YAML"),
    ],
)
def test_a_bad_document_gives_one_line(text: str, line: str, tmp_path: Path) -> None:
    path = tmp_path / "serve.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(path)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_gives_one_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        load_settings(tmp_path / "serve.yaml")
