"""Records the provoked cases into ``cases``, where tests read them; nothing is written by hand.

python -m tests.guardrails.record            # all cases
python -m tests.guardrails.record NAME...    # some
"""

import sys
import tempfile
from pathlib import Path

from arbor.core.guardrails import check
from tests.guardrails.lab import Lab
from tests.guardrails.provoking import PROVOKED, Provoke, foreign_load
from tests.guardrails.recorded import store, tolerant

NUM_TRIES = 5


def record(provoke: Provoke, lab: Lab) -> None:
    """Record one case; a twin that is not clean is tried again."""
    for _ in range(NUM_TRIES):
        dirty, clean = provoke(lab)
        if provoke is not foreign_load:
            dirty, clean = tolerant(dirty), tolerant(clean)
        found = check(clean.evidence()).findings
        hit = provoke.__name__ in {f.rule for f in check(dirty.evidence()).findings}
        for finding in found:
            sys.stdout.write(f"  twin: {finding.rule}: {finding.evidence}\n")
        if hit and not found:
            break
    how = (provoke.__doc__ or "").strip()
    path = store(provoke.__name__, how, dirty, clean)
    sys.stdout.write(f"{path.name}: {path.stat().st_size} bytes, triggered: {hit}\n")
    sys.stdout.flush()


def main() -> None:
    """Record the named cases, or all."""
    names = set(sys.argv[1:]) or {provoke.__name__ for provoke in PROVOKED}
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder))
        for provoke in PROVOKED:
            if provoke.__name__ in names:
                record(provoke, lab)


if __name__ == "__main__":
    main()
