"""How far Arbor's keeps and intervals can be trusted: simulated campaigns with a known truth.

    python benchmarks/trust.py [--campaigns 300] [--first 0]

Campaigns run on frozen random landscapes (noise of a window 1-5 %, biased server starts, drift,
outliers). Every decision about an action is then put to other rules as well, on fresh windows of
the same two configurations: one round, three rounds, and a fixed-n test of equal error and power.
"""

import argparse
import math
import statistics
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rig import Config, Rig, play
from table import Row, at_least, at_most, publish

from arbor.actors.simulation import Simulation
from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.measure.interval import normal_quantile
from arbor.core.measure.sequential import POWER_RATIO, has_gain
from arbor.core.requests import Request
from arbor.core.state import CampaignState
from arbor.events.evidence import BenchmarkMeasured
from arbor.events.settings import MeasureSettings
from arbor.events.types import Effect, SeriesPlan
from arbor.targets.landscape_config import LandscapeConfig, Noise, random_landscape

NUM_CAMPAIGNS = 300
NUM_SWITCHES = 14
BUDGET_S = 4 * 3600.0
MEASURE = MeasureSettings(
    max_pairs=48,
    series_s=600.0,
    noise_pairs=6,
    start_sd=0.006,
    final_starts=3,
)
"""The defaults, but for longer series and a bias of starts as small as these landscapes have."""
START_SDS = (0.0, 0.002, 0.004)
MAX_FIXED_PAIRS = 400


@dataclass
class Tally:
    """What a rule did with the decisions of some campaigns."""

    num_keeps: int = 0
    num_false_keeps: int = 0
    seconds: float = 0.0
    num_detectable: int = 0
    """Decisions on an effect equal to the stated smallest detectable one."""
    num_detected: int = 0

    def add(self, *, is_kept: bool, truth: float, seconds: float) -> None:
        """Add a decision about an effect whose true log ratio is known."""
        self.num_keeps += is_kept
        self.num_false_keeps += is_kept and truth <= 0.0
        self.seconds += seconds

    def merge(self, other: "Tally") -> None:
        """Add all decisions of another tally."""
        for name in vars(other):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def false_share(self) -> float:
        """Share of the keeps whose true effect is no gain."""
        return self.num_false_keeps / max(1, self.num_keeps)

    @property
    def power(self) -> float:
        """Share of the detectable effects that were found."""
        return self.num_detected / max(1, self.num_detectable)


RULES = ("Arbor", "one round", "three rounds", "fixed n")


@dataclass
class Outcome:
    """One campaign, or many."""

    tallies: dict[str, Tally] = field(default_factory=lambda: {rule: Tally() for rule in RULES})
    series: list[tuple[Effect, float]] = field(default_factory=list)
    """Effect of every series, and its true log ratio."""
    claims: list[tuple[Effect, float]] = field(default_factory=list)

    def merge(self, other: "Outcome") -> None:
        """Add another outcome."""
        for rule, tally in other.tallies.items():
            self.tallies[rule].merge(tally)
        self.series += other.series
        self.claims += other.claims


def landscape(seed: int) -> LandscapeConfig:
    """Return the frozen landscape of a campaign; its noise depends on its number."""
    noise = Noise(
        window_sd=0.01 * (1 + seed % 5),
        start_sd=START_SDS[seed % len(START_SDS)],
        drift=0.03 if seed % 4 == 1 else 0.0,
        drift_period_s=600.0,
        outlier_ratio=0.02 if seed % 4 in {2, 3} else 0.0,
        # Every second campaign with outliers does not see what caused them.
        outlier_foreign_cpu_ratio=0.5 if seed % 4 == 2 else 0.0,
        outlier_log_loss=0.2,
    )
    return random_landscape(seed, NUM_SWITCHES, noise)


def run_campaign(seed: int) -> Outcome:
    """Run a campaign and put its decisions to all rules."""
    config = landscape(seed)
    campaign = Campaign(
        name=f"trust-{seed}",
        target="landscape",
        seed=seed,
        budget=CampaignBudget(wall=BUDGET_S),
        measure=MEASURE,
    )
    with tempfile.TemporaryDirectory() as folder:
        simulation = Simulation(Path(folder), config, campaign)
        state = simulation.run()
    outcome = Outcome()
    for request in state.requests.by_id.values():
        if isinstance(request.result, BenchmarkMeasured) and request.judgement is not None:
            _decision(outcome, config, state, request, request.result)
    return outcome


def _decision(
    outcome: Outcome,
    config: LandscapeConfig,
    state: CampaignState,
    request: Request,
    result: BenchmarkMeasured,
) -> None:
    tree = state.tree
    node = tree.node(request.asked.node_id)
    truth_of = config.resolved_surface().true_ratio
    plan = request.asked.plan
    if plan is None:
        return
    if result.purpose == "revalidation":
        truth = math.log(truth_of(tree.config_at(node.node_id)))
        outcome.claims.append((result.effect, truth))
        return
    candidate, incumbent = tree.config_at(node.node_id), tree.config_at(node.parent_id or "")
    truth = math.log(truth_of(candidate) / truth_of(incumbent))
    outcome.series.append((result.effect, truth))
    rig = partial(Rig, config, candidate, incumbent)
    arbor = outcome.tallies["Arbor"]
    # Each start of the arms costs both servers' starts; the first incumbent is up already.
    seconds = sum(p.candidate.duration_s + p.incumbent.duration_s for p in request.pairs)
    seconds += 2 * config.start_s * result.effect.num_starts_per_arm
    is_accepted = request.judgement is not None and request.judgement.is_accepted
    arbor.add(is_kept=is_accepted, truth=truth, seconds=seconds)
    for rule, num_rounds, threshold in (("one round", 1, 1.0), ("three rounds", 3, 1.01)):
        rounds = rig(seed=num_rounds)
        values = [rounds.pair()[0] for _ in range(num_rounds)]
        is_kept = statistics.fmean(values) > math.log(threshold)
        outcome.tallies[rule].add(is_kept=is_kept, truth=truth, seconds=rounds.seconds)
    _fixed(outcome.tallies["fixed n"], rig(seed=7), plan, truth)
    if plan.mde_ratio is not None:
        _at_detectable(outcome, config, plan)


