"""What a campaign would have decided from a position on under other settings."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from arbor.actors import choosing
from arbor.actors.orchestrator import Orchestrator
from arbor.actors.policies import policy_of
from arbor.actors.policies.base import ranked
from arbor.core.state import CampaignState
from arbor.events.base import Event, Recorded
from arbor.events.campaign import CampaignStarted
from arbor.events.choice import ActionProposed, ActionScored
from arbor.events.errors import InvalidInputError
from arbor.events.settings import Settings
from arbor.events.types import Value
from arbor.replay.branch import Branch
from arbor.replay.deciding import Key, decision_key, decision_words
from arbor.replay.settings_change import settings_difference


class Ranked(Value):
    """A candidate at the position, before and after the change."""

    action_id: str
    template_id: str
    recorded_score: float | None
    changed_score: float
    recorded_rank: int | None
    changed_rank: int


class Step(Value):
    """One decision of the branch, or several alike that were made together."""

    active_s: float
    """Active seconds of the campaign; answers take as long as they did in the recording."""
    actor: str
    kind: str
    what: str
    is_recorded: bool
    """Whether the recording has the same decision, sooner or later, beyond the position."""


class Outcome(Value):
    """Where a campaign stands."""

    kept_templates: tuple[str, ...]
    gain_ratio: float
    """Product of the effects along the path."""
    active_s: float


class WhatIf(Value):
    """The branch; the JSON of ``arbor whatif DIR --at POSITION --set KEY=VALUE --json``."""

    schema_version: int = 1
    campaign_id: str
    position: int
    """Position that the branch leaves the recording at; never inside of a decision."""
    changes: tuple[tuple[str, str, str], ...]
    """Setting, recorded value, changed value."""
    ranking: tuple[Ranked, ...]
    steps: tuple[Step, ...]
    stopped: str
    """Why the branch ends where it ends."""
    is_complete: bool
    """Whether the recorded results carried it to the campaign's end."""
    branch: Outcome
    recorded: Outcome
    """The recording at its own end."""


def what_if(events: Sequence[Recorded], position: int, settings: Settings) -> WhatIf:
    """Return what the reactors decide beyond a position under other settings.

    Args:
        events: the whole recording.
        position: where the branch begins; moved to the end of the decision that it lies in.
        settings: settings from there on.

    Raises:
        InvalidInputError: the campaign had not begun there.
    """
    base = _end_of_batch(events, position)
    started = next((r.event for r in events[:base] if isinstance(r.event, CampaignStarted)), None)
    if started is None:
        raise InvalidInputError(
            f"the campaign had not begun at position {position}: give a later one"
        )
    branch = Branch(events, base, settings)
    ranking = _ranking(events[:base], settings)
    steps = _steps(branch, _recorded_keys(events, base))
    whole = CampaignState()
    for recorded in events:
        whole.apply(recorded)
    return WhatIf(
        campaign_id=events[0].campaign_id,
        position=base,
        changes=settings_difference(started.settings, settings),
        ranking=ranking,
        steps=steps,
        stopped=branch.stopped,
        is_complete=branch.state.is_ended,
        branch=_outcome(branch.state, branch.active_s),
        recorded=_outcome(whole, whole.budget.elapsed_s(events[-1].recorded_at)),
    )


def _end_of_batch(events: Sequence[Recorded], position: int) -> int:
    """Return the position itself, or the end of the decision that it lies in."""
    while position < len(events):
        here, after = events[position - 1], events[position]
        same = attrgetter("actor", "decided_after", "decided_at")
        if here.decided_after is None or same(here) != same(after):
            break
        position += 1
    return position


def _ranking(prefix: Sequence[Recorded], settings: Settings) -> tuple[Ranked, ...]:
    """Return the candidates at the end of a prefix as the changed settings rank them."""
    orchestrator = Orchestrator()
    for recorded in prefix:
        orchestrator.apply(recorded)
    state = orchestrator.state
    in_order = ranked(policy_of(state), state)
    before = {action.action_id: rank for rank, action in enumerate(in_order, 1)}
    actions = state.tree.actions
    if state.started is not None:
        state.started = state.started.model_copy(update={"settings": settings})
    scored = sorted(choosing.scores(state), key=lambda each: -each.score)
    return tuple(
        Ranked(
            action_id=each.action_id or "",
            template_id=actions[each.action_id or ""].template_id,
            recorded_score=actions[each.action_id or ""].score,
            changed_score=each.score,
            recorded_rank=before.get(each.action_id or ""),
            changed_rank=rank,
        )
        for rank, each in enumerate(scored, 1)
    )


def _recorded_keys(events: Sequence[Recorded], base: int) -> Counter[Key]:
    """Return how often the recording decided what, beyond a position."""
    state, found = CampaignState(), Counter[Key]()
    for recorded in events:
        if recorded.position > base and recorded.decided_after is not None:
            found[decision_key(state, recorded.event)] += 1
        state.apply(recorded)
    return found


class _Line(Value):
    """A decision before those alike are put together."""

    batch: int
    step: Step
    event_kind: str
    score: float = 0.0


def _steps(branch: Branch, recorded: Counter[Key]) -> tuple[Step, ...]:
    lines: list[_Line] = []
    for decided in branch.run():
        event = decided.event
        key = decision_key(decided.state, event)
        is_recorded = recorded[key] > 0
        recorded[key] -= is_recorded
        words = decision_words(decided.state, event)
        if words is None and not isinstance(event, ActionScored | ActionProposed):
            continue
        step = Step(
            active_s=decided.active_s,
            actor=decided.actor,
            kind=event.kind,
            what=words or _candidate(decided.state, event),
            is_recorded=is_recorded,
        )
        score = event.score if isinstance(event, ActionScored) else 0.0
        lines.append(_Line(batch=decided.batch, step=step, event_kind=event.kind, score=score))
    grouped = groupby(lines, key=lambda line: (line.batch, line.event_kind))
    return tuple(step for _, group in grouped for step in _together(list(group)))


def _candidate(state: CampaignState, event: Event) -> str:
    if isinstance(event, ActionProposed):
        return event.template_id
    action = state.tree.actions.get(event.action_id or "")
    return action.template_id if action is not None else ""


def _together(lines: Sequence[_Line]) -> Sequence[Step]:
    """Return one step for all scores, or proposals, of a decision."""
    first = lines[0].step
    if first.kind == "ActionScored":
        best = max(lines, key=lambda line: line.score)
        what = f"score {len(lines)} candidates, best {best.step.what} {best.score:.4f}"
    elif first.kind == "ActionProposed":
        names = ", ".join(line.step.what for line in lines[:4])
        what = f"propose {names}{f' and {len(lines) - 4} more' if len(lines) > 4 else ''}"
    else:
        return [line.step for line in lines]
    is_recorded = all(line.step.is_recorded for line in lines)
    return [first.model_copy(update={"what": what, "is_recorded": is_recorded})]


def _outcome(state: CampaignState, active_s: float) -> Outcome:
    tree = state.tree
    return Outcome(
        kept_templates=tree.kept_templates(tree.current_id),
        gain_ratio=tree.gain_ratio(tree.current_id),
        active_s=active_s,
    )
