"""What root causes and constraints are worth: campaigns that crash, with and without them.

    python benchmarks/constraints.py [--campaigns 24] [--first 0]

Every landscape has numbers whose upper part runs out of memory, pairs of options that the stack
refuses, options whose kernel the installed version lacks, and a host that is at fault now and
then. The same campaign runs twice, once with ``search.learn_from_crashes`` off: crashes are
outcomes without a cause then. Counted are starts of servers until the stack in force is truly
worth 95 % of the best one. Numbers from 0 are frozen; 1000 and up were for development.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from table import Row, at_least, at_most, publish

from arbor.actors.simulation import Simulation
from arbor.core.campaign import Campaign, CampaignBudget
from arbor.events.limits import ConstraintPublished
from arbor.events.settings import MeasureSettings, SearchSettings
from arbor.events.types import Layer
from arbor.events.work import TrialMeasured
from arbor.targets.base import ServerFailedError
from arbor.targets.landscape import LandscapeServer, LandscapeTarget
from arbor.targets.landscape_config import LandscapeConfig, Noise
from arbor.targets.landscape_optimum import best_config
from arbor.targets.landscape_samples import RandomShape, random_surface
from arbor.targets.landscape_surface import Crash, Number, Surface

NUM_CAMPAIGNS = 24
FIRST_DEVELOPMENT = 1000
GOAL_RATIO = 0.95
"""A stack worth so much of the best one is good enough."""
BUDGET_S = 6 * 3600.0
NUM_SWITCHES = 12
NUM_NUMBERS = 3
NUM_REFUSED_PAIRS = 3
NUM_MISSING_KERNELS = 4
NUM_TRIALS = 8
"""Points that one search may start."""
MAX_REVIVALS = 12
"""So that a campaign that is not there yet goes on."""
FAULT_RATIO = 0.04
"""Starts that the host spoils, whatever is started."""
NOISE = Noise(window_sd=0.01)
MEASURE = MeasureSettings(start_sd=0.006, soak_s=0.0)
_OUT_OF_MEMORY = (
    "INFO: allocating the cache",
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total"
        " capacity of 79.10 GiB of which 1.12 GiB is free."
    ),
)
_PORT_TAKEN = ("OSError: [Errno 98] Address already in use: ('127.0.0.1', 8000)",)


class FaultyLandscape(LandscapeTarget):
    """A landscape on a host that spoils some starts; equal seeds spoil the same ones.

    Attributes:
        num_starts: servers that were started, or were to be.
    """

    def __init__(self, config: LandscapeConfig, sleep: object) -> None:
        super().__init__(config, sleep)  # type: ignore[arg-type] - the clock's own method
        self.num_starts = 0
        self._stream = random.Random(f"faults {config.seed}")  # noqa: S311 - no secret

    @contextmanager
    def serve(self, worktree: Path, log_path: Path) -> Iterator[LandscapeServer]:
        """Start a server, or meet a port that somebody else took.

        Raises:
            ServerFailedError: the configuration crashes, or the host is at fault.
        """
        self.num_starts += 1
        if self._stream.random() < FAULT_RATIO:
            raise ServerFailedError("start", "the server ended", 1, log_tail=_PORT_TAKEN)
        with super().serve(worktree, log_path) as server:
            yield server


@dataclass
class FaultySimulation(Simulation):
    """A campaign on such a host."""

    target: FaultyLandscape = field(init=False)

    def create_target(self, landscape: LandscapeConfig) -> FaultyLandscape:
        """Return the target on the virtual clock."""
        return FaultyLandscape(landscape, self.clock.sleep)


def landscape(number: int) -> LandscapeConfig:
    """Return the landscape of a campaign; equal numbers give equal ones."""
    shape = RandomShape(
        seed=number, num_switches=NUM_SWITCHES, num_numbers=0, num_crashes=0, lossy_ratio=0.0
    )
    surface = random_surface(shape)
    stream = random.Random(f"crashes {number}")  # noqa: S311 - no secret
    numbers = tuple(_number(i, stream) for i in range(NUM_NUMBERS))
    crashes = (
        *(_out_of_memory(each, stream) for each in numbers),
        *_refused_pairs(surface, stream),
        *_missing_kernels(surface, stream),
    )
    own = {"numbers": numbers, "crashes": crashes}
    whole = Surface.model_validate(surface.model_copy(update=own).model_dump())
    return LandscapeConfig(surface=whole, noise=NOISE, seed=number)


def _number(i: int, stream: random.Random) -> Number:
    optimum = 2.0 ** stream.uniform(5.5, 7.5)
    return Number(
        name=f"number_{i}",
        key=f"numbers.number_{i}",
        layer=list(Layer)[i % len(Layer)],
        low=4,
        high=2048,
        baseline=16,
        optimum=optimum,
        curvature=stream.uniform(0.05, 0.12),
        title=f"Tune number {i}",
    )


def _out_of_memory(number: Number, stream: random.Random) -> Crash:
    limit = number.optimum * 2.0 ** stream.uniform(0.2, 1.0)
    return Crash(
        above={number.name: limit},
        phase=stream.choice(("start", "benchmark")),
        message="the server ended",
        exit_code=1,
        log=_OUT_OF_MEMORY,
    )


def _refused_pairs(surface: Surface, stream: random.Random) -> Iterator[Crash]:
    for _ in range(NUM_REFUSED_PAIRS):
        first, second = (s.name for s in stream.sample(surface.switches, 2))
        yield Crash(
            all_of=(first, second),
            message="the server ended",
            log=(f"ValueError: unsupported combination of {first} and {second}",),
        )


def _missing_kernels(surface: Surface, stream: random.Random) -> Iterator[Crash]:
    for switch in stream.sample(surface.switches, NUM_MISSING_KERNELS):
        yield Crash(
            all_of=(switch.name,),
            phase="benchmark",
            message="the server ended",
            log=(f"RuntimeError: {switch.name}: no kernel available for this shape",),
        )


@dataclass(frozen=True, slots=True)
class Course:
    """How a campaign went.

    Attributes:
        num_starts: servers started in all.
        reached_at: servers started when the stack was good enough; None when it never was.
        num_broken: trials and attempts that broke.
        num_avoided: trials that were not started.
        num_constraints: constraints that were published.
        worth: of the final stack, over the best one's.
    """

    num_starts: int
    reached_at: int | None
    num_broken: int
    num_avoided: int
    num_constraints: int
    worth: float


def run(number: int, *, learns: bool) -> Course:
    """Run a campaign and count."""
    config = landscape(number)
    surface = config.resolved_surface()
    best = surface.true_ratio(best_config(surface))
    campaign = Campaign(
        name=f"constraints-{number}",
        target="landscape",
        seed=number,
        budget=CampaignBudget(wall=BUDGET_S),
        search=SearchSettings(
            learn_from_crashes=learns, tuning_trials=NUM_TRIALS, max_revivals=MAX_REVIVALS
        ),
        measure=MEASURE,
    )
    with tempfile.TemporaryDirectory() as folder:
        simulation = FaultySimulation(Path(folder), config, campaign)
        local, target = simulation.local, simulation.target
        reached_at: int | None = None
        local.start()
        while local.step():
            tree = local.state.tree
            worth = surface.true_ratio(tree.config_at(tree.current_id)) / best
            if reached_at is None and worth >= GOAL_RATIO:
                reached_at = target.num_starts
        state = local.state
        tried = simulation.of_kind(TrialMeasured)
        return Course(
            num_starts=target.num_starts,
            reached_at=reached_at,
            num_broken=len(state.crashes) + sum(t.crash is not None for t in tried),
            num_avoided=sum(bool(t.avoided) for t in tried),
            num_constraints=len(simulation.of_kind(ConstraintPublished)),
            worth=simulation.true_ratio() / best,
        )


def run_both(number: int) -> tuple[Course, Course]:
    """Return the course of a campaign with root causes and constraints, and without."""
    return run(number, learns=True), run(number, learns=False)


def starts_until_good(course: Course, other: Course) -> int:
    """Return the starts that a stack that is good enough took.

    A campaign that never got there is charged all starts of the longer of both: a bound that
    favours it, whichever it is, since it would have needed more.
    """
    if course.reached_at is not None:
        return course.reached_at
    return max(course.num_starts, other.num_starts)


def rows(pairs: Sequence[tuple[Course, Course]]) -> list[Row]:
    """Return the table."""
    how = (
        f"{len(pairs)} landscapes, each campaign twice; one that never got to 95 % counts the"
        " starts of the longer of both"
    )
    total_with = sum(starts_until_good(a, b) for a, b in pairs)
    total_without = sum(starts_until_good(b, a) for a, b in pairs)
    table = [
        at_most(
            "starts until 95 % of the best, with over without",
            100 * total_with / total_without,
            "%",
            70,
            how,
        ),
        at_least(
            "campaigns that got there, with, over without",
            sum(a.reached_at is not None for a, _ in pairs)
            / max(1, sum(b.reached_at is not None for _, b in pairs)),
            "x",
            1.0,
            how,
        ),
    ]
    for name, which in (("with", 0), ("without", 1)):
        own = [pair[which] for pair in pairs]
        num = len(own)
        table += [
            Row(
                f"campaigns that got there, {name}",
                sum(c.reached_at is not None for c in own),
                f"of {num}",
                how=how,
            ),
            Row(
                f"starts until then, {name}",
                (total_with, total_without)[which] / num,
                "a campaign",
                how=how,
            ),
            Row(
                f"starts in all, {name}",
                sum(c.num_starts for c in own) / num,
                "a campaign",
                how=how,
            ),
            Row(
                f"starts that broke, {name}",
                sum(c.num_broken for c in own) / num,
                "a campaign",
                how=how,
            ),
            Row(
                f"final stack over the best, {name}",
                100 * sum(c.worth for c in own) / num,
                "%",
                how=how,
            ),
        ]
    learned = [a for a, _ in pairs]
    return [
        *table,
        Row(
            "constraints",
            sum(c.num_constraints for c in learned) / len(pairs),
            "a campaign",
            how=how,
        ),
        Row(
            "trials not started",
            sum(c.num_avoided for c in learned) / len(pairs),
            "a campaign",
            how=how,
        ),
    ]


def main() -> int:
    """Run the campaigns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=NUM_CAMPAIGNS)
    parser.add_argument("--first", type=int, default=0, help="number of the first landscape")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.campaigns)
    pairs = []
    with ProcessPoolExecutor() as pool:
        for number, pair in enumerate(pool.map(run_both, numbers), start=1):
            pairs.append(pair)
            if number % 10 == 0:
                sys.stderr.write(f"{number} of {options.campaigns} campaigns\n")
    is_frozen = options.first < FIRST_DEVELOPMENT
    return publish("constraints" if is_frozen else "constraints_development", rows(pairs))


if __name__ == "__main__":
    sys.exit(main())
