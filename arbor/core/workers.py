"""Workers' processes as a fold: which devices they have, and how often work ended them."""

from dataclasses import dataclass, field

from arbor.core.budget import DRIVER
from arbor.events.base import Recorded
from arbor.events.life import IncarnationStarted
from arbor.events.work import AttemptStarted, SpecialistRetired


@dataclass(frozen=True, slots=True)
class Death:
    """An attempt of a specialist whose process ended in its middle.

    Attributes:
        attempt_id: the attempt.
        process_id: the process that ended.
        host: where it ran.
    """

    attempt_id: str
    process_id: int
    host: str

    def __str__(self) -> str:
        return f"attempt {self.attempt_id} ended with process {self.process_id} on {self.host}"


@dataclass(slots=True)
class Workers:
    """What incarnations say about workers.

    Attributes:
        devices: actor to the accelerators of its latest incarnation.
        deaths: specialist to its attempts that ended with their process while the rest of the
            campaign lived; a lost node is nobody's fault, and the driver says so by a retirement.
    """

    devices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    deaths: dict[str, list[Death]] = field(default_factory=dict)
    _incarnations: dict[str, IncarnationStarted] = field(default_factory=dict)
    _at_work: dict[str, str] = field(default_factory=dict)
    """Specialist to its attempt."""

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        match recorded.event:
            case AttemptStarted() as event if event.request_id is None:
                self._at_work[recorded.actor] = event.attempt_id or ""
            case SpecialistRetired() as event:
                self._at_work.pop(event.specialist_id, None)
            case IncarnationStarted() if recorded.actor == DRIVER:
                # Everybody was ended with the driver before: nobody is to blame for that.
                self._at_work.clear()
            case IncarnationStarted() as event:
                self._born(recorded.actor, event)
            case _:
                pass

    def _born(self, actor: str, event: IncarnationStarted) -> None:
        earlier = self._incarnations.get(actor)
        attempt_id = self._at_work.pop(actor, None)
        if earlier is not None and attempt_id is not None:
            death = Death(attempt_id, earlier.process_id, earlier.host)
            self.deaths.setdefault(actor, []).append(death)
        self._incarnations[actor] = event
        self.devices[actor] = event.devices
