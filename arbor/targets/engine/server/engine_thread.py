"""The thread that owns the engine: takes requests and jobs, steps, hands tokens over."""

import queue
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from arbor.targets.engine.server.engine import Delivery, Engine
from arbor.targets.engine.server.sequence import Sequence

_STOP_TIMEOUT_S = 5.0

Deliver = Callable[[list[Delivery]], None]


class _Job:
    """A function that the engine's thread runs between two steps."""

    def __init__(self, function: Callable[[], Any], *, needs_idle: bool) -> None:
        self.function = function
        self.needs_idle = needs_idle
        self.result: Future[Any] = Future()

    def run(self) -> None:
        """Run and hand over what came of it."""
        try:
            self.result.set_result(self.function())
        except Exception as error:  # noqa: BLE001  belongs to whoever asked
            self.result.set_exception(error)


class EngineThread:
    """Runs the engine until stopped.

    Args:
        engine: The engine; nobody else may step it from now on.
        deliver: Called once per step with what the step hands out.
        on_crash: Called with the reason if a step raises; the thread has ended then.
    """

    def __init__(self, engine: Engine, deliver: Deliver, on_crash: Callable[[str], None]) -> None:
        self._engine = engine
        self._deliver = deliver
        self._on_crash = on_crash
        # None wakes the thread up to see that it shall stop.
        self._inbox: queue.SimpleQueue[Sequence | _Job | None] = queue.SimpleQueue()
        self._jobs: list[_Job] = []
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        """Begin to serve."""
        self._thread.start()

    @property
    def native_id(self) -> int:
        """The system's id of the running thread."""
        return self._thread.native_id or 0

    def stop(self) -> None:
        """End after the current step; a step that takes too long is left to die with us."""
        self._is_stopping = True
        self._inbox.put(None)
        self._thread.join(timeout=_STOP_TIMEOUT_S)

    def submit(self, sequence: Sequence) -> None:
        """Queue a request; safe from any thread."""
        self._inbox.put(sequence)

    def run(self, function: Callable[[], Any], *, needs_idle: bool = False) -> Future[Any]:
        """Run a function between two steps, or when no sequence is left; safe from any thread."""
        job = _Job(function, needs_idle=needs_idle)
        self._inbox.put(job)
        return job.result

    def _run(self) -> None:
        try:
            while not self._is_stopping:
                self._take()
                if self._has_work():
                    deliveries = self._engine.step()
                    if deliveries:
                        self._deliver(deliveries)
        except Exception as error:  # noqa: BLE001  whatever it is, the server has to end
            traceback.print_exc()
            self._on_crash(f"{type(error).__name__}: {error}")

    def _has_work(self) -> bool:
        scheduler = self._engine.scheduler
        return bool(scheduler.running or scheduler.waiting)

    def _take(self) -> None:
        """Empty the inbox, waiting if there is nothing else to do; run the jobs that may run."""
        is_blocking = not self._has_work() and not self._jobs
        while True:
            try:
                item = self._inbox.get(block=is_blocking)
            except queue.Empty:
                break
            is_blocking = False
            if isinstance(item, _Job):
                self._jobs.append(item)
            elif item is not None:
                self._engine.scheduler.add(item)
        is_busy = self._has_work()
        waiting = [job for job in self._jobs if job.needs_idle and is_busy]
        for job in self._jobs:
            if job not in waiting:
                job.run()
        self._jobs = waiting
