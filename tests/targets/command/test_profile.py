"""Shares come from a program too, and a profiler that tells nothing is an outcome."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from arbor.events.types import Edit
from arbor.targets.base import ServerFailedError
from arbor.targets.prometheus import read_counters
from tests.contracts.target import Bench
from tests.targets.command.small import small_target
from tests.targets.profiles.traces import GEMM, kernel

WRITE = "import pathlib,sys;pathlib.Path(sys.argv[1],'a.json').write_text(sys.argv[2])"


def program(code: str, *words: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "command", "command": [sys.executable, "-c", code, *words], **fields}


def test_a_program_prints_shares_while_a_load_is_played(tmp_path: Path) -> None:
    code = 'import time;time.sleep(0.3);print(\'{"time": {"io": 3, "math": 1}}\')'
    target = small_target(profile=program(code, shares="time"), actions=[])
    with Bench(target, tmp_path).serve() as server:
        before = _tokens(server)
        profile = target.profile(server, 1)
        assert {s.category: s.share_ratio for s in profile.shares} == {"io": 0.75, "math": 0.25}
        assert _tokens(server) > before


def test_a_program_writes_a_trace(tmp_path: Path) -> None:
    trace = json.dumps({"traceEvents": [kernel(GEMM, 0, 10)]})
    settings = program(WRITE, "${output}", trace, format="torch", is_under_load=False)
    target = small_target(profile=settings, actions=[])
    with Bench(target, tmp_path).serve() as server:
        assert target.profile(server, 1).share_of("gemm") == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (program("print('[1]')"), "shares are no object"),
        (program('print(\'{"a": -1, "b": 3}\')'), "none may be negative"),
        (program("print('nothing')"), "no JSON object"),
        (program("raise SystemExit(3)"), "the profile command ended with exit code 3"),
        (program("pass", format="torch"), "holds no trace"),
        ({"kind": "http", "stop_limit_s": 0.5, "traces": "/no/such"}, "no new trace in /no/such"),
        ({"kind": "http", "start": "/nope"}, "/nope failed: HTTP 404"),
    ],
)
def test_a_profiler_that_tells_nothing(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    target = small_target(profile=settings, actions=[])
    with (
        Bench(target, tmp_path).serve() as server,
        pytest.raises(ServerFailedError, match=message) as caught,
    ):
        target.profile(server, 1)
    assert caught.value.phase == "profile"


def test_a_load_that_fails_meanwhile_is_told(tmp_path: Path) -> None:
    settings = program("import time;time.sleep(1)")
    target = small_target(profile=settings, actions=[])
    edits = [Edit(key="knobs.fault", value="garbage")]
    with (
        Bench(target, tmp_path).serve(edits) as server,
        pytest.raises(ServerFailedError, match="requests failed"),
    ):
        target.profile(server, 1)


def _tokens(server: Any) -> float:
    return read_counters(server.ask_text("test", "GET", "/metrics"))["fake_tokens_total"]
