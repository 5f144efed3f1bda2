"""LLM as optimiser: every turn is the adviser's, from the table of all trials."""

from typing import ClassVar

from arbor.events.errors import InvalidInputError
from arbor.search.advice import Question, one_point
from arbor.search.base import AskTell, Setup
from arbor.search.space import Point


class AdvisedSearch(AskTell):
    """Asks an adviser for each point; nothing stands in for it when it fails."""

    name: ClassVar[str] = "llm"

    def __init__(self, setup: Setup) -> None:
        """Make a search.

        Raises:
            InvalidInputError: there is no adviser.
        """
        super().__init__(setup)
        if setup.adviser is None:
            raise InvalidInputError(f"search engine {self.name} needs an adviser")
        self._adviser = setup.adviser

    def _propose(self, number: int, attempt: int) -> Point:  # noqa: ARG002 - rules are checked
        return one_point(self._adviser, Question(self._space, self._told, number))

    def _learn(self, point: Point, value: float | None) -> None:
        """Do nothing: the history is all that the adviser sees."""
