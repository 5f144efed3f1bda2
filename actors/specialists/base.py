"""What all specialists share: their task, their attempt, their end."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from arbor.actors.journal import Journal
from arbor.actors.place import Place
from arbor.actors.remedies import clean, step_of_action
from arbor.core.rca.excerpt import numbered
from arbor.core.state import CampaignState
from arbor.core.tree import Status
from arbor.core.workers import Death
from arbor.events.choice import ActionDispatched
from arbor.events.errors import ConflictError
from arbor.events.outcome import Crashed
from arbor.events.types import ActionTemplate, Edit, Profile, WindowSample
from arbor.events.work import (
    AttemptStarted,
    PatchProposed,
    PatchRefused,
    PlanProposed,
    SpecialistConstructed,
    SpecialistRetired,
    TrialCrash,
    TrialMeasured,
)
from arbor.targets.base import ServerFailedError
from arbor.targets.host_state import host_facts

LOG_LINES = 12
"""Of a server that was up when its specialist died, kept as evidence."""


class CancelledError(Exception):
    """The action was vetoed or withdrawn while the specialist worked."""


class NoPatchError(Exception):
    """There is no patch that may be measured: an outcome, recorded as ``PatchRefused``.

    Attributes:
        reason: one line.
        paths: files that it must not touch, where that is the reason.
        diff_digest: blob of the diff that was refused.
    """

    def __init__(
        self, reason: str, paths: tuple[str, ...] = (), diff_digest: str | None = None
    ) -> None:
        super().__init__(reason, paths, diff_digest)
        self.reason = reason
        self.paths = paths
        self.diff_digest = diff_digest


class Craft(Protocol):
    """The part that differs between specialists: how a patch comes about."""

    skills: tuple[str, ...]

    def plan(self, task: "Task") -> tuple[str, ...]:
        """Return what will be done, one step a line."""
        ...

    def work(self, task: "Task") -> tuple[tuple[Edit, ...], str]:
        """Return the edits of the patch and what the local check saw.

        Raises:
            ServerFailedError: no way to a working candidate was found.
            NoPatchError: there is nothing that may be measured.
            CancelledError: the action is not wanted any more.
        """
        ...


@dataclass(slots=True)
class Task:
    """One dispatched action in one attempt."""

    place: Place
    journal: Journal
    dispatch: ActionDispatched
    attempt_id: str
    slot: str
    """Keeps this specialist's checkouts and logs apart from others'."""
    patch_files: tuple[str, ...] = ()
    """Files that the draft changes which is tried now."""

    @property
    def template(self) -> ActionTemplate:
        """The catalog entry of the action."""
        return self.journal.state.tree.templates[self.dispatch.template_id]

    @property
    def state(self) -> CampaignState:
        """The campaign's state as folded last."""
        return self.journal.state

    def check_wanted(self) -> None:
        """Fold what is new and stop when the action was vetoed or withdrawn.

        Raises:
            CancelledError: it was.
        """
        self.journal.catch_up()
        if self.state.tree.node(self.dispatch.node_id).status is not Status.WORKING:
            raise CancelledError

    def commit(self, edits: Sequence[Edit]) -> str:
        """Return the commit of edits on the parent."""
        return self.place.commit(self.dispatch.parent_commit, edits)

    @contextmanager
    def host(self) -> Iterator[None]:
        """Hold the place's devices, then the host with others; everybody takes them so."""
        place, action_id = self.place, self.dispatch.action_id
        with ExitStack() as stack:
            if place.devices:
                stack.enter_context(
                    self.journal.lease(
                        place.host,
                        "screening",
                        exclusive=True,
                        action_id=action_id,
                        devices=place.devices,
                    )
                )
            stack.enter_context(
                self.journal.lease(place.host, "screening", exclusive=False, action_id=action_id)
            )
            yield

    def screen(self, edits: Sequence[Edit], *, is_smoke_test: bool = False) -> WindowSample:
        """Run one short window of the edits, on what starts soonest, sharing the host.

        The number is for choosing among trials only, never evidence. A smoke test plays a
        quarter of the smallest window.

        Raises:
            ServerFailedError: the server failed.
            CancelledError: the action is not wanted any more.
        """
        target = self.place.target
        commit = self.commit(edits)
        with self.host():
            self.check_wanted()
            with self.place.serve_for_screening(commit, self.slot) as server:
                unit = target.default_num_requests()
                num_requests = max(1, unit // 4) if is_smoke_test else unit
                return target.benchmark(server, self.state.settings.seed + 17, num_requests)

    def probe(self, edits: Sequence[Edit]) -> tuple[WindowSample, Profile]:
        """Run one short window of the edits and profile another; no evidence either.

        Raises:
            ServerFailedError: the server failed.
            CancelledError: the action is not wanted any more.
        """
        target, seed = self.place.target, self.state.settings.seed + 17
        commit = self.commit(edits)
        with self.host():
            self.check_wanted()
            with self.place.serve_for_screening(commit, self.slot) as server:
                sample = target.benchmark(server, seed, target.default_num_requests())
                return sample, target.profile(server, seed)

    def record_trial(
        self, trial: int, edits: Sequence[Edit], engine: str, sample: WindowSample
    ) -> None:
        """Append the outcome of a screening trial that was served."""
        self.journal.append(self._trial(trial, edits, engine, sample.throughput_tok_s))

    def record_broken_trial(
        self, trial: int, edits: Sequence[Edit], engine: str, error: ServerFailedError
    ) -> TrialCrash:
        """Append a screening trial that broke; return what it left behind."""
        crash = TrialCrash(
            phase=error.phase,
            message=error.message,
            exit_code=error.exit_code,
            signal=error.signal,
            log_excerpt=error.log_excerpt or numbered(error.log_tail),
            host_facts=host_facts(self.place.directory),
        )
        event = self._trial(trial, edits, engine, None)
        own = {"failure": error.message, "crash": crash}
        self.journal.append(event.model_copy(update=own))
        return crash

    def record_avoided_trial(
        self, trial: int, edits: Sequence[Edit], engine: str, reason: str
    ) -> None:
        """Append a screening trial that was not started, and why."""
        event = self._trial(trial, edits, engine, None)
        self.journal.append(event.model_copy(update={"failure": reason, "avoided": reason}))

    def record_measured_trial(
        self,
        trial: int,
        edits: Sequence[Edit],
        engine: str,
        throughput_tok_s: float | None,
        failure: str | None = None,
    ) -> None:
        """Append the outcome of a screening trial of which only the throughput is known."""
        event = self._trial(trial, edits, engine, throughput_tok_s)
        self.journal.append(event.model_copy(update={"failure": failure}))

    def _trial(
        self, trial: int, edits: Sequence[Edit], engine: str, throughput_tok_s: float | None
    ) -> TrialMeasured:
        return TrialMeasured(
            action_id=self.dispatch.action_id,
            attempt_id=self.attempt_id,
            trial=trial,
            edits=tuple(edits),
            throughput_tok_s=throughput_tok_s,
            engine=engine,
        )


class Specialist:
    """A worker for one dispatched action; construct it again after a restart."""

    def __init__(
        self, place: Place, journal: Journal, dispatch: ActionDispatched, craft: Craft, where: str
    ) -> None:
        self._place = place
        self._journal = journal
        self._dispatch = dispatch
        self._craft = craft
        self._where = where

    def perform(self) -> None:
        """Do the work once: a patch, or the crash that prevented it, and retire.

        Raises:
            FencedError: this incarnation has a successor.
            LogError: the log cannot be used.
        """
        self._journal.catch_up()
        dispatch = self._dispatch
        if self._journal.state.tree.node(dispatch.node_id).status is not Status.WORKING:
            self._retire("nothing left to do")
            return
        state = self._journal.state
        deaths = state.workers.deaths.get(self._journal.actor, [])
        if len(deaths) >= state.settings.search.max_attempts:
            self._give_up(deaths)
            return
        attempt = state.num_work_attempts.get(dispatch.node_id, 0) + 1
        attempt_id = f"{dispatch.node_id}.{attempt}"
        step = step_of_action(self._journal.state, dispatch.action_id)
        remedies = clean(step, self._place, self._journal.state)
        task = Task(self._place, self._journal, dispatch, attempt_id, self._journal.actor)
        with suppress(ConflictError):
            self._journal.append(
                SpecialistConstructed(
                    action_id=dispatch.action_id,
                    specialist_id=self._journal.actor,
                    layer=task.template.layer,
                    skills=self._craft.skills,
                    placement=self._where,
                ),
                AttemptStarted(
                    action_id=dispatch.action_id,
                    attempt_id=attempt_id,
                    attempt=attempt,
                    remedies=remedies,
                ),
                PlanProposed(
                    action_id=dispatch.action_id,
                    attempt_id=attempt_id,
                    steps=self._craft.plan(task),
                ),
                watching=frozenset({f"action:{dispatch.action_id}"}),
            )
            self._retire(self._attempt(task))

    def _give_up(self, deaths: Sequence[Death]) -> None:
        """Record the crash of an action that ended this process at every attempt."""
        self._journal.append(
            Crashed(
                action_id=self._dispatch.action_id,
                attempt_id=deaths[-1].attempt_id,
                phase="specialist",
                message=f"the specialist died in each of {len(deaths)} attempts",
                log_tail=(*self._last_log(), *map(str, deaths)),
                node_id=self._dispatch.node_id,
            )
        )
        self._retire("its process died too often")

    def _last_log(self) -> tuple[str, ...]:
        """Return the last lines of the latest server that an earlier process started."""
        folder = self._place.directory / "logs"
        logs = list(folder.glob(f"{self._journal.actor}-*.log")) if folder.is_dir() else []
        if not logs:
            return ()
        latest = max(logs, key=lambda path: path.stat().st_mtime)
        return tuple(latest.read_text(errors="replace").splitlines()[-LOG_LINES:])

    def _attempt(self, task: Task) -> str:
        try:
            edits, validation = self._craft.work(task)
            task.check_wanted()
        except CancelledError:
            return "the action is not wanted any more"
        except ServerFailedError as error:
            self._journal.append(
                self._place.crashed(
                    error,
                    action_id=task.dispatch.action_id,
                    attempt_id=task.attempt_id,
                    node_id=task.dispatch.node_id,
                    patch_files=task.patch_files,
                )
            )
            return f"crashed: {error.message}"
        except NoPatchError as error:
            self._journal.append(
                PatchRefused(
                    action_id=task.dispatch.action_id,
                    attempt_id=task.attempt_id,
                    node_id=task.dispatch.node_id,
                    reason=error.reason,
                    paths=error.paths,
                    diff_digest=error.diff_digest,
                )
            )
            return f"refused: {error.reason}"
        commit = task.commit(edits)
        diff = self._place.workspace.diff(task.dispatch.parent_commit, commit)
        self._journal.append(
            PatchProposed(
                action_id=task.dispatch.action_id,
                attempt_id=task.attempt_id,
                node_id=task.dispatch.node_id,
                base_commit=task.dispatch.parent_commit,
                commit=commit,
                edits=edits,
                diff_digest=self._place.blobs.put(diff.encode()),
                validation=validation,
            )
        )
        return "patch proposed"

    def _retire(self, reason: str) -> None:
        self._journal.append(
            SpecialistRetired(
                action_id=self._dispatch.action_id,
                specialist_id=self._journal.actor,
                reason=reason,
            )
        )
