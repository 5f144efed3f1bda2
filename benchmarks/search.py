"""How many starts Arbor's tree needs for 95 % of the best known stack, beside its peers.

    python benchmarks/search.py [--development] [--surfaces 30] [--policies depth_first,stacked]

A start is one stack that is started to be judged: for the tree every node and every screening
trial, for a peer every stack that it measures. The tree has arrived when the stack that it holds
as kept is good enough; a peer as soon as it has measured one. What needs more than MAX_STARTS
counts as MAX_STARTS. Priors are shuffled among the actions for the rows "prior wrong".
"""

import argparse
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from search_peers import HARDWARE, PEERS, Problem
from search_surfaces import DEVELOPMENT_SEEDS, FILE, MAX_KL, best_ratio, random_config
from table import Row, at_most, publish

from arbor.actors.simulation import Simulation
from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.state import CampaignState
from arbor.events.settings import MeasureSettings, SearchSettings
from arbor.targets.landscape import LandscapeTarget
from arbor.targets.landscape_config import LandscapeConfig

GOAL = 0.95
MAX_STARTS = 200
BUDGET_S = 8 * 3600.0
MEASURE = MeasureSettings(max_pairs=16, series_s=300.0, start_sd=0.006, soak_s=0.0)
TREES: Mapping[str, dict[str, object]] = {
    "tree depth_first": {},
    "tree depth_first, interactions": {"learn_interactions": True},
    "tree as_printed": {"score": "as_printed"},
    "tree stacked": {"policy": "stacked"},
    "tree backtracking": {"policy": "backtracking"},
    "tree greedy": {"policy": "greedy"},
    "tree single_agent": {"policy": "single_agent"},
}
HELD = ("tree depth_first", "tree stacked")
"""What is held against the goals: the default, and the policy made for few starts."""
NUM_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Surface:
    """One frozen landscape and the best stack that is known on it."""

    name: str
    config: LandscapeConfig
    best_ratio: float


def frozen() -> list[Surface]:
    """Return the frozen surfaces."""
    return [
        Surface(
            each["name"], LandscapeConfig.model_validate(each["landscape"]), each["best_ratio"]
        )
        for each in json.loads(FILE.read_text())
    ]


def development() -> list[Surface]:
    """Return the surfaces that were used while this was made; none of them is frozen."""
    configs = [(seed, random_config(seed)) for seed in DEVELOPMENT_SEEDS]
    return [Surface(f"development-{s}", config, best_ratio(config)) for s, config in configs]


def with_wrong_priors(config: LandscapeConfig) -> LandscapeConfig:
    """Return a landscape whose catalog has its expectations shuffled among the actions."""
    target = LandscapeTarget(config)
    priors = [t.prior_speedup_ratio for t in target.actions(HARDWARE)]
    random.Random(config.seed).shuffle(priors)  # noqa: S311 - a study, not a secret
    surface = config.resolved_surface()
    options = (*surface.switches, *surface.numbers)
    changed = [
        option.model_copy(update={"prior_speedup_ratio": prior})
        for option, prior in zip(options, priors, strict=True)
    ]
    num = len(surface.switches)
    return config.model_copy(
        update={
            "surface": surface.model_copy(
                update={"switches": tuple(changed[:num]), "numbers": tuple(changed[num:])}
            )
        }
    )


def num_starts(state: CampaignState) -> int:
    """Return the stacks that a campaign started to be judged: its nodes and its numbers."""
    # A plain switch's only trial is the smoke test of the node itself.
    searched = [
        len(trials)
        for node_id, trials in state.trials.items()
        if state.dispatches[node_id].specialist == "tuning"
    ]
    return len(state.tree.nodes) - 1 + sum(searched)


def play_tree(surface: Surface, config: LandscapeConfig, search: dict[str, object]) -> int:
    """Return the starts after which a campaign holds a stack that is good enough."""
    campaign = Campaign(
        name=surface.name,
        target="landscape",
        seed=config.seed,
        budget=CampaignBudget(wall=BUDGET_S),
        search=SearchSettings.model_validate({"parallel": 1} | search),
        measure=MEASURE,
    )
    goal = GOAL * surface.best_ratio
    with tempfile.TemporaryDirectory() as folder:
        simulation = Simulation(Path(folder), config, campaign)
        local = simulation.local
        local.start()
        held = ""
        while local.step():
            tree = local.state.tree
            if tree.nodes and tree.current_id != held:
                held = tree.current_id
                if config.true_ratio(tree.config_at(held)) >= goal:
                    return min(MAX_STARTS, num_starts(local.state))
            if num_starts(local.state) >= MAX_STARTS:
                break
    return MAX_STARTS


