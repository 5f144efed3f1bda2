"""Every score is computed again from the terms that were recorded with it."""

from arbor.core.scoring import score
from arbor.events.choice import ActionScored
from arbor.replay.rules.base import Evidence, Findings, is_close


class ScoresFollowFromTerms:
    """The recorded form applied to the recorded terms gives the recorded score."""

    name = "scores"
    title = "every score follows from its recorded terms, in the form that was chosen"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Recompute every score."""
        for recorded, state in evidence.walk():
            event = recorded.event
            if not isinstance(event, ActionScored):
                continue
            form = state.settings.search.score
            if event.form != form:
                text = f"{event.action_id} was scored as {event.form}, the campaign says {form}"
                findings.require(False, recorded.position, text)
                continue
            try:
                expected = score(event.form, event.terms)
            except (ArithmeticError, ValueError) as error:
                findings.require(False, recorded.position, f"the terms give no score: {error}")
                continue
            findings.require(
                is_close(expected, event.score),
                recorded.position,
                f"score of {event.action_id} is {event.score!r}, its terms give {expected!r}",
            )
