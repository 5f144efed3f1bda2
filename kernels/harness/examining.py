"""Examines whether a candidate solves its problem honestly; each rule refuses by name."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal

import torch

from arbor.kernels.base import Tensors
from arbor.kernels.drawing import VARIATIONS, Variation
from arbor.kernels.harness.guarded import Guarded, guarded_copies, have_equal_bytes
from arbor.kernels.harness.problem import Candidate, Problem
from arbor.kernels.harness.relative_error import RelativeError, relative_error
from arbor.kernels.harness.watching import OperatorWatch, Tripwire, thread_names

Rule = Literal[
    "crashed",
    "wrong",
    "stale",
    "written_late",
    "mutated_input",
    "written_outside",
    "aliased_input",
    "not_a_tensor",
    "reference_inside",
    "foreign_thread",
    "patched_function",
    "cache_resident",
    "faster_than_hardware",
]

_LATE_WAIT_S = 0.3
"""How long a wrong result is given to turn right, to name its fault."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a candidate is refused.

    Attributes:
        rule: name of the rule that it broke.
        detail: one line with what was seen.
    """

    rule: Rule
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of an examination.

    Attributes:
        refusals: broken rules, the first of each; empty for an honest candidate.
        error: the worst error seen.
        tolerance: what the error was allowed to be, at the worst.
        num_trials: calls with fresh inputs.
    """

    refusals: tuple[Refusal, ...]
    error: RelativeError
    tolerance: float
    num_trials: int

    @property
    def is_accepted(self) -> bool:
        """Return whether nothing was found."""
        return not self.refusals


class _Findings:
    def __init__(self) -> None:
        self.refusals: dict[str, Refusal] = {}
        self.error = RelativeError(0.0, 0.0)
        self.tolerance = 0.0

    def refuse(self, rule: Rule, detail: str) -> None:
        self.refusals.setdefault(rule, Refusal(rule, detail))


def examine(
    candidate: Candidate,
    problem: Problem,
    seeds: Sequence[int],
    tripwire: Tripwire,
    variations: Sequence[Variation] = VARIATIONS,
) -> Verdict:
    """Call a candidate with fresh inputs of several distributions, and look at all it did.

    All trials use the same memory: a result that is kept by address is stale in the second.

    Args:
        candidate: the solution under test.
        problem: what it has to solve.
        seeds: one for each trial; at least two.
        tripwire: made before the candidate's code was loaded.
        variations: distributions, taken in turn.

    Raises:
        ValueError: fewer than two seeds, with which a kept result cannot be told.
    """
    if len(seeds) < 2:
        raise ValueError(f"{len(seeds)} seeds; at least 2 are needed")
    findings = _Findings()
    threads = thread_names()
    memory: list[Guarded] = []
    earlier: list[tuple[torch.Tensor, ...]] = []
    for number, seed in enumerate(seeds):
        drawn = problem.inputs(seed, variations[number % len(variations)])
        if memory:
            for guarded, fresh in zip(memory, drawn, strict=True):
                guarded.tensor.copy_(fresh)
        else:
            memory = guarded_copies(drawn)
        if not _trial(
            candidate, problem, drawn, memory=memory, findings=findings, earlier=earlier
        ):
            break
    strangers = thread_names() - threads
    if strangers and not problem.may_use_pytorch:
        findings.refuse("foreign_thread", f"left running: {', '.join(sorted(strangers))}")
    replaced = tripwire.replaced()
    if replaced:
        findings.refuse("patched_function", f"replaced: {', '.join(replaced)}")
    refusals = tuple(findings.refusals.values())
    return Verdict(refusals, findings.error, findings.tolerance, len(seeds))


