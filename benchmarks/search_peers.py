"""Peers of the tree: searches over whole stacks, which get the same priors and the same rules.

A peer's start is one stack that is started and measured. Peers know requirements and exclusions
from the catalog as the tree does, and start with what the priors say: all switches that should
help, the better half of them, the best quarter.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from arbor.core.scoring import expected_gain
from arbor.events.types import ActionTemplate, Edit, Hardware, Parameter, Scalar
from arbor.search.engine import create_engine
from arbor.search.space import Point
from arbor.targets.landscape import LandscapeTarget
from arbor.targets.landscape_config import LandscapeConfig
from arbor.targets.landscape_samples import random_stream

Stack = Mapping[str, Scalar]
HARDWARE = Hardware(host="h", kind="cpu", device_name="test", num_cores=2, memory_bytes=1 << 30)
NUM_WINDOWS = 8
"""Windows of a start that a peer's figure is the mean of."""
MIN_PRIOR = 1.05
MAX_RISK = 0.1
NUM_POINTS = 6
"""Values of a number that the greedy peer tries."""


@dataclass
class Problem:
    """A landscape as a peer sees it.

    Attributes:
        num_starts: stacks that were started so far.
    """

    config: LandscapeConfig
    seed: int
    max_kl: float
    goal_ratio: float
    num_starts: int = 0
    has_reached: bool = False

    def __post_init__(self) -> None:
        self.surface = self.config.resolved_surface()
        target = LandscapeTarget(self.config.model_copy(update={"time_scale": 0.0}))
        self.templates = list(target.actions(HARDWARE))
        self.baseline = self.surface.baseline()
        self._shares = self.surface.shares(self.baseline)
        self._stream = random_stream("peer", self.seed)

    def value(self, stack: Stack) -> float | None:
        """Start a stack and return its log throughput with noise; None when it fails."""
        self.num_starts += 1
        if self.surface.crash(stack) is not None or self.surface.kl(stack) > self.max_kl:
            return None
        ratio = self.surface.true_ratio(stack)
        # Whoever has measured it once may claim it: peers need no proof.
        self.has_reached |= ratio >= self.goal_ratio
        noise = self.config.noise
        sd = math.sqrt(noise.start_sd**2 + noise.window_sd**2 / NUM_WINDOWS)
        return math.log(ratio) + self._stream.gauss(0.0, sd)

    def promise(self, template: ActionTemplate) -> float:
        """Return the expected gain of a template by its prior and the baseline's profile."""
        share = self._shares.get(template.category, 1.0)
        return expected_gain(share, template.prior_speedup_ratio)

    def allowed(self, stack: Stack) -> dict[str, Scalar]:
        """Return a stack without the switches that the catalog rules out on it."""
        settled = dict(stack)
        for _ in self.templates:
            wrong = [t for t in self.templates if self._is_on(t, settled) and _breaks(t, settled)]
            if not wrong:
                break
            weakest = min(wrong, key=self.promise)
            settled.update((edit.key, self.baseline[edit.key]) for edit in weakest.edits)
        return settled

    def _is_on(self, template: ActionTemplate, stack: Stack) -> bool:
        return bool(template.edits) and all(stack[e.key] == e.value for e in template.edits)

    def prior_stacks(self) -> list[dict[str, Scalar]]:
        """Return the stacks that the priors propose, the boldest first."""
        hopeful = [
            template
            for template in sorted(self.templates, key=lambda t: -self.promise(t))
            if template.edits
            and template.prior_speedup_ratio >= MIN_PRIOR
            and template.prior_accuracy_risk_ratio <= MAX_RISK
        ]
        stacks = []
        for part in (1, 2, 4):
            stack = dict(self.baseline)
            for template in hopeful[: math.ceil(len(hopeful) / part)]:
                stack.update((edit.key, edit.value) for edit in template.edits)
            stacks.append(self.allowed(stack))
        return stacks


