"""Scores: both forms, from recorded terms alone."""

import math
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.core.interactions import implied_speedup
from arbor.core.scoring import (
    MIN_GAP_RATIO,
    expected_gain,
    score,
    score_terms,
)
from arbor.core.state import CampaignState
from arbor.core.tree import Tree
from arbor.events.settings import SearchSettings
from arbor.events.types import Requirement, ScoreTerms
from tests.fakes.stage import Stage, template

Form = Literal["risk_averse", "as_printed"]
RISKS = st.floats(0.0, 0.9)
TERMS = st.builds(
    ScoreTerms,
    share_ratio=st.floats(0.01, 1.0),
    speedup_ratio=st.floats(1.01, 20.0),
    cost_ratio=st.floats(0.05, 20.0),
    accuracy_risk_ratio=RISKS,
    crash_risk_ratio=RISKS,
    gap_ratio=st.floats(0.1, 1.0),
    num_tries=st.integers(0, 1000),
    num_category_tries=st.integers(0, 1000),
    exploration=st.floats(0.0, 2.0),
)
BASE = ScoreTerms(
    share_ratio=0.4,
    speedup_ratio=2.0,
    cost_ratio=0.5,
    accuracy_risk_ratio=0.1,
    crash_risk_ratio=0.2,
    gap_ratio=0.8,
    num_tries=7,
    num_category_tries=1,
    exploration=0.05,
)


def test_the_forms_are_the_documented_formulas() -> None:
    gain = 0.4 * (1 - 1 / 2.0)
    bonus = 0.05 * math.log(7) / 2
    assert score("risk_averse", BASE) == pytest.approx(gain * 0.9 * 0.8 * 0.8 / 0.5 + bonus)
    assert score("as_printed", BASE) == pytest.approx(gain / (0.5 * 0.9 * 0.8 * 0.8) + bonus)


@given(terms=TERMS, more=st.floats(0.01, 0.09))
@pytest.mark.parametrize("risk", ["accuracy_risk_ratio", "crash_risk_ratio"])
def test_risk_lowers_one_form_and_raises_the_other(
    risk: str, terms: ScoreTerms, more: float
) -> None:
    riskier = terms.model_copy(update={risk: getattr(terms, risk) + more})
    assert score("risk_averse", riskier) < score("risk_averse", terms)
    assert score("as_printed", riskier) > score("as_printed", terms)


@given(terms=TERMS, factor=st.floats(1.1, 3.0))
def test_urgency_raises_one_form_and_lowers_the_other(terms: ScoreTerms, factor: float) -> None:
    urgent = terms.model_copy(update={"gap_ratio": terms.gap_ratio * factor})
    assert score("risk_averse", urgent) > score("risk_averse", terms)
    assert score("as_printed", urgent) < score("as_printed", terms)


@given(terms=TERMS, factor=st.floats(1.1, 3.0))
@pytest.mark.parametrize("form", ["risk_averse", "as_printed"])
def test_gain_is_good_and_cost_is_bad(form: Form, terms: ScoreTerms, factor: float) -> None:
    faster = terms.model_copy(update={"speedup_ratio": terms.speedup_ratio * factor})
    larger = terms.model_copy(update={"share_ratio": terms.share_ratio * factor})
    dearer = terms.model_copy(update={"cost_ratio": terms.cost_ratio * factor})
    assert score(form, dearer) < score(form, terms) < score(form, faster)
    assert score(form, larger) > score(form, terms)


def test_rarely_tried_categories_get_a_bonus() -> None:
    rare = BASE.model_copy(update={"num_category_tries": 0})
    none = BASE.model_copy(update={"exploration": 0.0, "num_category_tries": 0})
    assert score("risk_averse", rare) > score("risk_averse", BASE) > score("risk_averse", none)
    first = BASE.model_copy(update={"num_tries": 0})
    assert score("risk_averse", first) == score("risk_averse", none)


@given(share=st.floats(0.05, 1.0), speedup=st.floats(1.0, 10.0))
def test_the_implied_speedup_inverts_the_gain(share: float, speedup: float) -> None:
    ratio = 1.0 / (1.0 - expected_gain(share, speedup))
    assert implied_speedup(ratio, share) == pytest.approx(speedup, rel=1e-6)


