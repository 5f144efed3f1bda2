"""What lies beside the log says what the log says: results, reports, campaign file, inbox."""

import html
import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from arbor.actors.inbox import Inbox
from arbor.actors.snapshots import Snapshots
from arbor.core.campaign import load_campaign
from arbor.core.layout import CampaignDirectory
from arbor.events.base import Recorded, canonical_json
from arbor.events.campaign import CampaignStarted
from arbor.events.errors import ArborError
from arbor.events.parquet_reader import ParquetReader
from arbor.replay.report import markdown_report
from arbor.replay.report_html import html_report
from arbor.replay.result import RunFacts, read_run_facts, result_of
from arbor.replay.result_models import Result
from arbor.replay.rules.base import Evidence, Findings, difference, fold
from arbor.replay.rules.code import code_spans
from arbor.replay.story import Story

_DIRECTORY = re.compile(r"arbor audit ([^`<\n]+)")
"""How reports name the directory that they were written in."""


class DerivedFilesAgree:
    """Nobody looks at the log first: what people read instead must not say anything else."""

    name = "files"
    title = "result, reports, campaign file and inbox say what the log says"

    def check(self, evidence: Evidence, findings: Findings) -> None:
        """Make every file again and compare."""
        names = evidence.directory
        for problem in _campaign_problems(names, evidence.events):
            findings.require(problem is None, 0, problem or "")
        for letter in Inbox(names.inbox).waiting():
            text = f"{names.inbox}/{letter.event_id}.json is no command that Arbor wrote"
            findings.require(letter.draft is not None, 0, text)
        is_own = all(span.is_own for span in code_spans(evidence.events))
        for problem in _report_problems(names, evidence.events):
            if problem is not None and not is_own:
                findings.notes.append(f"{problem}; other code may have written it")
                continue
            findings.require(problem is None, 0, problem or "")
        findings.notes += (
            f"{path} is not proven to be a fold of this log by this user's key: it is never used"
            for path in Snapshots.of_campaign(names.path).unproven()
        )


def _campaign_problems(
    names: CampaignDirectory, events: Sequence[Recorded]
) -> Iterator[str | None]:
    """Yield how the campaign file differs from what the campaign was started with, or None."""
    path = names.campaign_file
    started = next((r.event for r in events if isinstance(r.event, CampaignStarted)), None)
    if not path.exists() or started is None:
        return
    try:
        campaign = load_campaign(path)
    except ArborError as error:
        yield str(error)
        return
    said = {
        "name": campaign.name,
        "target": campaign.target,
        "target_config": json.loads(canonical_json(campaign.target_config)),
        "settings": campaign.settings().model_dump(mode="json"),
    }
    recorded = {
        "name": started.name,
        "target": started.target,
        "target_config": json.loads(started.target_config),
        "settings": started.settings.model_dump(mode="json"),
    }
    found = difference(recorded, said)
    yield None if found is None else f"{path} differs from what was started: {found}"


def _report_problems(names: CampaignDirectory, events: Sequence[Recorded]) -> Iterator[str | None]:
    """Yield how the result and the reports differ from what the log gives, or None."""
    if not names.result.exists():
        return
    try:
        stated: dict[str, Any] = json.loads(names.result.read_bytes())
        position, digest = int(stated["num_events"]), str(stated["log_digest"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        yield f"{names.result} cannot be read ({error!r})"
        return
    reader = ParquetReader(names.log)
    if position > len(events):
        end = f"the log ends after {len(events)}: it was cut"
        yield f"{names.result} knows {position} events, {end}"
        return
    if reader.digest_at(position) != digest:
        yield f"{names.result} states another digest than the log has at position {position}"
        return
    story = Story()
    for recorded in events[:position]:
        fold(story, recorded)
    facts = read_run_facts(names.path)
    made = result_of(story, reader.campaign_id, digest, facts)
    yield _result_problem(names.result, made, stated)
    yield _text_problem(names.report_markdown, made, story, markdown_report)
    yield _text_problem(names.report_html, made, story, html_report)


def _result_problem(path: Path, made: Result, stated: dict[str, Any]) -> str | None:
    expected = made.model_dump(mode="json")
    for name in RunFacts.model_fields:
        if stated.get(name) != expected.get(name):
            return f"{path} and run_facts.json differ in {name}"
    found = difference(expected, stated)
    return None if found is None else f"{path} differs from what the log gives: {found}"


def _text_problem(
    path: Path, made: Result, story: Story, render: Callable[[Result, Story, str], str]
) -> str | None:
    """Return the first line of a report that is not what the log gives, or None."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        return f"{path} cannot be read ({error})"
    expected = render(made, story, _stated_directory(text))
    for number, (line, own) in enumerate(
        zip_longest(text.splitlines(), expected.splitlines()), start=1
    ):
        if line != own:
            return f"{path} differs from what the log gives in line {number}"
    return None


def _stated_directory(text: str) -> str:
    found = _DIRECTORY.search(text)
    try:
        words = shlex.split(html.unescape(found[1])) if found is not None else []
    except ValueError:
        words = []
    return words[0] if words else ""
