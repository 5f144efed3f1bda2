"""Reactors on a log in memory; the test plays the bench, the specialists and the human."""

import math
from collections.abc import Sequence
from typing import TypeVar

from arbor.actors.critic import Critic
from arbor.actors.journal import Journal
from arbor.actors.orchestrator import Orchestrator
from arbor.actors.shell import ReactorShell
from arbor.actors.supervisor import Supervisor
from arbor.core.clock import VirtualClock
from arbor.core.measure.interval import Series, series_effect
from arbor.core.requests import Request
from arbor.core.state import CampaignState
from arbor.core.tree import Node, Status
from arbor.events.base import Event, Recorded
from arbor.events.campaign import CampaignStarted
from arbor.events.evidence import (
    AccuracyMeasured,
    BenchmarkMeasured,
    NoiseCalibrated,
    PairMeasured,
    ProfileTaken,
)
from arbor.events.memory import MemoryLog
from arbor.events.outcome import Crashed
from arbor.events.requests import Purpose
from arbor.events.settings import MeasureSettings, Settings
from arbor.events.types import (
    ActionTemplate,
    CategoryShare,
    Edit,
    Effect,
    GuardEffect,
    Hardware,
    Layer,
    Profile,
    WindowSample,
)
from arbor.events.work import AttemptStarted, PatchProposed
from tests.fakes.accuracy import accuracy_sample

E = TypeVar("E", bound=Event)
HARDWARE = Hardware(host="h", kind="cpu", device_name="test", num_cores=2, memory_bytes=1 << 30)
ROOT_COMMIT = "commit-n000"
WITHOUT_SOAK = Settings(measure=MeasureSettings(soak_s=0.0))
"""The defaults, but campaigns end with their final claim."""
SPREAD = (0.004, -0.004, 0.0)
"""Deviation of the log ratios of a benchmark's three pairs."""


def template(name: str, layer: Layer = Layer.KERNEL, **fields: object) -> ActionTemplate:
    """Return a switch ``s.<name>`` that the category ``attention`` would profit from."""
    own: dict[str, object] = {
        "template_id": name,
        "layer": layer,
        "category": "attention",
        "title": f"Turn on {name}",
        "edits": (Edit(key=f"s.{name}", value=True),),
        "prior_speedup_ratio": 1.5,
        "cost_s": 10.0,
    }
    return ActionTemplate.model_validate(own | fields)


def profile(**shares: float) -> Profile:
    """Return a profile of categories and their shares."""
    named = tuple(CategoryShare(category=c, share_ratio=s) for c, s in shares.items())
    return Profile(shares=named, window_s=1.0, source="stage")


def window(throughput_tok_s: float, **fields: object) -> WindowSample:
    """Return a window without faults."""
    own: dict[str, object] = {
        "num_completed": 8,
        "num_failed": 0,
        "num_input_tokens": 80,
        "num_output_tokens": 100,
        "duration_s": 100.0 / throughput_tok_s,
        "throughput_tok_s": throughput_tok_s,
    }
    return WindowSample.model_validate(own | fields)


def started(templates: Sequence[ActionTemplate], settings: Settings) -> CampaignStarted:
    """Return the first event of a campaign in which every switch is off."""
    keys = sorted({e.key for t in templates for e in t.edits} | {"s.size"})
    config = ", ".join(f'"{key}": {"8" if key == "s.size" else "false"}' for key in keys)
    return CampaignStarted(
        name="stage",
        target="landscape",
        target_config="{}",
        settings=settings,
        actions=tuple(templates),
        hardware=HARDWARE,
        root_commit=ROOT_COMMIT,
        root_config=f"{{{config}}}",
        arbor_version="0",
    )


