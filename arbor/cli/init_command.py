"""A campaign file from the command line of any other server."""

import re

from arbor.cli.command_lines import CommandLine
from arbor.cli.scaffold import HEAD, TAIL, block, comments, inline, scalar
from arbor.events.errors import InvalidInputError
from arbor.targets.secrets import is_secret_name

_PORTS = frozenset(("--port", "--http-port", "--server-port", "-port"))
_HOSTS = frozenset(("--host", "--hostname", "--bind"))
_KNOB = re.compile(r"--?([a-z][a-z0-9-]*)")
_SECRET_OPTIONS = re.compile(r"--?(api|hf|auth)?[-_]?(key|token|password|secret)", re.IGNORECASE)
_TAKEN = frozenset(
    ("host", "port", "folder", "workspace", "scratch", "seed", "num_requests", "concurrency")
)


def command_campaign(line: CommandLine, file: str) -> str:
    """Return the text of a campaign file for target ``command``.

    Numbers behind options become knobs at the values that they have, so nothing changes until an
    action says so.

    Raises:
        InvalidInputError: the command does not say where its port goes, or holds a secret.
    """
    words, knobs = _template(line.words)
    env = {name: text for name, text in line.env.items() if not is_secret_name(name)}
    remarks = [f"{name} was left out: servers get no secrets" for name in line.env.keys() - env]
    if not any("${port}" in word for word in words):
        raise InvalidInputError(
            "--from: the command names no port, and Arbor has to choose it; add --port 8000, or "
            "write ${port} where it goes"
        )
    listed = "".join(f"      - {inline(word)}\n" for word in words)
    return (
        HEAD.format(file=file)
        + f"name: {inline(line.program[:80])}\n"
        + "target: command\n"
        + "target_config:\n"
        + "  launch:\n"
        + "    # no shell: every item is one word; ${port} and ${host} are Arbor's, others knobs\n"
        + comments(remarks, 4)
        + "    command:\n"
        + listed
        + (
            "    env:\n" + block({n: t.replace("${", "$${") for n, t in env.items()}, 6)
            if env
            else ""
        )
        + "    limit_s: 120          # until it is healthy\n"
        + "  health:\n"
        + "    path: /health         # answered with status 200 when requests are welcome\n"
        + "  # what can be changed, at the values of the baseline\n"
        + ("  knobs:\n" + block(knobs, 4) if knobs else "  knobs: {}\n")
        + _actions(list(knobs))
        + _measures()
        + TAIL.format(wall="30m")
    )


def _template(given: tuple[str, ...]) -> tuple[list[str], dict[str, bool | int | float | str]]:
    """Return the words with placeholders, and the knobs that they name."""
    words: list[str] = []
    knobs: dict[str, bool | int | float | str] = {}
    before = ""
    for word in given:
        head, equals, value = word.partition("=")
        name, text = (head, value) if equals and head.startswith("-") else (before, word)
        if _SECRET_OPTIONS.fullmatch(name):
            raise InvalidInputError(f"--from: {name} holds a secret; leave it out")
        filled = _filled(name, text, knobs)
        words.append(f"{head}={filled}" if name == head and equals else filled)
        before = word if word.startswith("-") and not equals else ""
    return words, knobs


def _filled(name: str, text: str, knobs: dict[str, bool | int | float | str]) -> str:
    """Return the text behind an option, or what stands in its place."""
    if name in _PORTS:
        return "${port}"
    if name in _HOSTS:
        return "${host}"
    value = scalar(text)
    found = _KNOB.fullmatch(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if found is None or not is_number or plain_text(value) != text:
        return re.sub(r"\$\{(?!(?:port|host)\})", "$${", text)
    knob = found[1].replace("-", "_")
    if knob in _TAKEN or knob in knobs:
        return text
    knobs[knob] = value
    return f"${{{knob}}}"


def plain_text(value: object) -> str:
    """Return how a knob's value is written into the command again."""
    return str(value)


def _actions(knobs: list[str]) -> str:
    first = knobs[0] if knobs else "threads"
    return (
        "  # what Arbor may try; without actions there is nothing to do. Each sets or searches:\n"
        "  actions: []\n"
        f"  # - id: {first}\n"
        f"  #   search: {{{first}: {{low: 1, high: 16}}}}     # or choices: [1, 2, 4]\n"
        "  #   layer: dispatch     # application, framework, compiler, kernel, communication\n"
        "  #   is_exact: false     # true claims that no number changes, and is held to it\n"
    )


def _measures() -> str:
    return """\
  # what the server says of its knobs proves that they took effect
  # report:
  #   path: /props
  #   values: {threads: settings.threads}
  # windows of OpenAI-compatible requests; `kind: command` runs a benchmark of your own
  benchmark:
    kind: openai
    input_tokens: 64        # words
    output_tokens: 32
    concurrency: 8
    num_requests: 16
    body: {ignore_eos: true}
  # numbers are compared with the baseline's; `answers` and `command` serve other servers
  accuracy:
    kind: logprobs
"""
