"""The Adviser: asks language models for ideas and opinions; what it appends decides nothing."""

from collections.abc import Callable, Mapping, Sequence

from pydantic import BaseModel

from arbor.actors.ideas import Idea, Ideas, accepted
from arbor.actors.journal import Journal
from arbor.actors.models.framing import data
from arbor.actors.place import Place
from arbor.actors.skills import joined
from arbor.actors.specialists.prompting import conversation
from arbor.core.models import Model, ModelError, Reply
from arbor.core.names import ADVISER
from arbor.core.state import CampaignState, CrashRecord
from arbor.core.tree import Action
from arbor.events.choice import ActionProposed, IdeasCollected
from arbor.events.errors import ConflictError
from arbor.events.judgement import OpinionRecorded
from arbor.events.life import HealthReported
from arbor.targets.base import PatchableTarget

MAX_OPINION_CHARACTERS = 1200
_LOG_LINES = 40


class Adviser:
    """A worker: one question at a time, each asked once.

    Attributes:
        name: its actor's name.

    Args:
        place: where the campaign has its effects.
        journal: its hold on the log.
        model: who is asked.
        warning: what people must know about the sandbox; None where there is nothing to say.
    """

    name = ADVISER

    def __init__(
        self, place: Place, journal: Journal, model: Model, warning: str | None = None
    ) -> None:
        self._place = place
        self._journal = journal
        self._model = model
        self._warning = warning

    def next_task(self) -> Callable[[], None] | None:
        """Return what to ask now, or None while there is nothing."""
        self._journal.catch_up()
        state = self._journal.state
        if state.started is None or state.is_paused or state.is_ended:
            return None
        if self._warning is not None:
            return self._warn
        for record in state.crashes:
            if _wants_opinion(state, record):
                return lambda: self._ask_opinion(record)
        if self._num_wanted() > 0 and _is_ready_for_ideas(state):
            return self._ask_ideas
        return None

    def _warn(self) -> None:
        """Say once in this incarnation how little patches are kept apart."""
        detail, self._warning = self._warning or "", None
        self._journal.append(HealthReported(subject="sandbox", is_healthy=False, detail=detail))

    def _num_wanted(self) -> int:
        state = self._journal.state
        settings = state.settings.patches
        so_far = sum(len(each.proposed) for each in state.ideas.values())
        return min(settings.num_ideas, settings.max_ideas - so_far)

    def _ask_ideas(self) -> None:
        state = self._journal.state
        node_id = state.tree.current_id
        target = self._place.target
        patchable = target.patchable() if isinstance(target, PatchableTarget) else {}
        messages = conversation(
            joined("coordination", "ideas"),
            (*situation(state, patchable), f"Propose at most {self._num_wanted()} actions."),
        )
        ideas: Sequence[Idea] = ()
        failure = ""
        try:
            reply = self._model.ask("orchestrator", messages, action="", schema=Ideas)
            ideas = reply.value.ideas if reply.value is not None else ()
        except ModelError as error:
            failure = str(error)
        self._propose(node_id, ideas, patchable, failure)

    def _propose(
        self, node_id: str, ideas: Sequence[Idea], patchable: Mapping[str, str], failure: str
    ) -> None:
        """Append what came of it, with names that nobody else has taken meanwhile."""
        while True:
            self._journal.catch_up()
            state = self._journal.state
            if state.is_ended:
                return
            templates, refused = accepted(state, ideas, patchable, self._num_wanted())
            first = len(state.tree.actions) + 1
            proposals = [
                ActionProposed(
                    action_id=f"a{number:03d}",
                    template_id=template.template_id,
                    node_id=state.tree.current_id,
                    reason=f"a model's idea at {node_id}",
                    source="model",
                    template=template,
                )
                for number, template in enumerate(templates, start=first)
            ]
            collected = IdeasCollected(
                node_id=node_id,
                proposed=tuple(each.action_id or "" for each in proposals),
                refused=tuple(refused),
                failure=failure,
            )
            tags = frozenset({"campaign"}).union(*(each.tags() for each in proposals))
            try:
                self._journal.append(*proposals, collected, watching=tags)
            except ConflictError:
                continue
            self._journal.catch_up()
            return

    def _ask_opinion(self, record: CrashRecord) -> None:
        state = self._journal.state
        crash, cause = record.crash, record.root_cause
        found = (
            f"{cause.cause} ({cause.fault}): {cause.remedy}" if cause is not None else "nothing"
        )
        action = state.tree.actions.get(crash.action_id or "")
        messages = conversation(
            joined("coordination", "opinion"),
            (
                data("action", _title(state, action)),
                data("crash", f"{crash.phase}: {crash.message}"),
                data("changed files", "\n".join(crash.patch_files) or "none"),
                data("log", "\n".join(crash.log_tail[-_LOG_LINES:])),
                data("what the rules found", found),
            ),
        )
        text, failure = "", ""
        try:
            reply: Reply[BaseModel] = self._model.ask(
                "critic", messages, action=crash.action_id or ""
            )
            text = reply.text[:MAX_OPINION_CHARACTERS]
        except ModelError as error:
            failure = str(error)
        self._journal.append(
            OpinionRecorded(
                action_id=crash.action_id,
                attempt_id=crash.attempt_id,
                causation_id=record.event_id,
                text=text,
                failure=failure,
            )
        )
        self._journal.catch_up()


def _wants_opinion(state: CampaignState, record: CrashRecord) -> bool:
    is_explained = record.root_cause is not None and record.crash.action_id is not None
    return is_explained and record.event_id not in state.opinions


def _is_ready_for_ideas(state: CampaignState) -> bool:
    """Return whether there is a profile to think about, and time to try what comes of it."""
    current = state.tree.current
    is_asked = current.node_id in state.ideas
    return current.profile is not None and not is_asked and not state.final_claims()


def _title(state: CampaignState, action: Action | None) -> str:
    if action is None:
        return "none: the present stack"
    return state.tree.templates[action.template_id].title


def situation(state: CampaignState, patchable: Mapping[str, str]) -> tuple[str, ...]:
    """Return what a campaign knows, as data: hardware, profile, keys, catalog, history, limits.

    Args:
        state: the campaign.
        patchable: files that a patch may change, with their categories.
    """
    tree = state.tree
    profile = tree.profile_at(tree.current_id)
    config = tree.config_at(tree.current_id)
    shares = profile.shares if profile is not None else ()
    hardware = state.started.hardware if state.started is not None else None
    catalog = state.started.actions if state.started is not None else ()
    told = (
        f"{a.action_id} {tree.templates[a.template_id].title}: {a.outcome or 'open'}"
        f" {tree.node(a.node_id).reason if a.node_id else ''}"
        for a in tree.actions.values()
    )
    return (
        data("hardware", hardware.device_name if hardware is not None else "unknown"),
        data("profile", "\n".join(f"{s.category}: {s.share_ratio:.1%}" for s in shares)),
        data("configuration", "\n".join(f"{k} = {v!r}" for k, v in sorted(config.items()))),
        data("catalog", "\n".join(f"{t.template_id}: {t.title}" for t in catalog)),
        data("actions so far", "\n".join(told) or "none"),
        data(
            "constraints",
            "\n".join(c.reason for c in state.constraints.in_force.values()) or "none",
        ),
        data("opinions", "\n".join(o.text for o in state.opinions.values()) or "none"),
        data("patchable files", "\n".join(f"{p} ({c})" for p, c in patchable.items()) or "none"),
    )
