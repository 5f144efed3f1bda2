"""The vLLM that a target starts: its command, release, options and variables, asked for once."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from arbor.events.errors import InvalidInputError
from arbor.targets.child import clean_environment
from arbor.targets.vllm.config import DEFAULT_ENVIRONMENT, VllmTargetConfig
from arbor.targets.vllm.installed import interpreter_of, options_of, variables_of

_MODULE = "vllm.entrypoints.cli.main"
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")
_LIMIT_S = 180.0


@dataclass(frozen=True, slots=True)
class Installation:
    """One vLLM.

    Attributes:
        command: words that run its command line.
        version: its release.
        options: options of ``vllm serve``, without dashes.
        variables: environment variables that it reads; None when it cannot tell.
    """

    command: tuple[str, ...]
    version: str
    options: frozenset[str]
    variables: frozenset[str] | None


def find_command(config: VllmTargetConfig) -> tuple[str, ...]:
    """Return the words that run vLLM's command line.

    Raises:
        InvalidInputError: there is no such program.
    """
    if config.python is not None:
        # a relative one would be looked for in the server's folder
        python = shutil.which(os.path.abspath(config.python))  # noqa: PTH100 - keeps a venv's link
        if python is None:
            raise InvalidInputError(
                f"python {config.python} does not run; give the interpreter of vLLM's environment"
            )
        return (python, "-m", _MODULE)
    if config.executable is not None:
        program = shutil.which(os.path.abspath(config.executable))  # noqa: PTH100 - as above
        if program is None:
            raise InvalidInputError(
                f"executable {config.executable} is no program; give the vllm of its environment"
            )
        return (program,)
    program = shutil.which("vllm")
    if program is None:
        raise InvalidInputError(
            "no vllm in PATH; install vLLM in an environment of its own and set "
            "target_config.executable to its bin/vllm"
        )
    return (program,)


def find_installation(config: VllmTargetConfig, cache: Path) -> Installation:
    """Return the vLLM of a target; asked once for each build of it, since it answers slowly.

    Args:
        config: names the program; the baseline's variables are in force while it is asked.
        cache: folder of what can be found out again.

    Raises:
        InvalidInputError: there is no such program, or it does not tell its options.
        WaitTimeoutError: it did not answer.
    """
    command = find_command(config)
    env = clean_environment({**DEFAULT_ENVIRONMENT, **config.env})
    path = cache / "vllm" / f"{_fingerprint(command, env)}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        return _loaded(command, json.loads(path.read_text(encoding="utf-8")))
    interpreter = interpreter_of(command)
    found = Installation(
        command=command,
        version=_version(command, env),
        options=options_of(command, env),
        variables=None if interpreter is None else variables_of(interpreter, env),
    )
    # a cache that cannot be written costs time only
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(_dumped(found), encoding="utf-8")
        partial.replace(path)
    return found


def _version(command: tuple[str, ...], env: Mapping[str, str]) -> str:
    """Return the release that the program prints, empty when it prints none."""
    try:
        done = subprocess.run(
            [*command, "--version"],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
            env=env,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = [m[0] for line in done.stdout.splitlines() if (m := _VERSION.search(line))]
    return found[-1] if found and done.returncode == 0 else ""


def _fingerprint(command: tuple[str, ...], env: Mapping[str, str]) -> str:
    """Return a name that changes when the program, its packages or its variables do."""
    told: list[object] = [command, sorted(env.items())]
    program = Path(command[0])
    for folder in (program, *sorted(program.parent.parent.glob("lib/python*/site-packages"))):
        with suppress(OSError):
            state = folder.stat()
            told += [str(folder), state.st_mtime_ns, state.st_size]
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


def _dumped(found: Installation) -> str:
    variables = None if found.variables is None else sorted(found.variables)
    return json.dumps(
        {"version": found.version, "options": sorted(found.options), "variables": variables}
    )


def _loaded(command: tuple[str, ...], body: Mapping[str, object]) -> Installation:
    version, options, variables = body["version"], body["options"], body["variables"]
    if not isinstance(version, str) or not isinstance(options, list):
        raise TypeError("not what was written")
    return Installation(
        command=command,
        version=version,
        options=frozenset(map(str, options)),
        variables=frozenset(map(str, variables)) if isinstance(variables, list) else None,
    )
