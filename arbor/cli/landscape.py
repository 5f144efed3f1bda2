"""`arbor landscape`: simulations out of campaigns that were measured."""

from pathlib import Path
from typing import Annotated

import typer

from arbor.cli.console import say
from arbor.core.campaign import Campaign, CampaignBudget, dump_campaign
from arbor.replay.reading import open_campaign
from arbor.targets.landscape_fit import fit_landscape

app = typer.Typer(
    name="landscape",
    help="Simulations of measured stacks: fit DIR.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def landscape() -> None:
    """Keep `fit` a command of its own while it is the only one."""


@app.command("fit")
def fit(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A campaign's directory.")],
) -> None:
    """Print a campaign file whose surface repeats the effects that a campaign measured."""
    recording = open_campaign(directory)
    state = recording.state()
    fitted = fit_landscape(state)
    budget = state.settings.budget
    campaign = Campaign(
        name=f"fitted-{recording.started.name}"[:80],
        target="landscape",
        target_config=fitted.model_dump(mode="json", exclude_defaults=True),
        seed=state.settings.seed,
        budget=CampaignBudget(wall=budget.wall_s, max_trials=budget.max_trials),
        search=state.settings.search,
        measure=state.settings.measure,
        gate=state.settings.gate,
    )
    say(dump_campaign(campaign))