class Stage:
    """The three reactors of a campaign, and everything that the world answers them.

    Attributes:
        log: the log.
        clock: moves only when the test moves it.
        reactors: shells by name.
    """

    def __init__(self, *templates: ActionTemplate, settings: Settings | None = None) -> None:
        self.clock = VirtualClock()
        self.log = MemoryLog("c", self.clock.now)
        self._watcher = Journal(self.log, "watcher", self.clock)
        self._journals: dict[str, Journal] = {}
        self.say(started(templates, settings or WITHOUT_SOAK), actor="supervisor")
        self.restart()

    def restart(self) -> None:
        """Give all reactors new incarnations, which fold the log from its start."""
        self.reactors = {
            reactor.name: ReactorShell(reactor, self.log, self.clock)
            for reactor in (Orchestrator(), Critic(), Supervisor())
        }
        for shell in self.reactors.values():
            shell.start()

    # What the test looks at

    @property
    def state(self) -> CampaignState:
        """The campaign's state now."""
        self._watcher.catch_up()
        return self._watcher.state

    def events(self) -> tuple[Recorded, ...]:
        """Return the whole log."""
        return tuple(self.log.read())

    def of_kind(self, kind: type[E]) -> list[E]:
        """Return the events of a kind, in order."""
        return [r.event for r in self.log.read() if isinstance(r.event, kind)]

    def node_of(self, template_id: str) -> Node:
        """Return the latest node of a template."""
        tree = self.state.tree
        found = [n for n in tree.nodes.values() if n.template_id == template_id]
        return found[-1]

    def action_of(self, template_id: str) -> str:
        """Return the latest action of a template."""
        return self.state.tree.history(template_id)[-1].action_id

    def request(self, purpose: Purpose) -> Request:
        """Return the open request of a purpose.

        Raises:
            LookupError: there is none.
        """
        found = [r for r in self.state.requests.open() if r.asked.purpose == purpose]
        if not found:
            raise LookupError(f"no open request for {purpose}")
        return found[0]

    def has_request(self, purpose: Purpose) -> bool:
        """Return whether a request of a purpose is open."""
        return any(r.asked.purpose == purpose for r in self.state.requests.open())

    # What the test does

    def say(self, *events: Event, actor: str = "human") -> None:
        """Append events as an actor without an incarnation."""
        journal = self._journals.setdefault(actor, Journal(self.log, actor, self.clock))
        journal.append(*events)

    def turn(self) -> list[Event]:
        """Let all reactors decide until none has anything to say; return what they said."""
        before = self.log.head().position
        while sum(shell.run_until_quiet() for shell in self.reactors.values()):
            pass
        return [r.event for r in self.log.read(after=before)]

    def work(self, template_id: str, edits: tuple[Edit, ...] = ()) -> Node:
        """Finish the work of a specialist on a dispatched template with a patch."""
        node = self.node_of(template_id)
        self.say(
            PatchProposed(
                action_id=node.action_id,
                attempt_id=f"{node.node_id}.1",
                node_id=node.node_id,
                base_commit=node.parent_commit or "",
                commit=f"commit-{node.node_id}",
                edits=edits or node.edits or (Edit(key="s.size", value=16),),
                diff_digest="d",
                validation="served",
            ),
            actor=f"specialist-{node.node_id}",
        )
        return self.node_of(template_id)

    def break_work(self, template_id: str, message: str, **fields: object) -> None:
        """Let the specialist's candidate crash."""
        node = self.node_of(template_id)
        own = {"action_id": node.action_id, "node_id": node.node_id, "phase": "start"}
        crash = Crashed.model_validate({"message": message} | own | fields)
        self.say(crash, actor=f"specialist-{node.node_id}")

    def begin(self, purpose: Purpose) -> Request:
        """Start an attempt at the open request of a purpose."""
        request = self.request(purpose)
        asked = request.asked
        number = request.num_attempts + 1
        attempt = AttemptStarted(
            action_id=asked.action_id,
            attempt_id=f"{asked.request_id}.{number}",
            attempt=number,
            request_id=asked.request_id,
        )
        self.say(attempt, actor="bench")
        return self.request(purpose)

    def break_measurement(
        self, purpose: Purpose, message: str, *, is_candidate: bool = True
    ) -> None:
        """Let a server crash during a measurement: the candidate's, or the incumbent's."""
        request = self.begin(purpose)
        crash = Crashed(
            action_id=request.asked.action_id if is_candidate else None,
            attempt_id=request.attempt_id,
            request_id=request.asked.request_id,
            node_id=request.asked.node_id,
            phase=purpose,
            message=message,
        )
        self.say(crash, actor="bench")

    def _fields(self, request: Request) -> dict[str, object]:
        asked = request.asked
        node = self.state.tree.node(asked.node_id)
        is_settled = node.status is Status.KEPT
        return {
            "action_id": asked.action_id,
            "attempt_id": request.attempt_id,
            "causation_id": request.event_id,
            "request_id": asked.request_id,
            "node_id": asked.node_id,
            "commit": asked.parent_commit if is_settled else f"commit-{node.node_id}",
        }

    def take_profile(self, **shares: float) -> None:
        """Answer the request for a profile."""
        request = self.begin("profile")
        found = profile(**(shares or {"attention": 0.5, "linear": 0.5}))
        self.say(
            ProfileTaken.model_validate(self._fields(request) | {"profile": found}), actor="bench"
        )

    def calibrate(self, duration_s: float = 10.0) -> None:
        """Answer the request for a calibration of noise."""
        request = self.begin("noise")
        self.clock.sleep(duration_s)
        self.say(*self._pairs(request, 1.0, {}, {}), actor="bench")
        effect = series_effect(Series.of(SPREAD), 0.05, start_sd=0.0)
        own = {"effect": effect, "mde_ratio": 1.03}
        self.say(
            NoiseCalibrated.model_validate(self._fields(request) | own | {"num_requests": 8}),
            actor="bench",
        )

    def check_accuracy(self, kl: float = 0.0) -> None:
        """Answer the request for accuracy."""
        request = self.begin("accuracy")
        own = {"sample": accuracy_sample(kl)}
        self.say(AccuracyMeasured.model_validate(self._fields(request) | own), actor="bench")

    def measure(
        self,
        ratio: float,
        purpose: Purpose = "benchmark",
        *,
        has_witness: bool = True,
        candidate: dict[str, object] | None = None,
        incumbent: dict[str, object] | None = None,
        guards: tuple[GuardEffect, ...] = (),
    ) -> None:
        """Answer a request for a benchmark with three pairs around a ratio."""
        request = self.begin(purpose)
        self.clock.sleep(3.0)
        self.say(*self._pairs(request, ratio, candidate or {}, incumbent or {}), actor="bench")
        result = self._result(request, ratio, has_witness=has_witness)
        self.say(result.model_copy(update={"guards": guards}), actor="bench")

    def _pairs(
        self,
        request: Request,
        ratio: float,
        candidate: dict[str, object],
        incumbent: dict[str, object],
    ) -> list[PairMeasured]:
        return [
            PairMeasured.model_validate(
                self._fields(request)
                | {
                    "pair": number,
                    "start": 1,
                    "is_candidate_first": number % 2 == 1,
                    "candidate": window(100.0 * ratio * math.exp(deviation), **candidate),
                    "incumbent": window(100.0, **incumbent),
                    "log_ratio": math.log(ratio) + deviation,
                }
            )
            for number, deviation in enumerate(SPREAD, start=1)
        ]

    def effect(self, ratio: float) -> Effect:
        """Return the effect of three pairs around a ratio."""
        series = Series.of([math.log(ratio) + deviation for deviation in SPREAD])
        return series_effect(series, 0.05, start_sd=0.0)

    def _result(self, request: Request, ratio: float, *, has_witness: bool) -> BenchmarkMeasured:
        effect = self.effect(ratio)
        own = {
            "purpose": request.asked.purpose,
            "incumbent_commit": request.asked.incumbent_commit,
            "effect": effect,
            "stop": "gain" if effect.low > 1.0 else "no_gain",
            "has_witness": has_witness,
            "witness_detail": "seen" if has_witness else "x.used did not grow",
            "mean_throughput_tok_s": 100.0 * ratio,
        }
        return BenchmarkMeasured.model_validate(self._fields(request) | own)

    # Longer stretches

    def open(self, **shares: float) -> list[Event]:
        """Play a campaign up to its first dispatches; return what the reactors said last."""
        self.turn()
        self.take_profile(**shares)
        self.calibrate()
        return self.turn()

    def keep(self, template_id: str, ratio: float = 1.5, **shares: float) -> Node:
        """Bring a dispatched template to its keep and profile the new node."""
        self.work(template_id)
        return self.keep_measured(template_id, ratio, **shares)

    def keep_measured(self, template_id: str, ratio: float = 1.5, **shares: float) -> Node:
        """Bring a template whose work is done to its keep and profile the new node."""
        self.turn()
        self.check_accuracy()
        self.turn()
        self.measure(ratio)
        self.turn()
        if self.has_request("profile"):
            self.take_profile(**shares)
        self.turn()
        return self.node_of(template_id)

    def revert(self, template_id: str, ratio: float = 0.9) -> Node:
        """Bring a dispatched template to its reversal."""
        self.work(template_id)
        self.turn()
        self.check_accuracy()
        self.turn()
        self.measure(ratio)
        self.turn()
        return self.node_of(template_id)
