"""A profile: a server of its own that is started with the profiler, traced under the load."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from arbor.events.errors import InvalidInputError
from arbor.events.types import Profile
from arbor.targets.vllm.server import VllmServer

_PHASE = "profile"
# the front process traces itself beside the ranks, without any of the model's work
_FRONT = "async_llm"

ParseTrace = Callable[[Path], Profile]


def profiler_words(folder: Path) -> tuple[str, ...]:
    """Return the options that prepare vLLM's torch profiler.

    Args:
        folder: where traces go.
    """
    settings = {
        "profiler": "torch",
        "torch_profiler_dir": str(folder),
        # stacks make traces of hundreds of megabytes
        "torch_profiler_with_stack": False,
    }
    return ("--profiler-config", json.dumps(settings))


@contextmanager
def trace_folder() -> Iterator[Path]:
    """Make a folder for traces and take it away afterwards: they are large."""
    folder = Path(tempfile.mkdtemp(prefix="arbor-trace-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def profile_under(
    server: VllmServer,
    folder: Path,
    play: Callable[[], object],
    parse: ParseTrace,
    limit_s: float,
) -> Profile:
    """Return where the time goes while a load is played.

    Args:
        server: was started with ``profiler_words`` of the folder.
        folder: where its traces go.
        play: plays the load.
        parse: reads a trace, or a folder of one for each rank.
        limit_s: limit of writing the traces, which takes long.

    Raises:
        ServerFailedError: the server failed or hung, or left no trace that can be read.
    """
    server.ask_text(_PHASE, "POST", "/start_profile")
    play()
    server.ask_text(_PHASE, "POST", "/stop_profile", limit_s=limit_s)
    for path in folder.rglob("*"):
        if path.is_file() and _FRONT in path.name:
            path.unlink()
    try:
        return parse(folder)
    except (InvalidInputError, OSError) as error:
        raise server.failure(_PHASE, f"the profiler's trace: {error}") from error
