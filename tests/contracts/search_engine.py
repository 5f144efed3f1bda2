"""What every search engine must do; subclasses name theirs."""

import math
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arbor.events.types import Edit, Parameter, Requirement, Scalar
from arbor.search.advisers import UniformAdviser
from arbor.search.engine import Engine, create_engine, restore
from arbor.search.space import AtMost, Ordered, Point, Space, values_of

SPACE = (
    Parameter(key="a.size", kind="int", low=1, high=64, log=True),
    Parameter(key="a.rate", kind="float", low=-2.0, high=0.0),
    Parameter(key="a.mode", kind="categorical", choices=("x", "y", "z")),
    Parameter(key="a.flag", kind="categorical", choices=(False, True)),
    Parameter(key="a.step", kind="int", low=-3, high=0),
    Parameter(key="a.scale", kind="float", low=1e-6, high=1.0, log=True),
)


def point(*values: Scalar) -> Point:
    """Return a point of ``SPACE``."""
    return tuple(Edit(key=p.key, value=v) for p, v in zip(SPACE, values, strict=True))


WHOLE = Space(SPACE)
RULED = Space(
    (
        Parameter(key="m", kind="int", low=16, high=256, log=True),
        Parameter(key="n", kind="int", low=16, high=256, log=True),
        Parameter(key="mode", kind="categorical", choices=("plain", "split", "loop")),
        Parameter(
            key="parts",
            kind="int",
            low=2,
            high=16,
            when=(Requirement(key="mode", any_of=("split",)),),
        ),
        Parameter(
            key="rate",
            kind="float",
            low=0.0,
            high=1.0,
            when=(Requirement(key="mode", any_of=("split", "loop")),),
        ),
    ),
    (AtMost(("m", "n"), 8192), Ordered("n", "m")),
)
"""Two numbers that a rule and an order bind, and two that do not exist in every mode."""


def ruled_value(asked: Point) -> float:
    """Return what a point of ``RULED`` is worth; the best splits at a small ``n``."""
    values = values_of(asked)
    return float(values.get("rate", 0.0)) - math.log(float(values["n"]))


FIRST = (point(8, -1.0, "y", True, -1, 0.5), point(64, 0.0, "z", False, 0, 1e-6))


def value_of(asked: Point) -> float:
    """Return what a point is worth; the best is at size 16, rate -0.5 and mode ``y``."""
    size, rate, mode = (edit.value for edit in asked[:3])
    assert isinstance(size, int)
    assert isinstance(rate, float)
    return -(math.log(size / 16) ** 2) - (rate + 0.5) ** 2 + (1.0 if mode == "y" else 0.0)


