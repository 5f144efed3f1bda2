"""The code specialist: a model plans and writes, code applies, builds, runs and decides."""

from arbor.actors.skills import skill
from arbor.actors.specialists.agents import AGENTS
from arbor.actors.specialists.base import NoPatchError, Task
from arbor.actors.specialists.checking import Checker
from arbor.actors.specialists.desk import Desk
from arbor.actors.specialists.drafting import Draft, Drafts
from arbor.core.models import Model, ModelError
from arbor.core.patches import moved_file
from arbor.core.tree import Status
from arbor.events.types import Edit, Layer

MIN_SCREENING_RATIO = 0.6
"""Below this even a short window beside other work means a loss; the rest is for the bench."""
_SOFT_SKILLS = ("coordination", "plan", "advise", "diagnose", "code", "summarise")


class CodeCraft:
    """Writes a patch of the files that its action names.

    Args:
        model: who is asked.
        layer: whose hard skills it has.
    """

    def __init__(self, model: Model, layer: Layer) -> None:
        self._model = model
        self.skills: tuple[str, ...] = tuple(
            skill(name).reference for name in (layer, *_SOFT_SKILLS)
        )

    def plan(self, task: Task) -> tuple[str, ...]:
        """Return what will be done."""
        files = task.template.patch.files if task.template.patch is not None else ()
        settings = task.state.settings.patches
        return (
            f"patch {', '.join(files)} by {settings.agent}, at most {settings.max_drafts} drafts",
            "build and try each in the sandbox, then one short window",
            "propose the commit of the fastest",
        )

    def work(self, task: Task) -> tuple[tuple[Edit, ...], str]:
        """Return the best draft as edits, and what its short window saw.

        Raises:
            ServerFailedError: every draft is broken, or the code fails as it is.
            NoPatchError: there is no draft that may be measured.
            CancelledError: the action is not wanted any more.
        """
        if task.template.patch is None:
            raise NoPatchError("the action names no files to patch")
        earlier = _written_before(task)
        if earlier:
            task.screen(earlier, is_smoke_test=True)
            return earlier, "written before, and the files are what they were; it serves"
        readable = task.place.workspace.files(task.dispatch.parent_commit)
        sources = {path: readable[path] for path in task.template.patch.files if path in readable}
        if not sources:
            raise NoPatchError("none of the action's files is in the workspace")
        checker = Checker(task, sources)
        drafts = Drafts(task, sources, checker)
        settings = task.state.settings.patches
        said = ""
        try:
            AGENTS[settings.agent](Desk(task, self._model, drafts, readable), drafts, settings)
        except ModelError as error:
            # what was drafted until then is as good as it is
            said = f"no answer of a model: {error}"
        return self._chosen(task, drafts, said)

    @staticmethod
    def _chosen(task: Task, drafts: Drafts, said: str) -> tuple[tuple[Edit, ...], str]:
        best = drafts.best()
        if best is not None:
            ratio = _ratio(best, drafts.base())
            if ratio < MIN_SCREENING_RATIO:
                num = len(drafts.tried)
                raise NoPatchError(f"the best of {num} drafts is slower: {ratio:.2f}x in a window")
            return best.edits, f"draft {best.number} of {len(drafts.tried)}: {ratio:.3f}x screened"
        if not drafts.tried:
            raise NoPatchError(said or drafts.rejection or "the model wrote no patch")
        last = drafts.tried[-1]
        task.patch_files = tuple(sorted(last.files))
        if last.feedback.failure is not None:
            raise last.feedback.failure
        raise NoPatchError("no draft works")


def _written_before(task: Task) -> tuple[Edit, ...]:
    """Return the patch of the action that this one revives, where it can be had as it is.

    What was measured once without a proof, or never, needs no other draft.
    """
    tree = task.state.tree
    revived = tree.actions.get(tree.actions[task.dispatch.action_id or ""].revives or "")
    if revived is None or revived.node_id is None:
        return ()
    node = tree.node(revived.node_id)
    config = tree.config_at(task.dispatch.parent_id)
    if node.status is Status.CRASHED or not node.edits:
        return ()
    return () if moved_file(tree, node.node_id, node.edits, config) else node.edits


def _ratio(draft: Draft, base: Draft) -> float:
    before = base.feedback.throughput_tok_s
    after = draft.feedback.throughput_tok_s
    return after / before if before and after else 0.0
