"""Reports say what was measured, escape everything foreign, and need nothing from outside."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from arbor.events.base import Recorded
from arbor.events.outcome import ActionReverted, Crashed
from arbor.replay.report import markdown_report, tell, write_reports
from arbor.replay.report_html import html_report
from arbor.replay.result import RunFacts, result_of
from arbor.replay.result_models import Result
from arbor.replay.story import Story
from tests.replay.recorded import changed, record

HOSTILE = "</td><script>alert('x')</script><img src=x onerror=alert(1)>\u202e\x1b[31m`|**b**"
VOID = {"meta", "br", "img", "input", "hr", "link"}


class Page(HTMLParser):
    """Checks nesting, and collects elements and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def reports_of(events: tuple[Recorded, ...]) -> tuple[Result, str, str]:
    story = Story()
    for recorded in events:
        story.apply(recorded)
    result = result_of(story, "c", "0" * 64, RunFacts())
    return result, html_report(result, story, "DIR"), markdown_report(result, story, "DIR")


@pytest.fixture(scope="module")
def told(finished: Path) -> tuple[Result, str, str]:
    result, story = tell(finished)
    return result, html_report(result, story, "DIR"), markdown_report(result, story, "DIR")


def test_page_holds_the_claim_and_its_basis(told: tuple[Result, str, str]) -> None:
    result, page, markdown = told
    gain = result.gain
    assert gain is not None
    text = Page(page).text
    for content in (text, markdown):
        assert f"{(gain.ratio - 1) * 100:+.1f} %" in content
        assert f"{gain.low:.3f}x to {gain.high:.3f}x" in content
        assert gain.baseline_commit[:10] in content
        assert f"{gain.num_pairs} interleaved pairs" in content
        assert f"{gain.num_starts_per_arm} server starts per arm" in content
        assert "Within the gate" in content
        assert "risk_averse" in content.replace("\\", "")
        assert "in the denominator" in content
        assert "arbor export DIR --out final-stack" in content


def test_page_has_all_parts(told: tuple[Result, str, str]) -> None:
    _, page, _ = told
    parsed = Page(page)
    assert parsed.elements.count("svg") >= 5
    for title in (
        "The search tree",
        "Throughput over the kept nodes",
        "Every measured action",
        "Where the stack's time goes",
        "Nodes",
        "Constraints learned",
        "Final configuration",
        "Where the campaign's time went",
        "Reproduce and check",
    ):
        assert title in parsed.text


def test_page_needs_nothing_from_outside(told: tuple[Result, str, str]) -> None:
    _, page, _ = told
    parsed = Page(page)
    assert not {"script", "link", "img", "iframe", "object"} & set(parsed.elements)
    assert not {name for name, _ in parsed.attributes} & {"src", "href", "srcset"}
    assert not re.search(r"https?://|url\(|@import", page)
    assert "default-src 'none'" in page
    assert "prefers-color-scheme: dark" in page


def test_as_printed_says_that_risk_is_in_the_denominator(tmp_path: Path) -> None:
    path = record(tmp_path / "c", score="as_printed", wall_s=60, is_killed=False)
    result, story = tell(path)
    for text in (
        Page(html_report(result, story, "DIR")).text,
        markdown_report(result, story, "DIR"),
    ):
        assert "exactly as the paper prints it" in text
        assert "a riskier action scores higher" in text


def test_hostile_text_stays_text(history: tuple[Recorded, ...]) -> None:
    events = history
    crash = next(r for r in history if isinstance(r.event, Crashed))
    events = changed(events, crash.position, message=HOSTILE, log_tail=(HOSTILE,))
    reverted = next(r for r in history if isinstance(r.event, ActionReverted))
    events = changed(events, reverted.position, reason=HOSTILE)
    started = events[1]
    assert started.event.kind == "CampaignStarted"
    events = changed(events, started.position, name=HOSTILE)
    _, page, markdown = reports_of(events)
    parsed = Page(page)
    assert "script" not in parsed.elements
    assert "img" not in parsed.elements
    assert "onerror" not in {name for name, _ in parsed.attributes}
    assert "alert('x')" in parsed.text
    for control in ("\u202e", "\x1b"):
        assert control not in page
        assert control not in markdown
    assert "<script" not in markdown.replace("\\<", "")
    row = next(line for line in markdown.splitlines() if line.startswith("| ") and "alert" in line)
    assert len(re.findall(r"(?<!\\)\|", row)) == 10


def test_every_prefix_can_be_reported(history: tuple[Recorded, ...]) -> None:
    for cut in range(2, len(history), 41):
        result, page, markdown = reports_of(history[:cut])
        Page(page)
        assert markdown.startswith("# ")
        if result.gain is None:
            assert "No final claim" in page


def test_vetoes_and_revocations_are_told(eventful_log: tuple[Recorded, ...]) -> None:
    result, page, markdown = reports_of(eventful_log)
    assert result.counts.revoked + result.counts.vetoed >= 1
    Page(page)
    assert "revoked" in markdown
    assert "pill revoked" in page


def test_files_of_the_driver(campaign: Path) -> None:
    write_reports(campaign)
    result = Result.model_validate_json((campaign / "result.json").read_text())
    assert result.gain is not None
    assert (campaign / "report.md").read_text().startswith("# demo: +")
    Page((campaign / "report.html").read_text())
    assert not list(campaign.glob(".*.partial"))
