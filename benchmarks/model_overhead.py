"""What asking a model through Arbor adds: the door beside a bare request over the same socket.

Run ``python benchmarks/model_overhead.py``. The server is a scripted one on loopback, so that what
is left is our own work: two durable appends, two blobs, the budget, litellm, reading the reply.
"""

import http.client
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pydantic import BaseModel
from table import Row, at_most, publish

from arbor.actors.journal import Journal
from arbor.actors.model import LiteLLM, create_model_maker
from arbor.actors.models.request import Options, Request
from arbor.core.clock import SystemClock
from arbor.core.models import Message
from arbor.events.blobs import BlobStore
from arbor.events.model_settings import ModelSettings, RoleSettings, TokenPrice
from arbor.events.parquet_log import ParquetLog
from arbor.events.settings import Settings
from tests.fakes.scripted_model_server import Scripted, ScriptedModelServer

NUM_CALLS = 100
NUM_WARM_UPS = 10
GOAL_MS = 20.0
PROMPT = "def softmax(x):\n    return x.exp() / x.exp().sum()\n" * 80
"""About four thousand characters of code."""
HOW = (
    "medians of {num} calls each, taken in turn and in random order, after {warm}; a prompt of"
    " {size} bytes, a reply of one JSON object, log and blobs on disk with their syncs"
)


class Plan(BaseModel):
    """What is asked for."""

    steps: list[str]


def milliseconds(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    begin = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begin)


def main() -> int:
    """Measure, print and write; return 1 when a goal is missed."""
    reply = Scripted(json.dumps({"steps": ["fuse", "tile"]}))
    with ScriptedModelServer([reply]) as server, tempfile.TemporaryDirectory() as folder:
        role = RoleSettings(
            model="openai/scripted",
            api_base=server.api_base,
            price=TokenPrice(prompt_usd_per_million_tokens=0, completion_usd_per_million_tokens=0),
        )
        settings = Settings(models=ModelSettings(default=role))
        body = json.dumps(
            {"model": "scripted", "messages": [{"role": "user", "content": PROMPT}]}
        ).encode()
        host, port = server.api_base.removeprefix("http://").removesuffix("/v1").split(":")
        request = Request(({"role": "user", "content": PROMPT},))
        options = Options(max_tokens=4096, temperature=None, timeout_s=120.0)
        library = LiteLLM()

        def bare() -> None:
            connection = http.client.HTTPConnection(host, int(port))
            connection.request("POST", "/v1/chat/completions", body)
            json.loads(connection.getresponse().read())
            connection.close()

        with closing(ParquetLog.open(Path(folder) / "log", "bench")) as log:
            journal = Journal(log, "specialist", SystemClock())
            journal.start()
            door = create_model_maker(settings, BlobStore(Path(folder) / "blobs"))(journal)
            numbers = iter(range(10**6))

            def ask() -> None:
                # a prompt of its own each time: a blob that is there already costs less
                told = [Message(role="user", content=f"{next(numbers)}\n{PROMPT}")]
                door.ask("planner", told, action="a1", schema=Plan)

            ways: dict[str, Callable[[], object]] = {
                "bare": bare,
                "litellm": lambda: library.complete(role, options, request),
                "door": ask,
            }
            times = measure(ways)
        return publish("model_overhead", rows(times))


def measure(ways: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Return the milliseconds of each way, call by call."""
    for work in ways.values():
        for _ in range(NUM_WARM_UPS):
            work()
    draw = random.Random(0)  # noqa: S311 - the order of calls is no secret
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(NUM_CALLS):
        for name in draw.sample(sorted(ways), len(ways)):
            times[name].append(milliseconds(ways[name]))
    return times


def rows(times: dict[str, list[float]]) -> list[Row]:
    """Return the figures."""
    how = HOW.format(num=NUM_CALLS, warm=NUM_WARM_UPS, size=len(PROMPT))
    median = {name: statistics.median(found) for name, found in times.items()}
    late = {name: statistics.quantiles(found, n=20)[-1] for name, found in times.items()}
    return [
        Row("a bare request", median["bare"], "ms", how=how),
        Row("through litellm", median["litellm"], "ms", how=how),
        Row("through the door", median["door"], "ms", how=how),
        Row("95th percentile through the door", late["door"], "ms", how=how),
        at_most("litellm adds", median["litellm"] - median["bare"], "ms", GOAL_MS, how),
        at_most("Arbor adds to litellm", median["door"] - median["litellm"], "ms", GOAL_MS, how),
        at_most("both together add", median["door"] - median["bare"], "ms", GOAL_MS, how),
    ]


if __name__ == "__main__":
    sys.exit(main())
