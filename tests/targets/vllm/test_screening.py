"""Trials inside one process: what reaches the worker, what its answers become, how it ends."""

import sys
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from arbor.events.types import Scalar
from arbor.targets.base import ServerFailedError
from arbor.targets.child import clean_environment, free_port
from arbor.targets.serve_yaml import CONFIG_FILE, dump_config
from arbor.targets.vllm.arguments import environment
from arbor.targets.vllm.config import VllmTargetConfig
from arbor.targets.vllm.installation import Installation
from arbor.targets.vllm.requests import CompletionRequest
from arbor.targets.vllm.screening import ScreeningStarter, can_show
from tests.fakes.screening_python import PROGRAM

OPTIONS = frozenset(("max-num-seqs", "seed", "model", "api-server-count"))
BASELINE: dict[str, Scalar] = {"args.model": "/models/plain", "args.max-num-seqs": 8}


@pytest.fixture
def interpreter(tmp_path: Path) -> Path:
    """Return a program that stands for the interpreter of vLLM's environment."""
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {PROGRAM} "$@"\n')
    program.chmod(0o755)
    return program


def worktree(folder: Path, **changes: Scalar) -> Path:
    """Return a folder with a configuration; ``seed=1`` stands for ``args.seed``."""
    folder.mkdir(exist_ok=True)
    keys = {f"args.{name.replace('_', '-')}": value for name, value in changes.items()}
    (folder / CONFIG_FILE).write_bytes(dump_config({**BASELINE, **keys}))
    return folder


def starter(interpreter: Path) -> ScreeningStarter:
    """Return a starter on the fake."""
    config = VllmTargetConfig(model=Path("/models/plain"), start_limit_s=20.0)
    installation = Installation((str(interpreter), "-m", "vllm"), "0.32.0", OPTIONS, None)

    def with_own(config: Mapping[str, Scalar]) -> dict[str, str]:
        return clean_environment({"VLLM_NO_USAGE_STATS": "1", **environment(config)})

    return ScreeningStarter(config, installation, with_own, free_port)


def requests(number: int) -> list[CompletionRequest]:
    """Return requests of 4 and 10 tokens."""
    return [CompletionRequest((1, 2, 3, index), 10, "m", "s") for index in range(number)]


def test_a_window_is_what_the_worker_counted(interpreter: Path, tmp_path: Path) -> None:
    with starter(interpreter).start(worktree(tmp_path / "w"), tmp_path / "log") as server:
        sample = server.window(requests(6), concurrency=3, seed=5, limit_s=20.0)
        assert server.max_model_len("screening") == 512
        assert server.tokens("AB") == [65, 66]
        assert server.resolved_config()["args.max-num-seqs"] == 8
    assert sample.throughput_tok_s == pytest.approx(800.0)
    assert (sample.num_completed, sample.num_failed, sample.num_output_tokens) == (6, 0, 60)
    assert (sample.num_input_tokens, sample.num_concurrent_planned, sample.seed) == (24, 3, 5)
    assert sample.ttft_ms_mean == pytest.approx(100.0)


def test_the_worker_is_started_by_the_interpreter_of_vllm_on_one_thread(
    interpreter: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with starter(interpreter).start(worktree(tmp_path / "w"), log):
        said = log.read_text()
    assert "-P screening_worker.py plain [('max-num-seqs', '8')]" in said
    assert "'VLLM_ENABLE_V1_MULTIPROCESSING': '0'" in said
    assert "'OMP_NUM_THREADS': '1'" in said


def test_another_form_of_the_model_is_loaded(interpreter: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with starter(interpreter).start(worktree(tmp_path / "w", model="/models/int8"), log):
        assert "screening_worker.py int8" in log.read_text()


def test_what_does_not_load_is_a_failure_with_its_log(interpreter: Path, tmp_path: Path) -> None:
    start = starter(interpreter).start(worktree(tmp_path / "w", seed=13), tmp_path / "log")
    with pytest.raises(ServerFailedError) as caught, start:
        pass
    assert (caught.value.phase, caught.value.exit_code) == ("start", 1)
    assert "ValueError: thirteen is no seed" in caught.value.log_tail


def test_a_death_in_a_window_is_told_and_leaves_nothing(interpreter: Path, tmp_path: Path) -> None:
    start = starter(interpreter).start(worktree(tmp_path / "w", seed=14), tmp_path / "log")
    with start as server:
        pid = server.child.pid
        with pytest.raises(ServerFailedError) as caught:
            server.window(requests(2), concurrency=2, seed=1, limit_s=20.0)
    assert caught.value.phase == "screening"
    assert "RuntimeError: fourteen" in caught.value.log_tail
    assert not psutil.pid_exists(pid)


def test_an_unknown_option_is_refused_before_a_start(interpreter: Path, tmp_path: Path) -> None:
    start = starter(interpreter).start(worktree(tmp_path / "w", warp=9), tmp_path / "log")
    with pytest.raises(ServerFailedError, match=r"vLLM 0\.32\.0 has no such option"), start:
        pass
    assert not (tmp_path / "log").exists()


def test_what_acts_on_threads_or_the_front_end_is_not_for_a_worker(tmp_path: Path) -> None:
    assert can_show(worktree(tmp_path, max_num_seqs=4), BASELINE)
    assert not can_show(worktree(tmp_path, api_server_count=2), BASELINE)
    bound = {**BASELINE, "env.VLLM_CPU_OMP_THREADS_BIND": "auto"}
    assert not can_show(worktree(tmp_path), bound)
    assert not can_show(tmp_path / "nowhere", BASELINE)