def num_fixed_pairs(plan: SeriesPlan, pair_sd: float) -> int:
    """Return the pairs of a fixed-n test with the level, the effect and the power of a plan.

    It is told the true noise. Pairs lie on as many starts as the plan may use.
    """
    quantiles = normal_quantile(1.0 - plan.alpha / 2.0) + normal_quantile(POWER_RATIO)
    error = math.log(plan.mde_ratio or 1.1) / quantiles
    left = error**2 - plan.start_sd**2 / plan.max_starts
    if left <= 0:
        return MAX_FIXED_PAIRS
    return min(MAX_FIXED_PAIRS, max(2 * plan.max_starts, math.ceil(pair_sd**2 / left)))


def _fixed_test(rig: Rig, plan: SeriesPlan) -> bool:
    """Return whether a fixed-n test keeps."""
    num = num_fixed_pairs(plan, rig.pair_sd)
    values: list[float] = []
    for start in range(plan.max_starts):
        if start:
            rig.restart()
        own = (num + start) // plan.max_starts
        values += rig.valid_pairs(own)
    mean, sd = statistics.fmean(values), statistics.stdev(values)
    error = math.sqrt(sd**2 / len(values) + plan.start_sd**2 / plan.max_starts)
    is_proved = mean > normal_quantile(1.0 - plan.alpha / 2.0) * error
    return is_proved and mean >= math.log(plan.min_gain_ratio)


def _fixed(tally: Tally, rig: Rig, plan: SeriesPlan, truth: float) -> None:
    is_kept = _fixed_test(rig, plan)
    tally.add(is_kept=is_kept, truth=truth, seconds=rig.seconds)


def _at_detectable(outcome: Outcome, config: LandscapeConfig, plan: SeriesPlan) -> None:
    """Put an effect equal to the stated smallest detectable one to both tests."""
    effect = math.log(plan.mde_ratio or 1.0)
    baseline: Config = config.resolved_surface().baseline()
    rig = partial(Rig, config, baseline, baseline, added=effect)
    arbor, fixed = outcome.tallies["Arbor"], outcome.tallies["fixed n"]
    arbor.num_detectable += 1
    arbor.num_detected += has_gain(play(rig(seed=11), plan), plan)
    fixed.num_detectable += 1
    fixed.num_detected += _fixed_test(rig(seed=13), plan)


def coverage(effects: Iterable[tuple[Effect, float]]) -> float:
    """Return the share of intervals that hold the truth."""
    held = [effect.low <= math.exp(truth) <= effect.high for effect, truth in effects]
    return sum(held) / max(1, len(held))


def width_points(effects: Iterable[tuple[Effect, float]]) -> float:
    """Return the median width of intervals, in percent of their ratio."""
    return statistics.median(100.0 * (e.high - e.low) / e.ratio for e, _ in effects)


def rows(outcome: Outcome, num_campaigns: int) -> list[Row]:
    """Return the table."""
    how = f"{num_campaigns} campaigns on frozen landscapes, {len(outcome.series)} decisions"
    arbor, fixed = outcome.tallies["Arbor"], outcome.tallies["fixed n"]
    table = []
    for rule in RULES:
        tally = outcome.tallies[rule]
        name, share = f"false keeps, {rule}", 100 * tally.false_share
        table += [
            at_most(name, share, "% of keeps", 2, how)
            if rule == "Arbor"
            else Row(name, share, "% of keeps", how=how),
            Row(f"keeps, {rule}", tally.num_keeps, "", how=how),
            Row(f"benchmark time, {rule}", tally.seconds / 3600, "h", how=how),
        ]
    detectable = f"{arbor.num_detectable} effects equal to the stated smallest one"
    told = "fixed n has equal level, effect and planned power, and is told the true noise"
    time_ratio = 100 * arbor.seconds / fixed.seconds
    return [
        *table,
        at_least("power at the stated effect, Arbor", arbor.power, "", 0.8, detectable),
        Row("power at the stated effect, fixed n", fixed.power, "", how=detectable),
        at_most("benchmark time over that of fixed n", time_ratio, "%", 70, told),
        at_least("coverage, all series", 100 * coverage(outcome.series), "%", 95, how),
        at_least("coverage, final claims", 100 * coverage(outcome.claims), "%", 95, how),
        at_most("median width, final claims", width_points(outcome.claims), "points", 4, how),
        Row("median width, all series", width_points(outcome.series), "points", how=how),
    ]


def main() -> int:
    """Run the campaigns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=NUM_CAMPAIGNS)
    parser.add_argument("--first", type=int, default=0, help="number of the first landscape")
    options = parser.parse_args()
    total = Outcome()
    seeds = range(options.first, options.first + options.campaigns)
    with ProcessPoolExecutor() as pool:
        for number, outcome in enumerate(pool.map(run_campaign, seeds), start=1):
            total.merge(outcome)
            if number % 10 == 0:
                sys.stderr.write(f"{number} of {options.campaigns} campaigns\n")
    return publish("trust", rows(total, options.campaigns))


if __name__ == "__main__":
    sys.exit(main())
