"""Secrets: which names of variables hold one, and how they are taken out of a log's lines."""

import os
import re
from collections.abc import Iterable

# TOKENIZERS_PARALLELISM, VLLM_USE_FASTOKENS and ..._TOKEN_THRESHOLD are no secrets
_SECRET_NAME = re.compile(r"KEY|SECRET|PASSWORD|TOKEN(?!IZER|S|_THRESHOLD)", re.IGNORECASE)
_MIN_LENGTH = 8
_HIDDEN = "***"

_NAMED = r"(?:hf_token|hugging_?face_hub_token|\w*api[_-]?key|\w*secret\w*|\w*password)"
_LOOKS = re.compile(r"(?P<kept>\b)(?:hf_[A-Za-z0-9]{16,}|sk-[\w-]{16,}|AKIA[A-Z0-9]{16})\b")
"""Hugging Face, OpenAI and AWS."""
_PATTERNS = (
    # the header, in a request or in a printed dictionary
    re.compile(
        r"(?P<kept>authorization['\"]?\s*[:=]\s*['\"]?(?:bearer|basic)?\s*)[^\s'\",}]+",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<kept>\bbearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    # a variable, an entry of a printed dictionary, or an option with its value
    re.compile(
        rf"(?P<kept>\b{_NAMED}['\"]?\s*(?:[:=]\s*|\s))(?!None\b)\[?['\"]?[^\s'\",}}\]]+",
        re.IGNORECASE,
    ),
    _LOOKS,
    # in an address, before the host
    re.compile(r"(?P<kept>://[^\s/:@]+:)[^\s/@]+(?=@)"),
)


def is_secret_name(name: str) -> bool:
    """Return whether a variable's name looks like a secret's."""
    return _SECRET_NAME.search(name) is not None


def scrub(lines: Iterable[str]) -> tuple[str, ...]:
    """Return lines without secrets: known formats, and the values of this process's own.

    Args:
        lines: what a server printed.
    """
    values = _own_values()
    return tuple(_scrubbed(line, values) for line in lines)


def without_secrets(text: str) -> str:
    """Return a text, such as source code, without secrets and otherwise as it is.

    Unlike ``scrub`` it takes out only the values of this process's own variables and what looks
    like a key, since code that merely handles keys must stay code.
    """
    for value in _own_values():
        text = text.replace(value, _HIDDEN)
    return _LOOKS.sub(rf"\g<kept>{_HIDDEN}", text)


def _own_values() -> list[str]:
    """Return the values of this process's secret variables, longest first."""
    found = (v for n, v in os.environ.items() if is_secret_name(n) and len(v) >= _MIN_LENGTH)
    return sorted(found, key=len, reverse=True)


def _scrubbed(line: str, values: Iterable[str]) -> str:
    for value in values:
        line = line.replace(value, _HIDDEN)
    for pattern in _PATTERNS:
        line = pattern.sub(rf"\g<kept>{_HIDDEN}", line)
    return line
