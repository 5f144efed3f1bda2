"""One typed SQL view for every kind of event."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from arbor.events.base import Event
from arbor.events.encoding import PROMOTED
from arbor.events.union import AnyEvent

_SQL_TYPES: dict[object, str] = {
    str: "VARCHAR",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
}
_HEADER = ("position", "recorded_at", "actor", "decided_after", "decided_at")


def event_classes() -> tuple[type[Event], ...]:
    """Return the class of every event kind."""
    union = get_args(AnyEvent)[0]
    return tuple(sorted(get_args(union), key=lambda each: each.__name__))


def view_name(kind: str) -> str:
    """Return the name of a kind's view: ``ActionKept`` becomes ``action_kept``."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in kind).lstrip("_")


def view_statements() -> Iterator[str]:
    """Yield the definition of every typed view."""
    for event_class in event_classes():
        kind = event_class.__name__
        columns = ", ".join([*_HEADER, *_columns(event_class)])
        body = f"select {columns} from events where kind = '{kind}'"  # noqa: S608 - our own names
        yield f"create view {view_name(kind)} as {body}"


def _columns(
    model: type[BaseModel], path: tuple[str, ...] = (), *, depth: int = 1
) -> Iterator[str]:
    """Yield one typed expression a field; values inside values become ``outer_inner``."""
    for name, info in model.model_fields.items():
        if name == "kind" and not path:
            continue
        inner = (*path, name)
        if not path and name in PROMOTED:
            # It has a column of its own, which needs no look into the payload.
            yield name
            continue
        annotation = _plain(info.annotation)
        if depth and isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from _columns(annotation, inner, depth=depth - 1)
            continue
        yield f'{_expression(inner, _sql_type(annotation))} as "{"_".join(inner)}"'


def _expression(path: tuple[str, ...], sql_type: str) -> str:
    where = "$." + ".".join(f'"{part}"' for part in path)
    if sql_type == "JSON":
        return f"json_extract(payload, '{where}')"
    return f"cast(json_extract_string(payload, '{where}') as {sql_type})"


def _plain(annotation: Any) -> Any:
    """Return an annotation without None."""
    present = [each for each in get_args(annotation) if each is not type(None)]
    if len(present) == 1 and type(None) in get_args(annotation):
        return present[0]
    return annotation


def _sql_type(annotation: Any) -> str:
    if get_origin(annotation) is Literal or (
        isinstance(annotation, type) and issubclass(annotation, str)
    ):
        return "VARCHAR"
    return _SQL_TYPES.get(annotation, "JSON")
