"""What a warm start saves, and what a misleading one costs, on landscapes with a known best stack.

    python benchmarks/warm_start.py [--landscapes 40] [--first 1000]

Every landscape is searched cold, warm from a campaign on the same landscape under other noise,
and warm from a campaign on its mirror image, whose best switch is the worst one here and so on.
Counted are server starts of all kinds until the stack in force truly reaches 95 % of the best one
that is accurate and does not crash. Landscapes below 1000 are for development; nothing is
reported on them.
"""

import argparse
import math
import statistics
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from table import Row, at_most, publish

from arbor.actors.founding import Knowledge, know_nothing
from arbor.actors.simulation import Simulation
from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.state import CampaignState
from arbor.events.settings import GateSettings, MeasureSettings, SearchSettings
from arbor.events.types import Scalar
from arbor.replay.warm_start import Source, knowledge_events
from arbor.targets.landscape import LandscapeServer, LandscapeTarget
from arbor.targets.landscape_config import LandscapeConfig, random_landscape
from arbor.targets.landscape_surface import Surface, Switch

NUM_LANDSCAPES = 24
FIRST_REPORTED = 1000
NUM_SWITCHES = 14
BUDGET_S = 2 * 3600.0
GOAL_RATIO = 0.95
"""Part of the best stack's speed that a search must reach."""
SOURCE_SEED, MIRROR_SEED = 500_000, 900_000
"""Added to a landscape's number for the noise and the catalog's luck of the other campaigns."""
MEASURE = MeasureSettings(max_pairs=48, series_s=600.0, noise_pairs=6, start_sd=0.006)


class CountingLandscape(LandscapeTarget):
    """A landscape that counts the servers it starts."""

    num_served = 0

    @contextmanager
    def serve(self, worktree: Path, log_path: Path) -> Iterator[LandscapeServer]:
        """Start a configuration and count it."""
        self.num_served += 1
        with super().serve(worktree, log_path) as server:
            yield server


class CountingSimulation(Simulation):
    """A simulated campaign whose target counts."""

    target: CountingLandscape

    def create_target(self, landscape: LandscapeConfig) -> CountingLandscape:
        """Return the counting target on the virtual clock."""
        return CountingLandscape(landscape, self.clock.sleep)


