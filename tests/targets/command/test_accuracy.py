"""Numbers are compared with the baseline's in three ways, and a difference is seen in each."""

import sys
from pathlib import Path
from typing import Any

import pytest

from arbor.core.accuracy import Gate, violations
from arbor.events.errors import InvalidInputError
from arbor.events.settings import GateSettings
from arbor.events.types import Edit
from arbor.targets.base import ServerFailedError
from tests.contracts.target import Bench
from tests.targets.command.small import small_target

LOOSE = Gate(GateSettings(), claims_exact=False)
EXACT = Gate(GateSettings(), claims_exact=True)
SCORE = Gate(GateSettings(required_passes=()), claims_exact=False)

ANSWERS = {
    "kind": "answers",
    "requests": [
        {"path": "/echo", "body": {"text": f"{index} " * 60}, "answer": "answer"}
        for index in range(4)
    ],
    "long_requests": [{"path": "/echo", "body": {"text": f"{index} " * 300}} for index in (1, 2)],
}
ITEMS = (
    "import json,sys;"
    "print(json.dumps({'items': [int(i % 10 < (9 if int(sys.argv[1]) > 4 else 5))"
    " for i in range(300)]}))"
)
PLAIN = (
    "import json,sys;"
    "print(json.dumps({'score': 0.9 if int(sys.argv[1]) > 4 else 0.5, 'n': int(sys.argv[2])}))"
)


def bits(number: int) -> tuple[Edit, ...]:
    return (Edit(key="knobs.bits", value=number),)


def score(code: str, *more: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "command", "command": [sys.executable, "-c", code, "${bits}", *more], **fields}


def test_next_tokens_tell_rounding_from_damage(tmp_path: Path) -> None:
    target = small_target()
    bench = Bench(target, tmp_path)
    with bench.serve() as server:
        reference = target.reference(server)
    with bench.serve(bits(8), "eight.log") as server:
        rounded = target.accuracy(server, reference)
        assert 1e-6 < rounded.kl_mean < 1e-3
        assert violations(rounded, LOOSE) == ()
        assert any("KL up to" in text for text in violations(rounded, EXACT))
    with bench.serve(bits(4), "four.log") as server:
        damaged = target.accuracy(server, reference, LOOSE)
        assert violations(damaged, LOOSE)
        assert len(damaged.passes) == 1, "the rest is not measured once it clearly fails"
        assert damaged.kl_mean > 0.1


def test_a_reference_of_other_settings_is_refused(tmp_path: Path) -> None:
    target = small_target()
    other = small_target(accuracy={"kind": "logprobs", "top_logprobs": 3})
    with Bench(target, tmp_path).serve() as server:
        reference = target.reference(server)
        with pytest.raises(InvalidInputError, match="taken with other settings"):
            other.accuracy(server, reference)


def test_a_server_without_logprobs_is_told_what_to_do(tmp_path: Path) -> None:
    target = small_target(accuracy={"kind": "logprobs", "body": {"logprobs": 0}})
    with (
        Bench(target, tmp_path).serve() as server,
        pytest.raises(ServerFailedError, match=r"no choices\.0\.logprobs; use accuracy kind ans"),
    ):
        target.reference(server)


def test_answers_have_to_be_the_same(tmp_path: Path) -> None:
    target = small_target(accuracy=ANSWERS)
    bench = Bench(target, tmp_path)
    with bench.serve() as server:
        reference = target.reference(server)
        same = target.accuracy(server, reference, EXACT)
        assert violations(same, EXACT) == ()
        assert {each.kind for each in same.passes} == {"single", "batched", "long"}
    with bench.serve(bits(4), "four.log") as server:
        other = target.accuracy(server, reference, LOOSE)
        assert violations(other, LOOSE)
        # one word of sixty-one differs
        assert other.greedy_match_ratio == pytest.approx(1 - 10 / (8 * 61 + 2 * 302), abs=0.002)


def test_an_answer_that_is_not_there_is_an_outcome(tmp_path: Path) -> None:
    requests = [{"path": "/echo", "body": {}, "answer": "no.such"}] * 2
    target = small_target(accuracy={"kind": "answers", "requests": requests})
    with (
        Bench(target, tmp_path).serve() as server,
        pytest.raises(ServerFailedError, match=r"an answer of /echo cannot be read"),
    ):
        target.reference(server)


@pytest.mark.parametrize(
    "settings",
    [score(ITEMS, items="items"), score(PLAIN, "20000", score="score", num_items="n")],
)
def test_a_score_counts_when_the_gate_asks_for_nothing_else(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    target = small_target(accuracy=settings, actions=[])
    bench = Bench(target, tmp_path)
    with bench.serve() as server:
        reference = target.reference(server)
        same = target.accuracy(server, reference)
        assert same.task is not None
        assert same.task.score == same.task.baseline_score == pytest.approx(0.9)
        assert same.task.drop_low < 0 < same.task.drop_high < 0.02
        assert violations(same, SCORE) == ()
        assert violations(same, LOOSE) == ("no tokens were compared",)
        assert any("were not compared" in text for text in violations(same, EXACT))
    with bench.serve(bits(4), "four.log") as server:
        worse = target.accuracy(server, reference, SCORE)
        [text] = violations(worse, SCORE)
        assert text.startswith("score down by as much as 4")


def test_a_program_without_a_score_is_an_outcome(tmp_path: Path) -> None:
    target = small_target(accuracy=score("print('{}')", items="items"), actions=[])
    with (
        Bench(target, tmp_path).serve() as server,
        pytest.raises(ServerFailedError, match="printed no score: there is no items"),
    ):
        target.reference(server)
