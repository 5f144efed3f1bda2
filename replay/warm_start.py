"""Warm start: what other campaigns' logs teach, as events for a new one, with their provenance."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from arbor.core.layout import CampaignDirectory
from arbor.core.lessons import Found, Lesson, lessons, observations
from arbor.core.scene import Scene, scene_of, transfer_ratio
from arbor.core.scoring import implied_speedup
from arbor.core.state import CampaignState
from arbor.events.base import SCHEMA_VERSION, Event
from arbor.events.campaign import CampaignStarted
from arbor.events.errors import ArborError, CorruptLogError, InvalidInputError, NotFoundError
from arbor.events.evidence import BenchmarkMeasured
from arbor.events.knowledge import KnowledgeImported, StackImported
from arbor.events.log import Head
from arbor.events.types import Edit
from arbor.events.verify import verify
from arbor.replay.reading import open_reader
from arbor.replay.rules.base import UnfoldableError, fold

MAX_STACK_RATIO = 100.0
"""A foreign log may claim anything; nothing is expected beyond this."""


@dataclass(frozen=True, slots=True)
class Source:
    """A campaign whose log was read, whole and in order.

    Attributes:
        path: its directory.
        campaign_id: its id.
        head: where its log ended; the digest is its provenance.
        started: its first event of substance.
        state: its state at the end.
    """

    path: Path
    campaign_id: str
    head: Head
    started: CampaignStarted
    state: CampaignState

    @property
    def scene(self) -> Scene:
        """Where it ran."""
        return scene_of(self.started)

    def found(self) -> Iterator[Found]:
        """Yield what it saw of every template."""
        for observation in observations(self.state):
            yield Found(self.scene, self.campaign_id, observation)


@dataclass(frozen=True, slots=True)
class Sources:
    """The campaigns that could be used, and one line about each that could not.

    Attributes:
        usable: each campaign once, in the order given.
        refused: lines for people.
    """

    usable: tuple[Source, ...] = ()
    refused: tuple[str, ...] = ()


def campaigns_in(path: Path) -> tuple[Path, ...]:
    """Return a campaign's directory, or those in a folder of campaigns.

    Raises:
        NotFoundError: there is nothing of the kind: a typing error should not start a cold run.
    """
    if not path.exists():
        raise NotFoundError(f"no directory {path}: give a campaign's, or a folder of campaigns")
    if not path.is_dir() or CampaignDirectory(path).log.exists():
        return (path,)
    found = tuple(p for p in sorted(path.iterdir()) if CampaignDirectory(p).log.is_dir())
    if not found:
        raise NotFoundError(f"{path} holds no campaign: give a campaign's directory")
    return found


def read_sources(paths: Iterable[Path]) -> Sources:
    """Read campaigns; what is damaged, foreign or contradicts itself is refused in one line.

    Raises:
        NotFoundError: a path does not exist, or holds no campaign at all.
    """
    usable: dict[str, Source] = {}
    refused: list[str] = []
    for path in (each for given in paths for each in campaigns_in(given)):
        try:
            source = read_source(path)
        except (ArborError, OSError) as error:
            refused.append(f"{path} is left out: {error}")
            continue
        earlier = usable.get(source.campaign_id)
        # A copy of a campaign teaches nothing twice; the longer one knows more.
        if earlier is None or earlier.head.position < source.head.position:
            usable[source.campaign_id] = source
    return Sources(tuple(usable.values()), tuple(refused))


def read_source(path: Path) -> Source:
    """Verify and fold a campaign's log; nothing of a log that does not hold together is used.

    Raises:
        NotFoundError: there is no campaign.
        InvalidInputError: another version of Arbor wrote it, or the path is a file.
        CorruptLogError: it is damaged, or its events contradict each other.
    """
    reader = open_reader(path)
    report = verify(CampaignDirectory(path).log)
    if not report.is_sound:
        raise CorruptLogError(report.problems[0].text)
    state = CampaignState()
    try:
        for recorded in reader.read(limit=report.head.position):
            if recorded.schema_version > SCHEMA_VERSION:
                raise InvalidInputError(
                    f"{path} was written with event schema {recorded.schema_version}, this Arbor"
                    f" reads up to {SCHEMA_VERSION}: use the Arbor version that wrote it"
                )
            fold(state, recorded)
    except UnfoldableError as error:
        raise CorruptLogError(f"event {error.position} of {path}: {error.text}") from error
    except RecursionError as error:
        raise CorruptLogError(f"{path} nests values too deeply to be an honest log") from error
    if state.started is None:
        raise NotFoundError(f"{path} holds a log without a campaign")
    return Source(path, reader.campaign_id, report.head, state.started, state)


def knowledge_events(sources: Sequence[Source], here: CampaignStarted) -> tuple[Event, ...]:
    """Return what sources teach a new campaign about its own catalog, as events for its log.

    Only templates of the catalog count, by their ids; nothing comes from another target.
    """
    scene = scene_of(here)
    catalog = {template.template_id for template in here.actions}
    events: list[Event] = []
    for source in sources:
        transfer = transfer_ratio(source.scene, scene)
        if transfer <= 0.0:
            continue
        events += (
            _belief(source, lesson, transfer)
            for lesson in lessons(source.found())
            if lesson.template_id in catalog
        )
        stack = _stack(source, here, transfer)
        events += [stack] if stack is not None else []
    return tuple(events)


def _belief(source: Source, lesson: Lesson, transfer: float) -> KnowledgeImported:
    return KnowledgeImported(
        template_id=lesson.template_id,
        source_campaign_id=source.campaign_id,
        source_digest=source.head.digest,
        speedup_ratio=implied_speedup(math.exp(lesson.log_gain), lesson.share_ratio),
        num_observations=lesson.num_effects,
        log_gain_sd=lesson.log_gain_sd,
        transfer_ratio=transfer,
        num_tries=lesson.num_tries,
        num_crashed=lesson.num_crashed,
        num_inexact=lesson.num_inexact,
        source_hardware=lesson.scene.hardware,
        source_model_family=lesson.scene.model_family,
        source_workload=lesson.scene.workload,
    )


def _stack(source: Source, here: CampaignStarted, transfer: float) -> StackImported | None:
    """Return what a source ended with, as far as this catalog can say it, or None."""
    tree = source.state.tree
    if not tree.nodes or tree.current.parent_id is None:
        return None
    ratio = _expected_ratio(source.state)
    before, after = tree.root_config, tree.config_at(tree.current_id)
    edits = {key: value for key, value in after.items() if before.get(key) != value}
    keys = {
        template.template_id: {e.key for e in template.edits} | {p.key for p in template.space}
        for template in here.actions
    }
    template_ids = tuple(name for name, own in keys.items() if own and own <= edits.keys())
    own = set().union(*(keys[name] for name in template_ids))
    if ratio <= 1.0 or not template_ids:
        return None
    return StackImported(
        source_campaign_id=source.campaign_id,
        source_digest=source.head.digest,
        template_ids=template_ids,
        edits=tuple(Edit(key=key, value=edits[key]) for key in sorted(own)),
        ratio=min(MAX_STACK_RATIO, ratio),
        transfer_ratio=transfer,
    )


def _expected_ratio(state: CampaignState) -> float:
    """Return the low end of the claim about the stack that stands, or the root of its estimate."""
    for request in reversed(state.final_claims()):
        judgement, result = request.judgement, request.result
        if judgement is not None and isinstance(result, BenchmarkMeasured):
            return result.effect.low if judgement.is_accepted else 1.0
    return math.sqrt(max(1.0, state.tree.gain_ratio(state.tree.current_id)))
