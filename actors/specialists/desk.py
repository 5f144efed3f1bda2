"""What both agents do with models: plan from what is shown, write code from the plan."""

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, Field

from arbor.actors.models.framing import data
from arbor.actors.skills import joined
from arbor.actors.specialists.base import Task
from arbor.actors.specialists.drafting import Draft, Drafts
from arbor.actors.specialists.prompting import conversation, listing
from arbor.actors.specialists.workbench import Workbench
from arbor.core.feedback import Route, resembles, route
from arbor.core.models import Message, Model, Reply
from arbor.core.tree import Status
from arbor.events.work import FeedbackRouted, PlanProposed

MAX_WRONG_DIFFS = 2
"""How often a coder may mend a diff that does not apply."""
_STEP_CHARACTERS = 400
_MAX_STEPS = 8


class Plan(BaseModel):
    """What a planner answers."""

    steps: list[str] = Field(min_length=0, max_length=_MAX_STEPS)
    is_finished: bool = False


class Change(BaseModel):
    """What a coder answers; the diff is empty when its tools applied everything."""

    diff: str = ""
    summary: str = ""


class Desk:
    """One specialist's conversations about one task.

    Args:
        task: the task.
        model: who is asked.
        drafts: what was tried.
        readable: all files of the workspace by path.
    """

    def __init__(
        self, task: Task, model: Model, drafts: Drafts, readable: Mapping[str, str]
    ) -> None:
        self._task = task
        self._model = model
        self._drafts = drafts
        self._readable = readable
        self._action = task.dispatch.action_id or ""

    def plan(self, about: Sequence[Draft], *, variant: str = "") -> Plan:
        """Return the plan for the next draft.

        Args:
            about: drafts whose feedback counts, the latest last.
            variant: what tells this plan from others that are made at once.

        Raises:
            ModelError: there is no answer.
        """
        latest = about[-1]
        text = self._feedback(about)
        is_first = latest.number == 0
        stance = "advise" if latest.feedback.is_working else "diagnose"
        names = ["coordination", self._task.template.layer, "plan"]
        system = joined(*names, *([] if is_first else [stance]))
        parts = (
            data("brief", self._task.dispatch.brief),
            listing(self._shown_files(latest)),
            self._history(),
            text,
            variant,
        )
        reply = self._model.ask(
            "planner", conversation(system, parts), action=self._action, schema=Plan
        )
        plan = reply.value or Plan(steps=[reply.text])
        steps = tuple(" ".join(step.split())[:_STEP_CHARACTERS] for step in plan.steps)
        self._task.journal.append(
            PlanProposed(
                action_id=self._action, attempt_id=self._task.attempt_id, steps=steps or ("none",)
            )
        )
        return plan

    def code(self, plan: Plan, on: Draft, *, can_run: bool = True) -> Workbench:
        """Return the files as a coder left them; it sees the plan, never the feedback.

        Args:
            plan: what to write.
            on: draft to begin with.
            can_run: whether its tools may build and run.

        Raises:
            ModelError: there is no answer.
            NoPatchError: a diff reaches for benchmark, gate data or harness.
            CancelledError: the action is not wanted any more.
        """
        bench = Workbench(self._readable, self._drafts, on.files)
        steps = "\n".join(f"{number}. {step}" for number, step in enumerate(plan.steps, start=1))
        system = joined("coordination", self._task.template.layer, "code")
        parts = (
            data("plan", steps),
            f"Allowed files: {', '.join(sorted(self._drafts.sources))}",
            listing(self._shown_files(on)),
        )
        messages = conversation(system, parts)
        tools = bench.tools(can_run=can_run)
        for _ in range(MAX_WRONG_DIFFS + 1):
            reply = self._model.ask(
                "coder", messages, action=self._action, schema=Change, tools=tools
            )
            bench.check()
            diff = reply.value.diff if reply.value is not None else ""
            reason = bench.edit(diff) if diff.strip() else ""
            if not reason:
                break
            messages = (
                *messages,
                Message(role="assistant", content=reply.text),
                Message(
                    role="user", content="The diff was not applied. " + data("reason", reason)
                ),
            )
        return bench

    def _shown_files(self, on: Draft) -> dict[str, str]:
        return {**self._drafts.sources, **on.files}

    def _history(self) -> str:
        lines = [f"draft {draft.number}: {_verdict(draft)}" for draft in self._drafts.tried]
        if self._drafts.rejection:
            lines.append(f"the latest that was not tried: {self._drafts.rejection}")
        return data("drafts so far", "\n".join(lines)) if lines else ""

    def _feedback(self, about: Sequence[Draft]) -> str:
        """Return what the planner is shown of the feedback, each draft's by its own route."""
        texts = []
        for draft in about:
            chosen = self._route(draft)
            shown = "\n\n".join(
                data(f"{kind} of draft {draft.number}", draft.feedback.texts[kind])
                for kind in chosen.shown
            )
            texts.append(self._summary(shown) if chosen.is_summarised else shown)
        return "\n\n".join(texts)

    def _route(self, draft: Draft) -> Route:
        settings = self._task.state.settings.patches
        chosen = route(
            settings.feedback,
            is_working=draft.feedback.is_working,
            is_known=self._is_known(draft),
            is_coder_weak=settings.is_coder_weak,
        )
        self._task.journal.append(
            FeedbackRouted(
                action_id=self._action,
                attempt_id=self._task.attempt_id,
                draft=draft.number,
                shown=chosen.shown,
                rule=chosen.rule,
                is_summarised=chosen.is_summarised,
            )
        )
        return chosen

    def _is_known(self, draft: Draft) -> bool:
        """Return whether a draft resembles a patch that this campaign kept."""
        if not draft.files:
            return False
        state, blobs = self._task.state, self._task.place.blobs
        cases = [
            blobs.get(each.diff_digest).decode(errors="replace")
            for each in state.drafts
            if not each.rejection and state.tree.node(each.node_id).status is Status.KEPT
        ]
        changed = "\n".join(
            line
            for path, text in draft.files.items()
            for line in set(text.splitlines()) - set(self._drafts.sources[path].splitlines())
        )
        return resembles(changed, cases)

    def _summary(self, shown: str) -> str:
        """Return a weak coder's form of feedback.

        Raises:
            ModelError: there is no answer.
        """
        messages = conversation(joined("coordination", "summarise"), (shown,))
        reply: Reply[BaseModel] = self._model.ask("summariser", messages, action=self._action)
        return data("summary of the feedback", reply.text)


def _verdict(draft: Draft) -> str:
    failure = draft.feedback.failure
    if failure is not None:
        return f"broken ({failure.phase}): {failure.message}"
    return f"works, {draft.feedback.throughput_tok_s or 0.0:.1f} tokens/s"
