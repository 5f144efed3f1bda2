"""A server's command line as people keep it in their notes: split, and read option by option."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arbor.events.errors import InvalidInputError

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_EXPANSION = re.compile(r"\$(?!\{(?:port|host)\})[\w{(]|`")
_PUNCTUATION = frozenset("();<>|&")
_CONTAINERS = frozenset(("docker", "podman", "nerdctl", "kubectl", "apptainer", "singularity"))
_WRAPPERS = frozenset(("sudo", "nohup", "nice", "time", "numactl", "taskset", "srun", "mpirun"))


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A program with its words and the variables that were set before it.

    Attributes:
        env: variables, in their order.
        words: the program and what follows.
    """

    env: dict[str, str]
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        """Name of the program without its folder."""
        return self.words[0].rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        name: with its dashes.
        values: what follows it, or stands behind its ``=``.
    """

    name: str
    values: tuple[str, ...]


def parse_command_line(text: str) -> CommandLine:
    """Split a command line like a shell, without being one.

    Raises:
        InvalidInputError: it is empty, needs a shell, or starts a container.
    """
    joined = text.replace("\\\n", " ").strip()
    try:
        lexer = shlex.shlex(joined, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        words = list(lexer)
    except ValueError as error:
        raise InvalidInputError(f"--from: {error}: check the quotes of the command") from error
    operator = next((word for word in words if word and set(word) <= _PUNCTUATION), None)
    if operator is not None:
        raise InvalidInputError(
            f"--from: {operator!r} needs a shell; give one command, with quotes around JSON values"
        )
    # in quotes the shell keeps such words together
    words = shlex.split(joined)
    expansion = next((word for word in words if _EXPANSION.search(word)), None)
    if expansion is not None:
        raise InvalidInputError(
            f"--from: {expansion!r} needs a shell to know its value; write the value out"
        )
    return _with_environment(words)


def _with_environment(words: list[str]) -> CommandLine:
    env: dict[str, str] = {}
    rest = words[1:] if words[:1] == ["env"] else words
    while rest and (found := _ASSIGNMENT.fullmatch(rest[0])):
        env[found[1]] = found[2]
        rest = rest[1:]
    if not rest:
        raise InvalidInputError("--from: there is no command; give one such as 'vllm serve MODEL'")
    line = CommandLine(env, tuple(rest))
    if line.program in _CONTAINERS:
        raise InvalidInputError(
            f"--from: {line.program} is not supported: Arbor has to start, watch and end the "
            "server itself; give the command that runs inside, and run Arbor there too"
        )
    if line.program in _WRAPPERS:
        raise InvalidInputError(
            f"--from: leave out {line.program}; give the command that it starts"
        )
    if line.program.startswith("-"):
        raise InvalidInputError(f"--from: {line.program!r} is an option; give the program first")
    return line


def options(words: Sequence[str]) -> Iterator[Option]:
    """Yield the options of words; those before the first option are its values under ``""``."""
    name, values = "", list[str]()
    for word in words:
        is_option = len(word) > 1 and word.startswith("-") and not _is_number(word)
        if not is_option:
            values.append(word)
            continue
        if name or values:
            yield Option(name, tuple(values))
        head, equals, value = word.partition("=")
        name, values = head, [value] if equals else []
    if name or values:
        yield Option(name, tuple(values))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
