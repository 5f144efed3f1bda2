"""The catalog's options and variables beside those of the vLLM that is installed."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from arbor.events.errors import InvalidInputError, WaitTimeoutError
from arbor.targets.vllm.entry import Entry

_OPTION = re.compile(r"(?<![\w-])--([a-z0-9][a-z0-9-]*)")
_LIMIT_S = 180.0
_LIST_VARIABLES = "import vllm.envs; print(*vllm.envs.environment_variables)"


def installed_options(
    program: str = "vllm", env: Mapping[str, str] | None = None
) -> frozenset[str] | None:
    """Return the options of ``vllm serve`` without dashes, or None when there is no such program.

    Args:
        program: the ``vllm`` to ask.
        env: its environment; this process's own by default.

    Raises:
        InvalidInputError: the program cannot tell its options.
        WaitTimeoutError: the program did not answer.
    """
    path = shutil.which(program)
    return None if path is None else options_of((path,), env)


def options_of(command: Sequence[str], env: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the options of ``vllm serve`` without dashes.

    Args:
        command: words that run vLLM's command line.
        env: its environment; this process's own by default.

    Raises:
        InvalidInputError: the program does not run or cannot tell its options.
        WaitTimeoutError: the program did not answer.
    """
    name = " ".join(command)
    try:
        done = subprocess.run(
            [*command, "serve", "--help=all"],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
            env=env,
        )
    except subprocess.TimeoutExpired as error:
        raise WaitTimeoutError(f"{name} serve --help=all took over {_LIMIT_S:.0f} s") from error
    except OSError as error:
        raise InvalidInputError(f"{name} does not run: {error.strerror}") from error
    options = frozenset(_OPTION.findall(done.stdout))
    if done.returncode or not options:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise InvalidInputError(f"{name} serve --help=all told no options: {last}; run it by hand")
    return options


def installed_variables(program: str = "vllm") -> frozenset[str] | None:
    """Return the environment variables that vLLM reads, or None when they cannot be told."""
    path = shutil.which(program)
    interpreter = None if path is None else interpreter_of((path,))
    return None if interpreter is None else variables_of(interpreter)


def interpreter_of(command: Sequence[str]) -> tuple[str, ...] | None:
    """Return the interpreter of a program, or None when its first line does not name one.

    The interpreter of the program is asked: vLLM may live in an environment of its own.

    Args:
        command: words that run vLLM's command line: a script, or an interpreter with ``-m``.
    """
    if len(command) > 1:
        return (command[0],)
    first = Path(command[0]).read_bytes().partition(b"\n")[0].decode(errors="replace")
    return tuple(first[2:].split()) if first.startswith("#!") else None


def variables_of(
    interpreter: Sequence[str], env: Mapping[str, str] | None = None
) -> frozenset[str] | None:
    """Return the environment variables that vLLM reads, or None when they cannot be told."""
    try:
        done = subprocess.run(
            [*interpreter, "-c", _LIST_VARIABLES],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
            env=env,
        )
    except (subprocess.TimeoutExpired, OSError):
        return None
    # a library may print something before
    last = (done.stdout.strip().splitlines() or [""])[-1]
    return frozenset(last.split()) if done.returncode == 0 and last else None


def unknown_variables(entries: Sequence[Entry], variables: frozenset[str]) -> Iterator[str]:
    """Yield variables in vLLM's name that the installed one does not read, a silent no-op."""
    for entry in entries:
        for key in entry.config_keys():
            name = key.removeprefix("env.")
            if key.startswith("env.VLLM_") and name not in variables:
                yield (
                    f"{entry.layer.value}.yaml: entry {entry.id}: the installed vLLM does not "
                    f"read {name}; correct the key or bound applies.before"
                )


def unknown_options(entries: Sequence[Entry], options: frozenset[str]) -> Iterator[str]:
    """Yield what the entries set and the installed vLLM does not know.

    Of a key such as ``args.compilation-config.mode`` the option is looked up, not its fields.
    """
    for entry in entries:
        for key in entry.config_keys():
            section, _, rest = key.partition(".")
            option = rest.partition(".")[0]
            if section == "args" and option not in options:
                yield (
                    f"{entry.layer.value}.yaml: entry {entry.id}: the installed vLLM has no "
                    f"--{option}; correct the key or bound applies.before"
                )
