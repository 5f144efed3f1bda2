"""Whether an action took effect: no witness, no keep."""

from collections.abc import Mapping, Sequence

from arbor.events.types import Edit, Scalar, WindowSample, Witness


def has_witness(
    witness: Witness,
    edits: Sequence[Edit],
    windows: Sequence[WindowSample],
    resolved: Mapping[str, Scalar],
) -> tuple[bool, str]:
    """Return whether an action took effect in every window, and what proves or refutes it.

    Args:
        witness: what to look for.
        edits: edits of the action.
        windows: the candidate's valid windows.
        resolved: configuration that the candidate's server says it runs with.
    """
    if witness.kind == "all":
        seen = [has_witness(part, edits, windows, resolved) for part in witness.parts]
        missing = [detail for is_there, detail in seen if not is_there]
        return not missing, "; ".join(missing or dict.fromkeys(detail for _, detail in seen))
    if witness.kind == "counter":
        grown = [
            next((c.value for c in window.counters if c.key == witness.key), 0.0)
            for window in windows
        ]
        if grown and min(grown) > 0:
            return True, f"{witness.key} grew in every window (at least {min(grown):.0f})"
        return False, f"{witness.key} did not grow in every window: the action had no effect"
    if witness.key and witness.key not in resolved:
        return False, f"the server does not report {witness.key}"
    for edit in edits:
        if resolved.get(edit.key) != edit.value:
            found = resolved.get(edit.key)
            return False, f"the server reports {edit.key}={found!r}, not {edit.value!r}"
    proofs = [f"{e.key}={e.value}" for e in edits]
    proofs += [f"{witness.key}={resolved[witness.key]}"] if witness.key else []
    return True, "the server reports " + ", ".join(proofs)
