"""The first event of a campaign: the workspace's root, the catalog and the settings."""

import json

from arbor import __version__
from arbor.actors.decision_code import decision_code
from arbor.actors.journal import Journal
from arbor.actors.place import Place
from arbor.core.campaign import Campaign
from arbor.core.clock import Clock
from arbor.events.base import canonical_json
from arbor.events.campaign import CampaignStarted
from arbor.events.log import EventLog
from arbor.events.types import Hardware


def found(
    place: Place, log: EventLog, campaign: Campaign, hardware: Hardware, clock: Clock
) -> None:
    """Create the workspace and append CampaignStarted; harmless when that was done before.

    Raises:
        LogError: the log cannot be used.
        WorkspaceError: git failed.
    """
    journal = Journal(log, "supervisor", clock)
    journal.start()
    if journal.state.started is not None:
        return
    root = place.workspace.create(place.target.create_workspace, place.directory / "worktrees")
    journal.append(
        CampaignStarted(
            name=campaign.name,
            target=campaign.target,
            target_config=canonical_json(json.loads(json.dumps(campaign.target_config))),
            settings=campaign.settings(),
            actions=tuple(place.target.actions(hardware)),
            hardware=hardware,
            root_commit=root,
            root_config=canonical_json(place.workspace.config(root)),
            arbor_version=__version__,
            decision_code=decision_code(),
        )
    )
