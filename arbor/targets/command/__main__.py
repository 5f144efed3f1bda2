"""Starts a server from the files of a workspace: ``python -m arbor.targets.command FOLDER``."""

import json
import os
import sys
import tempfile
from pathlib import Path

from arbor.events.errors import InvalidInputError
from arbor.targets.command.actions import SECTION
from arbor.targets.command.config import Launch
from arbor.targets.command.starting import server_values, write_files
from arbor.targets.command.target import LAUNCH_FILE
from arbor.targets.serve_yaml import CONFIG_FILE, load_config


def main(folder: Path) -> None:
    """Become the server of a folder; ``HOST`` and ``PORT`` say where it listens.

    Raises:
        InvalidInputError: the files are missing or wrong.
    """
    try:
        document = json.loads((folder / LAUNCH_FILE).read_text(encoding="utf-8"))
        config = load_config((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        launch = Launch.model_validate(document["launch"])
        own = Path(document["folder"])
        port = int(os.environ.get("PORT", "8000"))
    except (OSError, ValueError, KeyError) as error:
        raise InvalidInputError(f"{folder} holds no stack: {error}") from error
    knobs = {key.removeprefix(f"{SECTION}."): value for key, value in config.items()}
    # lives as long as the server
    scratch = Path(tempfile.mkdtemp(prefix="arbor-"))
    host = os.environ.get("HOST", "127.0.0.1")
    values = {**server_values(knobs, port, own, folder, scratch), "host": host}
    write_files(launch, values, scratch)
    argv = launch.argv(values)
    os.chdir(own)
    os.execvpe(argv[0], argv, os.environ | launch.environment(values))  # noqa: S606 - no shell


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except (InvalidInputError, OSError) as error:
        sys.exit(f"error: {error}")
