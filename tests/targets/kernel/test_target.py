"""The kernel target: shapes of an operator in Triton's interpreter, and task files."""

from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the kernels extra is not installed")

from arbor.core.accuracy import violations
from arbor.core.witness import has_witness
from arbor.events.errors import InvalidInputError
from arbor.events.types import Edit
from arbor.targets.base import ServerFailedError
from arbor.targets.kernel.accuracy import kernel_accuracy
from arbor.targets.kernel.config import KernelTargetConfig
from arbor.targets.kernel.target import KernelTarget
from arbor.targets.registry import create_target
from tests.contracts.target import EXACT, HARDWARE, Bench

FILES = Path(__file__).parents[2] / "kernels" / "task_files"
SHAPES = ({"num_rows": 4, "width": 100}, {"num_rows": 2, "width": 1000})


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    config = KernelTargetConfig(
        operator="silu_and_mul", shapes=SHAPES, dtype="fp32", interpret=True
    )
    return Bench(KernelTarget(config), tmp_path_factory.mktemp("operator"))


def task_bench(path: Path, candidate: Path | None = None) -> Bench:
    config = KernelTargetConfig(
        task=FILES / "scaled_relu.py", candidate=candidate, interpret=True, shrinks=(1, 4)
    )
    return Bench(KernelTarget(config), path)


def test_tuning_a_shape_shows_its_witness_and_keeps_the_numbers(operator: Bench) -> None:
    target = operator.target
    assert operator.workspace.config(operator.root) == dict(target.baseline_config())
    actions = operator.actions()
    assert set(actions) == {"tune_shape_0", "tune_shape_1"}
    action = actions["tune_shape_1"]
    assert {p.key for p in action.space} == {"shape_1.BLOCK_N", "shape_1.num_warps"}
    edits = (
        Edit(key="shape_1.BLOCK_N", value=512),
        Edit(key="shape_1.num_warps", value=2),
    )
    with operator.serve() as server:
        assert server.resolved_config() == target.baseline_config()
        profile = target.profile(server, 1)
        assert {share.category for share in profile.shares} == {"shape_0", "shape_1"}
        reference = target.reference(server)
        before = target.benchmark(server, 5, 3)
        assert not has_witness(action.witness, (), [before], server.resolved_config())[0]
        assert (target.rss_bytes(server) or 0) > 0
    with operator.serve(edits, "tuned.log") as tuned:
        after = target.benchmark(tuned, 5, 3)
        assert has_witness(action.witness, edits, [after], tuned.resolved_config())[0]
        assert after.output_digest == before.output_digest
        assert after.num_output_tokens == before.num_output_tokens == 6
        assert after.throughput_tok_s == pytest.approx(6 / after.duration_s)
        assert target.benchmark(tuned, 6, 3).output_digest != after.output_digest
        sample = target.accuracy(tuned, reference, EXACT)
        assert violations(sample, EXACT) == ()
        assert sample.kl_mean == 0.0
    with pytest.raises(ServerFailedError):
        target.benchmark(tuned, 5, 1)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (Edit(key="shape_0.BLOCK_N", value=100), "BLOCK_N=100 is none of"),
        (Edit(key="shape_0.BLOCK_N", value=2048), "at least half empty"),
    ],
)
def test_what_cannot_run_ends_the_start(operator: Bench, edit: Edit, message: str) -> None:
    with pytest.raises(ServerFailedError) as caught, operator.serve((edit,), "bad.log"):
        pytest.fail("it started")
    assert caught.value.exit_code == 1
    assert message in caught.value.log_tail[-1]


def test_a_task_runs_eagerly_at_native_and_shrunk_size(tmp_path: Path) -> None:
    bench = task_bench(tmp_path)
    assert [a.template_id for a in bench.target.actions(HARDWARE)] == ["compiled"]
    with bench.serve() as server:
        window = bench.target.benchmark(server, 1, 2)
        assert window.num_output_tokens == 4
        profile = bench.target.profile(server, 2)
        assert {share.category for share in profile.shares} == {"shrink_1", "shrink_4"}


def test_a_candidate_of_a_task_is_judged_at_its_start(tmp_path: Path) -> None:
    good = task_bench(tmp_path / "good", FILES / "scaled_relu_good.py")
    with good.serve() as server:
        assert server.resolved_config() == {"run.mode": "candidate"}
        assert good.target.benchmark(server, 1, 2).num_failed == 0
    lazy = task_bench(tmp_path / "lazy", FILES / "scaled_relu_lazy.py")
    with pytest.raises(ServerFailedError) as caught, lazy.serve():
        pytest.fail("it started")
    assert "reference_inside" in caught.value.log_tail[-1]


def test_errors_beyond_the_tolerance_are_distances() -> None:
    def trial(variation: str, *, right: bool, error: float | None) -> dict[str, object]:
        return {
            "variation": variation,
            "part": "shape_0",
            "error": error,
            "is_accepted": right,
            "size": 100,
        }

    kinds = ("normal", "wide", "shifted")
    fine = [trial(kind, right=True, error=1e-3) for kind in kinds]
    assert violations(kernel_accuracy(fine, 3), EXACT) == ()
    wrong = [*fine[:2], trial("shifted", right=False, error=0.2)]
    sample = kernel_accuracy(wrong, 3)
    assert sample.kl_mean == pytest.approx(0.02)
    assert violations(sample, EXACT)
    assert violations(
        kernel_accuracy([*fine[:2], trial("shifted", right=False, error=None)], 3), EXACT
    )
    assert violations(kernel_accuracy(fine[:2], 3), EXACT)


def test_bad_options_are_one_line() -> None:
    with pytest.raises(InvalidInputError, match="either operator: NAME or task: FILE"):
        create_target("kernel", {})
    target = create_target("kernel", {"operator": "conv", "interpret": True})
    with pytest.raises(InvalidInputError, match="unknown operator 'conv'"):
        target.actions(HARDWARE)
    target = create_target("kernel", {"operator": "softmax"})
    with pytest.raises(InvalidInputError, match="interpret: true"):
        target.check(HARDWARE)
    target = create_target("kernel", {"task": "/no/such.py"})
    with pytest.raises(InvalidInputError, match="no task file"):
        target.baseline_config()
