"""Parts of a study by name: shipped stand-ins, or an object of yours as ``module:name``."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from arbor.events.errors import InvalidInputError, NotFoundError

T = TypeVar("T")


def load(text: str, shipped: Mapping[str, Callable[[int], T]], what: str, seed: int) -> T:
    """Return what a name stands for, made with a seed.

    Args:
        text: a shipped name, or ``module:name`` of something that is called with the seed.
        shipped: makers by name.
        what: what is looked for, for messages.
        seed: of its chance.

    Raises:
        NotFoundError: nothing shipped has that name.
        InvalidInputError: the module or the name in it cannot be imported.
    """
    if text in shipped:
        return shipped[text](seed)
    module, colon, name = text.partition(":")
    if not colon:
        raise NotFoundError(
            f"no {what} {text!r}; known: {', '.join(shipped)}, or module:name of your own"
        )
    try:
        maker: Any = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(f"{what} {text} cannot be imported: {error}") from error
    made: T = maker(seed)
    return made
