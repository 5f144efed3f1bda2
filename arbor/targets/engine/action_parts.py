"""Short forms for the parts of an action."""

from arbor.events.types import Edit, Requirement, Scalar, Witness


def set_key(key: str, value: Scalar) -> tuple[Edit, ...]:
    """Return the edit of one key."""
    return (Edit(key=key, value=value),)


def requires(key: str, *values: Scalar) -> tuple[Requirement, ...]:
    """Return the requirement that a key holds one of some values."""
    return (Requirement(key=key, any_of=values),)


def counter(key: str) -> Witness:
    """Return the witness that a counter of the server grows."""
    return Witness(kind="counter", key=key)
