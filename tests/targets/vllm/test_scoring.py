"""Scores from answers with log-probabilities, and what their distance says."""

import math
from typing import Any

import pytest

from arbor.targets.vllm.scoring import distance, scores_of

TOP = 3


def entry(**values: float) -> dict[str, Any]:
    return {name[1:]: {"logprob": value, "rank": 1} for name, value in values.items()}


def answer(*, decoded: tuple[int, ...] = (7, 8), shift: float = 0.0) -> dict[str, Any]:
    """Return an answer to the prompt 1, 2, 3."""
    return {
        "prompt_logprobs": [
            None,
            entry(t2=-0.5, t9=-1.0 - shift, t4=-2.0),
            # the prompt's own token is not among the likeliest
            entry(t4=-0.3, t9=-1.5, t5=-2.5, t3=-7.0),
        ],
        "logprobs": {
            "tokens": [f"token_id:{token}" for token in decoded],
            "token_logprobs": [-0.1] * len(decoded),
            "top_logprobs": [
                {f"token_id:{token}": -0.1, "token_id:9": -2.5, "token_id:1": -3.0}
                for token in decoded
            ],
        },
    }


def test_positions_of_prompt_and_answer() -> None:
    scores = scores_of([1, 2, 3], answer(), TOP)
    assert scores["logprobs"] == [-0.5, -7.0, -0.1, -0.1]
    assert scores["top1"] == [2, 4, 7, 8]
    assert scores["top_ids"][1] == [4, 9, 5]
    assert (scores["num_prompt"], scores["decoded"]) == (2, [7, 8])


def test_a_server_is_no_distance_from_itself() -> None:
    scores = scores_of([1, 2, 3], answer(), TOP)
    found = distance(scores, scores)
    assert (found.num_tokens, found.num_top1_equal) == (4, 4)
    assert found.kl_mean == pytest.approx(0.0, abs=1e-9)
    assert found.nll_delta == found.max_logprob_delta == 0.0


def test_a_shift_is_seen() -> None:
    ours, theirs = (scores_of([1, 2, 3], answer(shift=shift), TOP) for shift in (0.0, 0.2))
    assert 0 < distance(ours, theirs).kl_mean < 0.1


def test_answers_are_compared_up_to_the_first_other_token() -> None:
    ours = scores_of([1, 2, 3], answer(decoded=(7, 8, 9)), TOP)
    theirs = scores_of([1, 2, 3], answer(decoded=(7, 6, 9)), TOP)
    found = distance(ours, theirs)
    assert (found.num_tokens, found.num_top1_equal) == (4, 3)
    # our token 8 is not among their likeliest three, of which the last has -3.0
    assert found.max_logprob_delta == pytest.approx(2.9)
    assert found.nll_delta > 0


def test_fewer_likely_tokens_than_asked_for() -> None:
    scores = scores_of([1, 2, 3], answer(), 5)
    assert scores["top_ids"][0] == [2, 9, 4, -1, -1]
    assert distance(scores, scores).kl_mean == pytest.approx(0.0, abs=1e-9)


def test_a_number_that_is_none_is_far_away() -> None:
    broken = answer()
    broken["prompt_logprobs"][1]["9"]["logprob"] = math.nan
    found = distance(scores_of([1, 2, 3], answer(), TOP), scores_of([1, 2, 3], broken, TOP))
    assert found.kl_mean > 100


def test_answers_that_cannot_be_used() -> None:
    with pytest.raises(ValueError, match="3 positions of 2"):
        scores_of([1, 2], answer(), TOP)
    with pytest.raises(KeyError):
        scores_of([1, 5, 3], answer(), TOP)