def _trial(
    candidate: Candidate,
    problem: Problem,
    drawn: Tensors,
    *,
    memory: Sequence[Guarded],
    findings: _Findings,
    earlier: list[tuple[torch.Tensor, ...]],
) -> bool:
    """Call once and judge; return whether another trial makes sense."""
    inputs = [each.tensor for each in memory]
    buffers = [Guarded(each) for each in problem.outputs(drawn)]
    for buffer in buffers:
        buffer.fill_nan()
    watch = OperatorWatch()
    try:
        with nullcontext() if problem.may_use_pytorch else watch:
            returned = candidate(inputs, [buffer.tensor for buffer in buffers])
    except Exception as error:  # noqa: BLE001 - whatever a candidate raises is its fault
        first_line = next(iter(str(error).splitlines()), "")
        findings.refuse("crashed", f"{type(error).__name__}: {first_line}")
        return False
    results = [buffer.tensor for buffer in buffers] if returned is None else list(returned)
    if not _are_plain(results, inputs, findings):
        return False
    # in the order of the caller's stream, so that work on another one is not waited for
    snapshot = [result.clone() for result in results]
    _synchronise(problem.device)
    forbidden = problem.forbidden(frozenset(watch.computing))
    if forbidden:
        findings.refuse("reference_inside", f"PyTorch computes: {', '.join(sorted(forbidden))}")
    if not all(have_equal_bytes(a, b) for a, b in zip(inputs, drawn, strict=True)):
        findings.refuse("mutated_input", "an input changed during the call")
    if not all(each.is_intact() for each in (*memory, *buffers)):
        findings.refuse("written_outside", "bytes beside a tensor changed")
    _judge(problem, drawn, results, snapshot, findings=findings, earlier=earlier)
    return "crashed" not in findings.refusals


def _are_plain(
    results: Sequence[object], inputs: Sequence[torch.Tensor], findings: _Findings
) -> bool:
    """Refuse results that are no plain tensors: a lazy one computes after the clock stopped."""
    for result in results:
        if type(result) is not torch.Tensor:
            findings.refuse("not_a_tensor", f"a result is a {type(result).__name__}")
            return False
        if any(_shares_memory(result, each) for each in inputs):
            findings.refuse("aliased_input", "a result lies in an input's memory")
    return True


def _shares_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    start_a, start_b = a.data_ptr(), b.data_ptr()
    if a.device != b.device or not start_a or not start_b:
        return False
    end_a = start_a + a.numel() * a.element_size()
    end_b = start_b + b.numel() * b.element_size()
    return start_a < end_b and start_b < end_a


def _judge(
    problem: Problem,
    drawn: Tensors,
    results: Sequence[torch.Tensor],
    snapshot: Sequence[torch.Tensor],
    *,
    findings: _Findings,
    earlier: list[tuple[torch.Tensor, ...]],
) -> None:
    expected = problem.expected(drawn)
    if len(expected) != len(results):
        findings.refuse("wrong", f"{len(results)} results instead of {len(expected)}")
        return
    wrong = False
    for index, (result, oracle) in enumerate(zip(snapshot, expected, strict=True)):
        error = relative_error(result, oracle)
        tolerance = problem.tolerance(result, drawn)
        findings.error = max(findings.error, error, key=lambda each: each.whole)
        findings.tolerance = max(findings.tolerance, tolerance)
        if error.exceeds(tolerance):
            wrong = True
            findings.refuse(
                "wrong",
                f"result {index}: relative error {error.whole:.2e}, worst row "
                f"{error.worst_row:.2e}, tolerance {tolerance:.2e}",
            )
    if not wrong:
        earlier.append(tuple(expected))
        return
    if _turns_right(problem, results, snapshot):
        findings.refuse("written_late", "results changed after the call had returned")
    if any(_matches(problem, snapshot, kept, drawn) for kept in earlier):
        findings.refuse("stale", "results are those of an earlier call with other inputs")


def _turns_right(
    problem: Problem, results: Sequence[torch.Tensor], snapshot: Sequence[torch.Tensor]
) -> bool:
    time.sleep(_LATE_WAIT_S)
    _synchronise(problem.device)
    return not all(
        have_equal_bytes(a.contiguous(), b.contiguous())
        for a, b in zip(results, snapshot, strict=True)
    )


def _matches(problem: Problem, results: Tensors, kept: Tensors, drawn: Tensors) -> bool:
    return all(
        not relative_error(result, oracle).exceeds(problem.tolerance(result, drawn))
        for result, oracle in zip(results, kept, strict=True)
    )


def _synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
