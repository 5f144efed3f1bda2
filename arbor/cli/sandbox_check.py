"""Whether what language models write can be kept apart from everything else here."""

from collections.abc import Iterator

from arbor.cli.checks import Check, Level
from arbor.targets.sandbox.isolation import isolation, warning


def sandbox() -> Iterator[Check]:
    """Try the isolation of this machine; only campaigns with models need it."""
    found = isolation()
    said = warning(found)
    if said is None:
        yield Check("sandbox", Level.OK, "user namespaces: patches run with few rights")
        return
    detail, _, fix = said.partition("; ")
    yield Check("sandbox", Level.NOTE, detail, fix)
