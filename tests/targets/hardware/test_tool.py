"""A tool may be missing, hang, fail or print garbage: each ends as one line of reason."""

from pathlib import Path

import pytest

from arbor.targets.hardware.tool import ask, is_installed, read_json
from tests.fakes.vendor_tools import VendorTools


@pytest.fixture(name="tools")
def _tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> VendorTools:
    monkeypatch.setenv("PATH", str(tmp_path))
    return VendorTools(tmp_path)


def test_output_and_missing_tool(tools: VendorTools) -> None:
    tools.prints("some-smi", "a\nb\n")
    assert is_installed("some-smi")
    assert ask("some-smi").text == "a\nb\n"
    assert not is_installed("other-smi")
    assert ask("other-smi").problem == "other-smi is not installed"


def test_failure_gives_the_first_line(tools: VendorTools) -> None:
    tools.runs("some-smi", "echo; echo ' no driver' >&2; echo more >&2; exit 9")
    assert ask("some-smi").problem == "some-smi ended with exit code 9: no driver"
    tools.prints("some-smi", "said on stdout\n", exit_code=6)
    assert ask("some-smi").problem == "some-smi ended with exit code 6: said on stdout"


def test_what_hangs_is_killed_with_its_children(tools: VendorTools) -> None:
    tools.hangs("some-smi")
    assert ask("some-smi", limit_s=0.5).problem == "some-smi did not answer within 0.5 s"
    assert tools.child_ends()


def test_output_is_limited(tools: VendorTools) -> None:
    tools.runs("some-smi", "exec /usr/bin/yes")
    assert ask("some-smi").problem.startswith("some-smi printed more than")


def test_no_program(tools: VendorTools) -> None:
    (tools.folder / "some-smi").write_bytes(b"\x7fELF garbage")
    (tools.folder / "some-smi").chmod(0o755)
    assert ask("some-smi").problem.startswith("some-smi does not start: ")


def test_environment_is_clean(tools: VendorTools, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LD_PRELOAD", "PYTHONPATH", "CUDA_VISIBLE_DEVICES", "ROCM_PATH"):
        monkeypatch.setenv(name, "/nonexistent/x")
    tools.runs("some-smi", "exec /usr/bin/env")
    names = {line.partition("=")[0] for line in ask("some-smi").text.splitlines()}
    assert names <= {"PATH", "HOME", "LD_LIBRARY_PATH", "ROCM_PATH", "LC_ALL", "PWD", "SHLVL", "_"}
    assert "ROCM_PATH" in names


def test_arguments_meet_no_shell(tools: VendorTools) -> None:
    tools.runs("some-smi", 'echo "$1"')
    assert ask("some-smi", "$(/bin/echo x); *").text == "$(/bin/echo x); *\n"


def test_json_behind_warnings() -> None:
    assert read_json('WARNING: [x] {y}\n[WARNING] z\n\n {"card0": {"a": "1"}}\ntrailing') == {
        "card0": {"a": "1"}
    }
    for text in ("", "no json", "[" * 100_000, "{}", '{"a": '):
        with pytest.raises(ValueError, match="no JSON"):
            read_json(text)
