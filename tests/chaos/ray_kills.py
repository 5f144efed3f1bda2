"""Campaigns on Ray whose keeper and actors are killed again and again, to their end."""

import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from arbor.events.base import Recorded
from arbor.events.life import IncarnationStarted
from arbor.events.work import SpecialistRetired
from tests.system.campaigns import Driver, driver, kill, landscape, read_log
from tests.system.invariants import require_sound

KEEPER_SHARE = 0.3
MEAN_LIFE_S = 1.0
DRIVER = "supervisor"


@dataclass
class RayStorm:
    """What was done to campaigns on Ray, and what is wrong afterwards.

    Attributes:
        num_done: kills by the kind of their victim.
        num_campaigns: campaigns that came to their end.
        num_events: events in their logs.
        problems: everything that should not be, in words.
    """

    num_done: Counter[str] = field(default_factory=Counter)
    num_campaigns: int = 0
    num_events: int = 0
    problems: list[str] = field(default_factory=list)


def run_on_ray(directory: Path, num_kills: int, seed: int = 1) -> RayStorm:
    """Run campaigns until so many processes were killed; each must end and pass its audit.

    Args:
        directory: an empty folder.
        num_kills: SIGKILLs in all.
        seed: of the order of things.
    """
    chance = random.Random(seed)
    storm = RayStorm()
    while storm.num_done.total() < num_kills and not storm.problems:
        place = directory / f"campaign-{storm.num_campaigns}"
        file = landscape(place.with_suffix(".yaml"), time_scale=0.1)
        try:
            with driver(place, "run", file, "--dir", place) as running:
                left = num_kills - storm.num_done.total()
                seen = _disturb(running, chance, storm, left)
                assert running.wait() == 0, running.text()
                running.require_no_orphans()
            recorded = require_sound(place, *seen)
        except AssertionError as error:
            storm.problems.append(f"{place.name}: {str(error).splitlines()[0]}")
            return storm
        storm.num_campaigns += 1
        storm.num_events += len(recorded)
    return storm


def _disturb(
    running: Driver, chance: random.Random, storm: RayStorm, left: int
) -> list[list[Recorded]]:
    """Kill somebody, wait until the log has grown, and again; return the logs that were seen."""
    seen: list[list[Recorded]] = []
    while left > 0 and running.process.poll() is None:
        recorded = read_log(running.directory)
        if len(recorded) > (len(seen[-1]) if seen else 0):
            victim, pid = _victim(running, recorded, chance)
            if pid:
                kill(pid)
                storm.num_done[victim] += 1
                left -= 1
            seen.append(recorded)
            time.sleep(chance.expovariate(1.0 / MEAN_LIFE_S))
        time.sleep(0.02)
    return seen


def _victim(running: Driver, recorded: list[Recorded], chance: random.Random) -> tuple[str, int]:
    """Return who is killed next, and its process id; 0 when it is not there just now."""
    if chance.random() < KEEPER_SHARE:
        try:
            return "keeper", running.keeper_pid()
        except AssertionError:
            return "keeper", 0
    alive = {
        r.actor: r.event.process_id for r in recorded if isinstance(r.event, IncarnationStarted)
    }
    alive.pop(DRIVER, None)
    for each in recorded:
        if isinstance(each.event, SpecialistRetired):
            alive.pop(each.event.specialist_id, None)
    if not alive:
        return "nobody", 0
    actor = chance.choice(sorted(alive))
    ours = {process.pid for process in running.members()}
    kind = "specialist" if actor.startswith("specialist") else actor
    return kind, alive[actor] if alive[actor] in ours else 0
