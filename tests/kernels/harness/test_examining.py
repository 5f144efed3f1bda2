"""The examination accepts an honest kernel and refuses every cheat by its own rule."""

import time
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the kernels extra is not installed")

from arbor.kernels.harness.examining import examine
from arbor.kernels.harness.watching import Tripwire
from tests.kernels.cheats import honest
from tests.kernels.problems import small_problem

FOLDER = Path(honest.__file__).parent
NOT_BY_EXAMINATION = {"__init__", "honest", "idle_when_timed"}
CHEATS = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in NOT_BY_EXAMINATION)
SEEDS = (1, 2, 3)


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    # a cheat replaces it; this puts it back
    monkeypatch.setattr(time, "perf_counter_ns", time.perf_counter_ns)


def test_an_honest_kernel_is_accepted() -> None:
    verdict = examine(honest.candidate, small_problem(), SEEDS, Tripwire())
    assert verdict.refusals == ()
    assert 0 < verdict.error.whole < verdict.tolerance < 1e-6
    assert verdict.num_trials == 3


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_refused(name: str) -> None:
    cheat = import_module(f"tests.kernels.cheats.{name}")
    verdict = examine(cheat.candidate, small_problem(), SEEDS, Tripwire())
    assert cheat.RULE in {refusal.rule for refusal in verdict.refusals}
    assert not verdict.is_accepted


def test_a_crash_is_a_refusal() -> None:
    def candidate(inputs: object, outputs: object) -> None:
        raise ZeroDivisionError(inputs is outputs)

    verdict = examine(candidate, small_problem(), SEEDS, Tripwire())
    assert [refusal.rule for refusal in verdict.refusals] == ["crashed"]
    assert "ZeroDivisionError" in str(verdict.refusals[0])


def test_one_seed_is_not_enough() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        examine(honest.candidate, small_problem(), (1,), Tripwire())
