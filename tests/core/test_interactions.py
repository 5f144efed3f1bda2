"""Interactions: what keeps did to others, from effects before and after."""

from arbor.core.interactions import PRIOR_WEIGHT, learn
from arbor.core.scoring import score_terms
from arbor.events.settings import MeasureSettings, SearchSettings, Settings
from arbor.events.types import Layer
from tests.fakes.stage import Stage, template


def _stage(*, is_learning: bool) -> Stage:
    search = SearchSettings(parallel=1, learn_interactions=is_learning, max_revivals=4)
    return Stage(
        template("a", prior_speedup_ratio=3.0),
        template("b", Layer.FRAMEWORK, prior_speedup_ratio=2.0),
        settings=Settings(search=search, measure=MeasureSettings(soak_s=0.0)),
    )


def _played(*, is_learning: bool) -> Stage:
    """Return a campaign in which a was nothing, b was kept, and a was then a loss."""
    stage = _stage(is_learning=is_learning)
    stage.open()
    stage.revert("a", 0.99)
    stage.keep("b", 1.5)
    stage.revert("a", 0.8)
    return stage


def test_nothing_is_learned_without_a_keep_between() -> None:
    stage = _stage(is_learning=True)
    stage.open()
    stage.revert("a", 0.99)
    assert not learn(stage.state.tree).by_pair


def test_a_keep_that_lowers_the_worth_of_another_is_found_and_shrunk() -> None:
    tree = _played(is_learning=True).state.tree
    (found,) = learn(tree).largest(5)
    assert (found.kept, found.changed, found.num) == ("b", "a", 1)
    assert found.log_change < 0.0
    full = found.log_change * (PRIOR_WEIGHT + 1)
    assert full < found.log_change


def test_it_corrects_what_was_measured_before_only_when_asked() -> None:
    stage = _played(is_learning=True)
    tree = stage.state.tree
    with_it, without = (
        score_terms(tree, tree.templates["a"], SearchSettings(learn_interactions=learns), 10.0)
        for learns in (True, False)
    )
    assert with_it.speedup_ratio < without.speedup_ratio
    assert with_it.model_copy(update={"speedup_ratio": without.speedup_ratio}) == without
