"""Twelve faults provoked on the real engine: each is diagnosed, cleaned up after, and survived.

The baseline's server stays up through all of them, as the incumbent does in a campaign, and
answers as before after each.
"""

import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from arbor.core.accuracy import Gate, violations
from arbor.core.measure.soak import soak_violation
from arbor.core.rca import Diagnosis, Incident, diagnose
from arbor.core.rca.excerpt import numbered
from arbor.core.witness import has_witness
from arbor.events.evidence import SoakMeasured
from arbor.events.settings import GateSettings
from arbor.events.types import Witness
from arbor.targets.base import ServerFailedError
from arbor.targets.child import free_port
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.server.overlay import FOLDER, editable_sources
from arbor.targets.engine.target import EngineTarget, EngineTargetConfig
from arbor.targets.host_state import host_facts
from arbor.targets.leftovers import leftovers, servers_of
from arbor.targets.workspace import Workspace
from tests.fakes.ports import ListedPorts
from tests.fakes.processes import all_gone, wait_until

pytestmark = pytest.mark.system

LIMIT_S = 30.0
REQUEST_LIMIT_S = 2.0
NUM_REQUESTS = 4
TINY = {
    "synthetic": {
        "seed": 3,
        "vocab_size": 512,
        "width": 64,
        "num_layers": 2,
        "ffn_width": 96,
        "max_positions": 256,
    },
    "concurrency": 4,
    "num_requests": NUM_REQUESTS,
    "length_scale": 0.1,
    "check": {"num_sequences": 4, "num_tokens": 40, "num_decode": 8, "batch": 4},
    "request_limit_s": REQUEST_LIMIT_S,
    "load_limit_s": 4 * REQUEST_LIMIT_S,
    "start_limit_s": 60.0,
}
_HEAD = "return self.head_product(hidden).to(torch.float32)"
GATE = Gate(GateSettings(max_task_drop_ratio=0.2), claims_exact=False)
"""The few prompts of this check leave a wide interval to the task's score."""


class Ward:
    """An engine with a baseline that stays up, and candidates whose decoder has a fault.

    Attributes:
        target: the engine.
        baseline: server of the baseline.
        reference: its answers to the accuracy prompts.
        mine: processes that stay up: the baseline's, and what candidates are forked from.
    """

    def __init__(self, path: Path, target: EngineTarget) -> None:
        self.path = path
        self.target = target
        self.workspace = Workspace(path / "workspace")
        self.root = self.workspace.create(target.create_workspace)
        self.baseline: EngineServer
        self.reference = b""
        self.mine: set[int] = set()
        self._num_starts = 0

    def checkout(self, fault: str) -> Path:
        """Return a worktree whose decoder calls ``fault`` on its logits.

        Args:
            fault: body of a function of ``logits`` and the number ``call`` of its call.
        """
        source = editable_sources()["decoder.py"].decode()
        assert source.count(_HEAD) == 1
        changed = source.replace(_HEAD, _HEAD.replace("return ", "return _fault(") + ")")
        body = "\n".join(f"    {line}" for line in fault.splitlines())
        changed += f"\n\n_calls = [0]\n\n\ndef _fault(logits):\n    _calls[0] += 1\n{body}\n"
        files = {f"{FOLDER}/decoder.py": changed.encode()}
        commit = self.workspace.commit_files(self.root, files, "Provoke a fault")
        return self.workspace.checkout(commit, self.path / "worktrees" / commit)

    @contextmanager
    def serve(self, worktree: Path, target: EngineTarget | None = None) -> Iterator[EngineServer]:
        """Start what a worktree holds, forked where that is possible."""
        self._num_starts += 1
        own = target or self.target
        start = own.serve_quickly if target is None else own.serve
        with start(worktree, self.path / "logs" / f"{self._num_starts}.log") as server:
            yield server

    def failure(self, fault: str, target: EngineTarget | None = None) -> ServerFailedError:
        """Start a candidate with a fault and load it; return how it failed."""
        pids: list[int] = []

        def load() -> None:
            with self.serve(self.checkout(fault), target) as server:
                pids.extend(server.child.pids())
                self.target.warmup(server, 1)
                self.target.benchmark(server, 2, NUM_REQUESTS)

        with pytest.raises(ServerFailedError) as caught:
            load()
        wait_until(lambda: all_gone(pids), LIMIT_S)
        return caught.value

    def pids(self) -> set[int]:
        """Return the processes of servers, and of what servers are forked from."""
        return {process.pid for process in servers_of(self.path)}

    def require_sound(self) -> None:
        """Check that nothing is left over and that the incumbent answers as it did."""
        assert leftovers(self.path) == []
        wait_until(lambda: self.pids() <= self.mine, LIMIT_S)
        assert self.baseline.child.poll() is None
        sample = self.target.benchmark(self.baseline, 3, NUM_REQUESTS)
        assert (sample.num_completed, sample.num_failed) == (NUM_REQUESTS, 0)


