"""Errors of Arbor: one root, leaves that also inherit the matching built-in."""


class ArborError(Exception):
    """Root of every error that Arbor raises on purpose; its text is one line with the fix."""


class InvalidInputError(ArborError, ValueError):
    """A user's file, argument or directory cannot be used as it is."""


class NotFoundError(ArborError, LookupError):
    """Something named by the caller does not exist."""


class LogError(ArborError):
    """The event log or its directory is broken, or cannot be written."""


class ConflictError(LogError):
    """A conditional append was refused: an event with a watched tag lies beyond the condition.

    Attributes:
        tag: the tag that moved.
        position: position of the latest event that carries the tag.
    """

    def __init__(self, tag: str, position: int) -> None:
        super().__init__(tag, position)
        self.tag = tag
        self.position = position

    def __str__(self) -> str:
        return f"append refused: tag {self.tag!r} moved at position {self.position}"


class FencedError(LogError):
    """This writer or incarnation has a successor and must stop."""


class CorruptLogError(LogError):
    """Stored events do not match their digests, positions or schema."""


class StorageFullError(LogError, OSError):
    """The disk refused the bytes; nothing was acknowledged."""


class BusyError(ArborError):
    """Another process owns what was asked for."""


class WaitTimeoutError(ArborError, TimeoutError):
    """Something did not happen within its limit."""
