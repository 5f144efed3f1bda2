"""`arbor kernels`: list, check, compile, tune and bench Triton operators."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from arbor.cli.console import people, say, show_table
from arbor.cli.kernel_proofs import say_proof, say_space, sizes_text
from arbor.events.errors import InvalidInputError

if TYPE_CHECKING:
    from arbor.kernels.base import Operator, Shape

EXIT_PROBLEMS = 1

app = typer.Typer(
    name="kernels",
    help="Triton operators for inference: list, check, compile, tune, bench.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

OperatorName = Annotated[
    str, typer.Argument(metavar="OPERATOR", help="As `arbor kernels list` has it.")
]
ShapeTexts = Annotated[
    list[str] | None,
    typer.Option("--shape", metavar="NAME=N,...", help="Sizes; may be given several times."),
]
DtypeNames = Annotated[
    list[str] | None, typer.Option("--dtype", help="May be given several times.")
]
Folder = Annotated[Path, typer.Option("--out", help="Folder for the results.")]
DEFAULT_FOLDER = Path("kernel_configs")
CACHE = Path.home() / ".cache" / "arbor" / "proofs"


@app.command("list")
def list_operators() -> None:
    """List the operators with their dtypes, dimensions and the size of their spaces."""
    with _kernels():
        from arbor.kernels.architectures import ARCHITECTURES  # noqa: PLC0415 - needs torch
        from arbor.kernels.proof.proving import all_configs  # noqa: PLC0415
        from arbor.kernels.registry import create_operator, operator_names  # noqa: PLC0415

        table = Table(box=None, pad_edge=False)
        for name in ("operator", "dtypes", "sizes", *(f"configs {a}" for a in ARCHITECTURES)):
            table.add_column(name, no_wrap=True)
        for name in operator_names():
            operator = create_operator(name)
            sizes = [
                str(sum(1 for _ in all_configs(operator, each))) for each in ARCHITECTURES.values()
            ]
            table.add_row(name, " ".join(operator.dtypes), ",".join(operator.dimensions), *sizes)
        show_table(people(), table)


@app.command("check")
def check(
    name: OperatorName,
    shapes: ShapeTexts = None,
    dtypes: DtypeNames = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Hold an operator against float64, odd shapes and the rules against cheating; exit 1 if not.

    Without an accelerator the kernels run in Triton's interpreter on the processor.
    """
    _interpret_without_accelerator()
    with _kernels():
        from arbor.kernels.checking import check_operator  # noqa: PLC0415 - needs torch

        operator = _operator(name)
        chosen = parse_shapes(shapes or [], operator) or operator.odd_shapes
        is_fine = True
        for done in check_operator(operator, chosen, dtypes or ()):
            verdict = done.verdict
            is_fine &= verdict.is_accepted
            refusals = [str(refusal) for refusal in verdict.refusals]
            if as_json:
                fields = {
                    "operator": name,
                    "dtype": done.dtype,
                    "shape": dict(done.shape),
                    "error": verdict.error.whole,
                    "tolerance": verdict.tolerance,
                    "refusals": refusals,
                }
                say(json.dumps(fields))
                continue
            outcome = "; ".join(refusals) or "ok"
            say(
                f"{name} {done.dtype} {sizes_text(done.shape)}: error {verdict.error.whole:.1e} "
                f"(at most {verdict.tolerance:.1e}) {outcome}"
            )
    if not is_fine:
        raise typer.Exit(EXIT_PROBLEMS)


@app.command("compile")
def compile_operators(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[OPERATOR]...", help="All when left out.")
    ] = None,
    targets: Annotated[
        list[str] | None, typer.Option("--arch", help="gfx942, gfx950, sm_90 or sm_100.")
    ] = None,
    shapes: ShapeTexts = None,
    dtypes: DtypeNames = None,
    whole_space: Annotated[
        bool, typer.Option("--space", help="Every configuration, not only the shipped ones.")
    ] = False,
    cache: Annotated[Path, typer.Option(help="Where figures are kept.")] = CACHE,
) -> None:
    """Compile without an accelerator and show registers, spills, shared memory; exit 1 if over."""
    with _kernels():
        from arbor.kernels.architectures import ARCHITECTURES, architecture  # noqa: PLC0415
        from arbor.kernels.proof.proving import ProofCache, prove, space_proofs  # noqa: PLC0415
        from arbor.kernels.registry import operator_names  # noqa: PLC0415

        kept = ProofCache(cache)
        chosen = [architecture(each) for each in targets or ARCHITECTURES]
        num_over = 0
        for name in names or operator_names():
            operator = _operator(name)
            for shape in parse_shapes(shapes or [], operator) or operator.shipped_shapes:
                for dtype in dtypes or operator.shipped_dtypes:
                    for each in chosen:
                        if whole_space:
                            proofs = list(space_proofs(operator, shape, dtype, each, kept))
                            say_space(proofs)
                            continue
                        config = operator.space.default(shape, dtype, each)
                        proof = prove(operator, shape, dtype, config, each, cache=kept)
                        say_proof(proof)
                        num_over += bool(proof.problem)
    if num_over:
        raise typer.Exit(EXIT_PROBLEMS)


