"""`arbor catalog` lists, shows and checks."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from arbor.cli.main import app
from arbor.targets.vllm.catalog import load_catalog


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["catalog", *arguments])


def test_list_by_device() -> None:
    everything = run("list")
    assert everything.exit_code == 0, everything.output
    assert f"{len(load_catalog().entries)} entries" in everything.stdout
    amd = run("list", "--device", "amd").stdout
    assert "quick_reduce " in amd
    assert "flashinfer_sampler" not in amd
    line = next(line for line in amd.splitlines() if line.startswith("kv_cache_fp8"))
    assert "1.25x" in line
    assert "approximate" in line


def test_list_of_the_engine() -> None:
    assert "vectorised_sampler" in run("list", "--target", "engine").stdout
    refused = run("list", "--target", "engine", "--device", "amd")
    assert refused.exit_code == 2
    assert "use --device cpu" in refused.output


def test_show_is_yaml() -> None:
    done = run("show", "aiter")
    assert done.exit_code == 0, done.output
    fields = yaml.safe_load(done.stdout)
    assert fields["edits"] == [{"key": "env.VLLM_ROCM_USE_AITER", "value": "1"}]
    assert fields["source"].startswith("https://")
    engine = run("show", "batched_decode", "--target", "engine")
    assert yaml.safe_load(engine.stdout)["template_id"] == "batched_decode"


def test_show_of_what_is_not_there() -> None:
    done = run("show", "no_such")
    assert done.exit_code == 2
    assert "`arbor catalog list --target vllm` has all" in " ".join(done.output.split())


def test_check_without_vllm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run("check")
    assert done.exit_code == 0, done.output
    assert "kernel.yaml: 39 entries; 32 of 43 leads taken" in done.stdout
    assert "no vLLM is installed" in done.stdout


def test_check_against_an_installed_vllm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "vllm"
    path.write_text("#!/bin/sh\necho '  --max-num-seqs N'\n")
    path.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run("check", "--device", "cpu")
    assert done.exit_code == 1
    assert "entry max_num_batched_tokens: the installed vLLM has no" in done.stdout
    assert "entry max_num_seqs:" not in done.stdout


def test_check_of_the_engine() -> None:
    done = run("check", "--target", "engine")
    assert done.exit_code == 0, done.output
