"""One window that ``vllm bench serve`` plays, from the server's own environment."""

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from arbor.events.types import WindowSample
from arbor.targets.engine.trace import Mix
from arbor.targets.hardware import usable_cores
from arbor.targets.machine_counters import read_machine_counters
from arbor.targets.processor_clock import ProcessorClock
from arbor.targets.server_log import LogMark
from arbor.targets.vllm.bench_result import (
    PERCENTILES,
    BadResultError,
    errors_of,
    num_failed,
    read_result,
    sample_fields,
)
from arbor.targets.vllm.commands import run_beside
from arbor.targets.vllm.config import Workload
from arbor.targets.vllm.server import VllmServer
from arbor.targets.vllm.window import ServerSide

_RESULT = "result.json"


@dataclass(frozen=True, slots=True)
class BenchLoad:
    """What ``vllm bench serve`` is to play.

    Attributes:
        workload: lengths, prefix and rate.
        mix: how the workload differs from the standard one.
        num_requests: how many.
        concurrency: requests that it keeps open.
        seed: of its prompts.
        salt: keeps prefixes of other windows out of the prefix cache.
        limit_s: after so long it is ended.
    """

    workload: Workload
    mix: Mix
    num_requests: int
    concurrency: int
    seed: int
    salt: str
    limit_s: float


def bench_words(server: VllmServer, load: BenchLoad, tokeniser: Path, folder: Path) -> list[str]:
    """Return the arguments of ``vllm``.

    Args:
        server: what is measured.
        load: what is played.
        tokeniser: folder with the model's tokeniser.
        folder: where the result goes.
    """
    workload = load.workload
    own_tokens = round(workload.input_tokens * load.mix.prompt_ratio) - workload.prefix_tokens
    arguments = {
        "--backend": "vllm",
        "--base-url": f"http://{server.host}:{server.port}",
        "--endpoint": "/v1/completions",
        "--model": server.name,
        "--tokenizer": tokeniser,
        "--dataset-name": "random",
        "--random-input-len": max(own_tokens, 1),
        "--random-output-len": max(round(workload.output_tokens * load.mix.output_ratio), 2),
        "--random-range-ratio": workload.length_spread,
        "--random-prefix-len": workload.prefix_tokens,
        "--num-prompts": load.num_requests,
        "--max-concurrency": load.concurrency,
        "--request-rate": workload.request_rate,
        "--seed": load.seed % 2**31,
        "--percentile-metrics": "ttft,tpot,itl,e2el",
        "--metric-percentiles": ",".join(map(str, PERCENTILES)),
        "--ready-check-timeout-sec": 0,
        "--temperature": 0,
        "--extra-body": json.dumps({"cache_salt": load.salt}),
        "--result-dir": folder,
        "--result-filename": _RESULT,
    }
    flags = ("--ignore-eos", "--save-result", "--save-detailed", "--disable-tqdm")
    words = [str(word) for pair in arguments.items() for word in pair]
    return ["bench", "serve", *words, *flags]


def measure_bench_window(
    server: VllmServer,
    load: BenchLoad,
    side: ServerSide,
    *,
    command: Sequence[str],
    env: Mapping[str, str],
    tokeniser: Path,
    is_batch_invariant: bool,
) -> WindowSample:
    """Let ``vllm bench serve`` play a load and return all that was seen, on both sides.

    Args:
        server: what is measured.
        load: what is played.
        side: looks at the server meanwhile.
        command: words that run vLLM's command line.
        env: environment of the client.
        tokeniser: folder with the model's tokeniser.
        is_batch_invariant: tokens do not depend on the batch, so their digest means something.

    Raises:
        ServerFailedError: the server failed or completed nothing, or the client failed.
    """
    with tempfile.TemporaryDirectory(prefix="arbor-bench-") as name:
        folder = Path(name)
        log, machine = LogMark(server.child.log_path), read_machine_counters()
        with side:
            clock = ProcessorClock(server.child)
            ran = run_beside(
                [*command, *bench_words(server, load, tokeniser, folder)],
                env,
                folder,
                phase="benchmark",
                limit_s=load.limit_s,
                server=server.child,
            )
            server_cpu_s, foreign = clock.read()
        passed = read_machine_counters().since(machine)
        try:
            result = read_result(folder / _RESULT)
        except BadResultError as error:
            raise server.failure("benchmark", f"vllm bench serve: {error}") from error
    if result["completed"] == 0:
        failed = num_failed(result, load.num_requests)
        reason = next(iter(errors_of(result)), "no reason given")
        raise server.failure(
            "benchmark", f"{failed} of {load.num_requests} requests failed: {reason}"
        )
    fields = sample_fields(result, load.num_requests, load.concurrency)
    if not load.workload.length_spread:
        num_output = max(round(load.workload.output_tokens * load.mix.output_ratio), 2)
        fields["num_planned_output_tokens"] = num_output * load.num_requests
    texts = result.get("generated_texts")
    if is_batch_invariant and isinstance(texts, list):
        fields["output_digest"] = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    logged = log.read()
    # the client is no foreign load
    own = ran.cpu_s / max(ran.wall_s * len(usable_cores()), 1e-9)
    fields |= {
        "server_cpu_s": server_cpu_s,
        "foreign_cpu_ratio": max(foreign - own, 0.0),
        "num_compilations": logged.num_compilations,
        "num_log_warnings": logged.num_warnings,
        "num_throttlings": passed.num_throttlings,
        "energy_j": passed.energy_j,
    }
    return WindowSample(**{**fields, **side.fields(fields["num_completed"])}, seed=load.seed)
