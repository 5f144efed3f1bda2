"""A window on a server of the ``command`` target: played by Arbor, or by a user's program."""

import math
import time
from typing import Any

from arbor.events.types import Counter, Load, WindowSample
from arbor.targets.base import STANDARD_LOAD, ServerFailedError
from arbor.targets.command.locators import NotFoundInOutputError, Output
from arbor.targets.command.measures import CommandLoad, OpenAiLoad
from arbor.targets.command.process import CommandServer
from arbor.targets.command.programs import Ended, run_command
from arbor.targets.command.prompts import requests_of
from arbor.targets.hardware import usable_cores
from arbor.targets.load_window import RequestLoad, observe, play
from arbor.targets.processor_clock import ProcessorClock
from arbor.targets.prometheus import growth, read_counters
from arbor.targets.server_log import LogMark


def measure_window(
    server: CommandServer,
    settings: OpenAiLoad | CommandLoad,
    seed: int,
    num_requests: int,
    load: Load = STANDARD_LOAD,
    *,
    metrics: str = "",
) -> WindowSample:
    """Play one window and return all that was seen.

    Args:
        server: the server.
        settings: what is played, and by whom.
        seed: of the prompts.
        num_requests: how many.
        load: workload and concurrency.
        metrics: path of the server's counters; none when empty.

    Raises:
        ServerFailedError: the server or the benchmark failed, hung, or completed nothing.
    """
    server.child.check("benchmark")
    before = _counters(server, metrics)
    if isinstance(settings, OpenAiLoad):
        fields = _played(server, settings, seed, num_requests, load)
    else:
        fields = _by_command(server, settings, seed, num_requests, load)
    grown = growth(before, _counters(server, metrics))
    server.child.check("benchmark")
    counters = tuple(Counter(key=key, value=value) for key, value in sorted(grown.items()))
    return WindowSample(**fields, counters=counters, seed=seed)


def play_load(
    server: CommandServer, settings: OpenAiLoad, phase: str, seed: int, num_requests: int
) -> None:
    """Play requests of which nothing is kept, for warm-ups and profiles.

    Raises:
        ServerFailedError: the server failed, hung, or completed nothing.
    """
    play(server, phase, _request_load(settings, seed, num_requests, STANDARD_LOAD))


def _request_load(settings: OpenAiLoad, seed: int, num_requests: int, load: Load) -> RequestLoad:
    return RequestLoad(
        requests=requests_of(settings, seed, num_requests, load.workload),
        concurrency=load.concurrency or settings.concurrency,
        limit_s=settings.limit_s,
        request_limit_s=settings.request_limit_s,
        path=settings.path,
    )


def _played(
    server: CommandServer, settings: OpenAiLoad, seed: int, num_requests: int, load: Load
) -> dict[str, Any]:
    fields = observe(server, _request_load(settings, seed, num_requests, load))
    if not settings.is_full_length:
        fields["num_planned_output_tokens"] = None
    if not settings.is_batch_invariant:
        fields["output_digest"] = ""
    return fields


def _by_command(
    server: CommandServer, settings: CommandLoad, seed: int, num_requests: int, load: Load
) -> dict[str, Any]:
    concurrency = load.concurrency or settings.concurrency
    values = {
        **server.values,
        "seed": seed,
        "num_requests": num_requests,
        "concurrency": concurrency,
        "workload": load.workload,
    }
    log, clock, started_s = LogMark(server.child.log_path), ProcessorClock(server.child), _now()
    ended = run_command(settings, values, server.folder, "benchmark", "the benchmark")
    server_cpu_s, busy_ratio = clock.read()
    capacity_s = max(_now() - started_s, 1e-9) * len(usable_cores())
    logged = log.read()
    try:
        fields = _figures(settings, ended, num_requests)
    except NotFoundInOutputError as error:
        message = f"the benchmark printed no figures: {error}"
        raise ServerFailedError("benchmark", message, log_tail=server.child.log_tail()) from error
    return fields | {
        "num_planned_requests": num_requests,
        "num_concurrent_planned": concurrency,
        "num_compilations": logged.num_compilations,
        "num_log_warnings": logged.num_warnings,
        "server_cpu_s": server_cpu_s,
        # the program is no foreign load
        "foreign_cpu_ratio": min(max(busy_ratio - ended.cpu_s / capacity_s, 0.0), 1.0),
    }


def _figures(settings: CommandLoad, ended: Ended, num_requests: int) -> dict[str, Any]:
    """Return the fields of a window that the program told.

    Raises:
        NotFoundInOutputError: one is missing or makes no sense.
    """
    results, output = settings.results, ended.output
    num_failed = _count(output, results.num_failed)
    num_completed = (
        max(num_requests - num_failed, 0)
        if results.num_completed is None
        else _count(output, results.num_completed)
    )
    if results.num_output_tokens is not None:
        num_output = _count(output, results.num_output_tokens)
    else:
        num_output = num_completed * (results.tokens_per_request or 0)
    duration_s = ended.duration_s
    if results.duration_s is not None:
        duration_s = output.number(results.duration_s)
    throughput = num_output / duration_s if duration_s > 0 else math.nan
    if results.throughput_tok_s is not None:
        throughput = output.number(results.throughput_tok_s)
    if not (duration_s > 0 and throughput >= 0):
        raise NotFoundInOutputError(f"duration {duration_s:g} s, throughput {throughput:g} tok/s")
    if num_completed == 0:
        raise NotFoundInOutputError(f"no request was completed, {num_failed} failed")
    given = results.num_input_tokens
    return {
        "num_completed": num_completed,
        "num_failed": num_failed,
        "num_input_tokens": 0 if given is None else _count(output, given),
        "num_output_tokens": num_output,
        "duration_s": duration_s,
        "throughput_tok_s": throughput,
        **{name: output.number(where) for name, where in results.latencies.items()},
    }


def _count(output: Output, locator: str) -> int:
    number = output.number(locator)
    if number < 0:
        raise NotFoundInOutputError(f"{locator} is {number:g}, below 0")
    return round(number)


def _counters(server: CommandServer, metrics: str) -> dict[str, float]:
    return read_counters(server.ask_text("benchmark", "GET", metrics)) if metrics else {}


def _now() -> float:
    return time.perf_counter()
