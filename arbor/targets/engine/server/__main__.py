"""Command line of the server: `python -m arbor.targets.engine.server`."""

import argparse
import os
import sys
from pathlib import Path

from arbor.targets.engine.server import environment
from arbor.targets.engine.server.architecture import read_architecture
from arbor.targets.engine.server.errors import EXIT_CRASHED, StartError
from arbor.targets.engine.server.overlay import FOLDER, install
from arbor.targets.engine.server.settings import load_settings


def main() -> int:
    """Serve until SIGTERM; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m arbor.targets.engine.server")
    parser.add_argument(
        "--config", type=Path, required=True, help=f"serve.yaml; {FOLDER}/ may stand beside it"
    )
    parser.add_argument("--model", type=Path, required=True, help="Llama-style model folder")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    arguments = parser.parse_args()
    try:
        settings = load_settings(arguments.config)
        environment.ensure(settings.dispatch)
        read_architecture(arguments.model)
        install(arguments.config.resolve().parent / FOLDER)
        # Importing torch takes most of the start; what can fail without it has not failed.
        from arbor.targets.engine.server.serve import serve  # noqa: PLC0415

        return serve(settings, arguments.model, arguments.host, arguments.port)
    except StartError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201  the one line for the user
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_CRASHED


if __name__ == "__main__":
    exit_code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Taking torch and the model apart piece by piece takes over a second, and gives nothing back.
    os._exit(exit_code)
