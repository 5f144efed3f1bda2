"""A claim measured again by somebody else: fresh servers, fresh seeds, no log."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp

from arbor.actors.arms import Arms, ArmSeeds
from arbor.actors.pairs import SEED_STRIDE, PlayedPair, loads_of, planned, play_pair
from arbor.actors.place import Place
from arbor.core.accuracy import Gate, violations
from arbor.core.claims import Claim
from arbor.core.measure.foreign import foreign_ratio
from arbor.core.measure.interval import Series, claim_effect
from arbor.core.measure.planning import windows_of_candidate
from arbor.core.seeds import fresh_seeds
from arbor.events.errors import BusyError
from arbor.events.settings import Settings
from arbor.events.types import AccuracySample, Effect, Hardware, Value
from arbor.targets.base import STANDARD_LOAD, ServerFailedError
from arbor.targets.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured again, and how.

    Attributes:
        campaign_id: the campaign that made the claim.
        log_head: end of its log as ``position:digest``.
        recorded_on: the machine of the campaign.
        measured_on: this machine.
        claim: the claim.
        settings: settings of the campaign.
        num_starts: server starts per arm.
        num_pairs: valid pairs a start.
        seed: seed of the first pair, unless the log used it.
        used_seeds: seeds that the log names.
        notes: what a reader must know about the comparison.
    """

    campaign_id: str
    log_head: str
    recorded_on: Hardware
    measured_on: Hardware
    claim: Claim
    settings: Settings
    num_starts: int
    num_pairs: int
    seed: int
    used_seeds: frozenset[int]
    notes: tuple[str, ...] = ()


class StartRatio(Value):
    """What one server start of each arm showed."""

    start: int
    ratio: float
    num_pairs: int


class Rechecked(Value):
    """Outcome of a recheck; the JSON of ``arbor recheck DIR --json``."""

    schema_version: int = 1
    campaign_id: str
    log_head: str
    """End of the log that made the claim, as ``arbor audit`` prints it."""
    node_id: str
    incumbent_id: str
    commit: str
    incumbent_commit: str
    claimed: Effect
    rechecked: Effect
    is_inside: bool
    """True when the rechecked ratio lies inside the claimed interval."""
    overlaps: bool
    """True when the intervals share a point."""
    starts: tuple[StartRatio, ...]
    pairs: tuple[PlayedPair, ...]
    claimed_accuracy: AccuracySample | None
    accuracy: AccuracySample
    """Distance from the frozen baseline, measured again."""
    accuracy_violation: str | None
    """How the accuracy breaks the campaign's own gate; null when it is within."""
    max_foreign_cpu_ratio: float | None
    """Largest share of the cores that other processes took in a window."""
    seed: int
    recorded_on: Hardware
    measured_on: Hardware
    notes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the claim was found again: the ratio inside, the accuracy within the gate."""
        return self.is_inside and self.accuracy_violation is None


def differences(recorded: Hardware, here: Hardware) -> tuple[str, ...]:
    """Return what makes this machine another one than the campaign's; ratios may differ then."""
    pairs = (
        (recorded.device_name, here.device_name),
        (f"{recorded.num_cores} cores", f"{here.num_cores} cores"),
        (f"{recorded.num_devices} accelerators", f"{here.num_devices} accelerators"),
    )
    return tuple(
        f"another machine: the campaign ran on {old}, this is {new}; the ratio may differ"
        for old, new in pairs
        if old != new
    )


