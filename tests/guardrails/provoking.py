"""Cases that guardrails are for, provoked on real servers: each beside a clean twin.

Every function is named like the rule that its first recording must trigger.
"""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arbor.core.witness import has_witness
from arbor.events.types import Edit, WindowSample
from arbor.targets.base import ServerFailedError
from arbor.targets.engine.target import EngineTarget, EngineTargetConfig
from arbor.targets.engine.trace import TraceRequest
from arbor.targets.hardware import probe_hardware
from arbor.targets.landscape import LandscapeConfig, LandscapeTarget
from arbor.targets.landscape_config import Noise
from arbor.targets.workspace import Workspace
from tests.guardrails.lab import SMALL, VOCAB_SIZE, Lab, quiet
from tests.guardrails.recorded import Recording

BURNER = "while True: pass"
COMPILED = Edit(key="compiler.compile", value="pieces")
# the short pass at the start decodes two rows; one row alone is compiled when it first occurs
LAZY = (
    COMPILED,
    Edit(key="application.decode_batching", value=True),
    Edit(key="application.max_num_seqs", value=8),
)


# One function for each case: what is provoked, and its twin


def warm_prefix_cache(lab: Lab) -> tuple[Recording, Recording]:
    """The same seed again, without emptying the prefix cache."""
    reuse = Edit(key="application.prefix_reuse", value=True)
    with lab.serve(reuse) as server, lab.serve() as baseline:
        incumbent = quiet(lambda: lab.window(baseline))
        cold = quiet(lambda: lab.window(server))
        lab.window(server)
        warm = quiet(lambda: lab.window(server, is_reset=False))
    return Recording([(warm, incumbent)]), Recording([(cold, incumbent)])


@dataclass(frozen=True)
class StoppingRequest(TraceRequest):
    """A request that ends at an end-of-sequence token."""

    def body(self) -> dict[str, Any]:
        """JSON body of a streaming completion."""
        return super().body() | {"ignore_eos": False}


def short_outputs(lab: Lab) -> tuple[Recording, Recording]:
    """End-of-sequence tokens are honoured; a tenth of the vocabulary are such tokens."""
    model = Path(tempfile.mkdtemp(dir=lab.folder))
    for file in lab.target.model.iterdir():
        (model / file.name).symlink_to(file)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").unlink()
    stops = list(range(0, VOCAB_SIZE, 10))
    (model / "config.json").write_text(json.dumps(config | {"eos_token_id": stops}))
    target = EngineTarget(EngineTargetConfig.model_validate(SMALL | {"model": model}))
    trace = lab.trace(9)
    stopping = tuple(StoppingRequest(**vars(request)) for request in trace)
    with lab.serve(target=target) as server:
        short = quiet(lambda: lab.window(server, stopping))
        full = quiet(lambda: lab.window(server, trace))
    return Recording([(short, short)]), Recording([(full, full)])


def single_token_outputs(lab: Lab) -> tuple[Recording, Recording]:
    """One output token a request."""
    trace = tuple(replace(request, max_tokens=1) for request in lab.trace(9))
    with lab.serve() as server:
        single = quiet(lambda: lab.window(server, trace))
        full = quiet(lambda: lab.window(server))
    return Recording([(single, single)]), Recording([(full, full)])


def cut_prompts(lab: Lab) -> tuple[Recording, Recording]:
    """Some prompts are longer than the model has positions."""
    with lab.serve() as server:
        long = quiet(lambda: lab.window(server, lab.trace(9, length_scale=1.2)))
        fitting = quiet(lambda: lab.window(server))
    return Recording([(long, long)]), Recording([(fitting, fitting)])


def failed_requests(lab: Lab) -> tuple[Recording, Recording]:
    """A limit per request that some of them do not meet."""
    with lab.serve() as server:
        full = quiet(lambda: lab.window(server))
        late = full
        for limit_ms in range(10, 1000, 10):
            # below the least latency nothing completes, which is no window
            with suppress(ServerFailedError):
                late = lab.window(server, request_limit_s=limit_ms / 1e3)
                break
    return Recording([(late, full)]), Recording([(full, full)])