@app.command("tune")
def tune(
    name: OperatorName,
    shapes: ShapeTexts = None,
    dtype: Annotated[str, typer.Option(help="Of the inputs.")] = "bf16",
    engine: Annotated[
        str, typer.Option(help="tpe, random, or exhaustive for every configuration.")
    ] = "tpe",
    trials: Annotated[int, typer.Option(help="Configurations to time for each shape.")] = 60,
    seed: Annotated[int, typer.Option(help="Of the search and the inputs.")] = 0,
    out: Folder = DEFAULT_FOLDER,
) -> None:
    """Search the best configuration of each shape and write them; exit 1 when one has none.

    Without an accelerator interpreted kernels are timed: that shows that tuning works, no speed.
    """
    _interpret_without_accelerator()
    with _kernels():
        from arbor.cli.kernel_runs import tune_shapes  # noqa: PLC0415 - needs torch

        operator = _operator(name)
        chosen = parse_shapes(shapes or [], operator) or operator.tuned_shapes()
        if not tune_shapes(
            operator,
            chosen,
            dtype,
            engine_name=engine,
            num_trials=trials,
            seed=seed,
            folder=out,
        ):
            raise typer.Exit(EXIT_PROBLEMS)


@app.command("bench")
def bench(
    name: OperatorName,
    shapes: ShapeTexts = None,
    dtype: Annotated[str, typer.Option(help="Of the inputs.")] = "bf16",
    seed: Annotated[int, typer.Option(help="Of the inputs.")] = 0,
    configs: Annotated[
        Path | None, typer.Option(help="Folder of tuned configurations.", exists=True)
    ] = None,
) -> None:
    """Time an operator beside PyTorch and torch.compile; exit 1 when ours is wrong somewhere."""
    _interpret_without_accelerator()
    with _kernels():
        from arbor.cli.kernel_runs import bench_shapes  # noqa: PLC0415 - needs torch

        operator = _operator(name)
        chosen = parse_shapes(shapes or [], operator) or operator.shipped_shapes
        if not bench_shapes(operator, chosen, dtype, seed, configs):
            raise typer.Exit(EXIT_PROBLEMS)


@app.command("tasks")
def tasks(
    files: Annotated[list[Path], typer.Argument(metavar="TASK...", help="In KernelBench's form.")],
    candidates: Annotated[
        Path, typer.Option(help="Folder with a file of the same name for each task.")
    ],
    shrinks: Annotated[
        list[int] | None, typer.Option("--shrink", min=1, help="Divide sizes by this; 1 and 8.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the inputs.")] = 0,
) -> None:
    """Judge and time candidates of task files at native and shrunk sizes; exit 1 on refusals."""
    _interpret_without_accelerator()
    with _kernels():
        from arbor.cli.kernel_tasks import run_tasks, task_pairs  # noqa: PLC0415 - needs torch

        if not run_tasks(task_pairs(files, candidates), shrinks or (1, 8), seed):
            raise typer.Exit(EXIT_PROBLEMS)


def parse_shapes(texts: Sequence[str], operator: "Operator") -> list["Shape"]:
    """Return shapes from texts like ``m=1,n=4096,k=4096``.

    Raises:
        InvalidInputError: a text has another form.
    """
    shapes: list[Shape] = []
    for text in texts:
        shape: dict[str, int] = {}
        for part in text.split(","):
            size_name, equals, value = part.partition("=")
            if not equals or not value.strip().isdigit():
                wanted = ",".join(f"{each}=N" for each in operator.dimensions)
                raise InvalidInputError(f"--shape {text!r}: write {wanted}")
            shape[size_name.strip()] = int(value)
        operator.check_shape(shape, operator.dtypes[0])
        shapes.append(shape)
    return shapes


def _operator(name: str) -> "Operator":
    from arbor.kernels.registry import create_operator  # noqa: PLC0415 - needs torch

    return create_operator(name)


def _interpret_without_accelerator() -> None:
    """Choose the interpreter before Triton is imported, which is when it looks."""
    with _kernels():
        import torch  # noqa: PLC0415 - only here

        if not torch.cuda.is_available():
            os.environ.setdefault("TRITON_INTERPRET", "1")


@contextmanager
def _kernels() -> Iterator[Any]:
    """Turn a missing extra and wrong inputs of kernels into Arbor's one line.

    Raises:
        InvalidInputError: in place of both.
    """
    try:
        from arbor.kernels.architectures import KernelInputError  # noqa: PLC0415

        try:
            yield
        except KernelInputError as error:
            raise InvalidInputError(str(error)) from error
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            f"{error.name} is missing; install it: pip install 'arbor-inference[kernels]'"
        ) from error
