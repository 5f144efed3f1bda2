"""Which code made the decisions of a log, and whether it is the code at hand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arbor import __version__
from arbor.actors.decision_code import decision_code
from arbor.events.base import Recorded
from arbor.events.campaign import CampaignResumed, CampaignStarted

_SHORT_DIGEST = 12


@dataclass(frozen=True, slots=True)
class CodeSpan:
    """A stretch of a log that one version of the reactors decided.

    Attributes:
        first: first position.
        last: last position.
        digest: digest of the code; empty when the log does not say.
        arbor_version: version at the start of the campaign.
    """

    first: int
    last: int
    digest: str
    arbor_version: str

    @property
    def is_own(self) -> bool:
        """Whether the code at hand made these decisions, so that it must make them again."""
        return self.digest == decision_code()

    @property
    def remark(self) -> str:
        """Who decided, in words."""
        here = f"this is {__version__}, code {decision_code()[:_SHORT_DIGEST]}"
        if not self.digest:
            version = self.arbor_version
            return f"decided by Arbor {version}, the log does not say by which code; {here}"
        return (
            f"decided by other code (Arbor {self.arbor_version}, code"
            f" {self.digest[:_SHORT_DIGEST]}; {here}), and only the code that made a decision"
            " recomputes it"
        )


def code_spans(events: Sequence[Recorded]) -> Iterator[CodeSpan]:
    """Yield the stretches of a log by the code that decided them, in order."""
    first, digest, version = 1, "", "?"
    for recorded in events:
        event = recorded.event
        if isinstance(event, CampaignStarted):
            digest, version = event.decision_code, event.arbor_version
        elif isinstance(event, CampaignResumed) and event.decision_code not in {"", digest}:
            yield CodeSpan(first, recorded.position - 1, digest, version)
            first, digest = recorded.position, event.decision_code
    if events:
        yield CodeSpan(first, events[-1].position, digest, version)
