"""Before a campaign and its first event: what it needs, the workspace's root, the catalog."""

import json
from dataclasses import dataclass

from arbor import __version__
from arbor.actors.decision_code import decision_code
from arbor.actors.journal import Journal
from arbor.actors.place import Place
from arbor.actors.policies import policy_named
from arbor.actors.routing import ROUTER
from arbor.core.approval import require_known
from arbor.core.campaign import Campaign
from arbor.core.clock import Clock
from arbor.core.measure.objective import require_workloads
from arbor.events.base import canonical_json
from arbor.events.campaign import CampaignStarted
from arbor.events.errors import InvalidInputError, NotFoundError
from arbor.events.log import EventLog
from arbor.events.settings import SearchSettings
from arbor.events.types import ActionTemplate, Hardware
from arbor.search.engine import ADVISED, ENGINES
from arbor.targets.devices import catalog_of, devices_per_server, require_devices
from arbor.targets.registry import create_target


def num_server_devices(campaign: Campaign) -> int:
    """Return the accelerators that every server of a campaign may take.

    Raises:
        InvalidInputError: the target is unknown, or its options are, or the limit is too low.
    """
    target = create_target(campaign.target, campaign.target_config)
    return devices_per_server(target, campaign.search.max_server_devices)


def require_machine(campaign: Campaign, hardware: Hardware) -> None:
    """Check, before Ray starts on this machine, that a campaign can run here.

    Raises:
        InvalidInputError: it cannot; one line with the fix.
    """
    require_devices(hardware, num_server_devices(campaign))
    require_ground(campaign, hardware)


def require_ground(campaign: Campaign, hardware: Hardware) -> None:
    """Check that a campaign can run on a machine whose accelerators Ray has counted.

    Raises:
        InvalidInputError: it cannot; one line with the fix.
    """
    require_search(campaign.search)
    limit = campaign.search.max_server_devices
    target = create_target(campaign.target, campaign.target_config)
    target.check(hardware)
    require_workloads(campaign.measure.guards, target.workloads())
    require_known(campaign.search.require_approval, catalog_of(target, hardware, limit))


def require_search(search: SearchSettings) -> None:
    """Check that the policy and the engines of a campaign exist.

    Raises:
        InvalidInputError: one does not, or needs an adviser; the known ones are named.
    """
    try:
        policy_named(search.policy)
    except NotFoundError as error:
        raise InvalidInputError(str(error)) from error
    usable = [name for name in ENGINES if name not in ADVISED]
    arms = search.router_arms if search.engine == ROUTER else (search.engine,)
    if not arms:
        raise InvalidInputError("search.router_arms is empty; name one engine at least")
    for name in arms:
        if name not in usable:
            known = ", ".join((*usable, ROUTER))
            raise InvalidInputError(f"search engine {name!r} is unknown here; known: {known}")


@dataclass(frozen=True, slots=True)
class Ground:
    """What a campaign starts from, as the machine sees it that serves the stack.

    Attributes:
        hardware: that machine.
        actions: the catalog there.
        root_commit: the frozen baseline.
        root_config: its flat configuration, canonical JSON.
    """

    hardware: Hardware
    actions: tuple[ActionTemplate, ...]
    root_commit: str
    root_config: str


def lay_ground(place: Place, campaign: Campaign, hardware: Hardware) -> Ground:
    """Create the workspace, unless it is there, and read the catalog.

    Raises:
        InvalidInputError: the target lacks something.
        WorkspaceError: git failed.
    """
    root = place.workspace.create(place.target.create_workspace, place.directory / "worktrees")
    require_search(campaign.search)
    return Ground(
        hardware,
        catalog_of(place.target, hardware, campaign.search.max_server_devices),
        root,
        canonical_json(place.workspace.config(root)),
    )


def found(
    place: Place, log: EventLog, campaign: Campaign, hardware: Hardware, clock: Clock
) -> None:
    """Lay the ground here and append CampaignStarted; harmless when that was done before.

    Raises:
        InvalidInputError: the target lacks something.
        LogError: the log cannot be used.
        WorkspaceError: git failed.
    """
    found_on(lay_ground(place, campaign, hardware), log, campaign, clock)


def found_on(ground: Ground, log: EventLog, campaign: Campaign, clock: Clock) -> None:
    """Append CampaignStarted; harmless when that was done before.

    Raises:
        LogError: the log cannot be used.
    """
    journal = Journal(log, "supervisor", clock)
    journal.start()
    if journal.state.started is not None:
        return
    journal.append(
        CampaignStarted(
            name=campaign.name,
            target=campaign.target,
            target_config=canonical_json(json.loads(json.dumps(campaign.target_config))),
            settings=campaign.settings(),
            actions=ground.actions,
            hardware=ground.hardware,
            root_commit=ground.root_commit,
            root_config=ground.root_config,
            arbor_version=__version__,
            decision_code=decision_code(),
        )
    )
