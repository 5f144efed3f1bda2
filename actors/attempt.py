"""One attempt at one request: what all purposes share."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypedDict

from arbor.actors.arms import Arms
from arbor.actors.journal import Journal
from arbor.actors.place import Place
from arbor.core.requests import Request
from arbor.events.errors import ArborError
from arbor.events.types import SeriesPlan
from arbor.targets.base import ServerFailedError


class CancelledError(Exception):
    """The request is not wanted any more, or another attempt must be made."""


class EvidenceFields(TypedDict):
    """Fields that all evidence shares."""

    action_id: str | None
    attempt_id: str
    causation_id: str
    request_id: str
    node_id: str
    commit: str


class Attempt:
    """Knows what was asked, on which commits, and whether it is still wanted."""

    def __init__(
        self, place: Place, journal: Journal, arms: Arms, request: Request, attempt_id: str
    ) -> None:
        self._place = place
        self._journal = journal
        self._arms = arms
        self._asked = request.asked
        self._settings = journal.state.settings.measure
        self._commit = place.commit(self._asked.parent_commit, self._asked.edits)
        self._incumbent = self._asked.incumbent_commit
        self._evidence: EvidenceFields = {
            "action_id": self._asked.action_id,
            "attempt_id": attempt_id,
            "causation_id": request.event_id,
            "request_id": self._asked.request_id,
            "node_id": self._asked.node_id,
            "commit": self._commit,
        }

    def _record_crash(self, error: ServerFailedError, action_id: str | None) -> None:
        self._journal.append(
            self._place.crashed(
                error,
                action_id=action_id,
                attempt_id=self._evidence["attempt_id"],
                node_id=self._asked.node_id,
                request_id=self._asked.request_id,
            )
        )

    @contextmanager
    def _lease(self, *, exclusive: bool) -> Iterator[None]:
        with self._journal.lease(
            self._place.host,
            self._asked.purpose,
            exclusive=exclusive,
            action_id=self._asked.action_id,
        ):
            self._check_wanted()
            yield

    def _check_wanted(self) -> None:
        self._journal.catch_up()
        if self._journal.state.requests.by_id[self._asked.request_id].is_cancelled:
            raise CancelledError

    @contextmanager
    def _on_incumbent(self) -> Iterator[None]:
        """Blame a failure on the incumbent, not on the action."""
        try:
            yield
        except ServerFailedError as error:
            self._arms.drop(self._incumbent, "b")
            self._arms.drop(self._incumbent)
            self._record_crash(error, None)
            raise CancelledError from error

    def _plan(self) -> SeriesPlan:
        """Return the request's plan.

        Raises:
            ArborError: it has none: a defect.
        """
        if self._asked.plan is None:
            raise ArborError(f"{self._asked.request_id} ({self._asked.purpose}) has no plan")
        return self._asked.plan
