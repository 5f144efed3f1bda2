"""Steps of a long benchmark: each result is on disk at once, and a later call goes on."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

MAX_DEATHS = 2
"""Calls that may die in a step before it is given up; one may have been stopped from outside."""


class OutOfTimeError(Exception):
    """The time of this call is over; the next one goes on."""


class Results:
    """Lines of results by key, on disk as soon as they are known."""

    def __init__(self, folder: Path, deadline_s: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "results.jsonl"
        self._running = folder / "running"
        self._deadline_s = deadline_s
        self.lines: dict[str, dict[str, Any]] = {}
        if self._path.exists():
            for text in self._path.read_text().splitlines():
                line = json.loads(text)
                self.lines[line["key"]] = line
        self._deaths = json.loads(self._running.read_text()) if self._running.exists() else {}

    def once(
        self, key: str, compute: Callable[[], Mapping[str, Any]], lost: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the line of a key, computed now unless it is there.

        Args:
            key: of the step.
            compute: the step.
            lost: what is recorded when two earlier calls died in this step; one may have been
                stopped from outside.

        Raises:
            OutOfTimeError: it is not there, and time is over.
        """
        if key not in self.lines:
            if time.monotonic() > self._deadline_s:
                raise OutOfTimeError(key)
            started_s = time.monotonic()
            num_deaths = self._deaths.get(key, 0)
            self._running.write_text(json.dumps({key: num_deaths + 1}))
            done = compute() if num_deaths < MAX_DEATHS else lost
            line = {"key": key, **done, "took_s": round(time.monotonic() - started_s, 2)}
            self.lines[key] = line
            with self._path.open("a") as file:
                file.write(json.dumps(line) + "\n")
            self._running.unlink()
            print(f"{line['took_s']:7.1f} s  {key}", flush=True)
        return self.lines[key]
