"""Projections of users: a file of SQL or Python, a module, or an installed package."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from arbor.events.errors import ArborError, InvalidInputError
from arbor.replay.projections import SHIPPED
from arbor.replay.projections.base import (
    Projection,
    PythonProjection,
    SqlProjection,
    checked_name,
)
from arbor.replay.typed_views import event_classes, view_name

GROUP = "arbor.projections"
"""Entry points of installed packages: each names a class, a ``SqlProjection`` or a module."""
_RESERVED = frozenset({"events", "head", "tail"}) | {
    view_name(each.__name__) for each in event_classes()
}


def all_projections(named: Sequence[str] = ()) -> tuple[Projection, ...]:
    """Return what ships, what installed packages bring, and what was named.

    Args:
        named: paths of ``.sql`` and ``.py`` files, or names of importable modules.

    Raises:
        InvalidInputError: one cannot be found, or two have the same name.
    """
    found: dict[str, Projection] = {projection.name: projection for projection in SHIPPED}
    installed = (each for point in entry_points(group=GROUP) for each in _of_entry_point(point))
    for projection in (*installed, *(each for name in named for each in _of_name(name))):
        taken = found.get(projection.name)
        if projection.name in _RESERVED or taken is not None:
            whose = taken.origin if taken is not None else "Arbor"
            raise InvalidInputError(
                f"projection {projection.name} ({projection.origin}): {whose} has a table of this"
                " name already; choose another one"
            )
        found[projection.name] = projection
    return tuple(found.values())


def _of_name(name: str) -> Iterator[Projection]:
    path = Path(name)
    if path.suffix == ".sql":
        yield SqlProjection.from_file(path)
    elif path.suffix == ".py":
        yield from _of_module(_load(path), str(path))
    else:
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            raise InvalidInputError(
                f"no projection {name!r}: give a file that ends in .sql or .py, or a module that"
                f" can be imported ({error})"
            ) from error
        yield from _of_module(module, name)


def _load(path: Path) -> ModuleType:
    """Run a file as a module.

    Raises:
        InvalidInputError: it is missing, or does not run.
    """
    if not path.is_file():
        raise InvalidInputError(f"no projection {path}: there is no such file")
    name = f"arbor_projection_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidInputError(f"no projection {path}: it is no Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up while they are made.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ArborError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"projection {path} does not run: {type(error).__name__}: {error}"
        ) from error
    return module


def _of_entry_point(point: EntryPoint) -> Iterator[Projection]:
    origin = f"entry point {point.name} = {point.value}"
    try:
        loaded = point.load()
    except Exception as error:
        raise InvalidInputError(
            f"projection of {origin} does not load: {type(error).__name__}: {error}; uninstall or"
            " repair the package"
        ) from error
    if isinstance(loaded, ModuleType):
        yield from _of_module(loaded, origin)
    elif (projection := _as_projection(loaded, origin)) is not None:
        yield projection
    else:
        raise InvalidInputError(f"projection of {origin} is no projection: {loaded!r}")


def _of_module(module: ModuleType, origin: str) -> Iterator[Projection]:
    """Yield the projections that a module defines itself.

    Raises:
        InvalidInputError: there is none.
    """
    own = [
        projection
        for value in vars(module).values()
        if not inspect.isclass(value) or value.__module__ == module.__name__
        if (projection := _as_projection(value, origin)) is not None
    ]
    if not own:
        raise InvalidInputError(
            f"{origin} has no projection: define a class on PythonProjection, or a SqlProjection"
        )
    yield from own


def _as_projection(value: object, origin: str) -> Projection | None:
    if isinstance(value, SqlProjection):
        checked_name(value.name, origin)
        return value
    if not (isinstance(value, type) and issubclass(value, PythonProjection)):
        return None
    if inspect.isabstract(value):
        return None
    for field in ("name", "columns"):
        if not hasattr(value, field):
            raise InvalidInputError(f"{origin}: {value.__name__} has no {field!r}")
    checked_name(value.name, origin)
    value.origin = origin
    return value
