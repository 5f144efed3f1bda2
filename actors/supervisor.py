"""The supervisor's decisions: when a campaign is over."""

from collections.abc import Sequence
from datetime import datetime

from arbor.core.requests import Request
from arbor.core.state import CampaignState
from arbor.events.base import Event, Recorded
from arbor.events.campaign import CampaignEnded


class Supervisor:
    """A reactor run by the driver: ends the campaign after the final claim."""

    name = "supervisor"

    def __init__(self) -> None:
        self.state = CampaignState()

    def apply(self, recorded: Recorded) -> None:
        """Fold one event."""
        self.state.apply(recorded)

    def watched_tags(self, batch: Sequence[Event]) -> frozenset[str]:
        """Return the tags that must not have moved for ``batch`` to still be right."""
        return frozenset({"campaign"}) if batch else frozenset()

    def react(self, now: datetime) -> Sequence[Event]:  # noqa: ARG002 - the reactor's form
        """Return CampaignEnded once the final claim is judged, or cannot be had."""
        state = self.state
        if state.started is None or state.is_ended:
            return ()
        final = self._final()
        if final is not None and final.judgement is not None:
            verdict = "holds" if final.judgement.is_accepted else "does not hold"
            reason = f"final claim {verdict}: {final.judgement.reason}"
        elif (
            final is not None
            and final.crash is not None
            and self._num_finals() >= (state.settings.search.max_attempts)
        ):
            reason = f"final claim could not be measured: {final.crash.message}"
        elif self._has_no_noise():
            reason = "the baseline could not be measured twice"
        else:
            return ()
        return (CampaignEnded(reason=reason, node_id=state.tree.current_id),)

    def _finals(self) -> list[Request]:
        return [
            r
            for r in self.state.requests.by_id.values()
            if r.asked.purpose == "revalidation" and r.position > self.state.session_position
        ]

    def _final(self) -> Request | None:
        finals = self._finals()
        return finals[-1] if finals else None

    def _num_finals(self) -> int:
        return len(self._finals())

    def _has_no_noise(self) -> bool:
        asked = [r for r in self.state.requests.by_id.values() if r.asked.purpose == "noise"]
        return (
            self.state.noise is None
            and len(asked) >= self.state.settings.search.max_attempts
            and all(r.crash is not None for r in asked)
        )
