"""Task files are loaded, shrunk and judged; fast_p counts what was refused."""

import math
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the kernels extra is not installed")

import torch

from arbor.kernels.architectures import KernelInputError
from arbor.kernels.harness.examining import examine
from arbor.kernels.harness.watching import Tripwire
from arbor.kernels.tasks.fast_p import TaskOutcome, fast_p, geometric_mean_speedup
from arbor.kernels.tasks.loading import load_candidate, load_task
from arbor.kernels.tasks.problem import ModelCandidate, task_candidate, task_problem

FILES = Path(__file__).parents[1] / "task_files"
TASK = FILES / "scaled_relu.py"
CPU = torch.device("cpu")


@pytest.mark.parametrize("shrink", [1, 8])
def test_a_right_candidate_is_accepted_at_every_size(shrink: int) -> None:
    problem = task_problem(TASK, shrink, CPU)
    (x,) = problem.inputs(1, "normal")
    assert x.shape == (64 // shrink, 256 // shrink)
    candidate = task_candidate(FILES / "scaled_relu_good.py", TASK, shrink, CPU)
    verdict = examine(candidate, problem, (1, 2, 3), Tripwire())
    assert verdict.refusals == ()


def test_pytorch_inside_is_refused() -> None:
    candidate = task_candidate(FILES / "scaled_relu_lazy.py", TASK, 1, CPU)
    verdict = examine(candidate, task_problem(TASK, 1, CPU), (1, 2), Tripwire())
    assert [refusal.rule for refusal in verdict.refusals] == ["reference_inside"]
    assert "mul" in verdict.refusals[0].detail


def test_half_precision_is_refused() -> None:
    problem = task_problem(TASK, 1, CPU)
    half = problem.model.half()

    def lower(x: torch.Tensor) -> torch.Tensor:
        return half(x.half()).float()  # type: ignore[no-any-return]

    verdict = examine(ModelCandidate(lower), task_problem(TASK, 1, CPU), (1, 2), Tripwire())
    assert "wrong" in {refusal.rule for refusal in verdict.refusals}


def test_small_numbers_are_not_shrunk() -> None:
    module = load_task(TASK, 100)
    assert (module.batch_size, module.dim, module.groups) == (4, 4, 2)


def test_bad_files_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(KernelInputError, match="cannot be read"):
        load_task(tmp_path / "none.py")
    path = tmp_path / "task.py"
    path.write_text("class Model: pass\n")
    with pytest.raises(KernelInputError, match="has no get_inputs, get_init_inputs"):
        load_task(path)
    path.write_text("1 / 0\n")
    with pytest.raises(KernelInputError, match="does not run: ZeroDivisionError"):
        load_task(path)
    with pytest.raises(KernelInputError, match="no class ModelNew"):
        load_candidate(TASK)


def test_fast_p_keeps_refused_candidates_in_the_denominator() -> None:
    outcomes = [
        TaskOutcome("a", 1, 10.0, 20.0, 15.0),
        TaskOutcome("b", 1, 10.0, 11.0, 9.0),
        TaskOutcome("c", 1, None, 5.0, 5.0, "wrong"),
    ]
    assert fast_p(outcomes, 1.0, "eager") == pytest.approx(2 / 3)
    assert fast_p(outcomes, 1.5, "eager") == pytest.approx(1 / 3)
    assert fast_p(outcomes, 1.0, "compiled") == pytest.approx(1 / 3)
    assert geometric_mean_speedup(outcomes, "eager") == pytest.approx(math.sqrt(2.2))
    with pytest.raises(ValueError, match="no outcomes"):
        fast_p([], 1.0, "eager")
    with pytest.raises(ValueError, match="compiled was not timed"):
        fast_p([TaskOutcome("a", 1, 1.0, 1.0, None)], 1.0, "compiled")
