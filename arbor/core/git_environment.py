"""How Arbor runs git: no user's settings, no hooks, no prompts, one language."""

from collections.abc import Sequence

_OPTIONS = (
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "gc.auto=0",
)


def git_options(more: Sequence[str] = ()) -> list[str]:
    """Return the words that set options for one command, to stand right after ``git``.

    Args:
        more: further options, each as ``section.key=value``.
    """
    return [word for option in (*_OPTIONS, *more) for word in ("-c", option)]


def git_environment(search_path: str) -> dict[str, str]:
    """Return the whole environment of a git command.

    Args:
        search_path: where programs are found, the caller's ``PATH``.
    """
    return {
        "PATH": search_path,
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
    }
