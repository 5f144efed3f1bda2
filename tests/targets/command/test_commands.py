"""A value never becomes several words, and no shell sees it unless that was asked for."""

import subprocess
from typing import Any

import pytest
from pydantic import ValidationError

from arbor.targets.command.commands import Command

EVIL = "a b; echo $(id) 'x\" *"


def command(**fields: Any) -> Command:
    return Command.model_validate(fields)


def test_a_value_stays_one_word() -> None:
    listed = command(command=["run", "--name=${name}", 4])
    assert listed.argv({"name": EVIL}) == ["run", f"--name={EVIL}", "4"]
    line = command(command="run --name '${name} x' -n 4")
    assert line.argv({"name": EVIL}) == ["run", "--name", f"{EVIL} x", "-n", "4"]


def test_a_shell_gets_values_as_variables() -> None:
    fields = {"command": 'printf "<%s>" "${name}" "${port}"', "shell": True}
    shell = command(**fields)
    env = shell.environment({"name": EVIL, "port": 8000})
    done = subprocess.run(shell.argv({}), env=env, capture_output=True, text=True, check=True)
    assert done.stdout == f"<{EVIL}><8000>"


def test_words_that_depend_on_a_knob() -> None:
    chosen = command(
        command=[
            "run",
            {"when": "fast", "then": ["--fast", "${level}"]},
            {"when": "level", "is": 3, "then": ["--three"], "otherwise": ["--other"]},
        ]
    )
    assert chosen.argv({"fast": True, "level": 3}) == ["run", "--fast", "3", "--three"]
    assert chosen.argv({"fast": False, "level": 1}) == ["run", "--other"]
    # 1 is not true
    assert chosen.argv({"fast": 1, "level": 1}) == ["run", "--other"]
    assert chosen.names() == {"fast", "level"}


def test_variables_that_come_out_empty_are_not_set() -> None:
    env = command(command=["run"], env={"A": "${a}", "B": "x${b}"}).environment({"a": "", "b": 1})
    assert env == {"B": "x1"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"command": []}, "the command is empty"),
        ({"command": ["a"], "shell": True}, "needs the command as one line"),
        ({"command": "a 'b"}, "cannot be split into words: No closing quotation"),
        ({"command": ["a", True]}, "True is no word; put on, off"),
        ({"command": ["a"], "env": {"HF_TOKEN": "x"}}, "looks like a secret's"),
    ],
)
def test_bad_commands_are_one_clear_line(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        command(**fields)
