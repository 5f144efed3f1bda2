"""The one door for reading: every event kind, and decoding by kind."""

from typing import Annotated

from pydantic import Field, TypeAdapter

from arbor.events.base import Event
from arbor.events.campaign import CampaignEnded, CampaignPaused, CampaignResumed, CampaignStarted
from arbor.events.choice import (
    ActionDispatched,
    ActionProposed,
    ActionScored,
    ActionWithdrawn,
    FrontierMoved,
    RouteDecided,
)
from arbor.events.evidence import (
    AccuracyMeasured,
    BenchmarkMeasured,
    NoiseCalibrated,
    PairMeasured,
    ProfileTaken,
    SoakMeasured,
)
from arbor.events.judgement import (
    IntrospectionRecorded,
    KeepRevoked,
    MeasurementFlagged,
    MeasurementJudged,
    RootCauseFound,
)
from arbor.events.knowledge import KnowledgeImported, LessonRecorded
from arbor.events.life import (
    HealthReported,
    IncarnationStarted,
    LeaseReleased,
    LeaseRequested,
    LeaseTaken,
)
from arbor.events.limits import (
    ActionApproved,
    ActionVetoed,
    ConstraintLifted,
    ConstraintPublished,
)
from arbor.events.model_calls import ModelCalled
from arbor.events.money import BudgetReserved, BudgetSpent
from arbor.events.outcome import ActionKept, ActionReverted, Crashed
from arbor.events.requests import ActionRebased, MeasurementRequested
from arbor.events.work import (
    AttemptStarted,
    FeedbackCollected,
    PatchProposed,
    PlanProposed,
    SpecialistConstructed,
    SpecialistRetired,
    TrialMeasured,
)

AnyEvent = Annotated[
    AccuracyMeasured
    | ActionApproved
    | ActionDispatched
    | ActionKept
    | ActionProposed
    | ActionRebased
    | ActionReverted
    | ActionScored
    | ActionVetoed
    | ActionWithdrawn
    | AttemptStarted
    | BenchmarkMeasured
    | BudgetReserved
    | BudgetSpent
    | CampaignEnded
    | CampaignPaused
    | CampaignResumed
    | CampaignStarted
    | ConstraintLifted
    | ConstraintPublished
    | Crashed
    | FeedbackCollected
    | FrontierMoved
    | HealthReported
    | IncarnationStarted
    | IntrospectionRecorded
    | KeepRevoked
    | KnowledgeImported
    | LeaseReleased
    | LeaseRequested
    | LeaseTaken
    | LessonRecorded
    | MeasurementFlagged
    | MeasurementJudged
    | MeasurementRequested
    | ModelCalled
    | NoiseCalibrated
    | PairMeasured
    | PatchProposed
    | PlanProposed
    | ProfileTaken
    | SoakMeasured
    | RootCauseFound
    | RouteDecided
    | SpecialistConstructed
    | SpecialistRetired
    | TrialMeasured,
    Field(discriminator="kind"),
]
"""Any event; a discriminated union over ``kind``."""

_ADAPTER: TypeAdapter[Event] = TypeAdapter(AnyEvent)


def decode(payload: str | bytes) -> Event:
    """Return the event of a stored payload.

    Raises:
        pydantic.ValidationError: the payload is of no known kind or breaks its schema.
    """
    return _ADAPTER.validate_json(payload)
