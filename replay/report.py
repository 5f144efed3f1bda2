"""The report in Markdown, and the files that the driver leaves behind."""

from collections.abc import Iterator
from pathlib import Path

from arbor.core.layout import CampaignDirectory
from arbor.events.types import Edit
from arbor.replay.evidence import entries
from arbor.replay.markdown import code, table, text
from arbor.replay.node_sections import node_sections
from arbor.replay.reading import open_campaign
from arbor.replay.report_html import html_report
from arbor.replay.result import read_run_facts, result_of, write_result, write_text
from arbor.replay.result_models import NodeResult, Result
from arbor.replay.story import Story
from arbor.replay.wording import (
    PURPOSES,
    SCORE_FORMS,
    accuracy_basis,
    claim_basis,
    duration,
    exact_basis,
    headline,
    latency_basis,
    noise_basis,
    reproduce,
    shrinkage_basis,
)

_NODES = ("node", "on", "action", "outcome", "effect", "interval", "shrunk", "pairs", "why")


def tell(directory: Path) -> tuple[Result, Story]:
    """Return the result of a campaign and the story behind it.

    Raises:
        NotFoundError: there is no campaign.
        InvalidInputError: another version wrote it.
        CorruptLogError: the log is damaged.
    """
    recording = open_campaign(directory)
    story = Story()
    recording.fold(story)
    facts = read_run_facts(directory)
    digest = recording.reader.head().digest
    return result_of(story, recording.reader.campaign_id, digest, facts), story


def write_reports(directory: Path) -> None:
    """Write ``result.json``, ``report.md`` and ``report.html`` into the directory.

    Raises:
        NotFoundError: there is no campaign.
        InvalidInputError: another version wrote it.
        CorruptLogError: the log is damaged.
    """
    result, story = tell(directory)
    names = CampaignDirectory(directory)
    write_result(directory, result)
    write_text(names.report_markdown, markdown_report(result, story, str(directory)))
    write_text(names.report_html, html_report(result, story, str(directory)))


def markdown_report(result: Result, story: Story, directory: str) -> str:
    """Return the report as GitHub-flavoured Markdown; foreign text is escaped."""
    lines = [
        f"# {text(result.campaign.name)}: {headline(result)}",
        "",
        claim_basis(result),
        *_latency(result),
        "",
        text(accuracy_basis(result)),
        "",
        exact_basis(result),
        "",
        "## What was optimised",
        "",
        *_setting(result, story),
        "",
        "## Nodes",
        "",
        *table(_NODES, [_cells(node) for node in result.nodes if node.parent_id is not None]),
        "",
        shrinkage_basis(result),
        "",
        "## Final configuration",
        "",
        *_changes(result, story),
        "",
        "## Where time went",
        "",
        *_times(result),
        "",
        "## Evidence",
        "",
        *node_sections(entries(story, result)),
        "## Reproduce",
        "",
        *(f"- `{code(command)}`: {what}" for command, what in reproduce(directory)),
        "",
        f"Log: {result.num_events} events, chain digest `{result.log_digest}`.",
        "",
    ]
    return "\n".join(lines)


def _latency(result: Result) -> list[str]:
    words = latency_basis(result.gain) if result.gain is not None else None
    return [] if words is None else ["", words]


def _setting(result: Result, story: Story) -> Iterator[str]:
    campaign = result.campaign
    hardware = campaign.hardware
    gib = hardware.memory_bytes / 2**30
    spent, allowed = duration(result.wall_s), duration(story.state.budget.wall_s)
    seed = campaign.settings.seed
    yield f"- target `{code(campaign.target)}`, `{code(campaign.objective)}`, seed {seed}"
    devices = f"{hardware.num_cores} cores, {gib:.0f} GiB, {hardware.num_devices} accelerators"
    yield f"- {text(hardware.device_name)}, {devices}"
    yield f"- {spent} of {allowed} budget; {_counts(result)}"
    yield f"- {noise_basis(story)}"
    yield f"- {SCORE_FORMS[campaign.settings.search.score]}"


def _counts(result: Result) -> str:
    counts = result.counts
    parts = [f"{counts.kept} kept", f"{counts.reverted} reverted", f"{counts.crashed} crashed"]
    parts += [f"{counts.vetoed} vetoed"] if counts.vetoed else []
    parts += [f"{counts.refused} refused"] if counts.refused else []
    parts += [f"{counts.withdrawn} withdrawn"] if counts.withdrawn else []
    parts += [f"{counts.revoked} revoked"] if counts.revoked else []
    return ", ".join(parts)


def _cells(node: NodeResult) -> tuple[str, ...]:
    effect, shrunk = node.effect, node.shrunk_ratio
    reason = node.reason or next(
        (j.reason for j in reversed(node.judgements) if j.purpose == "benchmark"), ""
    )
    return (
        node.node_id,
        node.parent_id or "",
        text(node.template_id or ""),
        str(node.status),
        f"{effect.ratio:.3f}x" if effect is not None else "",
        f"{effect.low:.3f} to {effect.high:.3f}" if effect is not None else "",
        f"{shrunk:.3f}x" if shrunk is not None else "",
        str(effect.num_pairs) if effect is not None else "",
        text(reason),
    )


def _changes(result: Result, story: Story) -> list[str]:
    before = story.state.tree.root_config
    changed = [
        Edit(key=key, value=value)
        for key, value in result.final_config.items()
        if before.get(key) != value
    ]
    if not changed:
        return ["Nothing changed."]
    rows = [[text(e.key), text(str(before.get(e.key, ""))), text(str(e.value))] for e in changed]
    return list(table(("key", "baseline", "final"), rows))


def _times(result: Result) -> list[str]:
    lines = [
        f"- {text(PURPOSES.get(purpose, purpose))}: {duration(seconds)}"
        f" ({seconds / result.wall_s:.1%})"
        for purpose, seconds in sorted(
            result.seconds_by_purpose.items(), key=lambda item: -item[1]
        )
        if result.wall_s > 0
    ]
    if result.start_s is not None:
        lines.append(f"- start of Ray, not counted above: {duration(result.start_s)}")
    return lines
