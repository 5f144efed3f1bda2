"""Options of the ``command`` target: how a server is started, told, asked and changed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from arbor.events.types import ActionTemplate, Scalar, Value
from arbor.targets.command.actions import Action, template
from arbor.targets.command.commands import Command, TimedCommand
from arbor.targets.command.locators import Locator
from arbor.targets.command.measures import (
    Accuracy,
    AnswerAccuracy,
    Benchmark,
    CommandLoad,
    CommandProfile,
    HttpProfile,
    LogprobAccuracy,
    NoProfile,
    OpenAiLoad,
    ProfileSource,
)
from arbor.targets.command.template import placeholders

_KNOB = re.compile(r"[a-z][a-z0-9_]*")

SERVER_NAMES = frozenset(("host", "port", "folder", "workspace", "scratch"))
WINDOW_NAMES = frozenset(("seed", "num_requests", "concurrency", "workload", "output"))


class Launch(Command):
    """How the server is started. It has to listen on ``${host}`` and ``${port}``."""

    files: dict[str, str] = Field(default_factory=dict)
    """Files that are written below ``${scratch}`` before; in JSON and YAML values are quoted."""
    limit_s: float = Field(default=120.0, gt=0)
    """Until it is healthy."""
    grace_s: float = Field(default=10.0, ge=0)
    """How long it may take to end."""
    log_limit_bytes: int = Field(default=64 * 2**20, ge=2**16)

    @model_validator(mode="after")
    def _stays_inside(self) -> Self:
        for name in self.files:
            if Path(name).is_absolute() or ".." in Path(name).parts or not name:
                raise ValueError(f"file {name!r} lies outside of ${{scratch}}; write a plain name")
        return self

    def names(self) -> frozenset[str]:
        """Return all names that the command and the files ask for."""
        return super().names().union(*map(placeholders, self.files.values()))


class Health(Value):
    """How a server says that it is ready, and later that it is well."""

    path: str = "/health"
    """Answered with status 200."""
    command: TimedCommand | None = None
    """Ends with code 0; asked in the place of the path."""
    limit_s: float = Field(default=5.0, gt=0)
    """Of one question."""


class Report(Value):
    """What the server says of its own knobs, which proves that they took effect."""

    path: str = ""
    """Answers with JSON."""
    values: dict[str, Locator] = Field(default_factory=dict)
    """Where a knob's value stands in that answer."""
    log: dict[str, Locator] = Field(default_factory=dict)
    """``regex:`` with a group around the knob's value in the server's log."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.values and not self.path:
            raise ValueError("values need the path that answers with them")
        if any(not locator.startswith("regex:") for locator in self.log.values()):
            raise ValueError("a log is no JSON; write regex: and a pattern with one group")
        return self


class CommandTargetConfig(Value):
    """A server by its commands."""

    launch: Launch
    knobs: dict[str, Scalar] = Field(default_factory=dict)
    """What can be changed, with the baseline's values."""
    folder: Path = Path()
    """Where the commands run and what relative paths start from; the current one by default."""
    health: Health = Health()
    report: Report = Report()
    metrics: str = ""
    """Path of the Prometheus page; its counters' growth is recorded with every window."""
    benchmark: Benchmark = OpenAiLoad()
    accuracy: Accuracy
    profile: ProfileSource = NoProfile()
    actions: tuple[Action, ...] = ()
    num_devices: int = Field(default=0, ge=0)
    """Accelerators that a server needs."""
    max_servers: int = Field(default=3, ge=1)
    """Servers that fit beside each other: two arms of a comparison, and one of a specialist. With
    one or two, arms are started in turn."""
    request_limit_s: float = Field(default=60.0, gt=0)
    """Of one request that is not part of a window."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        problem = next(_problems(self), None)
        if problem is not None:
            raise ValueError(problem)
        return self

    def templates(self) -> tuple[ActionTemplate, ...]:
        """Return the actions as the search sees them."""
        return tuple(template(action, self.knobs) for action in self.actions)


def _problems(config: CommandTargetConfig) -> Iterator[str]:
    """Yield what is wrong between the sections, each with the fix."""
    yield from _knob_problems(config)
    known = SERVER_NAMES | set(config.knobs)
    yield from _unknown("launch", config.launch.names(), known)
    if "port" not in config.launch.names():
        yield "launch never says ${port}: Arbor chooses it, since two servers run side by side"
    if config.health.command is not None:
        yield from _unknown("health.command", config.health.command.names(), known)
    if isinstance(config.benchmark, CommandLoad):
        yield from _unknown("benchmark", config.benchmark.names(), known | WINDOW_NAMES)
    if isinstance(config.profile, CommandProfile):
        yield from _unknown("profile", config.profile.names(), known | {"output"})
    if isinstance(config.profile, HttpProfile):
        yield from _unknown("profile.traces", placeholders(config.profile.traces), known)
    if isinstance(config.accuracy, TimedCommand):
        yield from _unknown("accuracy", config.accuracy.names(), known | {"output"})
    yield from _action_problems(config)


def _knob_problems(config: CommandTargetConfig) -> Iterator[str]:
    for name in config.knobs:
        if not _KNOB.fullmatch(name):
            yield f"knob {name!r} is no name; write small letters, digits and _"
        if name in SERVER_NAMES | WINDOW_NAMES:
            yield f"knob {name!r} has a name of Arbor's own; choose another"
    for where, names in (("values", config.report.values), ("log", config.report.log)):
        for name in names:
            if name not in config.knobs:
                yield f"report.{where} names {name!r}, which is no knob"


def _unknown(where: str, names: frozenset[str], known: frozenset[str] | set[str]) -> Iterator[str]:
    for name in sorted(names - known):
        yield f"{where} asks for ${{{name}}}; known are {', '.join(sorted(known))}"


def _action_problems(config: CommandTargetConfig) -> Iterator[str]:
    ids = [action.id for action in config.actions]
    for action in config.actions:
        if ids.count(action.id) > 1:
            yield f"action {action.id} is there twice; rename one"
        for other in sorted(set(action.unlocked_by) - set(ids)):
            yield f"action {action.id}: unlocked_by names {other!r}, which is no action"
        yield from _change_problems(action, config)
        yield from _claim_problems(action, config)


def _change_problems(action: Action, config: CommandTargetConfig) -> Iterator[str]:
    where = f"action {action.id}"
    if not action.set and not action.search:
        yield f"{where} changes nothing; add set or search"
    for knob in action.knobs():
        if knob not in config.knobs:
            yield f"{where} names {knob!r}, which is no knob"
    for knob in sorted(set(action.set) & set(action.search)):
        yield f"{where} sets and searches {knob!r}; keep one"
    for knob, value in action.set.items():
        yield from _value_problems(where, knob, value, config)
    for knob, searched in action.search.items():
        for value in searched.choices:
            yield from _type_problems(where, knob, value, config)
        if not searched.choices and not _is_number(config.knobs.get(knob)):
            yield f"{where}: {knob!r} is no number; search it by choices"


def _claim_problems(action: Action, config: CommandTargetConfig) -> Iterator[str]:
    where = f"action {action.id}"
    if action.category != "all" and isinstance(config.profile, NoProfile):
        yield f"{where}: category {action.category!r} needs a profile; add one or say all"
    if action.is_exact and not isinstance(config.accuracy, LogprobAccuracy | AnswerAccuracy):
        yield f"{where} claims to be exact, which a score cannot show; say is_exact: false"
    if action.counter and not config.metrics:
        yield f"{where}: counter {action.counter!r} needs metrics, the path of the counters"


def _value_problems(
    where: str, knob: str, value: Scalar, config: CommandTargetConfig
) -> Iterator[str]:
    yield from _type_problems(where, knob, value, config)
    if config.knobs.get(knob) == value:
        yield f"{where}: {knob!r} is {value!r} in the baseline already"


def _type_problems(
    where: str, knob: str, value: Scalar, config: CommandTargetConfig
) -> Iterator[str]:
    before = config.knobs.get(knob)
    if before is None or type(before) is type(value) or (_is_number(before) and _is_number(value)):
        return
    yield f"{where}: {knob!r} is {value!r}, in the baseline {before!r}; use one type"


def _is_number(value: Scalar | None) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
