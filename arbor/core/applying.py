"""Dispatch of events to the handlers of a fold, by event class."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from arbor.events.base import Event, Recorded

S = TypeVar("S")


class Dispatcher(Generic[S]):
    """Table of handlers ``(state, event, recorded) -> None``; other kinds are ignored."""

    def __init__(self, handlers: Mapping[type[Event], Callable[[S, Any, Recorded], None]]) -> None:
        self._handlers = dict(handlers)

    def apply(self, state: S, recorded: Recorded) -> None:
        """Call the handler of the event's class, if there is one."""
        handler = self._handlers.get(type(recorded.event))
        if handler is not None:
            handler(state, recorded.event, recorded)
