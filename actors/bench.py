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
    """A worker: does one request at a time and keeps the incumbent's server up.

    Its servers stay on its devices between requests, so it holds these from its first request
    on, and gives them up between two requests when a specialist waits for them.
    """

    name = "bench"

    def __init__(self, place: Place, journal: Journal) -> None:
        self._place = place
        self._journal = journal
        self._arms = Arms(place)
        self._devices_lease: str | None = None

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
        self._take_devices()
        if not self._journal.state.requests.by_id[asked.request_id].is_open:
            # It was cancelled while the devices were waited for.
            return
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
            Measurement(self._place, self._journal, self._arms, request, attempt_id).run()

    def _take_devices(self) -> None:
        devices = self._place.devices
        if devices and self._devices_lease is None:
            self._devices_lease = self._journal.take_lease(
                self._place.host, "bench", exclusive=True, devices=devices
            )

    def make_way(self) -> None:
        """End the servers and give the devices up when somebody waits for them.

        Raises:
            FencedError: this incarnation has a successor.
            LogError: the log cannot be used.
        """
        lease_id, leases = self._devices_lease, self._journal.state.leases
        if lease_id is None or not leases.is_waited_for(self._place.devices, self.name):
            return
        self._arms.close()
        self._devices_lease = None
        self._journal.release_lease(lease_id, self._place.host)

    def close(self) -> None:
        """End all servers; a lease that is left is void with this incarnation."""
        self._arms.close()
