"""`arbor kernels tune` and `bench`: what is timed, with the correctness beside every time."""

import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.cli.console import say
from arbor.cli.kernel_proofs import sizes_text
from arbor.targets.kernel.measuring import (
    Bench,
    device_name,
    local_bench,
    operator_evaluation,
)
from arbor.targets.kernel.tuning import Measured, Screen, Tuning, tune, tune_exhaustively

if TYPE_CHECKING:
    from arbor.kernels.base import Operator, Shape
    from arbor.kernels.harness.problem import OperatorProblem

EXHAUSTIVE = "exhaustive"


def tune_shapes(
    operator: "Operator",
    shapes: Sequence["Shape"],
    dtype: str,
    *,
    engine_name: str,
    num_trials: int,
    seed: int,
    folder: Path,
) -> bool:
    """Tune every shape for itself and write what was found; return whether all have a time.

    Each shape starts from the shipped configuration and the best of the shape before.
    """
    from arbor.kernels.architectures import local_architecture  # noqa: PLC0415 - needs torch

    architecture = local_architecture()
    bench = local_bench(architecture, seed)
    tunings: list[Tuning] = []
    for shape in shapes:
        operator.check_shape(shape, dtype)
        evaluate = operator_evaluation(operator, shape, dtype, architecture, bench)
        if engine_name == EXHAUSTIVE:
            done = tune_exhaustively(operator, shape, dtype, architecture, evaluate)
        else:
            before = [found.config for each in tunings if (found := each.best()) is not None]
            first = tuple(before[-1:])
            done = tune(
                operator,
                shape,
                dtype,
                architecture,
                evaluate,
                engine_name=engine_name,
                num_trials=num_trials,
                seed=seed,
                first=first,
                screen=_screen(operator, shape, dtype),
            )
        tunings.append(done)
        _say_tuning(operator, done)
    write_results(operator, dtype, tunings, folder)
    return all(each.best() is not None for each in tunings)


def _screen(operator: "Operator", shape: "Shape", dtype: str) -> Screen | None:
    """Return what rules out configurations that spill or exceed a limit, by compiling them."""
    from arbor.kernels.architectures import is_interpreted, local_architecture  # noqa: PLC0415
    from arbor.kernels.proof.proving import DEFAULT_FOLDER, ProofCache, prove  # noqa: PLC0415

    if is_interpreted():
        # nothing is compiled, so nothing spills
        return None
    architecture, cache = local_architecture(), ProofCache(DEFAULT_FOLDER)
    return lambda config: prove(operator, shape, dtype, config, architecture, cache=cache).problem


def write_results(
    operator: "Operator", dtype: str, tunings: Sequence[Tuning], folder: Path
) -> None:
    """Write the best of every shape for our launcher, and for vLLM's loader where it has one."""
    import torch  # noqa: PLC0415 - named in the file
    import triton  # noqa: PLC0415

    from arbor.kernels.architectures import local_architecture  # noqa: PLC0415
    from arbor.kernels.tuned import TunedShape, write_tuned  # noqa: PLC0415

    tuned = []
    for each in tunings:
        best, shipped = each.best(), each.shipped()
        if best is not None and best.median_us is not None:
            tuned.append(
                TunedShape(
                    shape=dict(each.shape),
                    config=dict(best.config),
                    median_us=best.median_us,
                    shipped_us=shipped.median_us or best.median_us,
                    method=best.method,
                    error=best.error,
                    num_measured=len(each.trials),
                )
            )
    environment = {
        "device": device_name(),
        "architecture": local_architecture().name,
        "torch": str(torch.__version__),
        "triton": str(triton.__version__),
        "python": platform.python_version(),
    }
    path = write_tuned(folder, operator.name, dtype, environment, tuned)
    say(f"written: {path}")
    if operator.name == "fused_moe" and dtype in {"bf16", "fp16"}:
        from arbor.kernels.fused_moe.vllm_configs import write_vllm_files  # noqa: PLC0415

        device, version = environment["device"], environment["triton"]
        for written in write_vllm_files(folder / "vllm", device, version, tuned):
            say(f"written: {written}")


def bench_shapes(
    operator: "Operator", shapes: Sequence["Shape"], dtype: str, seed: int, folder: Path | None
) -> bool:
    """Time our kernel beside PyTorch and torch.compile; return whether ours is right everywhere.

    Args:
        operator: what to time.
        shapes: sizes.
        dtype: of the inputs.
        seed: of inputs.
        folder: of tuned configurations; None for the shipped ones.
    """
    from arbor.kernels.architectures import local_architecture  # noqa: PLC0415 - needs torch
    from arbor.kernels.tuned import TunedConfigs  # noqa: PLC0415

    architecture = local_architecture()
    bench = local_bench(architecture, seed)
    tuned = TunedConfigs(folder, device_name())
    is_fine = True
    for shape in shapes:
        operator.check_shape(shape, dtype)
        evaluate = operator_evaluation(operator, shape, dtype, architecture, bench)
        ours = evaluate(tuned.config(operator, shape, dtype, architecture))
        is_fine &= ours.median_us is not None
        say(_row(evaluate.problem, "ours", ours, bench))
        for label, rival in rivals(operator, shape, dtype, bench).items():
            say(_row(evaluate.problem, label, rival, bench))
    return is_fine


def rivals(operator: "Operator", shape: "Shape", dtype: str, bench: Bench) -> dict[str, Measured]:
    """Return the times of PyTorch's own way, eager and, on an accelerator, compiled."""
    import torch  # noqa: PLC0415 - only where something is timed

    from arbor.kernels.architectures import local_architecture  # noqa: PLC0415
    from arbor.kernels.checking import compute_device  # noqa: PLC0415
    from arbor.kernels.harness.library import LibraryCandidate, library_problem  # noqa: PLC0415

    problem = library_problem(operator, shape, dtype, compute_device(), local_architecture())
    functions: dict[str, Callable[..., object]] = {"eager": operator.library}
    if problem.device.type == "cuda" and not operator.library_waits:
        torch.compiler.reset()
        functions["compiled"] = torch.compile(operator.library, dynamic=False)
    return {
        label: bench.measured(LibraryCandidate(function, operator.library_waits), problem, {})
        for label, function in functions.items()
    }


def _say_tuning(operator: "Operator", done: Tuning) -> None:
    best, shipped = done.best(), done.shipped()
    where = f"{operator.name} {done.dtype} {sizes_text(done.shape)}"
    if best is None or best.median_us is None:
        say(f"{where}: no configuration is right; shipped: {shipped.problem}")
        return
    gain = "" if shipped.median_us is None else f", shipped {shipped.median_us:.2f} us"
    say(
        f"{where}: {best.median_us:.2f} us ({best.method}){gain}; {len(done.trials)} of "
        f"{done.space_size} configurations; error {best.error:.1e}; {dict(best.config)}"
    )


def _row(problem: "OperatorProblem", label: str, done: Measured, bench: Bench) -> str:
    where = f"{problem.name} {label}"
    if done.median_us is None:
        return f"{where}: no time: {done.problem}"
    work = problem.operator.work(problem.shape, problem.dtype)
    share = "" if bench.peak is None else f", {bench.peak.ratio(work, done.median_us):.0%} of peak"
    return (
        f"{where}: {done.median_us:.2f} us (p20 {done.p20_us:.2f}, p80 {done.p80_us:.2f}, "
        f"{done.method}), {work.num_bytes} bytes{share}, error {done.error:.1e}"
    )
