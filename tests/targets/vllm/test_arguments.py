"""The command line says what serve.yaml says, or names the option that cannot be said."""

import json

import pytest

from arbor.events.types import Scalar
from arbor.targets.vllm.arguments import BadOptionError, command_line, environment, options

KNOWN = frozenset(
    (
        "enforce-eager",
        "no-enforce-eager",
        "disable-log-stats",
        "max-num-seqs",
        "compilation-config",
        "cudagraph-capture-sizes",
        "quantization",
    )
)


def line(**config: Scalar) -> tuple[str, ...]:
    keys = {f"args.{name.replace('_', '-')}": value for name, value in config.items()}
    return command_line(keys, KNOWN, "0.32.0")


def test_values_and_switches() -> None:
    words = line(enforce_eager=True, max_num_seqs=-1, quantization="fp8")
    assert words == ("--enforce-eager", "--max-num-seqs=-1", "--quantization=fp8")
    assert line(enforce_eager=False) == ("--no-enforce-eager",)
    # it has no negative and is off when it is left out
    assert line(disable_log_stats=False) == ()


def test_a_list_is_several_words() -> None:
    words = command_line({"args.cudagraph-capture-sizes": "[1, 2]"}, KNOWN, "0.32.0")
    assert words == ("--cudagraph-capture-sizes", "1", "2")


def test_fields_become_one_object() -> None:
    config: dict[str, Scalar] = {
        "args.compilation-config": '{"mode": 3, "pass_config": {"a": true}}',
        "args.compilation-config.pass_config.fuse": False,
        "args.compilation-config.compile_sizes": "[1, 2]",
    }
    for keys in (list(config), list(reversed(config))):
        words = command_line({key: config[key] for key in keys}, KNOWN, "0.32.0")
        assert words[0] == "--compilation-config"
        assert json.loads(words[1]) == {
            "mode": 3,
            "pass_config": {"a": True, "fuse": False},
            "compile_sizes": [1, 2],
        }


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"args.swap-space": 4}, "unrecognized argument --swap-space: vLLM 0.32.0 has no such"),
        ({"args.port": 4}, r"args\.port is set by Arbor itself"),
        ({"args.quantization": "x", "args.quantization.y": 1}, "its fields need a JSON object"),
        ({"args.quantization.y": 1, "args.quantization": "x"}, "its fields need a JSON object"),
        ({"args.quantization.y": 1, "args.quantization.y.z": 1}, "y is 1 and has fields"),
    ],
)
def test_what_cannot_be_said(config: dict[str, Scalar], message: str) -> None:
    with pytest.raises(BadOptionError, match=message):
        command_line(config, KNOWN, "0.32.0")


def test_the_model_is_a_word_and_no_option() -> None:
    assert command_line({"args.model": "/m"}, KNOWN, "") == ()
    assert options({"args.model": "/m", "env.A": "1"}) == {"model": "/m"}


def test_variables() -> None:
    assert environment({"env.A": "1", "args.b": 2, "env.C": "x"}) == {"A": "1", "C": "x"}
