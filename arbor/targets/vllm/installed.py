"""The catalog's options beside those of the vLLM that is installed."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence

from arbor.events.errors import InvalidInputError, WaitTimeoutError
from arbor.targets.vllm.entry import Entry

_OPTION = re.compile(r"(?<![\w-])--([a-z0-9][a-z0-9-]*)")
_LIMIT_S = 180.0


def installed_options(program: str = "vllm") -> frozenset[str] | None:
    """Return the options of ``vllm serve`` without dashes, or None when there is no such program.

    Raises:
        InvalidInputError: the program cannot tell its options.
        WaitTimeoutError: the program did not answer.
    """
    path = shutil.which(program)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, "serve", "--help=all"],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise WaitTimeoutError(f"{path} serve --help=all took over {_LIMIT_S:.0f} s") from error
    options = frozenset(_OPTION.findall(done.stdout))
    if done.returncode or not options:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise InvalidInputError(f"{path} serve --help=all told no options: {last}; run it by hand")
    return options


def unknown_options(entries: Sequence[Entry], options: frozenset[str]) -> Iterator[str]:
    """Yield what the entries set and the installed vLLM does not know.

    Of a key such as ``args.compilation-config.mode`` the option is looked up, not its fields.
    """
    for entry in entries:
        for key in entry.keys():
            section, _, rest = key.partition(".")
            option = rest.partition(".")[0]
            if section == "args" and option not in options:
                yield (
                    f"{entry.layer.value}.yaml: entry {entry.id}: the installed vLLM has no "
                    f"--{option}; correct the key or bound applies.before"
                )
