"""PyTorch as a rival runs as its users run it."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the kernels extra is not installed")

from arbor.kernels.architectures import architecture
from arbor.kernels.harness.examining import examine
from arbor.kernels.harness.library import LibraryCandidate, compiled, library_problem
from arbor.kernels.harness.watching import Tripwire, thread_names
from arbor.kernels.silu_and_mul.operator import SiluAndMul


def test_a_compiled_rival_is_compiled_although_it_is_examined_first() -> None:
    graphs: list[str] = []

    def backend(graph: Any, inputs: Sequence[Any]) -> Callable[..., Any]:
        del inputs
        graphs.append(graph.code)
        run: Callable[..., Any] = graph.forward
        return run

    operator = SiluAndMul()
    shape = {"num_rows": 5, "width": 64}
    problem = library_problem(operator, shape, "fp32", torch.device("cpu"), architecture("sm_90"))
    torch.compiler.reset()
    rival = torch.compile(operator.library, dynamic=False, backend=backend)
    verdict = examine(LibraryCandidate(rival), problem, [1, 2], Tripwire())
    assert verdict.refusals == ()
    assert len(graphs) == 1
    assert "silu" in graphs[0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_compiler_has_no_workers_that_a_candidate_would_be_blamed_for() -> None:
    before = thread_names()
    gated = compiled(lambda x: torch.nn.functional.silu(x) * x)
    assert torch.allclose(gated(torch.ones(8)), torch.nn.functional.silu(torch.ones(8)))
    # the monitor of a progress bar starts within the call
    assert thread_names() - before <= {"tqdm_monitor"}
