"""The best stack of the engine's switches, by a long offline search without Arbor's tree.

    python benchmarks/engine_best_stack.py                   # search; writes the best stack
    python benchmarks/engine_best_stack.py --start DIR       # begin with a campaign's final stack
    python benchmarks/engine_best_stack.py --against DIR     # compare a campaign's final stack

The search is coordinate ascent: every switch and number of the catalog is tried on the current
best, added or taken away, until a whole pass changes nothing. It has no budget and no priors;
changes that fail the accuracy gate or crash are refused and not tried again.
"""

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from table import Row, at_least, publish

from arbor.actors.arms import Arms, ArmSeeds
from arbor.actors.place import Place
from arbor.actors.processes import place_for
from arbor.core.accuracy import Gate, violations
from arbor.core.layout import CampaignDirectory
from arbor.core.measure.interval import Series, series_effect
from arbor.events.settings import GateSettings, MeasureSettings
from arbor.events.types import ActionTemplate, Edit, Parameter
from arbor.replay.reading import open_campaign
from arbor.targets.base import ServerFailedError
from arbor.targets.hardware import probe_hardware
from arbor.targets.registry import create_target

BEST = Path(__file__).with_name("engine_best_stack_edits.json")
"""Edits of the best stack found, key to value: what ``--against`` compares with."""
NUM_PAIRS = 3
WINDOW_S = 1.0
SLICE_S = MeasureSettings().slice_s
MIN_GAIN = 1.005
NUM_PASSES = 3
NUM_POINTS = 6
FINAL_PAIRS = 12
GOAL = 0.95
"""Share of the best stack's throughput that a campaign should reach."""

Stack = tuple[Edit, ...]


def merged(stack: Stack, edits: Sequence[Edit]) -> Stack:
    """Return a stack with further edits; later ones win."""
    values = {edit.key: edit for edit in (*stack, *edits)}
    return tuple(values[key] for key in sorted(values))


def without(stack: Stack, keys: frozenset[str]) -> Stack:
    """Return a stack without the edits of some keys."""
    return tuple(edit for edit in stack if edit.key not in keys)


Move = Callable[[Stack], Stack]


def points(parameter: Parameter) -> list[Edit]:
    """Return the values of one number that are tried."""
    if parameter.kind == "categorical":
        return [Edit(key=parameter.key, value=value) for value in parameter.choices]
    low, high = parameter.low or 0.0, parameter.high or 1.0
    grid = []
    for step in range(NUM_POINTS):
        part = step / (NUM_POINTS - 1)
        value = low * (high / low) ** part if parameter.log else low + (high - low) * part
        grid.append(round(value) if parameter.kind == "int" else value)
    return [Edit(key=parameter.key, value=value) for value in sorted(set(grid))]


class Search:
    """Coordinate ascent over the catalog."""

    def __init__(self, place: Place, templates: Sequence[ActionTemplate]) -> None:
        self._place = place
        self._templates = templates
        self._arms = Arms(place)
        self._arms.is_quick = True
        self._root = place.workspace.create(place.target.create_workspace)
        self._baseline = dict(place.target.baseline_config())
        self._reference = place.target.reference(self._arms.get(self._root))
        self.num_measured = 0
        self._refused: set[str] = set()

    def commit(self, stack: Stack) -> str:
        """Return the commit of a stack."""
        return self._place.commit(self._root, stack)

    def ratio(self, candidate: str, incumbent: str, num_pairs: int) -> list[float]:
        """Return log ratios of windows of two commits that are played in turns."""
        num_requests = self._arms.num_requests(incumbent, WINDOW_S)
        values = []
        for number in range(num_pairs):
            seed = 5_000_011 + self.num_measured * 1009 + number * 7919
            played = self._arms.in_turns(
                ArmSeeds(candidate, "a", [seed]),
                ArmSeeds(incumbent, "a", [seed]),
                num_requests,
                SLICE_S,
                is_candidate_first=number % 2 == 0,
            )
            [own], [other] = (windows.result() for windows in played)
            values.append(math.log(own.throughput_tok_s / other.throughput_tok_s))
        self.num_measured += 1
        return values

    def is_accurate(self, commit: str, *, claims_exact: bool) -> bool:
        """Return whether a commit passes the gate that campaigns use."""
        gate = Gate(GateSettings(), claims_exact)
        sample = self._place.target.accuracy(self._arms.get(commit), self._reference, gate)
        return not violations(sample, gate)

    def moves(self) -> list[tuple[str, Move]]:
        """Return every change of one template or one number, as name and function of a stack."""
        found: list[tuple[str, Move]] = []
        for template in self._templates:
            variants = [(*template.edits, e) for p in template.space for e in points(p)]
            for edits in variants or [template.edits]:
                text = ", ".join(f"{edit.key}={edit.value}" for edit in edits)
                found.append((f"+ {text}", partial(merged, edits=edits)))
            keys = frozenset(edit.key for edit in template.edits)
            if keys:
                found.append((f"- {template.template_id}", partial(without, keys=keys)))
        return found

    def run(self, stack: Stack, num_passes: int) -> Stack:
        """Return a stack that no single change improves, or the best after some passes."""
        for number in range(1, num_passes + 1):
            has_changed = False
            for name, move in self.moves():
                candidate = self._settled(move(stack))
                if self._try(name, candidate, stack):
                    stack, has_changed = candidate, True
            print(f"pass {number}: {len(stack)} edits", flush=True)
            if not has_changed:
                break
        return stack

    def _settled(self, stack: Stack) -> Stack:
        """Return a stack without the edits that the baseline holds anyway."""
        return tuple(edit for edit in stack if self._baseline[edit.key] != edit.value)

    def _try(self, name: str, candidate: Stack, stack: Stack) -> bool:
        commit, incumbent = self.commit(candidate), self.commit(stack)
        if commit == incumbent or name in self._refused:
            return False
        try:
            gain = math.exp(statistics.median(self.ratio(commit, incumbent, NUM_PAIRS)))
            print(f"  {name}: {gain:.3f}x", flush=True)
            if gain <= MIN_GAIN:
                return False
            if self.is_accurate(commit, claims_exact=False):
                return True
            print(f"  {name}: not accurate", flush=True)
        except ServerFailedError as error:
            self._arms.drop(commit)
            print(f"  {name}: {error}", flush=True)
        self._refused.add(name)
        return False

    def close(self) -> None:
        """End all servers."""
        self._arms.close()


