"""Where things lie in a campaign's directory; copy the directory and everything replays."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class CampaignDirectory:
    """Names of the parts of a campaign's directory.

    Attributes:
        path: the directory itself.
    """

    path: Path

    @property
    def log(self) -> Path:
        """Event log: the only truth."""
        return self.path / "log"

    @property
    def blobs(self) -> Path:
        """Content-addressed large bodies that events name."""
        return self.path / "blobs"

    @property
    def workspace(self) -> Path:
        """Git repository with a commit for every node."""
        return self.path / "workspace"

    @property
    def worktrees(self) -> Path:
        """Checkouts; disposable."""
        return self.path / "worktrees"

    @property
    def logs(self) -> Path:
        """Logs of servers and actors; disposable, events keep what matters."""
        return self.path / "logs"

    @property
    def snapshots(self) -> Path:
        """States folded so far; disposable, the log gives them again."""
        return self.path / "snapshots"

    @property
    def inbox(self) -> Path:
        """What people said and the log does not hold yet."""
        return self.path / "inbox"

    @property
    def campaign_file(self) -> Path:
        """The campaign file as it was used."""
        return self.path / "campaign.yaml"

    @property
    def lock(self) -> Path:
        """Held by the driver while it runs."""
        return self.path / "driver.lock"

    @property
    def result(self) -> Path:
        """Machine-readable result, the same as ``arbor report DIR --json``."""
        return self.path / "result.json"

    @property
    def report_markdown(self) -> Path:
        """Report for people, Markdown."""
        return self.path / "report.md"

    @property
    def report_html(self) -> Path:
        """Report for people, one HTML page."""
        return self.path / "report.html"
