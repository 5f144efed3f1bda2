"""What a campaign file may say of a server, and one clear line about what it may not."""

from typing import Any

import pytest

from arbor.events.errors import InvalidInputError
from arbor.events.types import Edit, Parameter
from arbor.targets.base import CrowdedTarget
from arbor.targets.registry import create_target
from tests.contracts.target import HARDWARE
from tests.targets.command.small import SMALL, small, small_target


def action(**fields: Any) -> dict[str, Any]:
    return {"actions": [{"id": "one", **fields}]}


def test_actions_become_templates() -> None:
    fields = {
        "set": {"bits": 8},
        "search": {
            "threads": {"low": 1, "high": 8, "log": True},
            "fault": {"choices": ["a", "b"]},
        },
        "requires": {"turbo": [True]},
        "conflicts": {"deaf": [True]},
        "layer": "kernel",
        "category": "gemm",
    }
    [template] = small(**action(**fields)).templates()
    assert template.edits == (Edit(key="knobs.bits", value=8),)
    assert template.space == (
        Parameter(key="knobs.threads", kind="int", low=1, high=8, log=True),
        Parameter(key="knobs.fault", kind="categorical", choices=("a", "b")),
    )
    assert template.requires[0].key == "knobs.turbo"
    assert template.conflicts[0].any_of == (True,)
    assert not template.is_exact


LAUNCH = SMALL["launch"]
COMMAND_LOAD = {
    "kind": "command",
    "command": "run ${port}",
    "results": {"num_failed": "failed", "num_output_tokens": "tokens"},
}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"launch": {"command": "run"}}, r"launch never says \$\{port\}"),
        ({"launch": {"command": "run ${port} ${thread}"}}, r"launch asks for \$\{thread\}"),
        (
            {"launch": {"command": "run ${port}", "files": {"../a": ""}}},
            r"'\.\./a' lies outside",
        ),
        ({"knobs": {"Threads": 1}}, "knob 'Threads' is no name"),
        ({"knobs": {"port": 1}}, "knob 'port' has a name of Arbor's own"),
        ({"report": {"path": "/x", "values": {"x": "a"}}}, "names 'x', which is no knob"),
        ({"report": {"values": {"threads": "a"}}}, "values need the path"),
        ({"report": {"log": {"threads": "a.b"}}}, "a log is no JSON"),
        ({"accuracy": {"kind": "none"}}, "accuracy none would keep nothing"),
        (
            {"benchmark": {**COMMAND_LOAD, "results": {"num_failed": "failed"}}},
            "give one of num_output_tokens and tokens_per_request",
        ),
        (
            {"benchmark": {**COMMAND_LOAD, "command": "run ${request_rate}"}},
            r"benchmark asks for \$\{request_rate\}",
        ),
        ({"profile": {"kind": "http", "traces": "${tmp}"}}, r"profile\.traces asks for \$\{tmp\}"),
        (action(), "action one changes nothing"),
        (action(set={"thread": 2}), "action one names 'thread', which is no knob"),
        (action(set={"threads": 1}), "'threads' is 1 in the baseline already"),
        (action(set={"threads": "2"}), "use one type"),
        (action(set={"turbo": 1}), "use one type"),
        (action(search={"threads": {"low": 4, "high": 4}}), "a higher high"),
        (action(search={"threads": {"choices": [2]}}), "two choices are needed"),
        (action(search={"turbo": {"low": 0, "high": 1}}), "'turbo' is no number"),
        (
            action(set={"bits": 8}, search={"bits": {"choices": [4, 8]}}),
            "sets and searches 'bits'",
        ),
        (
            {**action(set={"bits": 8}, category="gemm"), "profile": {"kind": "none"}},
            "category 'gemm' needs a profile",
        ),
        ({**action(set={"turbo": True}, counter="x"), "metrics": ""}, "needs metrics"),
        (
            {
                **action(set={"turbo": True}, is_exact=True),
                "accuracy": {"kind": "command", "command": "run", "items": "items"},
            },
            "claims to be exact, which a score cannot show",
        ),
    ],
)
def test_bad_options_are_one_clear_line(options: dict[str, Any], message: str) -> None:
    merged = SMALL | options
    if "knobs" in options:
        merged["knobs"] = SMALL["knobs"] | options["knobs"]
    with pytest.raises(InvalidInputError, match=message) as caught:
        create_target("command", merged)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("target command: ")


def test_a_missing_program_is_told_before_anything_starts() -> None:
    options = SMALL | {"launch": {"command": "no-such-server --port ${port}"}, "actions": []}
    target = create_target("command", options | {"knobs": {}, "report": {}})
    with pytest.raises(InvalidInputError, match="launch: program 'no-such-server' was not found"):
        target.check(HARDWARE)


def test_a_missing_folder_is_told_before_anything_starts() -> None:
    target = create_target("command", SMALL | {"folder": "/no/such/folder"})
    with pytest.raises(InvalidInputError, match="folder /no/such/folder does not exist"):
        target.check(HARDWARE)


def test_a_campaign_without_actions_is_not_started() -> None:
    target = create_target("command", SMALL | {"actions": []})
    with pytest.raises(InvalidInputError, match="there are no actions; add what may be tried"):
        target.check(HARDWARE)


def test_servers_that_share_little_memory_are_started_in_turn() -> None:
    assert [small_target(max_servers=number).max_servers() for number in (1, 2, 3, 9)] == [
        0,
        1,
        2,
        2,
    ]
    assert isinstance(small_target(), CrowdedTarget)
    assert small_target(num_devices=2).num_devices({}) == 2