@pytest.fixture(scope="module")
def _ward(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ward]:
    path = tmp_path_factory.mktemp("ward")
    target = EngineTarget(EngineTargetConfig.model_validate(TINY | {"cache": path / "cache"}))
    ward = Ward(path, target)
    with target.serve(
        ward.workspace.checkout(ward.root, path / "root"), path / "logs/0.log"
    ) as up:
        ward.baseline = up
        target.warmup(up, 1)
        ward.reference = target.reference(up)
        with ward.serve(ward.checkout("return logits")):
            pass
        wait_until(lambda: len(ward.pids()) >= 1, LIMIT_S)
        ward.mine = ward.pids()
        yield ward
    target.close()


@pytest.fixture
def ward(_ward: Ward) -> Iterator[Ward]:
    """The ward; after the fault nothing of it may be left."""
    yield _ward
    _ward.require_sound()


def cause_of(error: ServerFailedError, path: Path) -> Diagnosis:
    """Return what a campaign would make of a failure."""
    return diagnose(
        Incident(
            lines=error.log_excerpt or numbered(error.log_tail),
            message=error.message,
            phase=error.phase,
            exit_code=error.exit_code,
            signal=error.signal,
            template_id="candidate",
            patch_files=("decoder.py",),
            facts=host_facts(path),
        )
    )


SEGFAULT = "import ctypes\nctypes.string_at(0)\nreturn logits"
KILLED = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
HANG = "import time\nif _calls[0] > 20:\n    time.sleep(600)\nreturn logits"
DISK = "with open('/dev/full', 'w') as file:\n    file.write('x' * 100_000)\nreturn logits"
JUMP = (
    "import time\n"
    "if _calls[0] == 40:\n"
    "    day = time.time\n"
    "    time.time = lambda: day() + 3600.0\n"
    "return logits"
)
DEADLOCK = (
    "import threading\n"
    "if _calls[0] > 20:\n"
    "    lock = threading.Lock()\n"
    "    lock.acquire()\n"
    "    lock.acquire()\n"
    "return logits"
)


@pytest.mark.parametrize(
    ("fault", "causes", "whose"),
    [
        pytest.param(
            SEGFAULT, {"memory_fault", "implementation_error"}, "implementation", id="segfault"
        ),
        pytest.param(KILLED, {"killed", "oom_host"}, "environment", id="oom_kill"),
        pytest.param(HANG, {"hang", "timeout"}, "implementation", id="hang"),
        pytest.param(DISK, {"disk_full"}, "environment", id="disk"),
        pytest.param(DEADLOCK, {"hang", "timeout"}, "implementation", id="deadlock"),
    ],
)
def test_a_candidate_that_ends_or_stands_still(
    ward: Ward, fault: str, causes: set[str], whose: str
) -> None:
    found = cause_of(ward.failure(fault), ward.path)
    assert found.cause in causes
    assert found.fault == whose
    assert not found.blames_idea, "none of these refutes an idea"


def test_a_port_that_somebody_holds(ward: Ward) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        config = EngineTargetConfig.model_validate(TINY | {"cache": ward.path / "cache"})
        unlucky = EngineTarget(config, ListedPorts([taken, taken, taken]).choose)
        found = cause_of(ward.failure("return logits", unlucky), ward.path)
        assert (found.cause, found.fault, found.step) == (
            "port_in_use",
            "environment",
            "end_leftovers",
        )
        lucky = EngineTarget(config, ListedPorts([taken, free_port()]).choose)
        with ward.serve(ward.checkout("return logits"), lucky) as server:
            assert server.port != taken, "another start takes another port"
        assert holder.fileno() >= 0


