"""What is cleaned before an attempt is repeated after a fault of the environment."""

import fcntl
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from arbor.actors.place import Place
from arbor.core.requests import Request
from arbor.core.state import CampaignState, CrashRecord
from arbor.core.tree import OPEN_STATUSES, Status
from arbor.events.causes import RemedyStep
from arbor.targets.base import CachingTarget
from arbor.targets.leftovers import end_leftovers

LOCK_AGE_S = 60.0
"""A lock that nobody holds and that is older than this was left behind."""
_STANDING = {*OPEN_STATUSES, Status.KEPT}


def step_of_action(state: CampaignState, action_id: str | None) -> RemedyStep:
    """Return what the latest crash of an action asks for."""
    return _step(r for r in state.crashes if r.crash.action_id == action_id)


def step_of_request(state: CampaignState, request: Request) -> RemedyStep:
    """Return what the latest crash of the same measurement, asked for before, asks for."""
    asked = request.asked
    earlier = {
        each.asked.request_id
        for each in state.requests.of_node(asked.node_id)
        if each.asked.purpose == asked.purpose and each.crash is not None
    }
    return _step(r for r in state.crashes if r.crash.request_id in earlier)


def _step(records: Iterator[CrashRecord]) -> RemedyStep:
    last = next(reversed(list(records)), None)
    if last is None or last.root_cause is None or not last.root_cause.is_worth_repeating:
        return "none"
    return last.root_cause.step


def clean(step: RemedyStep, place: Place, state: CampaignState) -> tuple[str, ...]:
    """Clean what a step names and what a report of ill health asked for; one line a deed."""
    steps = dict.fromkeys((step, *state.vitals.recovery))
    return tuple(line for each in steps for line in carry_out(each, place, state))


def carry_out(step: RemedyStep, place: Place, state: CampaignState) -> tuple[str, ...]:
    """Clean what a step names; return one line for each thing that was done.

    Only what Arbor made is touched: processes that it started for this campaign, caches of the
    target, checkouts and logs of the campaign's directory.
    """
    return tuple(_STEPS[step](place, state))


def _nothing(_place: Place, _state: CampaignState) -> Iterator[str]:
    yield from ()


def _end_leftovers(place: Place, _state: CampaignState) -> Iterator[str]:
    for pid in end_leftovers(place.directory):
        yield f"ended process {pid}, which an earlier attempt had left"


def _cache_folders(place: Place) -> tuple[Path, ...]:
    target = place.target
    return tuple(target.cache_folders()) if isinstance(target, CachingTarget) else ()


def _remove_locks(place: Place, _state: CampaignState) -> Iterator[str]:
    for folder in _cache_folders(place):
        for path in sorted(folder.rglob("*lock")) if folder.is_dir() else ():
            if path.is_file() and _is_abandoned(path):
                path.unlink(missing_ok=True)
                yield f"removed the lock {path}"


def _is_abandoned(path: Path) -> bool:
    with suppress(OSError), path.open() as file:
        age_s = time.time() - path.stat().st_mtime
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return age_s > LOCK_AGE_S
    return False


def _clear_caches(place: Place, _state: CampaignState) -> Iterator[str]:
    for folder in _cache_folders(place):
        if not folder.is_dir():
            continue
        # who still reads from it keeps its open files; a new start finds nothing
        aside = folder.with_name(f"{folder.name}.cleared-{time.time_ns()}")
        with suppress(OSError):
            folder.rename(aside)
            shutil.rmtree(aside, ignore_errors=True)
            yield f"cleared the cache {folder}"


def _free_disk(place: Place, state: CampaignState) -> Iterator[str]:
    for path in sorted((place.directory / "logs").glob("*.log.1")):
        path.unlink(missing_ok=True)
        yield f"removed the older half of {path.stem}"
    needed = {n.commit for n in state.tree.nodes.values() if n.status in _STANDING and n.commit}
    closed = {n.commit for n in state.tree.nodes.values() if n.commit} - needed
    endings = tuple(f"-{commit[:12]}" for commit in closed)
    for path in sorted((place.directory / "worktrees").glob("*")):
        if path.name.endswith(endings):
            shutil.rmtree(path, ignore_errors=True)
            yield f"removed the checkout {path.name}"


_STEPS: Mapping[RemedyStep, Callable[[Place, CampaignState], Iterator[str]]] = {
    "none": _nothing,
    # another start takes another port and another process
    "retry": _nothing,
    "end_leftovers": _end_leftovers,
    "remove_locks": _remove_locks,
    "clear_caches": _clear_caches,
    "free_disk": _free_disk,
}