def play_peer(surface: Surface, config: LandscapeConfig, name: str) -> int:
    """Return the starts after which a peer has measured a stack that is good enough."""
    problem = Problem(config, config.seed, MAX_KL, GOAL * surface.best_ratio)
    PEERS[name](problem, MAX_STARTS)
    return min(MAX_STARTS, problem.num_starts) if problem.has_reached else MAX_STARTS


Job = tuple[Surface, str, bool]


def play(job: Job) -> tuple[str, bool, str, int]:
    """Return player, whether its prior is wrong, surface and starts."""
    surface, player, is_wrong = job
    config = with_wrong_priors(surface.config) if is_wrong else surface.config
    search = TREES.get(player)
    if search is not None:
        return player, is_wrong, surface.name, play_tree(surface, config, search)
    return player, is_wrong, surface.name, play_peer(surface, config, player)


Starts = Mapping[str, Sequence[int]]
"""Player to its starts on every surface, in their order."""


def rows(right: Starts, wrong: Starts, how: str) -> Iterator[Row]:
    """Yield the table."""
    for title, starts, bound in (("", right, 0.6), (", prior wrong", wrong, 1.1)):
        for player, values in starts.items():
            low, high = _interval([[float(v)] for v in values], lambda rs: _mean(rs, 0))
            missed = sum(value >= MAX_STARTS for value in values)
            text = f"{how}; mean, 95 % interval {low:.1f} .. {high:.1f}; {missed} never"
            yield Row(f"starts, {player}{title}", statistics.fmean(values), "starts", how=text)
        peers = [player for player in starts if player in PEERS]
        best = min(peers, key=lambda peer: statistics.fmean(starts[peer]))
        for player in (name for name in starts if name in HELD):
            pairs = [
                [float(a), float(b)] for a, b in zip(starts[player], starts[best], strict=True)
            ]
            low, high = _interval(pairs, lambda rs: _mean(rs, 0) / _mean(rs, 1))
            ratio = _mean(pairs, 0) / _mean(pairs, 1)
            text = f"best peer: {best}; 95 % interval {low:.2f} .. {high:.2f}, paired by surface"
            yield at_most(f"{player} over the best peer{title}", ratio, "ratio", bound, text)


def _mean(pairs: Sequence[Sequence[float]], column: int) -> float:
    return statistics.fmean(pair[column] for pair in pairs)


def _interval(
    pairs: Sequence[Sequence[float]], statistic: Callable[[Sequence[Sequence[float]]], float]
) -> tuple[float, float]:
    source = random.Random(0)  # noqa: S311 - a bootstrap, not a secret
    found = sorted(statistic(source.choices(pairs, k=len(pairs))) for _ in range(NUM_RESAMPLES))
    return found[int(0.025 * NUM_RESAMPLES)], found[int(0.975 * NUM_RESAMPLES)]


def main() -> int:
    """Play all surfaces and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--development", action="store_true", help="other surfaces, no result")
    parser.add_argument("--surfaces", type=int, default=30)
    parser.add_argument("--only", default="", help="players by name, separated by semicolons")
    options = parser.parse_args()
    surfaces = (development() if options.development else frozen())[: options.surfaces]
    players = options.only.split(";") if options.only else [*TREES, *PEERS]
    jobs = [(s, player, w) for w in (False, True) for player in players for s in surfaces]
    starts: dict[bool, dict[str, list[int]]] = {
        w: {player: [] for player in players} for w in (False, True)
    }
    with ProcessPoolExecutor() as pool:
        for number, done in enumerate(pool.map(play, jobs), start=1):
            player, is_wrong, _, num = done
            starts[is_wrong][player].append(num)
            if number % len(surfaces) == 0:
                mean = statistics.fmean(starts[is_wrong][player])
                sys.stderr.write(f"{player}, wrong prior {is_wrong}: {mean:.1f}\n")
    how = f"{len(surfaces)} surfaces, at most {MAX_STARTS} starts"
    if options.development:
        return 0
    return publish("search", list(rows(starts[False], starts[True], how)))


if __name__ == "__main__":
    sys.exit(main())
