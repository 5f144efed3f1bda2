"""NGOpt: Nevergrad's choice of a method by the space and the budget."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import nevergrad as ng
import numpy as np

from arbor.events.types import Parameter, Scalar
from arbor.search.base import AskTell, Setup
from arbor.search.cube import is_ordered
from arbor.search.space import Point, bounds


class NgoptSearch(AskTell):
    """Nevergrad's own parametrisation of the space behind ask and tell.

    Some of its methods are strictly sequential: a point that is asked for while another of
    theirs is pending is uniform, and a result that they did not ask for is left out.
    """

    name: ClassVar[str] = "ngopt"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        # Some methods run in a thread of their own, beyond the reach of a context here.
        warnings.filterwarnings("ignore", module=r"scipy\._lib\.pyprima")
        self._parametrisation = ng.p.Dict(**{p.key: _parameter(p) for p in self._space})
        self._parametrisation.random_state = np.random.RandomState(setup.seed % 2**32)
        with _quiet():
            self._optimiser = ng.optimizers.registry["NGOpt"](
                self._parametrisation, budget=setup.budget, num_workers=1
            )
        self._drawn: dict[Point, list[Any]] = {}
        """Candidates that were not told yet, by their point."""
        self._ready: list[Point] = []
        """Points that were drawn to recognise a told one, and that will be asked for next."""
        self._last: Point = ()
        self._worst = 0.0

    def _propose(self, number: int, attempt: int) -> Point:
        if attempt:
            # It drew a point that breaks a rule; told as failed so that it goes elsewhere.
            self._drop_last()
        elif self._ready:
            return self._ready.pop(0)
        if self._is_blocked():
            return self._space.draw(self._source(number, attempt))
        return self._draw()

    def _draw(self) -> Point:
        with _quiet():
            candidate = self._optimiser.ask()
        point = self._space.point({p.key: _typed(p, candidate.value[p.key]) for p in self._space})
        self._last = point
        self._drawn.setdefault(point, []).append(candidate)
        return point

    def _drop_last(self) -> None:
        candidates = self._drawn.get(self._last, [])
        if candidates:
            self._tell(candidates.pop(), self._worst + 1.0)

    def _is_blocked(self) -> bool:
        is_sequential = bool(getattr(self._optimiser.optim, "no_parallelization", False))
        return is_sequential and any(self._drawn.values())

    def _recognise(self, point: Point) -> None:
        # Drawn now if it was drawn before a restart; else it waits for the next ask.
        if not self._ready and not self._is_blocked():
            self._ready.append(self._draw())
        if point in self._ready:
            self._ready.remove(point)

    def _learn(self, point: Point, value: float | None) -> None:
        if value is not None:
            self._worst = max(self._worst, -value)
        loss = self._worst + 1.0 if value is None else -value
        candidates = self._drawn.get(point)
        if candidates:
            self._tell(candidates.pop(0), loss)
            if not candidates:
                del self._drawn[point]
            return
        values = {p.key: _middle(p) for p in self._space} | {e.key: e.value for e in point}
        with _quiet():
            candidate = self._optimiser.parametrization.spawn_child(new_value=values)
        try:
            self._tell(candidate, loss)
        except ng.errors.TellNotAskedNotSupportedError:
            return

    def _tell(self, candidate: Any, loss: float) -> None:
        with _quiet():
            self._optimiser.tell(candidate, loss)


@contextmanager
def _quiet() -> Iterator[None]:
    """Hold back the library's remarks on its own methods."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _parameter(parameter: Parameter) -> Any:
    if parameter.kind == "categorical":
        make = ng.p.TransitionChoice if is_ordered(parameter) else ng.p.Choice
        return make(list(parameter.choices))
    low, high = bounds(parameter)
    if low == high:
        return ng.p.Constant(low)
    made = ng.p.Log(lower=low, upper=high) if parameter.log else ng.p.Scalar(lower=low, upper=high)
    return made.set_integer_casting() if parameter.kind == "int" else made


def _typed(parameter: Parameter, value: Any) -> Scalar:
    """Return the library's value as a configuration holds it."""
    if parameter.kind == "categorical":
        return next(c for c in parameter.choices if type(c) is type(value) and c == value)
    low, high = bounds(parameter)
    number = min(max(float(value), low), high)
    return round(number) if parameter.kind == "int" else number


def _middle(parameter: Parameter) -> Scalar:
    """Return a value for a parameter that does not exist in a point."""
    if parameter.kind == "categorical":
        return parameter.choices[0]
    low, high = bounds(parameter)
    return round((low + high) / 2) if parameter.kind == "int" else (low + high) / 2
