"""`arbor kernels` lists, checks, compiles, tunes and benches, without an accelerator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the kernels extra is not installed")

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "arbor", "kernels", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_list() -> None:
    done = run("list")
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in (done.stdout + done.stderr).splitlines() if line}
    assert "m,n,k" in lines["matmul"]
    assert lines["silu_and_mul"].split()[-4:] == ["40", "40", "40", "40"]


def test_check_of_one_shape() -> None:
    done = run("check", "softmax", "--shape", "num_rows=2,width=63", "--dtype", "fp32")
    assert done.returncode == 0, done.stderr
    assert "softmax fp32 num_rows=2,width=63: error" in done.stdout
    assert done.stdout.strip().endswith("ok")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "conv"), "unknown operator 'conv'"),
        (("check", "softmax", "--shape", "width"), "write num_rows=N,width=N"),
        (("compile", "softmax", "--arch", "sm_1"), "unknown architecture 'sm_1'"),
        (("tune", "softmax", "--trials", "0"), "at least 1 is needed"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_compile(tmp_path: Path) -> None:
    shape = ("--shape", "num_rows=64,width=1024", "--dtype", "bf16")
    arch = ("--arch", "gfx942", "--cache", str(tmp_path))
    done = run("compile", "silu_and_mul", *shape, *arch)
    assert done.returncode == 0, done.stderr
    assert "silu_and_mul_kernel" in done.stdout + done.stderr
    whole = run("compile", "silu_and_mul", *shape, *arch, "--space")
    assert whole.returncode == 0, whole.stderr
    assert " of 40 fit, 0 compiled and exceed a limit" in whole.stdout
    assert len(list(tmp_path.iterdir())) > 1


def test_tune_and_bench(tmp_path: Path) -> None:
    shape = ("--shape", "num_rows=2,width=256", "--dtype", "fp32")
    done = run(
        "tune", "silu_and_mul", *shape, "--engine", "random", "--trials", "3",
        "--out", str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*.json")
    (entry,) = json.loads(path.read_text())["shapes"]
    assert entry["num_measured"] == 3
    assert entry["method"] == "wall"
    assert 0 < entry["error"] < 1e-6
    timed = run("bench", "silu_and_mul", *shape, "--configs", str(tmp_path))
    assert timed.returncode == 0, timed.stderr
    ours, eager = timed.stdout.splitlines()
    assert "ours: " in ours
    assert "eager: " in eager
    assert "error" in ours


def test_tasks(tmp_path: Path) -> None:
    files = ROOT / "tests" / "kernels" / "task_files"
    for name in ("good", "lazy"):
        (tmp_path / name).mkdir()
        source = (files / f"scaled_relu_{name}.py").read_text()
        (tmp_path / name / "scaled_relu.py").write_text(source)
    task = str(files / "scaled_relu.py")
    done = run("tasks", task, "--candidates", str(tmp_path / "good"), "--shrink", "4")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("scaled_relu /4: ")
    assert "fast_1 at sizes divided by 4: " in done.stdout
    refused = run("tasks", task, "--candidates", str(tmp_path / "lazy"), "--shrink", "1")
    assert refused.returncode == 1
    assert "no time: reference_inside" in refused.stdout
    assert "0% against eager" in refused.stdout
    missing = run("tasks", task, "--candidates", str(tmp_path))
    assert missing.returncode == 2
    assert "has no candidate" in " ".join(missing.stderr.split())