def final_stack(directory: Path) -> Stack:
    """Return the edits that a campaign's final stack makes to the baseline."""
    state = open_campaign(directory).state()
    config = state.tree.config_at(state.tree.current_id)
    baseline = state.tree.root_config
    return tuple(Edit(key=k, value=v) for k, v in sorted(config.items()) if baseline[k] != v)


def search(start: Stack, num_passes: int) -> int:
    """Search for the best stack and write it; return the exit code."""
    target = create_target("engine", {})
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        engine = Search(place_for(Path(folder), target), target.actions(probe_hardware()))
        try:
            stack = engine.run(start, num_passes)
            values = engine.ratio(engine.commit(stack), engine.commit(()), FINAL_PAIRS)
        finally:
            engine.close()
    effect = series_effect(Series.of(values), 0.05, start_sd=0.0)
    how = (
        f"coordinate ascent, {engine.num_measured} comparisons, {time.monotonic() - begin:.0f} s; "
        f"interval {effect.low:.3f} .. {effect.high:.3f}"
    )
    for edit in stack:
        print(f"  {edit.key}={edit.value}")
    BEST.write_text(json.dumps({edit.key: edit.value for edit in stack}, indent=2) + "\n")
    row = Row("best stack over baseline", effect.ratio, "ratio", how=how)
    return publish("engine_best_stack", [row])


def against(directory: Path) -> int:
    """Compare a campaign's final stack with the best stack; return the exit code."""
    if not BEST.exists():
        sys.exit(f"no {BEST}: search for the best stack first, without --against")
    best = json.loads(BEST.read_text())
    final = final_stack(directory)
    stack = tuple(Edit(key=key, value=value) for key, value in sorted(best.items()))
    target = create_target("engine", {})
    with tempfile.TemporaryDirectory() as folder:
        engine = Search(place_for(Path(folder), target), target.actions(probe_hardware()))
        try:
            values = engine.ratio(engine.commit(final), engine.commit(stack), FINAL_PAIRS)
        finally:
            engine.close()
    effect = series_effect(Series.of(values), 0.05, start_sd=0.0)
    for edit in final:
        print(f"  {edit.key}={edit.value}")
    how = f"{CampaignDirectory(directory).path}; interval {effect.low:.3f} .. {effect.high:.3f}"
    row = at_least("final stack over best stack", effect.ratio, "ratio", GOAL, how)
    return publish("engine_best_stack_against", [row])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--start", type=Path, help="campaign directory to begin with")
    parser.add_argument("--against", type=Path, help="campaign directory to compare")
    parser.add_argument("--passes", type=int, default=NUM_PASSES, help="passes at most")
    arguments = parser.parse_args()
    if arguments.against is not None:
        sys.exit(against(arguments.against))
    start = final_stack(arguments.start) if arguments.start is not None else ()
    sys.exit(search(start, arguments.passes))