@given(ratio=st.floats(1e-3, 1e3), share=st.floats(0.0, 1.0))
def test_the_implied_speedup_is_bounded(ratio: float, share: float) -> None:
    assert 0.5 <= implied_speedup(ratio, share) <= 20.0 + 1e-9


def _terms(tree: Tree, name: str, **settings: float) -> ScoreTerms:
    return score_terms(tree, tree.templates[name], SearchSettings.model_validate(settings), 10.0)


def _stage(*names: str) -> Stage:
    stage = Stage(*(template(name, cost_s=20.0) for name in names))
    stage.open(attention=0.4, linear=0.6)
    return stage


def test_terms_come_from_template_and_profile() -> None:
    terms = _terms(_stage("a").state.tree, "a", exploration=0.3)
    assert terms.share_ratio == 0.4
    assert terms.cost_ratio == 2.0
    assert terms.speedup_ratio == pytest.approx(1.5)
    assert (terms.accuracy_risk_ratio, terms.crash_risk_ratio) == pytest.approx((0.02, 0.02))
    assert (terms.gap_ratio, terms.num_tries, terms.exploration) == (1.0, 0, 0.3)


def test_without_a_profile_everything_may_be_gained() -> None:
    assert _terms(Stage(template("a")).state.tree, "a").share_ratio == 1.0


@pytest.mark.parametrize("is_in_conflict", [False, True])
def test_an_enabler_is_credited_for_what_it_does_not_rule_out(*, is_in_conflict: bool) -> None:
    needed = Requirement(key="s.a", any_of=(True,))
    conflicts = (needed,) if is_in_conflict else ()
    stage = Stage(template("a"), template("b", requires=(needed,), conflicts=conflicts))
    stage.open(attention=0.4, linear=0.6)
    assert (_terms(stage.state.tree, "a").unlocked_gain_ratio > 0) is not is_in_conflict


def test_a_gain_that_was_taken_is_no_promise_and_closes_the_gap() -> None:
    stage = _stage("a", "b")
    before = _terms(stage.state.tree, "a")
    stage.keep("a", ratio=1.5, attention=0.2, linear=0.8)
    tree = stage.state.tree
    after = _terms(tree, "a")
    assert after.speedup_ratio < before.speedup_ratio
    assert after.share_ratio == 0.2
    assert after.gap_ratio == pytest.approx(1 - math.log(tree.gain_ratio("n001")) / math.log(10))
    assert (after.num_tries, after.num_category_tries) == (1, 1)
    assert _terms(tree, "a", goal_ratio=1.2).gap_ratio == MIN_GAP_RATIO


def test_failures_raise_the_risks_of_the_layer() -> None:
    stage = _stage("a", "b", "c")
    first = _terms(stage.state.tree, "c")
    stage.break_work("a", "RuntimeError: no")
    stage.turn()
    crashed = _terms(stage.state.tree, "c")
    assert crashed.crash_risk_ratio > first.crash_risk_ratio
    assert crashed.accuracy_risk_ratio < first.accuracy_risk_ratio
    stage.work("b")
    stage.turn()
    stage.check_accuracy(kl=1.0)
    stage.turn()
    inexact = _terms(stage.state.tree, "c")
    assert inexact.accuracy_risk_ratio > crashed.accuracy_risk_ratio
    assert inexact.num_tries == 2


def test_a_reverted_idea_is_expected_to_gain_less() -> None:
    stage = _stage("a", "b")
    before = _terms(stage.state.tree, "a").speedup_ratio
    stage.revert("a", ratio=0.9)
    assert 1.0 < _terms(stage.state.tree, "a").speedup_ratio < before


def test_every_recorded_score_follows_from_its_terms() -> None:
    stage = _stage("a", "b", "c")
    stage.keep("a")
    stage.revert("b")
    state: CampaignState = stage.state
    scored = [a for a in state.tree.actions.values() if a.score is not None]
    assert len(scored) == 3