class Recheck:
    """Measures a claim again in a temporary place.

    Args:
        place: target and a workspace that holds the claim's commits; its directory is disposable.
        plan: what is measured, and how.
        say: takes one line of progress at a time.
    """

    def __init__(self, place: Place, plan: Plan, say: Callable[[str], None]) -> None:
        self._place = place
        self._plan = plan
        self._claim = plan.claim
        self._say = say
        self._arms = Arms(place)
        self._seeds = fresh_seeds(plan.used_seeds, plan.seed, SEED_STRIDE)
        self._pairs: list[PlayedPair] = []

    def run(self) -> Rechecked:
        """Measure.

        Raises:
            BusyError: foreign load came and went, so that too few pairs count.
            ServerFailedError: a server did not start, or failed.
            WorkspaceError: git failed, or a commit is missing.
        """
        notes = (*self._plan.notes, *self._provenance())
        for note in notes:
            self._say(f"note: {note}")
        try:
            starts = [self._start(start) for start in range(1, self._plan.num_starts + 1)]
            accuracy = self._accuracy()
        except ServerFailedError as error:
            # Its log lies in the temporary place and goes with it.
            for line in error.log_tail[-5:]:
                self._say(f"server: {line}")
            raise
        finally:
            self._arms.close()
        return self._outcome(starts, accuracy, notes)

    def _provenance(self) -> list[str]:
        """Return how what is measured differs from what the log says, or this Arbor makes."""
        place, claim = self._place, self._claim
        notes = []
        commit = claim.root_commit
        for edits in claim.steps:
            commit = place.commit(commit, edits)
        if commit != claim.commit:
            notes.append(
                f"the edits in the log give commit {commit[:10]}, not the measured"
                f" {claim.commit[:10]}, which is taken from the workspace as it is"
            )
        own = Workspace(place.directory / "own").create(place.target.create_workspace)
        if own != claim.root_commit:
            notes.append(
                "this installation writes another baseline than the campaign's (another version"
                " of Arbor, of a package or of the model): the ratio may differ"
            )
        return notes

    def _start(self, start: int) -> list[float]:
        """Start both arms afresh and return the log ratios of their valid pairs."""
        plan, claim = self._plan, self._claim
        self._arms.close()
        self._say(f"start {start} of {plan.num_starts}: fresh servers of both arms")
        self._arms.get(claim.incumbent_commit, "b")
        self._arms.get(claim.commit, "a")
        first = 1 + (start - 1) * 2 * plan.num_pairs
        values = planned(plan.num_pairs, first, lambda number: self._pair(number, start))
        if not values:
            raise BusyError(
                f"foreign load came and went in all pairs of start {start}: measure again when the"
                " machine is quieter"
            )
        return values

    def _pair(self, number: int, start: int) -> float | None:
        claim, seed = self._claim, next(self._seeds)
        measure = self._plan.settings.measure
        loads = loads_of(measure.objective, STANDARD_LOAD)

        repeats = windows_of_candidate(claim.effect.ratio) if len(loads) == 1 else 1
        own_seeds = [seed, *(next(self._seeds) for _ in range(repeats - 1))]

        play = self._arms.play(
            ArmSeeds(claim.commit, "a", own_seeds),
            ArmSeeds(claim.incumbent_commit, "b", [seed]),
            claim.num_requests,
            loads=loads,
            objective=measure.objective,
            slice_s=measure.slice_s,
        )
        pair = play_pair(
            number,
            start,
            play,
            objective=measure.objective,
            num_devices=self._plan.recorded_on.num_devices,
            max_foreign_cpu_difference=measure.max_foreign_cpu_difference,
        )
        self._pairs.append(pair)
        flaw = f", does not count: {pair.flaw}" if pair.flaw is not None else ""
        self._say(f"start {start}, pair {number}: {exp(pair.log_ratio):.3f}x{flaw}")
        return pair.log_ratio if pair.is_valid else None

    def _accuracy(self) -> AccuracySample:
        self._say("accuracy against the frozen baseline")
        target = self._place.target
        reference = target.reference(self._arms.get(self._claim.root_commit, "b"))
        return target.accuracy(self._arms.get(self._claim.commit, "a"), reference)

    def _outcome(
        self, starts: Sequence[Sequence[float]], accuracy: AccuracySample, notes: tuple[str, ...]
    ) -> Rechecked:
        plan, claim = self._plan, self._claim
        claimed = claim.effect
        found = claim_effect(
            Series.of(*starts),
            plan.settings.measure.alpha,
            start_sd=plan.settings.measure.start_sd,
            foreign=foreign_ratio(self._pairs),
        )
        broken = violations(accuracy, Gate(plan.settings.gate, claim.is_exact))
        loads = [
            window.foreign_cpu_ratio
            for pair in self._pairs
            for window in (pair.candidate, pair.incumbent)
            if window.foreign_cpu_ratio is not None
        ]
        worst, limit = max(loads, default=None), plan.settings.measure.max_foreign_cpu_ratio
        if worst is not None and worst > limit:
            note = f"other processes took up to {worst:.0%} of the cores, more than {limit:.0%}"
            notes = (*notes, f"{note}: measure again when the machine is quieter")
        return Rechecked(
            campaign_id=plan.campaign_id,
            log_head=plan.log_head,
            node_id=claim.node_id,
            incumbent_id=claim.incumbent_id,
            commit=claim.commit,
            incumbent_commit=claim.incumbent_commit,
            claimed=claimed,
            rechecked=found,
            is_inside=claimed.low <= found.ratio <= claimed.high,
            overlaps=found.low <= claimed.high and claimed.low <= found.high,
            starts=tuple(
                StartRatio(
                    start=number, ratio=exp(statistics.fmean(values)), num_pairs=len(values)
                )
                for number, values in enumerate(starts, start=1)
            ),
            pairs=tuple(self._pairs),
            claimed_accuracy=claim.accuracy,
            accuracy=accuracy,
            accuracy_violation="; ".join(broken) or None,
            max_foreign_cpu_ratio=worst,
            seed=plan.seed,
            recorded_on=plan.recorded_on,
            measured_on=plan.measured_on,
            notes=notes,
        )
