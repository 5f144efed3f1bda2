"""The Bench: answers requests for evidence, one at a time."""

from contextlib import suppress

from arbor.actors.arms import Arms
from arbor.actors.attempt import CancelledError
from arbor.actors.journal import Journal
from arbor.actors.measurement import Measurement
from arbor.actors.place import Place
from arbor.core.requests import Request
from arbor.events.errors import ConflictError
from arbor.events.work import AttemptStarted


class Bench:
    """A worker: does one request at a time and keeps the incumbent's server up."""

    name = "bench"

    def __init__(self, place: Place, journal: Journal) -> None:
        self._place = place
        self._journal = journal
        self._arms = Arms(place)

    def next_request(self) -> Request | None:
        """Return the oldest request without evidence; none is begun during a pause.

        One that ended the bench too often waits for the Orchestrator to give it up.
        """
        self._journal.catch_up()
        state = self._journal.state
        if state.is_paused:
            return None
        limit = state.settings.search.max_attempts
        return next((r for r in state.requests.open() if r.num_lost < limit), None)

    def perform(self, request: Request) -> None:
        """Answer a request with evidence, or with the crash that prevented it.

        Raises:
            FencedError: this incarnation has a successor.
            LogError: the log cannot be used.
        """
        asked = request.asked
        attempt = request.num_attempts + 1
        attempt_id = f"{asked.request_id}.{attempt}"
        with suppress(ConflictError, CancelledError):
            self._journal.append(
                AttemptStarted(
                    action_id=asked.action_id,
                    attempt_id=attempt_id,
                    causation_id=request.event_id,
                    attempt=attempt,
                    request_id=asked.request_id,
                ),
                watching=frozenset({f"request:{asked.request_id}"}),
            )
            self._journal.catch_up()
            try:
                Measurement(self._place, self._journal, self._arms, request, attempt_id).run()
            finally:
                self._arms.rest()

    def close(self) -> None:
        """End all servers."""
        self._arms.close()
