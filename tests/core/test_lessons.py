"""Lessons: what was seen, of what, and how little one try proves."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.core.lessons import (
    CONTEXT_SD,
    DEFAULT_GAIN_SD,
    MAX_GAIN_SD,
    MIN_GAIN_SD,
    Found,
    Lesson,
    Observation,
    beta_mean,
    gain_sd,
    lessons,
    observations,
)
from arbor.core.scene import Scene
from arbor.events.types import Layer
from tests.fakes.stage import Stage, template

SCENE = Scene("landscape", "cpu", "test", "", "")
GAINS = st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=12)


def seen(log_gain: float | None, name: str = "a", **fields: object) -> Observation:
    """Return one measured try without noise of its own."""
    own: dict[str, object] = {
        "is_kept": bool(log_gain and log_gain > 0),
        "is_crash": False,
        "is_inexact": False,
        "share_ratio": 0.4,
        "variance": 0.0,
    }
    return Observation(template=template(name), log_gain=log_gain, **(own | fields))  # type: ignore[arg-type]


def pooled(*tries: Observation, source: str = "c1") -> Lesson:
    """Return the only lesson of some tries."""
    (lesson,) = lessons(Found(SCENE, source, each) for each in tries)
    return lesson


def test_one_lucky_try_is_no_law() -> None:
    lesson = pooled(seen(0.5))
    precision = DEFAULT_GAIN_SD**-2 + CONTEXT_SD**-2
    assert lesson.log_gain == pytest.approx(0.5 * CONTEXT_SD**-2 / precision)
    assert lesson.keep_ratio == pytest.approx(2 / 3)
    low, high = lesson.interval()
    assert low < math.exp(lesson.log_gain) < high
    assert high / low > 1.3
    many = pooled(*[seen(0.5)] * 5)
    assert many.log_gain > lesson.log_gain
    assert many.log_gain_sd < lesson.log_gain_sd
    assert many.keep_ratio > lesson.keep_ratio


@given(gains=GAINS)
def test_beliefs_lie_between_nothing_and_what_was_seen(gains: list[float]) -> None:
    lesson = pooled(*[seen(gain) for gain in gains])
    mean = math.fsum(gains) / len(gains)
    assert abs(lesson.log_gain) <= abs(mean) + 1e-12
    assert lesson.log_gain * mean >= 0.0
    assert (lesson.num_tries, lesson.num_effects) == (len(gains), len(gains))


def test_a_noisy_series_says_less() -> None:
    assert pooled(seen(0.3, variance=0.04)).log_gain < pooled(seen(0.3)).log_gain


def test_crashes_and_inexact_tries_are_counted_and_have_no_gain() -> None:
    crash = seen(None, is_crash=True)
    lesson = pooled(seen(0.2), crash, crash, seen(None, is_inexact=True))
    assert (lesson.num_tries, lesson.num_kept, lesson.num_crashed) == (4, 1, 2)
    assert (lesson.num_inexact, lesson.num_effects) == (1, 1)
    assert lesson.crash_ratio == pytest.approx(beta_mean(2, 4, 0.05))


@given(gains=st.lists(st.floats(-3.0, 3.0), min_size=6, max_size=30))
def test_the_spread_of_true_gains_is_bounded(gains: list[float]) -> None:
    assert MIN_GAIN_SD <= gain_sd([seen(gain) for gain in gains]) <= MAX_GAIN_SD


def test_scenes_and_templates_are_lessons_of_their_own() -> None:
    other = Scene("landscape", "cpu", "other", "", "")
    found = lessons(
        [
            Found(SCENE, "c1", seen(0.1)),
            Found(SCENE, "c2", seen(0.3)),
            Found(other, "c3", seen(0.2)),
            Found(SCENE, "c1", seen(0.2, "b")),
        ]
    )
    assert [(each.template_id, each.scene.hardware, each.sources) for each in found] == [
        ("a", "other", ("c3",)),
        ("a", "test", ("c1", "c2")),
        ("b", "test", ("c1",)),
    ]
    assert lessons([]) == ()


def test_what_a_campaign_saw() -> None:
    stage = Stage(template("a"), template("b", Layer.FRAMEWORK), template("c", Layer.COMPILER))
    stage.open(attention=0.4, linear=0.6)
    first, second = stage.state.tree.in_flight()
    stage.keep(first.template_id or "", 1.2, attention=0.3, linear=0.7)
    stage.revert(second.template_id or "", 0.95)
    tries = {each.template.template_id: each for each in observations(stage.state)}
    kept, reverted = tries[first.template_id or ""], tries[second.template_id or ""]
    assert kept.is_kept
    assert kept.share_ratio == 0.4, "the share where it was tried, not where it led"
    assert kept.log_gain == pytest.approx(math.log(1.2))
    assert not reverted.is_kept
    assert reverted.log_gain == pytest.approx(math.log(0.95))
    assert not reverted.is_crash


def test_what_the_environment_broke_teaches_nothing() -> None:
    stage = Stage(template("a"))
    stage.open(attention=1.0)
    for _ in range(2):
        stage.break_work("a", "OSError: [Errno 98] Address already in use")
        stage.turn()
    assert not list(observations(stage.state))


def test_what_an_idea_broke_is_a_crash() -> None:
    stage = Stage(template("a"))
    stage.open(attention=1.0)
    stage.break_work("a", "ValueError: fast is not supported with this model")
    stage.turn()
    action = stage.state.tree.history("a")[0]
    tries = list(observations(stage.state))
    blames = action.root_cause is not None and action.root_cause.blames_idea
    assert [each.is_crash for each in tries] == ([True] if blames else [])


def test_bundles_teach_nothing_about_one_template() -> None:
    stage = Stage(template("a"), template("b", Layer.FRAMEWORK))
    stage.open()
    for _ in range(2):
        stage.revert(stage.state.tree.in_flight()[0].template_id or "", 1.02)
    bundle = next(a for a in stage.state.tree.actions.values() if a.parts)
    stage.keep(bundle.template_id, 1.04)
    tries = [each.template.template_id for each in observations(stage.state)]
    assert sorted(tries) == ["a", "b"]
