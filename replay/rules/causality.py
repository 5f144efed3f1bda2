"""Causes lie before their effects, and every kind of event comes from who may append it."""

from collections.abc import Callable

from arbor.actors.commands import HUMAN
from arbor.core.names import ADVISER
from arbor.events.campaign import (
    CampaignPaused,
    CampaignResumed,
    CampaignStarted,
)
from arbor.events.choice import ActionProposed, ActionWithdrawn, IdeasCollected
from arbor.events.judgement import OpinionRecorded
from arbor.events.knowledge import KnowledgeImported, StackImported
from arbor.events.life import HealthReported, IncarnationStarted, LeaseReleased
from arbor.events.limits import ActionApproved
from arbor.events.outcome import Crashed
from arbor.events.work import AttemptStarted, SpecialistRetired
from arbor.replay.rules.base import Evidence, Findings


class CausesComeFirst:
    """Positions without gaps, times that never run back, causes and decisions before effects."""

    name = "causality"
    title = "causes and decided_after lie before their events, incarnations were announced"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Walk the headers."""
        known: set[str] = set()
        incarnations: dict[str, int] = {}
        latest = None
        for number, recorded in enumerate(evidence.events, start=1):
            at = recorded.position
            findings.require(at == number, at, f"position {at} stands where {number} belongs")
            findings.require(
                recorded.event_id not in known, at, f"event id {recorded.event_id} is used twice"
            )
            findings.require(
                latest is None or recorded.recorded_at >= latest, at, "time runs backwards"
            )
            findings.require(
                recorded.campaign_id == evidence.events[0].campaign_id,
                at,
                f"belongs to campaign {recorded.campaign_id}",
            )
            cause = recorded.event.causation_id
            findings.require(
                cause is None or cause in known, at, f"its cause {cause} does not lie before it"
            )
            after = recorded.decided_after
            findings.require(
                after is None or 0 <= after < at, at, f"was decided after position {after}"
            )
            findings.require(
                (after is None) == (recorded.decided_at is None), at, "half a decision"
            )
            if isinstance(recorded.event, IncarnationStarted):
                findings.require(
                    recorded.incarnation > incarnations.get(recorded.actor, 0),
                    at,
                    f"{recorded.actor} announces incarnation {recorded.incarnation} again",
                )
                incarnations[recorded.actor] = recorded.incarnation
            findings.require(
                recorded.incarnation in {0, incarnations.get(recorded.actor, 0)},
                at,
                f"{recorded.actor} incarnation {recorded.incarnation} is not the latest",
            )
            known.add(recorded.event_id)
            latest = recorded.recorded_at


def _is_critic(actor: str) -> bool:
    return actor == "critic"


def _limits(actor: str) -> bool:
    return actor == "critic" or actor.startswith(HUMAN)


def _is_orchestrator(actor: str) -> bool:
    return actor == "orchestrator"


def _is_supervisor(actor: str) -> bool:
    return actor == "supervisor" or actor.startswith(HUMAN)


def _is_bench(actor: str) -> bool:
    return actor == "bench" or actor.startswith("bench-")


def _is_specialist(actor: str) -> bool:
    return actor.startswith("specialist-")


def _is_adviser(actor: str) -> bool:
    return actor == ADVISER


def _anyone(_: str) -> bool:
    return True


AREAS: dict[str, Callable[[str], bool]] = {
    "campaign": _is_supervisor,
    "choice": _is_orchestrator,
    "requests": _is_orchestrator,
    "outcome": _is_orchestrator,
    "evidence": _is_bench,
    "judgement": _is_critic,
    "limits": _limits,
    "work": _is_specialist,
    "knowledge": lambda actor: actor in {"supervisor", "critic"},
    "life": _anyone,
    "money": _anyone,
    "models": _anyone,
}
"""Who may append events of an area; a new area needs a line here."""

KINDS: dict[type, Callable[[str], bool]] = {
    # Whoever saw the crash.
    Crashed: _anyone,
    # The bench begins attempts at requests, a specialist at actions.
    AttemptStarted: lambda actor: _is_bench(actor) or _is_specialist(actor),
    # The driver retires a specialist that died.
    SpecialistRetired: lambda actor: _is_specialist(actor) or actor == "supervisor",
    HealthReported: _anyone,
    ActionWithdrawn: lambda actor: _is_orchestrator(actor) or actor.startswith(HUMAN),
    ActionProposed: lambda actor: (
        _is_orchestrator(actor) or _is_adviser(actor) or actor.startswith(HUMAN)
    ),
    # Ideas and opinions of language models; nothing is decided by them.
    IdeasCollected: _is_adviser,
    OpinionRecorded: _is_adviser,
    ActionApproved: lambda actor: actor.startswith(HUMAN),
}
"""Kinds that other actors than those of their area may append."""


class ActorsKeepToTheirRoles:
    """Neither key can be turned by the other's holder."""

    name = "roles"
    title = "every event was appended by an actor that may append its kind"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Compare every event's actor with its area."""
        for recorded in evidence.events:
            event = recorded.event
            may = KINDS.get(type(event)) or AREAS.get(event.area)
            findings.require(
                may is not None and may(recorded.actor),
                recorded.position,
                f"{event.kind} was appended by {recorded.actor!r}, who may not",
            )


UNDECIDED = (
    IncarnationStarted,
    CampaignStarted,
    CampaignPaused,
    CampaignResumed,
    KnowledgeImported,
    StackImported,
    HealthReported,
    # The driver gives up what the bench of a lost node held.
    LeaseReleased,
    SpecialistRetired,
    Crashed,
)
"""What a reactor's actor may append without having decided it."""
