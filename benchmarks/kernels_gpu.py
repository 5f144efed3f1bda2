"""All figures of kernels/ on one accelerator: check, tune, bench on unseen shapes, table.

    python benchmarks/kernels_gpu.py --state DIR [--minutes 9] [--trials 24] [--seed 1]

Every result is a line of ``DIR/results.jsonl`` as soon as it is there; a later call goes on where
the last one stopped, and the table is written when nothing is left. Needs torch, triton, pydantic,
pyyaml, psutil and, for the TPE search, optuna; no network.
"""

import argparse
import json
import math
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    # a bare checkout is enough
    sys.path.insert(0, str(ROOT))

import torch  # noqa: E402 - the path comes first
import triton  # noqa: E402

from arbor.kernels.architectures import Architecture, local_architecture  # noqa: E402
from arbor.kernels.base import Operator, Shape  # noqa: E402
from arbor.kernels.checking import check_operator  # noqa: E402
from arbor.kernels.harness.library import LibraryCandidate, compiled, library_problem  # noqa: E402
from arbor.kernels.harness.roofline import measured_copy_bytes_per_s  # noqa: E402
from arbor.kernels.registry import create_operator, operator_names  # noqa: E402
from arbor.kernels.tuned import TunedConfigs, TunedShape, write_tuned  # noqa: E402
from arbor.targets.kernel.measuring import Bench, local_bench, operator_evaluation  # noqa: E402
from arbor.targets.kernel.tuning import (  # noqa: E402
    Measured,
    Tuning,
    tune,
    tune_exhaustively,
    valid_configs,
)
from benchmarks.kernels_shapes import drawn_shapes  # noqa: E402
from benchmarks.kernels_table import write_table  # noqa: E402
from benchmarks.steps import OutOfTimeError, Results  # noqa: E402

TUNED_DTYPE = "bf16"
FP8_SHAPES = ({"m": 16, "n": 4096, "k": 4096}, {"m": 8192, "n": 8192, "k": 8192})
SQUARE = {"m": 8192, "n": 8192, "k": 8192}
COPY_BYTES = 2 << 30
DIED = "the process died in this step"
EXHAUSTIVE = (
    ("silu_and_mul", {"num_rows": 4096, "width": 14336}),
    ("rms_norm", {"num_rows": 4096, "width": 4096}),
)
SEARCH_SHARE = 0.15
"""Share of a space that a search may try beside the exhaustive one."""


@dataclass(frozen=True, slots=True)
class Context:
    """What all steps need."""

    results: Results
    architecture: Architecture
    bench: Bench
    folder: Path
    num_trials: int
    engine: str
    seed: int


def sizes(shape: Shape) -> str:
    """Return a shape as a part of a key."""
    return ",".join(f"{name}={size}" for name, size in shape.items())


def environment() -> dict[str, Any]:
    """Return the machine and its versions."""
    properties = torch.cuda.get_device_properties(0)
    return {
        "device": torch.cuda.get_device_name(),
        "architecture": local_architecture().name,
        "memory_bytes": properties.total_memory,
        "torch": str(torch.__version__),
        "triton": str(triton.__version__),
        "python": platform.python_version(),
        "runtime": _runtime(),
    }


def measured_copy() -> dict[str, Any]:
    """Return the bandwidth of a copy."""
    return {"bytes_per_s": measured_copy_bytes_per_s(COPY_BYTES)}


def _runtime() -> str:
    hip = torch.version.hip
    return f"ROCm {hip}" if hip else f"CUDA {torch.version.cuda}"


