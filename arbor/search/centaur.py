"""Centaur: CMA-ES and an adviser share one search and take turns.

The adviser sees the strategy's mean, step size, covariance and own suggestion, the best and the
latest trials. Its share of the turns is a ratio, kept exactly by an accumulator. The strategy is
told every result; what is not better than half of its own changes nothing there, so a useless
adviser costs its turns and no more. When the adviser fails, the turn fails: never in silence.
"""

from collections import Counter, deque
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from arbor.events.errors import InvalidInputError
from arbor.search.advice import Question, one_point
from arbor.search.base import AskTell, Setup
from arbor.search.space import Point
from arbor.search.strategy import EvolutionStrategy

DEFAULT_SHARE = Fraction(3, 10)
_NUM_RIVALS = 20
"""Latest results of the strategy that an adviser's result is held against."""
_MIN_TRUST, _MAX_TRUST = Fraction(1, 10), Fraction(2)


@dataclass(frozen=True, slots=True)
class Record:
    """What an adviser's turns were worth.

    Attributes:
        num_turns: results of its turns.
        num_best: those that were a new best.
        num_repeats: those that had been tried before.
        beaten: sum over its turns of the share of the strategy's latest results that it beat.
        num_compared: turns behind that sum; the strategy had results by then.
    """

    num_turns: int = 0
    num_best: int = 0
    num_repeats: int = 0
    beaten: Fraction = Fraction(0)
    num_compared: int = 0

    @property
    def worth(self) -> Fraction:
        """Chance that a turn beats one of the strategy's, from even odds before the first."""
        return (1 + self.beaten) / (2 + self.num_compared)


class CentaurSearch(AskTell):
    """The adviser's share is fixed."""

    name: ClassVar[str] = "centaur"

    def __init__(self, setup: Setup, share: Fraction = DEFAULT_SHARE) -> None:
        """Make a search.

        Raises:
            InvalidInputError: there is no adviser, or its share is no ratio.
        """
        super().__init__(setup)
        if setup.adviser is None:
            raise InvalidInputError(f"search engine {self.name} needs an adviser")
        if not 0 <= share <= 1:
            raise InvalidInputError(f"the adviser's share {share} lies outside 0 .. 1")
        self._adviser = setup.adviser
        self._strategy = EvolutionStrategy(setup.space, setup.seed)
        self._share = share
        self._credit = Fraction(0)
        self._advised: Counter[Point] = Counter()
        self._rivals: deque[float | None] = deque(maxlen=_NUM_RIVALS)
        self._seen: set[Point] = set()
        self._record = Record()

    @property
    def record(self) -> Record:
        """What the adviser's turns were worth so far."""
        return self._record

    def share(self) -> Fraction:
        """Return the adviser's share of the turns from now on."""
        return self._share

    def _propose(self, number: int, attempt: int) -> Point:  # noqa: ARG002 - rules are checked
        credit = self._credit + self.share()
        if credit < 1:
            self._credit = credit
            return self._strategy.take()
        view = self._strategy.view()
        question = Question(self._space, self._told, number, optimiser=view)
        point = one_point(self._adviser, question)
        self._credit = credit - 1
        self._advised[point] += 1
        if point == view.suggestion:
            self._strategy.take()
        return point

    def _recognise(self, point: Point) -> None:
        # The turn that this was before a restart.
        self._credit += self.share()
        if self._credit >= 1:
            self._credit -= 1
            self._advised[point] += 1

    def _learn(self, point: Point, value: float | None) -> None:
        if self._advised[point] > 0:
            self._advised[point] -= 1
            self._record = self._with_turn(point, value)
        else:
            self._rivals.append(value)
        if not self._advised[point]:
            del self._advised[point]
        self._seen.add(point)
        self._strategy.learn(point, value)

    def _with_turn(self, point: Point, value: float | None) -> Record:
        old = self._record
        rivals = self._rivals
        is_best = value is not None and (self._best is None or value > self._best[0])
        beaten = sum((_beats(value, rival) for rival in rivals), start=Fraction(0))
        return Record(
            num_turns=old.num_turns + 1,
            num_best=old.num_best + is_best,
            num_repeats=old.num_repeats + (point in self._seen),
            beaten=old.beaten + (beaten / len(rivals) if rivals else 0),
            num_compared=old.num_compared + bool(rivals),
        )


class AdaptiveCentaurSearch(CentaurSearch):
    """The adviser's share follows its record: from a tenth of the ratio to twice as much."""

    name: ClassVar[str] = "centaur_adaptive"

    def share(self) -> Fraction:
        """Return the adviser's share of the turns from now on."""
        trust = min(max(2 * self._record.worth, _MIN_TRUST), _MAX_TRUST)
        return min(self._share * trust, Fraction(1))


def _beats(value: float | None, rival: float | None) -> Fraction:
    """Return 1 for better, 1/2 for equal; a failure beats nothing and ties with a failure."""
    if value is None:
        return Fraction(1, 2) if rival is None else Fraction(0)
    if rival is None or value > rival:
        return Fraction(1)
    return Fraction(1, 2) if value == rival else Fraction(0)
