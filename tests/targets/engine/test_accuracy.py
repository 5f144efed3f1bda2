"""The gate on real engines: what changes little passes, what is too coarse or corrupt does not."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import load_file, save_file

from arbor.core.accuracy import Gate, violations
from arbor.events.settings import GateSettings
from arbor.events.types import AccuracySample, Edit
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.target import EngineTarget, EngineTargetConfig
from tests.contracts.target import Bench

CONFIG = {
    "synthetic": {
        "seed": 5,
        "vocab_size": 1024,
        "width": 256,
        "num_layers": 4,
        "ffn_width": 512,
        "max_positions": 512,
    },
    "concurrency": 8,
}
LOOSE = Gate(GateSettings(), claims_exact=False)
EXACT = Gate(GateSettings(), claims_exact=True)
FAST = (
    Edit(key="application.decode_batching", value=True),
    Edit(key="application.max_num_seqs", value=8),
    Edit(key="framework.prefill_packing", value=True),
    Edit(key="framework.kv_cache", value="preallocated"),
)
"""Exact switches that make batches of eight."""

Array = npt.NDArray[np.float32]
Change = Callable[[str, Array], Array]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def bench(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    config = EngineTargetConfig.model_validate({**CONFIG, "cache": cache})
    return Bench(EngineTarget(config), tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def reference(bench: Bench) -> bytes:
    with bench.serve() as server:
        return bench.target.reference(server)


@pytest.fixture(scope="module")
def exact_server(bench: Bench) -> Iterator[EngineServer]:
    with bench.serve(FAST, "exact.log") as server:
        assert isinstance(server, EngineServer)
        yield server


def checked(bench: Bench, reference: bytes, gate: Gate, *edits: Edit) -> AccuracySample:
    """Return the sample of the fast stack with further edits."""
    with bench.serve((*FAST, *edits), "candidate.log") as server:
        return bench.target.accuracy(server, reference, gate)


def kinds(sample: AccuracySample) -> list[str]:
    return [each.kind for each in sample.passes]


def test_an_exact_stack_passes_after_its_first_prompts(
    bench: Bench, reference: bytes, exact_server: EngineServer
) -> None:
    sample = bench.target.accuracy(exact_server, reference, EXACT)
    assert violations(sample, EXACT) == ()
    assert sample.greedy_match_ratio == 1.0
    assert [(p.kind, p.batch, len(p.prompts)) for p in sample.passes] == [
        ("single", 1, 8),
        ("batched", 8, 8),
        ("long", 1, 2),
    ]
    assert [p.context_tokens for p in sample.passes] == [64, 64, 512]
    assert sample.task is not None
    assert sample.task.name == "planted_successor_top1"
    assert sample.task.score == sample.task.baseline_score > 0.5
    assert 0 < sample.task.standard_error < 0.1


def test_without_a_gate_everything_is_compared(
    bench: Bench, reference: bytes, exact_server: EngineServer
) -> None:
    sample = bench.target.accuracy(exact_server, reference)
    assert [len(p.prompts) for p in sample.passes] == [24, 24, 4]
    assert sample.num_tokens == 2 * 24 * 63 + 4 * 511
    assert sample.alpha == 0.05


@pytest.mark.parametrize(
    "edits",
    [
        (Edit(key="kernel.weights", value="int8"),),
        (Edit(key="kernel.weights", value="bfloat16"),),
        (
            Edit(key="kernel.weights", value="int8"),
            Edit(key="kernel.head_weights", value="int8"),
        ),
    ],
    ids=["int8", "bfloat16", "int8_with_head"],
)
def test_formats_that_change_little_pass_but_are_not_exact(
    edits: tuple[Edit, ...], bench: Bench, reference: bytes
) -> None:
    sample = checked(bench, reference, LOOSE, *edits)
    assert violations(sample, LOOSE) == ()
    assert 1e-6 < sample.kl_mean < sample.kl_mean_high < 0.01
    assert kinds(sample) == ["single", "batched", "long"]
    assert violations(sample, EXACT)


def test_int8_depends_on_its_batch(bench: Bench, reference: bytes) -> None:
    """One scale serves all rows of a call, so batch 1 alone would not show what is served."""
    sample = checked(bench, reference, LOOSE, Edit(key="kernel.weights", value="int8"))
    single, batched, _ = sample.passes
    assert batched.batch == 8
    assert single.prompts != batched.prompts[: len(single.prompts)]


def test_a_false_claim_of_exactness_ends_early(bench: Bench, reference: bytes) -> None:
    sample = checked(bench, reference, EXACT, Edit(key="kernel.weights", value="int8"))
    assert kinds(sample) == ["single"]
    reasons = " ".join(violations(sample, EXACT))
    assert "of a stack that claims to be exact" in reasons
    assert "not measured: batched, long" in reasons


def rounded(weight: Array, num_levels: int, *, by_row: bool) -> Array:
    """Return a weight quantised to levels on either side of zero, with scales by row or one."""
    scale = np.abs(weight).max(axis=1, keepdims=True) if by_row else np.abs(weight).max()
    step = scale / num_levels
    quantised: Array = (np.round(weight / step) * step).astype(np.float32)
    return quantised


def is_product(name: str) -> bool:
    return "_proj" in name or name == "lm_head.weight"


def four_bits(name: str, weight: Array) -> Array:
    return rounded(weight, 7, by_row=True) if is_product(name) else weight


def bad_scales(name: str, weight: Array) -> Array:
    """One scale for a whole tensor that a single outlier stretches, in seven bits."""
    if not is_product(name):
        return weight
    stretched = weight.copy()
    stretched[0, 0] = 40.0 * np.abs(weight).max()
    return rounded(stretched, 127, by_row=False)


def corrupt_head(name: str, weight: Array) -> Array:
    """Every tenth row is another token's."""
    if name != "lm_head.weight":
        return weight
    corrupt = weight.copy()
    corrupt[::10] = np.roll(weight[::10], 1, axis=0)
    return corrupt


