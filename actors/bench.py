"""The Bench: answers requests for evidence, one at a time."""

from contextlib import suppress

from arbor.actors.arms import Arms
from arbor.actors.attempt import CancelledError
from arbor.actors.journal import Journal
from arbor.actors.measurement import Measurement
from arbor.actors.place import Place
from arbor.actors.remedies import clean, step_of_request
from arbor.actors.requesting import is_profile_due
from arbor.core.requests import Request
from arbor.core.tree import Status
from arbor.events.errors import ConflictError
from arbor.events.work import AttemptStarted


class Bench:
    """A worker: does one request at a time and keeps the incumbent's server up.

    Its servers stay on its devices between requests, so it holds these from its first request
    on, and gives them up when a specialist waits for them and no measurement is on its way.
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
        step = step_of_request(self._journal.state, request)
        remedies = clean(step, self._place, self._journal.state)
        with suppress(ConflictError, CancelledError):
            self._journal.append(
                AttemptStarted(
                    action_id=asked.action_id,
                    attempt_id=attempt_id,
                    causation_id=request.event_id,
                    attempt=attempt,
                    request_id=asked.request_id,
                    remedies=remedies,
                ),
                watching=frozenset({f"request:{asked.request_id}"}),
            )
            self._journal.catch_up()
            try:
                Measurement(self._place, self._journal, self._arms, request, attempt_id).run()
            finally:
                self._arms.rest()

    def _take_devices(self) -> None:
        devices = self._place.devices
        if devices and self._devices_lease is None:
            self._devices_lease = self._journal.take_lease(
                self._place.host, "bench", exclusive=True, devices=devices
            )

    def make_way(self) -> None:
        """End the servers and give the devices up when somebody waits for them.

        Call it when there is nothing to do. While a measurement is on its way the servers stay:
        each turn of a specialist costs the starts of both arms.

        Raises:
            FencedError: this incarnation has a successor.
            LogError: the log cannot be used.
        """
        lease_id, state = self._devices_lease, self._journal.state
        is_waited_for = state.leases.is_waited_for(self._place.devices, self.name)
        if lease_id is None or not is_waited_for or self._is_request_near():
            return
        self._arms.close()
        self._devices_lease = None
        self._journal.release_lease(lease_id, self._place.host)

    def _is_request_near(self) -> bool:
        """Return whether the Orchestrator will ask again as soon as it has folded the log."""
        state = self._journal.state
        if state.is_paused or state.is_ended:
            return False
        at_hand = {Status.READY, Status.MEASURING}
        return is_profile_due(state) or any(n.status in at_hand for n in state.tree.in_flight())

    def close(self) -> None:
        """End all servers; a lease that is left is void with this incarnation."""
        self._arms.close()
