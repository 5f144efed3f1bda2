"""Proves shipped configurations or whole spaces; results are kept by content."""

import hashlib
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import triton

from arbor.kernels.architectures import Architecture
from arbor.kernels.base import Operator, Shape
from arbor.kernels.launching import Config
from arbor.kernels.proof.assembly import KernelFigures
from arbor.kernels.proof.compiling import CompilationFailedError, Source, compile_for, sources_of

DEFAULT_FOLDER = Path.home() / ".cache" / "arbor" / "proofs"


@dataclass(frozen=True, slots=True)
class Proof:
    """What became of one configuration on one architecture.

    Attributes:
        operator: name.
        architecture: name.
        dtype: of the inputs.
        shape: sizes.
        config: that was compiled.
        kernels: figures of every kernel that it starts.
        problem: why it is ruled out; empty when it may run.
    """

    operator: str
    architecture: str
    dtype: str
    shape: Shape
    config: Config
    kernels: tuple[KernelFigures, ...]
    problem: str


class ProofCache:
    """Figures of compiled kernels in a folder, by a digest of all that they depend on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def figures(self, source: Source, architecture: Architecture) -> KernelFigures:
        """Return the figures of a kernel, compiled now or before.

        Raises:
            CompilationFailedError: the compiler refuses it, or did before.
        """
        text = f"{triton.__version__} {architecture} {source.describe()}"
        path = self._folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json"
        if path.exists():
            return _load(path)
        try:
            figures = compile_for(source, architecture)
        except CompilationFailedError as error:
            _save(path, {"failed": str(error)})
            raise
        _save(path, asdict(figures))
        return figures


def _load(path: Path) -> KernelFigures:
    fields = json.loads(path.read_text())
    if "failed" in fields:
        raise CompilationFailedError(fields["failed"])
    fields["matrix_instructions"] = tuple(fields["matrix_instructions"])
    return KernelFigures(**fields)


def _save(path: Path, fields: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # a reader never sees half a file
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(fields))
    partial.replace(path)


def prove(
    operator: Operator,
    shape: Shape,
    dtype: str,
    config: Config,
    architecture: Architecture,
    *,
    cache: ProofCache,
) -> Proof:
    """Compile one configuration and hold it against the limits of the architecture."""

    def proof(problem: str, kernels: tuple[KernelFigures, ...] = ()) -> Proof:
        return Proof(operator.name, architecture.name, dtype, shape, config, kernels, problem)

    problem = operator.space.problem(config, shape, dtype, architecture)
    if problem:
        return proof(problem)
    kernels: list[KernelFigures] = []
    try:
        for source in sources_of(operator, shape, dtype, config, architecture):
            kernels.append(cache.figures(source, architecture))  # noqa: PERF401 - kept when one fails
    except CompilationFailedError as error:
        return proof(str(error), tuple(kernels))
    excesses = (
        f"{each.name}: {each.excess(architecture)}"
        for each in kernels
        if each.excess(architecture)
    )
    return proof(next(excesses, ""), tuple(kernels))


def shipped_proofs(
    operator: Operator, architectures: Sequence[Architecture], cache: ProofCache
) -> Iterator[Proof]:
    """Prove what is shipped: every typical shape, dtype and architecture."""
    for architecture in architectures:
        for dtype in operator.shipped_dtypes:
            for shape in operator.shipped_shapes:
                config = operator.space.default(shape, dtype, architecture)
                yield prove(operator, shape, dtype, config, architecture, cache=cache)


def space_proofs(
    operator: Operator, shape: Shape, dtype: str, architecture: Architecture, cache: ProofCache
) -> Iterator[Proof]:
    """Prove every configuration of a space for one shape; those ruled out are not compiled."""
    for config in all_configs(operator, architecture):
        yield prove(operator, shape, dtype, config, architecture, cache=cache)


def all_configs(operator: Operator, architecture: Architecture) -> Iterator[Config]:
    """Return every combination of a space's values."""
    choices = operator.space.choices(architecture)
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))