class SearchEngineContract:
    """Runs against every registered engine."""

    name: ClassVar[str]

    def make(self, seed: int = 0, first: tuple[Point, ...] = ()) -> Engine:
        """Return a new engine on ``SPACE``."""
        return self.on(WHOLE, seed, first)

    def on(self, space: Space, seed: int = 0, first: tuple[Point, ...] = ()) -> Engine:
        """Return a new engine on a space."""
        adviser = UniformAdviser(seed)
        return create_engine(self.name, space, seed, first, budget=40, adviser=adviser)

    def run(self, engine: Engine, num: int) -> list[Point]:
        """Ask and tell a number of times; every fifth trial fails."""
        asked = []
        for number in range(num):
            asked.append(engine.ask())
            engine.tell(asked[-1], None if number % 5 == 4 else value_of(asked[-1]))
        return asked

    def test_has_its_name(self) -> None:
        assert self.make().name == self.name

    def test_asks_within_the_space(self) -> None:
        for seed in range(4):
            for asked in self.run(self.make(seed), 15):
                WHOLE.check(asked)
                types = [type(edit.value) for edit in asked]
                assert types == [int, float, str, bool, int, float]

    def test_reaches_both_ends_of_a_small_range(self) -> None:
        space = (Parameter(key="k", kind="int", low=0, high=1),)
        engine = self.on(Space(space))
        seen = set()
        for _ in range(20):
            (edit,) = asked = engine.ask()
            seen.add(edit.value)
            engine.tell(asked, 1.0)
        assert seen == {0, 1}

    def test_asks_for_the_first_points_first(self) -> None:
        engine = self.make(first=FIRST)
        assert self.run(engine, 4)[:2] == list(FIRST)

    def test_equal_seeds_and_tells_give_equal_asks(self) -> None:
        assert self.run(self.make(7, FIRST), 14) == self.run(self.make(7, FIRST), 14)

    def test_seeds_differ(self) -> None:
        assert self.run(self.make(1), 8) != self.run(self.make(2), 8)

    def test_can_be_rebuilt_by_telling_again(self) -> None:
        """What the tuning specialist does after a restart."""
        whole = self.make(3, FIRST)
        asked = self.run(whole, 9)
        rebuilt = self.make(3, FIRST)
        for number, told in enumerate(asked):
            assert rebuilt.ask() == told
            rebuilt.tell(told, None if number % 5 == 4 else value_of(told))
        assert rebuilt.ask() == whole.ask()
        assert rebuilt.best() == whole.best()

    @pytest.mark.parametrize("num", [1, 6, 23])
    def test_can_be_restored_from_what_it_was_told(self, num: int) -> None:
        """Without asking again, which may have cost a model's call."""
        whole = self.make(3, FIRST)
        asked = self.run(whole, num)
        told = [
            (each, None if number % 5 == 4 else value_of(each))
            for number, each in enumerate(asked)
        ]
        restored = restore(self.make(3, FIRST), told)
        assert restored.best() == whole.best()
        assert [restored.ask() for _ in range(3)] == [whole.ask() for _ in range(3)]

    def test_keeps_the_rules_and_leaves_out_what_does_not_exist(self) -> None:
        for seed in range(3):
            engine = self.on(RULED, seed)
            modes = set()
            for number in range(24):
                asked = engine.ask()
                RULED.check(asked)
                assert RULED.problem(asked) == ""
                modes.add(values_of(asked)["mode"])
                engine.tell(asked, None if number % 5 == 4 else ruled_value(asked))
            assert len(modes) > 1

    @settings(
        max_examples=15,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
    )
    @given(data=st.data())
    def test_asks_and_tells_may_come_in_any_order(self, data: st.DataObject) -> None:
        """Rolling batches, results out of order, failures, repeats, points from elsewhere."""
        engine = self.make(data.draw(st.integers(0, 99)))
        out: list[Point] = []
        known: list[tuple[float, Point]] = []
        steps = data.draw(st.lists(st.sampled_from(["ask", "tell", "fail", "more"]), max_size=40))
        for step in steps:
            if step == "ask" or not out:
                out.append(engine.ask())
                WHOLE.check(out[-1])
                continue
            place = data.draw(st.integers(0, len(out) - 1))
            told = FIRST[0] if step == "more" else out.pop(place)
            value = None if step == "fail" else value_of(told)
            engine.tell(told, value)
            known += [] if value is None else [(value, told)]
            assert engine.best() == max(known, key=lambda k: k[0], default=(0.0, None))[1]

    def test_results_that_never_come_do_not_stop_it(self) -> None:
        engine = self.make()
        for number in range(30):
            asked = engine.ask()
            if number % 3:
                engine.tell(asked, value_of(asked))
        WHOLE.check(engine.ask())

    def test_may_be_asked_several_times_before_it_is_told(self) -> None:
        engine = self.make()
        asked = [engine.ask() for _ in range(6)]
        assert len(set(asked)) > 1
        for each in reversed(asked):
            engine.tell(each, value_of(each))
        assert engine.best() == max(asked, key=value_of)
        WHOLE.check(engine.ask())

    def test_may_be_told_what_it_did_not_ask_for(self) -> None:
        engine = self.make()
        engine.tell(FIRST[0], 5.0)
        engine.tell(FIRST[1], 4.0)
        assert engine.best() == FIRST[0]
        WHOLE.check(engine.ask())

    def test_may_be_told_the_same_point_twice(self) -> None:
        engine = self.make()
        engine.tell(FIRST[0], 1.0)
        engine.tell(FIRST[1], 2.0)
        engine.tell(FIRST[0], 3.0)
        assert engine.best() == FIRST[0]

    def test_failures_are_no_best(self) -> None:
        engine = self.make()
        assert engine.best() is None
        for _ in range(12):
            engine.tell(engine.ask(), None)
        assert engine.best() is None
        asked = engine.ask()
        engine.tell(asked, -1e9)
        assert engine.best() == asked

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_a_value_is_finite(self, value: float) -> None:
        engine = self.make()
        with pytest.raises(ValueError, match="finite"):
            engine.tell(FIRST[0], value)
        engine.tell(FIRST[1], -5.0)
        assert engine.best() == FIRST[1]

    @pytest.mark.parametrize(
        "wrong",
        [
            (),
            FIRST[0][:-1],
            FIRST[0][::-1],
            (*FIRST[0], Edit(key="more", value=1)),
            point(0, -1.0, "y", True, -1, 0.5),
            point(65, -1.0, "y", True, -1, 0.5),
            point(8, 0.1, "y", True, -1, 0.5),
            point(8, -1.0, "q", True, -1, 0.5),
            point("8", -1.0, "y", True, -1, 0.5),
            point(True, -1.0, "y", True, -1, 0.5),
            point(8.5, -1.0, "y", True, -1, 0.5),
        ],
    )
    def test_a_point_outside_the_space_is_refused(self, wrong: Point) -> None:
        engine = self.make()
        with pytest.raises(ValueError, match=r"point has keys|is none of|lies outside|no whole"):
            engine.tell(wrong, 1.0)
        assert engine.best() is None

    @settings(
        max_examples=25,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
    )
    @given(data=st.data(), kind=st.sampled_from(["int", "float"]), log=st.booleans())
    def test_any_range_is_respected(self, data: st.DataObject, kind: str, *, log: bool) -> None:
        floor = 1 if log else -100
        low = data.draw(st.integers(floor, 100))
        high = data.draw(st.integers(low + 1, 200))
        fields = {"key": "k", "kind": kind, "low": low, "high": high, "log": log}
        space = (Parameter.model_validate(fields),)
        engine = self.on(Space(space), data.draw(st.integers(0, 2**31)))
        for number in range(6):
            asked = engine.ask()
            Space(space).check(asked)
            engine.tell(asked, float(number))