def _breaks(template: ActionTemplate, stack: Stack) -> bool:
    return any(stack[r.key] not in r.any_of for r in template.requires) or any(
        stack[c.key] in c.any_of for c in template.conflicts
    )


def _space(problem: Problem) -> tuple[Parameter, ...]:
    switches = [
        Parameter(
            key=edit.key, kind="categorical", choices=(problem.baseline[edit.key], edit.value)
        )
        for template in problem.templates
        for edit in template.edits
    ]
    numbers = [parameter for template in problem.templates for parameter in template.space]
    return (*switches, *numbers)


def engine_peer(name: str) -> Callable[[Problem, int], None]:
    """Return a peer that asks a registered search engine for whole stacks."""

    def search(problem: Problem, limit: int) -> None:
        space = _space(problem)
        keys = [parameter.key for parameter in space]

        def point(stack: Stack) -> Point:
            return tuple(Edit(key=key, value=stack[key]) for key in keys)

        first = list(dict.fromkeys(point(stack) for stack in problem.prior_stacks()))
        engine = create_engine(name, space, problem.seed, first, budget=limit)
        while not problem.has_reached and problem.num_starts < limit:
            asked = engine.ask()
            stack = problem.allowed(problem.baseline | {e.key: e.value for e in asked})
            engine.tell(asked, problem.value(stack))

    return search


def greedy(problem: Problem, limit: int) -> None:
    """Add what helps, in the order of the expected gains; again until a pass changes nothing."""
    _climb(problem, dict(problem.baseline), 0.0, limit)


def greedy_from_prior(problem: Problem, limit: int) -> None:
    """Begin with the best of the stacks that the priors propose, then add and take away."""
    values = [(problem.value(stack), stack) for stack in problem.prior_stacks()]
    works = [(value, stack) for value, stack in values if value is not None]
    top, best = max(works, key=lambda each: each[0], default=(0.0, dict(problem.baseline)))
    if top < 0.0:
        top, best = 0.0, dict(problem.baseline)
    _climb(problem, best, top, limit)


def _climb(problem: Problem, best: dict[str, Scalar], top: float, limit: int) -> None:
    has_changed = True
    while has_changed:
        has_changed = False
        for template in sorted(problem.templates, key=lambda t: -problem.promise(t)):
            for stack in _moves(problem, template, best):
                if problem.has_reached or problem.num_starts >= limit:
                    return
                value = problem.value(stack)
                if value is not None and value > top:
                    best, top, has_changed = stack, value, True


def _moves(problem: Problem, template: ActionTemplate, best: Stack) -> Iterator[dict[str, Scalar]]:
    """Yield the stacks that differ from the best one in a template."""
    if not template.space:
        is_on = all(best[edit.key] == edit.value for edit in template.edits)
        values = {e.key: problem.baseline[e.key] if is_on else e.value for e in template.edits}
        stack = {**best, **values}
        if is_on or problem.allowed(stack) == stack:
            yield problem.allowed(stack)
        return
    for parameter in template.space:
        for value in _grid(parameter):
            if value != best[parameter.key]:
                yield {**best, parameter.key: value}


def _grid(parameter: Parameter) -> Sequence[Scalar]:
    low, high = parameter.low or 1.0, parameter.high or 1.0
    steps = [low * (high / low) ** (n / (NUM_POINTS - 1)) for n in range(NUM_POINTS)]
    return [round(step) if parameter.kind == "int" else step for step in steps]


PEERS: Mapping[str, Callable[[Problem, int], None]] = {
    "greedy": greedy,
    "greedy from prior stacks": greedy_from_prior,
    "Optuna TPE": engine_peer("tpe"),
    "NGOpt": engine_peer("ngopt"),
    "CMA-ES": engine_peer("cma"),
    "CMA-ES wide": engine_peer("cma_wide"),
    "CMA-ES local": engine_peer("cma_local"),
    "CMA-ES large": engine_peer("cma_large"),
    "random": engine_peer("random"),
}
