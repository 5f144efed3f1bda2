"""What `arbor kernels compile` shows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from arbor.cli.console import people, say

if TYPE_CHECKING:
    from arbor.kernels.base import Shape
    from arbor.kernels.proof.proving import Proof


def say_proof(proof: "Proof") -> None:
    """Show one configuration's figures, in red when a limit is exceeded."""
    kernels = "; ".join(
        f"{each.name} {each.num_registers} registers, {each.num_spills} spilled, "
        f"{each.shared_bytes} B shared, {each.num_matrix_instructions} matrix instructions"
        for each in proof.kernels
    )
    where = f"{proof.operator} {proof.dtype} {sizes_text(proof.shape)} {proof.architecture}"
    style = "red" if proof.problem else ""
    people().print(Text(f"{where}: {proof.problem or 'ok'} [{kernels}]", style), soft_wrap=True)


def say_space(proofs: Sequence["Proof"]) -> None:
    """Show how many configurations of a space fit."""
    first = proofs[0]
    num_skipped = sum(not each.kernels and bool(each.problem) for each in proofs)
    num_over = sum(bool(each.kernels) and bool(each.problem) for each in proofs)
    num_fit = sum(not each.problem for each in proofs)
    say(
        f"{first.operator} {first.dtype} {sizes_text(first.shape)} {first.architecture}: "
        f"{num_fit} of {len(proofs)} fit, {num_over} compiled and exceed a limit, "
        f"{num_skipped} ruled out or refused by the compiler"
    )


def sizes_text(shape: "Shape") -> str:
    """Return a shape as it is given on the command line."""
    return ",".join(f"{name}={size}" for name, size in shape.items())