def equal_work(lab: Lab) -> tuple[Recording, Recording]:
    """Arms with different seeds and lengths."""
    with lab.serve() as server:
        full = quiet(lambda: lab.window(server))
        other = quiet(lambda: lab.window(server, lab.trace(10, num_requests=16), seed=10))
    return Recording([(other, full)]), Recording([(full, full)])


def foreign_load(lab: Lab) -> tuple[Recording, Recording]:
    """Two foreign processes burn the processor."""
    with lab.serve() as server:
        calm = quiet(lambda: lab.window(server))
        burners = [subprocess.Popen([sys.executable, "-c", BURNER]) for _ in range(2)]
        try:
            loaded = lab.window(server)
        finally:
            for burner in burners:
                burner.kill()
                burner.wait()
    return Recording([(calm, loaded)]), Recording([(calm, calm)])


def client_bound(lab: Lab) -> tuple[Recording, Recording]:
    """Threads in the client's process hold the interpreter."""
    is_over = threading.Event()

    def spin() -> None:
        while not is_over.is_set():
            pass

    with lab.serve() as server:
        free = quiet(lambda: lab.window(server))
        threads = [threading.Thread(target=spin) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            held = lab.window(server)
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
    return Recording([(held, free)]), Recording([(free, free)])


def saturation(lab: Lab) -> tuple[Recording, Recording]:
    """Fewer requests than the client was to keep open."""
    trace = lab.trace(9, num_requests=6)
    with lab.serve() as server:
        few = quiet(lambda: lab.window(server, trace))
        full = quiet(lambda: lab.window(server))
    return Recording([(few, few)]), Recording([(full, full)])


def preemption(lab: Lab) -> tuple[Recording, Recording]:
    """A KV cache that four sequences do not fit into."""
    edit = Edit(key="application.kv_capacity_tokens", value=256)
    with lab.serve(edit) as server, lab.serve() as baseline:
        full = quiet(lambda: lab.window(baseline))
        cramped = quiet(lambda: lab.window(server))
    return Recording([(cramped, full)]), Recording([(full, full)])


def chunked_stream(lab: Lab) -> tuple[Recording, Recording]:
    """Eight tokens a message."""
    edit = Edit(key="application.stream_interval", value=8)
    with lab.serve(edit) as server, lab.serve() as baseline:
        single = quiet(lambda: lab.window(baseline))
        gathered = quiet(lambda: lab.window(server))
    return Recording([(gathered, single)]), Recording([(single, single)])


def debug_left_on(lab: Lab) -> tuple[Recording, Recording]:
    """The engine's profiler runs on."""
    with lab.serve() as server:
        plain = quiet(lambda: lab.window(server))
        server.ask("profile", "POST", "/profile/start")
        profiled = quiet(lambda: lab.window(server))
    return Recording([(profiled, plain)]), Recording([(plain, plain)])


def witness(lab: Lab) -> tuple[Recording, Recording]:
    """A prefix cache under prompts that are too short to share a block."""
    actions = {action.template_id: action for action in lab.target.actions(probe_hardware())}
    action = actions["prefix_reuse"]
    trace = lab.trace(9)
    short = tuple(replace(request, prompt=request.prompt[:8]) for request in trace)
    with lab.serve(*action.edits) as server, lab.serve() as baseline:

        def side(requests: tuple[TraceRequest, ...]) -> Recording:
            window = quiet(lambda: lab.window(server, requests))
            incumbent = quiet(lambda: lab.window(baseline, requests))
            found, detail = has_witness(
                action.witness, action.edits, [window], server.resolved_config()
            )
            return Recording([(window, incumbent)], witness_detail="" if found else detail)

        return side(short), side(trace)


def limit_not_reached(lab: Lab) -> tuple[Recording, Recording]:
    """More places than before, for requests that filled the old ones only."""
    edit = Edit(key="application.max_num_seqs", value=64)
    config = {edit.key: lab.target.baseline_config()[edit.key]}
    with lab.serve(edit) as server, lab.serve() as baseline:

        def side(num_open: int) -> Recording:
            window = quiet(lambda: lab.window(server, concurrency=num_open))
            incumbent = quiet(lambda: lab.window(baseline, concurrency=num_open))
            return Recording([(window, incumbent)], (edit,), config)

        return side(3), side(8)


def compiled_in_window(lab: Lab) -> tuple[Recording, Recording]:
    """A server that was not warmed up compiles for a shape that it meets in the window."""
    with lab.serve() as baseline:
        incumbent = quiet(lambda: lab.window(baseline))

    def side(*, is_warm: bool) -> Recording:
        with lab.serve(*LAZY, is_warm=is_warm) as server:
            return Recording([(lab.window(server), incumbent)])

    return side(is_warm=False), side(is_warm=True)


def cold_first_window(lab: Lab) -> tuple[Recording, Recording]:
    """The same, seen without the compiler's counter: the first window against the later ones."""
    with lab.serve() as baseline:
        incumbent = [quiet(lambda: lab.window(baseline)) for _ in range(4)]

    def side(*, is_warm: bool) -> Recording:
        with lab.serve(*LAZY, is_warm=is_warm) as server:
            windows = [lab.window(server)]
            windows += [quiet(lambda: lab.window(server)) for _ in range(3)]
        return Recording(list(zip(windows, incumbent, strict=True)))

    return side(is_warm=False), side(is_warm=True)


def code_cache_differs(lab: Lab) -> tuple[Recording, Recording]:
    """One arm compiles its code, the other one finds it in the cache of the first."""
    cache = Path(tempfile.mkdtemp(dir=lab.folder))
    target = EngineTarget(EngineTargetConfig.model_validate(SMALL | {"cache": cache}))

    def window() -> WindowSample:
        with lab.serve(COMPILED, target=target) as server:
            lab.window(server)
            return quiet(lambda: lab.window(server))

    compiled, loaded = window(), window()
    return Recording([(compiled, loaded)]), Recording([(loaded, loaded)])


def incumbent_trend(lab: Lab) -> tuple[Recording, Recording]:
    """A declared machine that gets slower during the series."""
    sides = []
    for drift in (0.3, 0.0):
        noise = Noise(window_sd=0.01, drift=drift, drift_period_s=45.0)
        target = LandscapeTarget(LandscapeConfig(noise=noise, seed=5), sleep=lambda _: None)
        workspace = Workspace(lab.folder / f"landscape-{drift}")
        tree = workspace.checkout(
            workspace.create(target.create_workspace), lab.folder / f"tree-{drift}"
        )
        log = lab.folder / "landscape.log"
        with target.serve(tree, log) as candidate, target.serve(tree, log) as incumbent:
            for _ in range(8):
                target.benchmark(candidate, 0, 15)
            pairs = [
                (target.benchmark(candidate, seed, 15), target.benchmark(incumbent, seed, 15))
                for seed in range(8)
            ]
        sides.append(Recording(pairs))
    return sides[0], sides[1]


Provoke = Callable[[Lab], tuple[Recording, Recording]]

PROVOKED: tuple[Provoke, ...] = (
    failed_requests,
    equal_work,
    short_outputs,
    single_token_outputs,
    cut_prompts,
    foreign_load,
    client_bound,
    saturation,
    warm_prefix_cache,
    compiled_in_window,
    cold_first_window,
    code_cache_differs,
    preemption,
    debug_left_on,
    chunked_stream,
    incumbent_trend,
    limit_not_reached,
    witness,
)
"""Named like the rules that they must trigger."""
