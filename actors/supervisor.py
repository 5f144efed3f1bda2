"""The supervisor's decisions: when a campaign is over."""

from collections.abc import Sequence
from datetime import datetime

from arbor.core.rebuilds import parts_of
from arbor.core.standing import forbidden_keeps, vetoed_keeps
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
        if not batch:
            return frozenset()
        # A keep that is vetoed or revoked meanwhile needs a final claim of what is left.
        tree = self.state.tree
        path = [node for node in tree.path(tree.current_id) if node.action_id is not None]
        actions = {f"action:{node.action_id}" for node in path}
        parts = {f"action:{part.action_id}" for node in path for part in parts_of(tree, node)}
        own = {"campaign", "constraints", f"node:{tree.current_id}"}
        return frozenset(own | actions | parts)

    def react(self, now: datetime) -> Sequence[Event]:  # noqa: ARG002 - the reactor's form
        """Return CampaignEnded once the final claim is judged, or cannot be had."""
        state = self.state
        if state.started is None or state.is_ended or state.is_paused:
            return ()
        if any(vetoed_keeps(state)) or any(forbidden_keeps(state)):
            return ()
        finals = state.final_claims()
        if finals and state.tree.candidates():
            # The Orchestrator has not answered yet what came during the claim.
            return ()
        final = finals[-1] if finals else None
        if final is not None and final.judgement is not None:
            if state.is_soak_due():
                return ()
            verdict = "holds" if final.judgement.is_accepted else "does not hold"
            reason = f"final claim {verdict}: {final.judgement.reason}{self._soak()}"
        elif (
            final is not None
            and final.crash is not None
            and len(finals) >= state.settings.search.max_attempts
        ):
            reason = f"final claim could not be measured: {final.crash.message}"
        elif self._has_no_noise():
            reason = "the baseline could not be measured twice"
        else:
            return ()
        return (CampaignEnded(reason=reason, node_id=state.tree.current_id),)

    def _soak(self) -> str:
        """Return how the final stack stood peak load, as the end of a sentence."""
        soaks = self.state.soaks()
        if not soaks:
            return ""
        last = soaks[-1]
        if last.crash is not None:
            return f"; it fell under peak load: {last.crash.message}"
        if last.judgement is None:
            return ""
        verb = "stood" if last.judgement.is_accepted else "did not stand"
        return f"; it {verb} peak load: {last.judgement.reason}"

    def _has_no_noise(self) -> bool:
        asked = self.state.requests_of_session("noise")
        return (
            self.state.noise is None
            and len(asked) >= self.state.settings.search.max_attempts
            and all(r.crash is not None for r in asked)
        )
