"""`arbor plan`: what a campaign would try first; nothing is started."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from arbor import __version__
from arbor.actors import choosing
from arbor.actors.ray_environment import is_cluster_named
from arbor.cli.console import people, say, show_table
from arbor.cli.text import one_line
from arbor.core.approval import require_known
from arbor.core.campaign import Campaign, load_campaign
from arbor.core.state import CampaignState
from arbor.events.base import SCHEMA_VERSION, Event, Recorded, canonical_json
from arbor.events.campaign import CampaignStarted
from arbor.events.choice import ActionScored
from arbor.events.types import ActionTemplate
from arbor.replay.wording import SCORE_FORMS, duration
from arbor.targets.devices import catalog_of, devices_per_server, require_devices
from arbor.targets.hardware import probe_hardware
from arbor.targets.registry import create_target

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
NOISE_S = 15.0
"""Seconds that a start, a warm-up and a calibration of noise take on a small engine."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One candidate at the root.

    Attributes:
        template: what would be tried.
        scored: its score and every term of it.
        num_starts: server starts of one attempt.
    """

    template: ActionTemplate
    scored: ActionScored
    num_starts: int


def plan_campaign(campaign: Campaign) -> tuple[CampaignState, tuple[Planned, ...]]:
    """Return the state at the root and the candidates, best first, from priors alone.

    Raises:
        InvalidInputError: the target is unknown, or its options are, or what needs an approval, or
            this machine lacks accelerators and no cluster is named.
    """
    target = create_target(campaign.target, campaign.target_config)
    hardware = probe_hardware()
    limit = campaign.search.max_server_devices
    num_devices = devices_per_server(target, limit)
    if not is_cluster_named():
        require_devices(hardware, num_devices)
    catalog = catalog_of(target, hardware, limit)
    require_known(campaign.search.require_approval, catalog)
    state = CampaignState()
    _apply(
        state,
        CampaignStarted(
            name=campaign.name,
            target=campaign.target,
            target_config="{}",
            settings=campaign.settings(),
            actions=catalog,
            hardware=hardware,
            root_commit="",
            root_config=canonical_json(dict(target.baseline_config())),
            arbor_version=__version__,
        ),
    )
    _apply(state, *choosing.proposals(state))
    scored = tuple(choosing.scores(state))
    planned = []
    for each in sorted(scored, key=lambda event: -event.score):
        template = state.tree.templates[state.tree.actions[each.action_id or ""].template_id]
        trials = campaign.search.tuning_trials if template.space else 1
        # One more start for the measurement; the incumbent's server is kept up.
        planned.append(Planned(template, each, trials + 1))
    return state, tuple(planned)


def _apply(state: CampaignState, *events: Event) -> None:
    for event in events:
        state.apply(
            Recorded(
                position=state.position + 1,
                event_id=str(state.position + 1),
                recorded_at=_EPOCH,
                campaign_id="plan",
                actor="plan",
                incarnation=0,
                epoch=0,
                decided_after=None,
                decided_at=None,
                schema_version=SCHEMA_VERSION,
                event=event,
            )
        )


def num_affordable(state: CampaignState, planned: tuple[Planned, ...]) -> int:
    """Return how many candidates fit in the budget, beside calibration and the final claim."""
    search = state.settings.search
    left_s = state.budget.wall_s - NOISE_S - state.final_reserve_s()
    num = 0
    for each in planned[: state.budget.settings.max_trials]:
        left_s -= each.template.cost_s / search.parallel
        if left_s < 0:
            break
        num += 1
    return num


def plan(
    campaign_file: Annotated[Path, typer.Argument(metavar="CAMPAIGN.yaml", help="Campaign file.")],
) -> None:
    """Show what would be tried first, with scores from priors; no server is started."""
    campaign = load_campaign(campaign_file)
    state, planned = plan_campaign(campaign)
    console = people()
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    for title in ("#", "action", "layer", "touches"):
        table.add_column(title)
    for title in ("score", "prior", "risk", "starts", "minutes"):
        table.add_column(title, justify="right")
    for number, each in enumerate(planned, start=1):
        table.add_row(*(Text(cell) for cell in _cells(number, each)))
    show_table(console, table)
    affordable = num_affordable(state, planned)
    starts = sum(each.num_starts for each in planned[:affordable])
    say(
        f"\nabout {affordable} of {len(planned)} actions fit in"
        f" {duration(state.budget.wall_s)} with {campaign.search.parallel} specialists:"
        f" {starts} server starts; model calls {campaign.budget.usd:.2f} USD at most"
    )
    say("shares of time are unknown before the first profile; scores assume all of the time")
    say(SCORE_FORMS[campaign.search.score])


def _cells(number: int, each: Planned) -> tuple[str, ...]:
    template, terms = each.template, each.scored.terms
    risk = 1.0 - (1.0 - terms.accuracy_risk_ratio) * (1.0 - terms.crash_risk_ratio)
    return (
        str(number),
        one_line(template.template_id, 40),
        str(template.layer),
        one_line(template.category, 20),
        f"{each.scored.score:.3f}",
        f"{template.prior_speedup_ratio:.2f}x",
        f"{risk:.0%}",
        str(each.num_starts),
        f"{template.cost_s / 60:.1f}",
    )
