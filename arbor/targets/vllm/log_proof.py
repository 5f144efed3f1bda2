"""What a server's log proves of the catalog's entries, as keys of its resolved configuration."""

import re
from collections.abc import Mapping, Sequence

from arbor.events.types import Scalar
from arbor.targets.vllm.entry import Entry, LogProof

_MAX_CHARACTERS = 200


def log_proofs(
    entries: Sequence[Entry], config: Mapping[str, Scalar], lines: Sequence[str]
) -> dict[str, Scalar]:
    """Return ``log.<entry>`` with the line that proves it, for every entry that the log proves.

    Args:
        entries: entries of the catalog; those without a log witness are skipped.
        config: configuration that the server was started with, for ``<value>`` in patterns.
        lines: the log up to the first window.
    """
    return {
        f"log.{entry.id}": line
        for entry in entries
        if isinstance(entry.witness, LogProof)
        and (line := _proof(entry.witness, config.get(entry.config_keys()[0]), lines)) is not None
    }


def _proof(witness: LogProof, value: Scalar | None, lines: Sequence[str]) -> str | None:
    if witness.absent and _line(witness.absent, value, lines) is not None:
        return None
    if not witness.present:
        return f"no line matches {witness.absent}"
    return _line(witness.present, value, lines)


def _line(pattern: str, value: Scalar | None, lines: Sequence[str]) -> str | None:
    filled = pattern.replace("<value>", re.escape(str(value)))
    found = next((line for line in lines if re.search(filled, line)), None)
    return None if found is None else found.strip()[:_MAX_CHARACTERS]
