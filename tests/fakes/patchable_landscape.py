"""A landscape whose speed and answers depend on sources in its workspace, which really run."""

import json
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from arbor.actors.founding import found
from arbor.actors.journal import Journal
from arbor.actors.local import LocalCampaign
from arbor.actors.place import Place
from arbor.core.accuracy import Gate
from arbor.core.campaign import Campaign
from arbor.core.models import Model
from arbor.events.blobs import BlobStore
from arbor.events.memory import MemoryLog
from arbor.events.types import AccuracySample, Load, Scalar, WindowSample
from arbor.targets.base import STANDARD_LOAD, LocalCheck, Server, ServerFailedError
from arbor.targets.landscape import LandscapeConfig, LandscapeServer
from arbor.targets.landscape_accuracy import landscape_accuracy
from arbor.targets.workspace import Workspace
from tests.fakes.hooked_landscape import HookedLandscape
from tests.fakes.scripted_model import Script, ScriptedModel
from tests.fakes.simulation import HARDWARE, Simulation

ATTENTION = "overlay/attention.py"
SAMPLER = "overlay/sampler.py"
SOURCES = {
    ATTENTION: (
        '"""Attends."""\n\nSPEED = 1.0\nERROR = 0.0\n\n\ndef attend(x):\n    return x * 2\n'
    ),
    SAMPLER: '"""Samples."""\n\nSPEED = 1.0\nERROR = 0.0\n\n\ndef sample(x):\n    return max(x)\n',
}
CATEGORIES = {ATTENTION: "attention", SAMPLER: "sampler"}
HARNESS = "benchmarks/window.py"


def diff_of(path: str, old: str, new: str) -> str:
    """Return a unified diff that replaces the one line of a source."""
    number = SOURCES[path].splitlines().index(old) + 1
    return f"--- a/{path}\n+++ b/{path}\n@@ -{number},1 +{number},1 @@\n-{old}\n+{new}\n"


class PatchableLandscape(HookedLandscape):
    """Runs the sources of ``overlay/``: they say how fast the server is and how far off."""

    def __init__(self, config: LandscapeConfig, sleep: Callable[[float], None]) -> None:
        super().__init__(config, sleep)
        self._running: dict[int, dict[str, dict[str, Any]]] = {}

    def create_workspace(self, path: Path) -> None:
        """Write the configuration and the sources."""
        super().create_workspace(path)
        for name, text in SOURCES.items():
            (path / name).parent.mkdir(exist_ok=True)
            (path / name).write_text(text)

    def patchable(self) -> Mapping[str, str]:
        """Return the sources."""
        return CATEGORIES

    def local_checks(self) -> Sequence[LocalCheck]:
        """Return one check, which compiles the sources."""
        program = (
            "import pathlib\n"
            "for path in sorted(pathlib.Path('overlay').glob('*.py')):\n"
            "    compile(path.read_text(), path.name, 'exec')\n"
        )
        return (LocalCheck("compile", (sys.executable, "-I", "-c", program)),)

    @contextmanager
    def serve(self, worktree: Path, log_path: Path) -> Iterator[LandscapeServer]:
        """Start the configuration and run its sources."""
        with super().serve(worktree, log_path) as server:
            self._running[id(server)] = {p: _run(worktree / p, log_path) for p in SOURCES}
            server.config = server.config | _changed(worktree)
            yield server

    def benchmark(
        self, server: Server, seed: int, num_requests: int, load: Load = STANDARD_LOAD
    ) -> WindowSample:
        """Play a window as fast as the sources say."""
        speed = 1.0
        for source in self._running[id(server)].values():
            speed *= source["SPEED"]
        before = self.config
        faster = before.throughput_tok_s * speed
        self.config = before.model_copy(update={"throughput_tok_s": faster})
        try:
            return super().benchmark(server, seed, num_requests, load)
        finally:
            self.config = before

    def reference(self, server: Server) -> bytes:
        """Return answers that are as far off as the sources say."""
        error = sum(source["ERROR"] for source in self._running[id(server)].values())
        text = super().reference(server).decode()
        return text.replace("}", f', "error": {error}}}').encode()

    def accuracy(
        self,
        server: Server,
        reference: bytes,
        gate: Gate | None = None,  # noqa: ARG002 - everything costs nothing here
    ) -> AccuracySample:
        """Return the distance that the sources and the switches make."""
        own, other = json.loads(self.reference(server)), json.loads(reference)
        kl = abs(own["kl"] - other["kl"]) + abs(own["error"] - other["error"])
        self._pass(self.config.window_s / 4)
        return landscape_accuracy(kl)


def _run(path: Path, log_path: Path) -> dict[str, Any]:
    try:
        return runpy.run_path(str(path))
    except Exception as error:
        text = traceback.format_exc()
        log_path.write_text(text)
        lines = tuple(text.splitlines())
        raise ServerFailedError("start", f"the server ended: {error}", 1, None, lines) from error


def _changed(worktree: Path) -> dict[str, Scalar]:
    contents = {path: (worktree / path).read_bytes() for path in SOURCES}
    return {
        path.replace("overlay/", "overlay."): sha256(content).hexdigest()
        for path, content in contents.items()
        if content != SOURCES[path].encode()
    }


@dataclass
class PatchSimulation(Simulation):
    """A campaign on that landscape, in virtual time, with a model whose words a test writes."""

    script: Script | None = None
    model: ScriptedModel = field(init=False)

    def __post_init__(self) -> None:
        self.log = MemoryLog("c", self.clock.now)
        landscape = self.landscape.model_copy(update={"time_scale": 1.0})
        self.target = PatchableLandscape(landscape, self.clock.sleep)
        blobs = BlobStore(self.directory / "blobs")
        workspace = Workspace(self.directory / "workspace")
        self.model = ScriptedModel(self.script or _silent)
        self.place = Place(
            self.target,
            workspace,
            blobs,
            self.directory,
            host="h",
            create_model=self._create_model if self.script is not None else None,
        )
        found(self.place, self.log, self.campaign, HARDWARE, self.clock)
        self.local = LocalCampaign(self.place, self.log, self.clock)

    def _create_model(self, _journal: Journal) -> Model:
        return self.model


def _silent(_asked: object) -> str:
    raise AssertionError("there is no model in this campaign")


def patch_campaign(**patches: Any) -> Campaign:
    """Return a campaign of ten minutes with settings of its patches."""
    return Campaign.model_validate(
        {"target": "landscape", "budget": {"wall": "10m"}, "patches": patches}
    )