def lost_successors(name: str, weight: Array) -> Array:
    """A tenth of the rows is weaker by a tenth: few tokens change, likely ones among them."""
    if name != "lm_head.weight":
        return weight
    weaker = weight.copy()
    weaker[::10] *= 0.9
    return weaker


@contextmanager
def served(bench: Bench, model: Path, change: Change, path: Path) -> Iterator[EngineServer]:
    """Serve a damaged copy of a model in the fast stack."""
    damaged = path / "model"
    shutil.copytree(model, damaged)
    weights = {name: change(name, w) for name, w in load_file(model / "model.safetensors").items()}
    save_file(weights, damaged / "model.safetensors")
    config = EngineTargetConfig.model_validate(
        {**CONFIG, "cache": path / "cache", "model": damaged}
    )
    commit = bench.workspace.commit_edits(bench.root, FAST, "Fast")
    worktree = bench.workspace.checkout(commit, path / "tree")
    with EngineTarget(config).serve(worktree, path / "log") as server:
        yield server


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (four_bits, "KL up to"),
        (bad_scales, "KL up to"),
        (corrupt_head, "KL up to"),
        (lost_successors, "KL up to"),
    ],
)
def test_what_must_fail_does_with_the_figure_in_the_reason(
    change: Change, words: str, bench: Bench, reference: bytes, tmp_path: Path
) -> None:
    assert isinstance(bench.target, EngineTarget)
    with served(bench, bench.target.model, change, tmp_path) as server:
        sample = bench.target.accuracy(server, reference, LOOSE)
    reasons = violations(sample, LOOSE)
    assert reasons[0].startswith(words)
    assert f"{sample.kl_mean:.2e}" in reasons[0]
    # one look at one pass is enough to refuse it
    assert kinds(sample) == ["single"]


def test_a_copy_of_the_model_is_no_distance(
    bench: Bench, reference: bytes, tmp_path: Path
) -> None:
    """The harness of the damaged models itself changes nothing."""
    assert isinstance(bench.target, EngineTarget)
    with served(bench, bench.target.model, lambda _, weight: weight, tmp_path) as server:
        sample = bench.target.accuracy(server, reference, EXACT)
    assert violations(sample, EXACT) == ()