@dataclass(frozen=True, slots=True)
class Search:
    """One campaign, as far as it was followed.

    Attributes:
        num_starts: server starts until the goal, or until the end without it.
        is_there: whether it got to the goal.
    """

    num_starts: int
    is_there: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The three searches of one landscape."""

    cold: Search
    warm: Search
    misled: Search


def mirrored(surface: Surface) -> Surface:
    """Return a surface on which everything is the other way round.

    Switches have each other's gains, so that the best one here is the worst one there; numbers
    have their optimum on the other side of the baseline.
    """
    order = sorted(surface.switches, key=lambda switch: (switch.log_gain, switch.name))
    gains = {
        switch.name: other.log_gain for switch, other in zip(order, reversed(order), strict=True)
    }
    return surface.model_copy(
        update={
            "switches": tuple(
                switch.model_copy(update={"log_gain": gains[switch.name]})
                for switch in surface.switches
            ),
            "numbers": tuple(
                number.model_copy(update={"optimum": number.baseline**2 / number.optimum})
                for number in surface.numbers
            ),
        }
    )


def best_ratio(surface: Surface) -> float:
    """Return the ratio of the best stack that passes the gate and does not crash.

    All sets of switches that can be worth something are tried, with every number at its optimum.
    """
    config = surface.baseline()
    for number in surface.numbers:
        inside = min(number.high, max(number.low, number.optimum))
        config[number.key] = number.typed(inside)
    useful = [switch for switch in surface.switches if _may_be_useful(surface, switch)]
    best = 1.0
    for values in product((False, True), repeat=len(useful)):
        tried: dict[str, Scalar] = dict(config)
        tried.update(
            (switch.key, switch.value)
            for switch, is_on in zip(useful, values, strict=True)
            if is_on
        )
        is_accurate = surface.kl(tried) <= GateSettings().max_kl_mean
        if is_accurate and surface.crash(tried) is None:
            best = max(best, surface.true_ratio(tried))
    return best


def _may_be_useful(surface: Surface, switch: Switch) -> bool:
    unlocks = any(switch.name in other.unlocked_by for other in surface.switches)
    unlocks = unlocks or any(switch.name in number.unlocked_by for number in surface.numbers)
    helps = any(
        pair.log_gain > 0 and switch.name in {pair.first, pair.second}
        for pair in surface.interactions
    )
    return switch.log_gain > 0 or unlocks or helps


def campaign_of(seed: int) -> Campaign:
    """Return the campaign on a landscape."""
    return Campaign(
        name=f"warm-start-{seed}",
        target="landscape",
        seed=seed,
        budget=CampaignBudget(wall=BUDGET_S),
        search=SearchSettings(),
        measure=MEASURE,
    )


def finished(landscape: LandscapeConfig, seed: int) -> Source:
    """Return a whole campaign as something to learn from."""
    with tempfile.TemporaryDirectory() as folder:
        simulation = Simulation(Path(folder), landscape, campaign_of(seed))
        state = simulation.run()
        head = simulation.log.head()
    if state.started is None:
        raise RuntimeError(f"campaign {seed} never began")
    return Source(Path("memory"), f"campaign-{seed}", head, state.started, state)


def searched(landscape: LandscapeConfig, seed: int, knowledge: Knowledge, goal: float) -> Search:
    """Follow a campaign until its stack reaches a true ratio, or to its end."""
    with tempfile.TemporaryDirectory() as folder:
        simulation = CountingSimulation(
            Path(folder), landscape, campaign_of(seed), knowledge=knowledge
        )
        local, target = simulation.local, simulation.target
        local.start()
        while local.step():
            if _true_ratio(target.surface, local.state) >= goal:
                return Search(target.num_served, is_there=True)
        return Search(target.num_served, is_there=False)


def _true_ratio(surface: Surface, state: CampaignState) -> float:
    return surface.true_ratio(state.tree.config_at(state.tree.current_id))


def run_landscape(seed: int) -> Outcome:
    """Search one landscape cold, warm and misled."""
    here = random_landscape(seed, NUM_SWITCHES)
    surface = here.resolved_surface()
    goal = GOAL_RATIO * best_ratio(surface)
    same = here.model_copy(update={"seed": SOURCE_SEED + seed})
    mirror = here.model_copy(update={"seed": MIRROR_SEED + seed, "surface": mirrored(surface)})

    def taught_by(landscape: LandscapeConfig) -> Knowledge:
        source = finished(landscape, landscape.seed)
        return lambda started: knowledge_events([source], started)

    return Outcome(
        cold=searched(here, seed, know_nothing, goal),
        warm=searched(here, seed, taught_by(same), goal),
        misled=searched(here, seed, taught_by(mirror), goal),
    )


def rows(outcomes: list[Outcome]) -> list[Row]:
    """Return the table."""
    # None is left out: to leave out those on which the cold search fails would flatter it.
    how = (
        f"{len(outcomes)} frozen landscapes of {NUM_SWITCHES} switches and 2 numbers; server"
        f" starts until {GOAL_RATIO:.0%} of the best stack, or of the whole search without it"
    )
    cold, warm, misled = (
        [getattr(outcome, name) for outcome in outcomes] for name in ("cold", "warm", "misled")
    )
    return [
        *(
            Row(f"{name}: starts", total(each), "starts", how=how)
            for name, each in (("cold", cold), ("warm", warm), ("misled", misled))
        ),
        *(
            Row(f"{name}: reached it", 100 * share_there(each), "% of landscapes", how=how)
            for name, each in (("cold", cold), ("warm", warm), ("misled", misled))
        ),
        at_most(
            "same landscape, other noise: starts over cold",
            100 * total(warm) / total(cold),
            "%",
            50,
            how,
        ),
        Row("its median over landscapes", 100 * median_ratio(warm, cold), "%", how=how),
        at_most(
            "anti-correlated landscape: starts over cold",
            total(misled) / total(cold),
            "x",
            1.15,
            how,
        ),
        Row("its median over landscapes", median_ratio(misled, cold), "x", how=how),
    ]


def total(searches: list[Search]) -> float:
    """Return the starts of all searches."""
    return math.fsum(search.num_starts for search in searches)


def share_there(searches: list[Search]) -> float:
    """Return the share of searches that reached the goal."""
    return statistics.fmean(search.is_there for search in searches)


def median_ratio(searches: list[Search], others: list[Search]) -> float:
    """Return the median over landscapes of the ratio of starts."""
    return statistics.median(
        own.num_starts / other.num_starts for own, other in zip(searches, others, strict=True)
    )


def main() -> int:
    """Search all landscapes and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--landscapes", type=int, default=NUM_LANDSCAPES)
    parser.add_argument("--first", type=int, default=FIRST_REPORTED)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.landscapes)
    outcomes = []
    with ProcessPoolExecutor() as pool:
        for seed, outcome in zip(seeds, pool.map(run_landscape, seeds), strict=True):
            outcomes.append(outcome)
            starts = [s.num_starts for s in (outcome.cold, outcome.warm, outcome.misled)]
            sys.stderr.write(f"landscape {seed}: cold, warm, misled {starts} starts\n")
    name = "warm_start" if options.first >= FIRST_REPORTED else "warm_start_development"
    return publish(name, rows(outcomes))


if __name__ == "__main__":
    sys.exit(main())
