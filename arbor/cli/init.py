"""`arbor init`: a campaign file from the command line that starts a server today."""

from pathlib import Path
from typing import Annotated

import typer

from arbor.cli.command_lines import parse_command_line
from arbor.cli.console import say
from arbor.cli.init_command import command_campaign
from arbor.cli.init_vllm import is_vllm, vllm_campaign
from arbor.core.campaign import Campaign, parse_campaign
from arbor.events.errors import InvalidInputError
from arbor.targets.registry import create_target, target_names

_EXPLANATION = """\
arbor init --from "COMMAND" writes a campaign file from the command that starts your server.

  arbor init --from "vllm serve /models/llama-8b --max-model-len 4096"
  arbor init --from "python server.py --port 8000 --threads 8" --out server.yaml

`vllm serve` becomes a campaign of target vllm, everything else one of target command, in which
numbers behind options are knobs. Without a server, `arbor run` improves the embedded engine."""


def init(
    source: Annotated[
        str | None, typer.Option("--from", metavar="COMMAND", help="Command of the server.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="File to write; - prints it.")
    ] = Path("campaign.yaml"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
) -> None:
    """Write a campaign file from the command line that starts a server."""
    if source is None:
        say(_EXPLANATION)
        return
    line = parse_command_line(source)
    text = (vllm_campaign if is_vllm(line) else command_campaign)(line, out.name)
    _check(text)
    if str(out) == "-":
        say(text.rstrip("\n"))
        return
    try:
        with out.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise InvalidInputError(f"{out} exists; give --out another file, or --force") from error
    except OSError as error:
        raise InvalidInputError(f"cannot write {out}: {error.strerror}") from error
    say(f"{out} written; look it over, then: arbor plan {out}")


def _check(text: str) -> Campaign:
    """Return the campaign of a text, whose target takes its options.

    Raises:
        InvalidInputError: the command holds something that the target refuses.
    """
    campaign = parse_campaign(text, "--from")
    if campaign.target in target_names():
        create_target(campaign.target, campaign.target_config)
    return campaign