def _distance(ward: Ward, fault: str) -> Sequence[str]:
    """Return what the accuracy gate says of a candidate."""
    with ward.serve(ward.checkout(fault)) as server:
        try:
            sample = ward.target.accuracy(server, ward.reference)
        except ServerFailedError as error:
            return (error.message,)
    return violations(sample, GATE)


def test_wrong_weights_do_not_pass_the_gate(ward: Ward) -> None:
    assert _distance(ward, "return logits") == ()
    assert _distance(ward, "return logits.flip(-1)")


def test_numbers_that_are_none_do_not_pass_the_gate(ward: Ward) -> None:
    assert _distance(ward, "return logits * float('nan')")


def test_memory_that_leaks_fails_the_soak(ward: Ward) -> None:
    """Growth is seen at steady load; the twin without the leak stands it."""

    def soak(fault: str) -> str | None:
        with ward.serve(ward.checkout(fault)) as server:
            ward.target.warmup(server, 1)
            windows, rss_bytes = [], []
            for seed in range(6):
                windows.append(ward.target.benchmark(server, seed, NUM_REQUESTS))
                rss_bytes.append(ward.target.rss_bytes(server) or 0)
        # speed is not what this is about
        first = windows[0]
        return soak_violation(
            SoakMeasured(
                attempt_id="r1.1",
                request_id="r1",
                node_id="n000",
                commit="c",
                windows=tuple(
                    w.model_copy(update={"throughput_tok_s": first.throughput_tok_s})
                    for w in windows
                ),
                concurrency=4,
                server_rss_bytes=tuple(rss_bytes),
            )
        )

    leak = "globals().setdefault('_kept', []).append(bytearray(b'x' * (8 << 20)))\nreturn logits"
    assert soak("return logits") is None
    told = soak(leak)
    assert told is not None
    assert told.startswith("memory grew from")


def test_a_flag_that_nothing_reads_has_no_witness(ward: Ward) -> None:
    """The counter of the code that it claims to change does not grow: it was not refuted."""
    witness = Witness(kind="counter", key="attention.cpp")
    with ward.serve(ward.checkout("return logits")) as server:
        sample = ward.target.benchmark(server, 3, NUM_REQUESTS)
        found, detail = has_witness(witness, (), [sample], server.resolved_config())
    assert not found
    assert "attention.cpp" in detail


def test_a_child_that_a_server_leaves_behind_ends_with_it(ward: Ward) -> None:
    """A process of its own session outlives its parent, but not the guard above both."""
    # the server lives in a jail: its process numbers and files are its own, its arguments are seen
    name = f"600.{os.getpid()}"
    zombie = (
        "import os, subprocess\n"
        f"child = subprocess.Popen(['sleep', '{name}'], start_new_session=True)\n"
        "print('left behind', child.pid, flush=True)\n"
        "os._exit(7)"
    )
    error = ward.failure(zombie)
    assert error.exit_code == 7
    assert any(line.startswith("left behind ") for line in error.log_tail)
    wait_until(lambda: not sleepers(name), LIMIT_S)


def sleepers(name: str) -> list[int]:
    """Return the processes that sleep for a time, zombies left out."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.cmdline() == ["sleep", name]:
                found.append(process.pid)
    return found


def test_a_clock_that_jumps_changes_no_measurement(ward: Ward) -> None:
    """The server's clock of the day jumps by an hour; windows and latencies do not use it."""
    begun_s = time.monotonic()
    with ward.serve(ward.checkout(JUMP)) as server:
        ward.target.warmup(server, 1)
        sample = ward.target.benchmark(server, 3, NUM_REQUESTS)
    took_s = time.monotonic() - begun_s
    assert sample.num_failed == 0
    assert 0 < sample.duration_s <= took_s
    assert sample.e2e_ms_mean is not None
    assert sample.e2e_ms_mean / 1e3 <= took_s
    assert sample.server_e2e_ms_mean is not None
    assert sample.server_e2e_ms_mean / 1e3 <= took_s
