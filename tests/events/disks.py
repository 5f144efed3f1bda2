"""Types of the disk fixtures."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

Freeze = Callable[[Path], None]
"""Makes a directory read-only until the end of the test."""

Nobody = Callable[[], AbstractContextManager[None]]
"""While it is entered, permissions count for this process."""