def clocks() -> str:
    """Return the device's clocks and power by the vendor's tool, or why there are none."""
    query = ["--query-gpu=clocks.sm,clocks.mem,power.draw", "--format=csv,noheader"]
    try:
        done = subprocess.run(
            ["nvidia-smi", *query], capture_output=True, text=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"not observed: {type(error).__name__}"
    return done.stdout.splitlines()[0]


def check_all(context: Context) -> None:
    """Check every operator on odd and on typical shapes, in all dtypes."""
    for name in operator_names():
        operator = create_operator(name)
        for dtype in operator.dtypes:
            # fp32 products run without matrix units on typical shapes, which takes long
            is_small = dtype == "fp32" and operator.has_products
            shapes = (
                operator.odd_shapes
                if is_small
                else (*operator.odd_shapes, *operator.shipped_shapes)
            )
            for shape in shapes:
                context.results.once(
                    f"check {name} {dtype} {sizes(shape)}",
                    lambda o=operator, d=dtype, s=shape: _checked(o, d, s, context),
                    {"error": None, "tolerance": 0.0, "refusals": [DIED]},
                )


def _checked(operator: Operator, dtype: str, shape: Shape, context: Context) -> dict[str, Any]:
    (done,) = check_operator(operator, [shape], [dtype], seed=context.seed)
    torch.cuda.empty_cache()
    return {
        "error": _finite(done.verdict.error.whole),
        "tolerance": done.verdict.tolerance,
        "refusals": [str(each) for each in done.verdict.refusals],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def tuned_cases() -> Iterator[tuple[Operator, str, Shape]]:
    """Yield what is tuned: the memory-bound operators and the product first."""
    for name in operator_names():
        operator = create_operator(name)
        for shape in operator.tuned_shapes():
            yield operator, TUNED_DTYPE, shape
        if name == "matmul":
            for shape in FP8_SHAPES:
                yield operator, "fp8", shape


def tune_all(context: Context) -> None:
    """Tune every typical shape for itself."""
    before: dict[tuple[str, str], Mapping[str, Any]] = {}
    for operator, dtype, shape in tuned_cases():
        key = operator.name, dtype
        line = context.results.once(
            f"tune {operator.name} {dtype} {sizes(shape)}",
            lambda o=operator, d=dtype, s=shape, k=key: _tuned(o, d, s, before.get(k), context),
            {"shape": dict(shape), "best": None, "refusals": [DIED]},
        )
        if line["best"] is not None:
            before[key] = line["best"]["config"]
    write_configs(context)


def _tuned(
    operator: Operator,
    dtype: str,
    shape: Shape,
    near: Mapping[str, Any] | None,
    context: Context,
) -> dict[str, Any]:
    evaluate = operator_evaluation(operator, shape, dtype, context.architecture, context.bench)
    first = () if near is None else (near,)
    done = tune(
        operator,
        shape,
        dtype,
        context.architecture,
        evaluate,
        engine_name=context.engine,
        num_trials=context.num_trials,
        seed=context.seed,
        first=first,
    )
    return _tuning_line(done, shape)


def _tuning_line(done: Tuning, shape: Shape) -> dict[str, Any]:
    best = done.best()
    torch.cuda.empty_cache()
    return {
        "shape": dict(shape),
        "engine": done.engine,
        "num_trials": len(done.trials),
        "space_size": done.space_size,
        "best": None if best is None else asdict(best),
        "shipped": asdict(done.shipped()),
        "num_refused": sum(each.median_us is None for each in done.trials),
        "refusals": sorted({each.problem for each in done.trials if each.problem})[:5],
    }


def write_configs(context: Context) -> None:
    """Write what was tuned as the files that the launcher reads."""
    found: dict[tuple[str, str], list[TunedShape]] = {}
    for operator, dtype, shape in tuned_cases():
        line = context.results.lines.get(f"tune {operator.name} {dtype} {sizes(shape)}")
        if line is None or line["best"] is None:
            continue
        best, shipped = line["best"], line["shipped"]
        found.setdefault((operator.name, dtype), []).append(
            TunedShape(
                dict(shape),
                best["config"],
                best["median_us"],
                shipped["median_us"] or best["median_us"],
                best["method"],
                best["error"],
                line["num_trials"],
            )
        )
    known = {key: str(value) for key, value in environment().items()}
    for (name, dtype), shapes in found.items():
        write_tuned(context.folder / "configs", name, dtype, known, shapes)
        if name == "fused_moe":
            from arbor.kernels.fused_moe.vllm_configs import write_vllm_files  # noqa: PLC0415

            folder = context.folder / "configs" / "vllm"
            write_vllm_files(folder, known["device"], known["triton"], shapes)


def bench_all(context: Context) -> None:
    """Time tuned kernels on shapes they were not tuned for, beside PyTorch, eager and compiled."""
    for name in operator_names():
        operator = create_operator(name)
        cases = [(TUNED_DTYPE, shape) for shape in drawn_shapes(operator, context.seed)]
        if name == "matmul":
            cases += [(TUNED_DTYPE, SQUARE), ("fp8", SQUARE)]
        for dtype, shape in cases:
            context.results.once(
                f"bench {name} {dtype} {sizes(shape)}",
                lambda o=operator, d=dtype, s=shape: _benched(o, d, s, context),
                _lost_bench(operator, dtype, shape),
            )


def _lost_bench(operator: Operator, dtype: str, shape: Shape) -> dict[str, Any]:
    return {
        "operator": operator.name,
        "dtype": dtype,
        "shape": dict(shape),
        "times": {"ours": asdict(Measured({}, None, problem=DIED))},
    }


def _benched(operator: Operator, dtype: str, shape: Shape, context: Context) -> dict[str, Any]:
    tuned = TunedConfigs(context.folder / "configs", torch.cuda.get_device_name())
    config = tuned.config(operator, shape, dtype, context.architecture)
    evaluate = operator_evaluation(operator, shape, dtype, context.architecture, context.bench)
    measured = {"ours": evaluate(config)}
    problem = library_problem(operator, shape, dtype, torch.device("cuda"), context.architecture)
    rivals: dict[str, Callable[..., Any]] = {"eager": operator.library}
    if not operator.library_waits:
        rivals["compiled"] = compiled(operator.library)
    for label, function in rivals.items():
        rival = LibraryCandidate(function, operator.library_waits)
        measured[label] = context.bench.measured(rival, problem, {})
    # once more, since the device may have changed its clock meanwhile
    measured["ours again"] = evaluate(config)
    torch.cuda.empty_cache()
    work = operator.work(shape, dtype)
    return {
        "operator": operator.name,
        "dtype": dtype,
        "shape": dict(shape),
        "num_bytes": work.num_bytes,
        "num_flop": work.num_flop,
        "clocks": clocks(),
        "times": {label: asdict(each) for label, each in measured.items()},
    }


def search_all(context: Context) -> None:
    """Compare the search with the exhaustive best on two small spaces."""
    for name, shape in EXHAUSTIVE:
        operator = create_operator(name)

        def whole(o: Operator = operator, s: Shape = shape) -> dict[str, Any]:
            evaluate = operator_evaluation(o, s, TUNED_DTYPE, context.architecture, context.bench)
            done = tune_exhaustively(o, s, TUNED_DTYPE, context.architecture, evaluate)
            times = {json.dumps(dict(t.config), sort_keys=True): t.median_us for t in done.trials}
            return {**_tuning_line(done, s), "times": times}

        key = f"exhaustive {name} {sizes(shape)}"
        line = context.results.once(key, whole, {"best": None})
        if line["best"] is None:
            continue
        for number in range(5):
            context.results.once(
                f"search {name} {number}",
                lambda o=operator, s=shape, e=line, n=number: _searched(o, s, e, n, context),
                {"num_trials": 0, "space_size": 1, "found_us": None, "best_us": 1.0},
            )


def _searched(
    operator: Operator, shape: Shape, exhaustive: Mapping[str, Any], number: int, context: Context
) -> dict[str, Any]:
    """Search the recorded times: what the search finds, not what the clock adds, is compared."""
    times = exhaustive["times"]

    def recorded(config: Mapping[str, Any]) -> Measured:
        time_us = times.get(json.dumps(dict(config), sort_keys=True))
        return Measured(config, time_us, problem="" if time_us else "refused")

    num = sum(1 for _ in valid_configs(operator, shape, TUNED_DTYPE, context.architecture))
    done = tune(
        operator,
        shape,
        TUNED_DTYPE,
        context.architecture,
        recorded,
        engine_name=context.engine,
        num_trials=max(2, int(SEARCH_SHARE * num)),
        seed=context.seed + number,
    )
    best = done.best()
    found = None if best is None else best.median_us
    return {
        "num_trials": len(done.trials),
        "space_size": num,
        "found_us": found,
        "best_us": exhaustive["best"]["median_us"],
    }


def main() -> None:
    """Run what is left, as long as time lasts; write the table when nothing is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--state", type=Path, required=True, help="folder of results; kept")
    parser.add_argument("--minutes", type=float, default=9.0, help="stop after so long")
    parser.add_argument("--trials", type=int, default=24, help="configurations for each shape")
    parser.add_argument("--engine", default="tpe", help="tpe (needs optuna) or random")
    parser.add_argument("--seed", type=int, default=1, help="of inputs, searches and test shapes")
    arguments = parser.parse_args()
    architecture = local_architecture()
    context = Context(
        results=Results(arguments.state, time.monotonic() + 60 * arguments.minutes),
        architecture=architecture,
        bench=local_bench(architecture, arguments.seed),
        folder=arguments.state,
        num_trials=arguments.trials,
        engine=arguments.engine,
        seed=arguments.seed,
    )
    try:
        context.results.once("environment", environment, {})
        context.results.once("copy", measured_copy, {"bytes_per_s": math.nan})
        check_all(context)
        tune_all(context)
        bench_all(context)
        search_all(context)
    except OutOfTimeError as error:
        print(f"time is over before: {error}; call again to go on")
        sys.exit(3)
    print(write_table(list(context.results.lines.values()), arguments.state / "kernels_gpu.md"))


if __name__ == "__main__":
    main()
