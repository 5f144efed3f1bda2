"""Two ways from a brief to drafts: one after the other, or several at once and one from all."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from arbor.actors.specialists.desk import Desk
from arbor.actors.specialists.drafting import Draft, Drafts
from arbor.actors.specialists.workbench import Workbench
from arbor.events.settings import PatchSettings

Agent = Callable[[Desk, Drafts, PatchSettings], None]
"""Fills the drafts; the best of them is what comes of it.

Raises:
    ModelError: there is no answer.
    NoPatchError: a diff reached for the harness.
    CancelledError: the action is not wanted any more.
    ServerFailedError: the code fails as it is.
"""


def feedback_loop(desk: Desk, drafts: Drafts, settings: PatchSettings) -> None:
    """Draft, look, plan again: an advisor while it works, a diagnostician while it does not."""
    latest = drafts.base()
    for _ in range(settings.rounds):
        plan = desk.plan((latest,))
        if plan.is_finished and drafts.best() is not None:
            return
        on = _ground(latest, drafts)
        draft = desk.code(plan, on).try_out()
        latest = draft or latest
        if drafts.is_exhausted:
            return


def _ground(latest: Draft, drafts: Drafts) -> Draft:
    """Return what the next draft is written on: the broken one to mend, else the best."""
    if not latest.feedback.is_working:
        return latest
    return drafts.best() or drafts.base()


def sampling(desk: Desk, drafts: Drafts, settings: PatchSettings) -> None:
    """Have several drafts written at once, try each, and write one more from all feedback."""
    base = drafts.base()
    num = settings.num_samples

    def write(number: int) -> Workbench:
        variant = (
            f"This is plan {number} of {num} that are made at once: choose a way of your own."
        )
        # the machine is measured on by one at a time, so nothing runs in here
        return desk.code(desk.plan((base,), variant=variant), base, can_run=False)

    with ThreadPoolExecutor(max_workers=num) as pool:
        benches = list(pool.map(write, range(1, num + 1)))
    for bench in benches:
        bench.try_out()
    if drafts.is_exhausted or not drafts.tried:
        return
    best = drafts.best() or drafts.tried[-1]
    about = (*(draft for draft in drafts.tried if draft is not best), best)
    plan = desk.plan(about)
    if not plan.is_finished:
        desk.code(plan, best).try_out()


AGENTS: Mapping[str, Agent] = {"feedback_loop": feedback_loop, "sampling": sampling}
"""Registered agents; a new one is a function and a line here."""
