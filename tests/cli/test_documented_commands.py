"""Every `arbor` command that a page shows exists, and so do the campaign files that it names."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from arbor.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(?:bash|sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"(?:^|\s)arbor ([a-z][a-z-]+)")
_CAMPAIGN = re.compile(r"\b(?:campaigns|examples)/[\w.-]+\.yaml")


def shown(page: Path) -> str:
    """Return the shell commands of a page."""
    return "\n".join(_BLOCK.findall(page.read_text(encoding="utf-8")))


def test_the_page_about_clusters_shows_commands() -> None:
    found = _COMMAND.findall(shown(ROOT / "docs" / "ray.md"))
    assert {"run", "resume", "doctor", "events", "tree", "report"} <= {*found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    command = get_command(app)
    known = set(getattr(command, "commands", {}))
    assert {*_COMMAND.findall(shown(page))} <= known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_campaign_files_exist(page: Path) -> None:
    for name in _CAMPAIGN.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / name).is_file(), f"{page.name} names {name}"
