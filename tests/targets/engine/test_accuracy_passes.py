"""Each pass of the check finds what the others cannot see."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from arbor.core.accuracy import Gate, violations
from arbor.events.settings import GateSettings
from arbor.events.types import AccuracySample
from arbor.targets.engine.accuracy import AccuracyCheck
from arbor.targets.engine.accuracy_prompts import CheckSettings
from arbor.targets.engine.model_folder import planted_successors
from tests.fakes.engine_in_process import EngineInProcess, Fault

from .tiny import EXACT_STACK, MakeEngine

GATE = Gate(GateSettings(), claims_exact=False)


SETTINGS = CheckSettings(num_sequences=8, num_long=2)

Compare = Callable[[Fault | None], AccuracySample]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Threads of small products only wait for each other on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def compare(tiny_model: Path, make_engine: MakeEngine) -> Compare:
    """Return the distance of an exact stack, broken or not, from the baseline."""
    check = AccuracyCheck(SETTINGS, tiny_model, planted_successors(tiny_model), 4)
    reference = check.reference(EngineInProcess(make_engine()))

    def checked(fault: Fault | None) -> AccuracySample:
        server = EngineInProcess(make_engine(EXACT_STACK), fault)
        return check.accuracy(server, reference, GATE)

    return checked


def test_a_sound_engine_holds_in_all_passes(compare: Compare) -> None:
    sample = compare(None)
    assert violations(sample, GATE) == ()
    assert [each.kind for each in sample.passes] == ["single", "batched", "long"]
    assert sample.greedy_match_ratio == 1.0


@pytest.mark.parametrize(
    ("fault", "kinds", "words"),
    [
        (lambda batch: batch.positions >= 0, ["single"], "one prompt at a time"),
        (lambda batch: batch.row_slots >= 2, ["single", "batched"], "4 prompts at a time"),
        (
            lambda batch: batch.positions >= 100,
            ["single", "batched", "long"],
            "contexts of 256 tokens",
        ),
    ],
    ids=["everywhere", "later slots of a batch", "late positions"],
)
def test_a_fault_is_found_where_it_shows(
    fault: Fault, kinds: list[str], words: str, compare: Compare
) -> None:
    sample = compare(fault)
    assert [each.kind for each in sample.passes] == kinds
    reason = violations(sample, GATE)[0]
    assert reason.startswith("KL up to")
    assert words in reason


def test_a_model_without_a_plan_has_no_task(tiny_model: Path, make_engine: MakeEngine) -> None:
    check = AccuracyCheck(SETTINGS, tiny_model, None, 4)
    server = EngineInProcess(make_engine())
    sample = check.accuracy(server, check.reference(server), GATE)
    assert sample.task is None
    assert violations(sample, GATE) == ()
