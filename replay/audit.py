"""The audit: rules that a campaign's directory must obey, from bytes to decisions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arbor.core.layout import CampaignDirectory
from arbor.events.errors import ArborError
from arbor.events.log import GENESIS_DIGEST, Head
from arbor.replay.reading import open_reader
from arbor.replay.rules.accuracy import AccuracyFollowsFromPrompts
from arbor.replay.rules.base import AuditProblem, Evidence, Findings, Rule, UnfoldableError
from arbor.replay.rules.budget import BudgetIsRespected
from arbor.replay.rules.causality import ActorsKeepToTheirRoles, CausesComeFirst
from arbor.replay.rules.commits import CommitsAreThere
from arbor.replay.rules.control import PeopleWereObeyed, RevokedPathsAreLeft
from arbor.replay.rules.decisions import DecisionsFollowFromTheLog
from arbor.replay.rules.derived import DerivedFilesAgree
from arbor.replay.rules.effects import EffectsFollowFromPairs
from arbor.replay.rules.keys import KeepsNeedTwoKeys
from arbor.replay.rules.limits import LeasesAreRespected, LimitsAreRespected
from arbor.replay.rules.log import BlobsAreWhole, LogIsWhole, TagsFollowFromEvents
from arbor.replay.rules.once import NothingHappensTwice
from arbor.replay.rules.pairs import PairsWerePlayedAsPlanned
from arbor.replay.rules.references import ReferencesHold
from arbor.replay.rules.scores import ScoresFollowFromTerms

RULES: tuple[Rule, ...] = (
    BlobsAreWhole(),
    TagsFollowFromEvents(),
    CausesComeFirst(),
    ActorsKeepToTheirRoles(),
    ReferencesHold(),
    CommitsAreThere(),
    KeepsNeedTwoKeys(),
    NothingHappensTwice(),
    PairsWerePlayedAsPlanned(),
    EffectsFollowFromPairs(),
    AccuracyFollowsFromPrompts(),
    ScoresFollowFromTerms(),
    BudgetIsRespected(),
    LimitsAreRespected(),
    PeopleWereObeyed(),
    RevokedPathsAreLeft(),
    LeasesAreRespected(),
    DecisionsFollowFromTheLog(),
    DerivedFilesAgree(),
)
"""Rules on the content of a log that is whole; a new one is a file and a line here."""


@dataclass(frozen=True, slots=True)
class RuleReport:
    """What one rule found.

    Attributes:
        name: name of the rule.
        title: what it checks.
        num_checked: how many things it looked at.
        problems: what it does not accept, in the order of the log.
        notes: what a reader must know to weigh it.
    """

    name: str
    title: str
    num_checked: int
    problems: tuple[AuditProblem, ...]
    notes: tuple[str, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether the rule accepts the campaign."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What all rules found.

    Attributes:
        rules: one report a rule; only the first when the log itself is damaged.
        head: end of the log; keep it elsewhere to detect a rewritten log later.
    """

    rules: tuple[RuleReport, ...]
    head: Head

    @property
    def is_sound(self) -> bool:
        """Whether every rule accepts the campaign."""
        return all(rule.is_sound for rule in self.rules)

    @property
    def first_failure(self) -> tuple[RuleReport, AuditProblem] | None:
        """The first rule that does not accept the campaign, and its first problem."""
        for rule in self.rules:
            if rule.problems:
                return rule, rule.problems[0]
        return None


def audit(
    directory: Path, anchors: Sequence[Head] = (), rules: Sequence[Rule] = RULES
) -> AuditReport:
    """Check a campaign's directory, read-only.

    Args:
        directory: the campaign's directory.
        anchors: heads that were noted earlier; the log must still contain them.
        rules: rules on the content.

    Raises:
        NotFoundError: there is no campaign.
        InvalidInputError: the log has another format.
    """
    names = CampaignDirectory(directory)
    first = run_rule(LogIsWhole(), Evidence(names, anchors=tuple(anchors)))
    if not first.is_sound:
        return AuditReport((first,), Head(0, GENESIS_DIGEST))
    reader = open_reader(directory)
    head = reader.head()
    evidence = Evidence(names, tuple(reader.read(limit=head.position)), tuple(anchors))
    return AuditReport((first, *(run_rule(rule, evidence) for rule in rules)), head)


def run_rule(rule: Rule, evidence: Evidence) -> RuleReport:
    """Return what a rule finds; what it cannot follow is a problem."""
    findings = Findings()
    try:
        rule.check(evidence, findings)
    except UnfoldableError as error:
        findings.problems.append(AuditProblem(error.position, error.text))
    except ArborError as error:
        if isinstance(rule, LogIsWhole):
            raise
        findings.problems.append(AuditProblem(0, str(error)))
    problems = tuple(sorted(findings.problems, key=lambda problem: problem.position))
    notes = tuple(findings.notes)
    return RuleReport(rule.name, rule.title, findings.num_checked, problems, notes)
