"""Signs of life and of trouble as a fold: who was heard of when, what broke in a row, reports."""

from collections import Counter
from dataclasses import dataclass, field

from arbor.core.tree import Tree
from arbor.events.base import Recorded
from arbor.events.causes import RemedyStep
from arbor.events.choice import ActionWithdrawn
from arbor.events.evidence import (
    AccuracyMeasured,
    BenchmarkMeasured,
    NoiseCalibrated,
    ProfileTaken,
)
from arbor.events.judgement import KeepRevoked, RootCauseFound
from arbor.events.life import HealthReported, LeaseReleased, LeaseTaken
from arbor.events.work import AttemptStarted, PatchProposed

STALLED = "stall"
"""How the reason of a withdrawal begins that ends work without a sign of life."""
_RESULTS = (ProfileTaken, NoiseCalibrated, AccuracyMeasured, BenchmarkMeasured, PatchProposed)


@dataclass(frozen=True, slots=True)
class Failure:
    """One of several things that broke in a row.

    Attributes:
        cause: what it was put down to.
        subject: template of the idea; empty for the incumbent.
    """

    cause: str
    subject: str


@dataclass(slots=True)
class Vitals:
    """What the health of a campaign is told from."""

    sign_s: dict[str, float] = field(default_factory=dict)
    """Action to the active seconds of the latest event about it."""
    failures: list[Failure] = field(default_factory=list)
    """Root causes that blame no idea and no patch, since anything succeeded."""
    lease_s: float = 0.0
    """Active seconds at which somebody took or released a lease last: who waits for one waits."""
    num_undone: Counter[str] = field(default_factory=Counter)
    """Template to the times that its work was undone since that was last reported."""
    reports: dict[tuple[str, str], HealthReported] = field(default_factory=dict)
    """Condition and subject to the latest report."""
    recovery: tuple[RemedyStep, ...] = ()
    """What the next attempt is to clean first."""

    def apply(self, recorded: Recorded, tree: Tree, active_s: float) -> None:
        """Fold one event.

        Args:
            recorded: the event.
            tree: after the event.
            active_s: active seconds of the campaign at the event.
        """
        event = recorded.event
        if event.action_id is not None and not isinstance(event, HealthReported):
            self.sign_s[event.action_id] = active_s
        action = tree.actions.get(event.action_id or "")
        template_id = action.template_id if action is not None else ""
        match event:
            case RootCauseFound() if event.fault in {"environment", "unknown"}:
                self.failures.append(Failure(event.cause, template_id))
            case KeepRevoked():
                self.num_undone[template_id] += 1
            case ActionWithdrawn() if event.reason.startswith(STALLED):
                self.num_undone[template_id] += 1
            case HealthReported():
                self._report(event)
            case AttemptStarted():
                self.recovery = ()
            case LeaseTaken() | LeaseReleased():
                self.lease_s = active_s
            case _:
                pass
        if isinstance(event, _RESULTS):
            self.failures.clear()

    def is_reported(self, condition: str, subject: str) -> bool:
        """Return whether a condition was reported and not its end."""
        report = self.reports.get((condition, subject))
        return report is not None and not report.is_healthy

    def _report(self, event: HealthReported) -> None:
        if not event.condition:
            return
        self.reports[event.condition, event.subject] = event
        self.recovery = tuple(dict.fromkeys((*self.recovery, *event.recovery)))
        if event.condition == "thrash":
            self.num_undone.pop(event.subject, None)
