"""One running server of the ``command`` target: healthy or not, and what it says of itself."""

import http.client
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from arbor.events.types import Scalar
from arbor.targets.base import ServerFailedError
from arbor.targets.child import ChildProcess
from arbor.targets.command.actions import key_of
from arbor.targets.command.config import CommandTargetConfig
from arbor.targets.command.locators import NotFoundInOutputError, Output
from arbor.targets.command.programs import run_command
from arbor.targets.command.template import Values
from arbor.targets.http_server import HttpServer

_TRUE, _FALSE = frozenset(("true", "1", "on", "yes")), frozenset(("false", "0", "off", "no"))


class CommandServer(HttpServer):
    """Implements ``Server``; every failure becomes a ``ServerFailedError``.

    Attributes:
        values: what placeholders stand for, knobs and the server's own names.
        folder: where commands run.
        scratch: folder of this server alone.
    """

    def __init__(
        self,
        config: CommandTargetConfig,
        child: ChildProcess,
        values: Values,
        folder: Path,
    ) -> None:
        super().__init__(child, str(values["host"]), int(values["port"]), config.request_limit_s)
        self._config = config
        self._knobs = {name: values[name] for name in config.knobs}
        self.values = values
        self.folder = folder
        self.scratch = Path(str(values["scratch"]))

    def is_ready(self) -> bool:
        """Return whether this very server, and no other on its port, is healthy."""
        return self._is_healthy() and self._listens()

    def resolved_config(self) -> dict[str, Scalar]:
        """Return the knobs: as the server reports them, or else as they were given to it.

        A knob that it should report and does not is left out, so nothing proves it.

        Raises:
            ServerFailedError: the server does not answer.
        """
        self.child.check("start")
        if not self._is_healthy():
            raise self.failure("start", "the server is not healthy any more")
        report = self._config.report
        found: dict[str, Scalar | None] = dict(self._knobs)
        if report.path:
            answer = Output(self.ask_text("start", "GET", report.path))
            found |= self._reported(report.values, answer)
        if report.log:
            found |= self._reported(report.log, Output(self._log_text()))
        return {key_of(name): value for name, value in found.items() if value is not None}

    def _is_healthy(self) -> bool:
        health = self._config.health
        if health.command is not None:
            try:
                run_command(health.command, self.values, self.folder, "start", "health")
            except ServerFailedError:
                return False
            return True
        try:
            self.exchange("GET", health.path, None, health.limit_s)
        except (OSError, http.client.HTTPException, ValueError):
            return False
        return True

    def _listens(self) -> bool:
        """Return whether a process of the server listens on its port, as far as one may look."""
        pids = self.child.pids()
        for pid in pids:
            with suppress(psutil.NoSuchProcess):
                try:
                    sockets = psutil.Process(pid).net_connections(kind="tcp")
                except psutil.AccessDenied:
                    return True
                for each in sockets:
                    if each.status == psutil.CONN_LISTEN and each.laddr[1] == self.port:
                        return True
        return False

    def _log_text(self) -> str:
        return "\n".join(self.child.log_tail(num_lines=1 << 20))

    def _reported(self, locators: Mapping[str, str], output: Output) -> dict[str, Scalar | None]:
        """Return the reported values, None for a knob that is not reported."""
        found: dict[str, Scalar | None] = {}
        for name, locator in locators.items():
            try:
                found[name] = _as_type(output.find(locator), self._knobs[name])
            except NotFoundInOutputError:
                found[name] = None
        return found


def _as_type(value: object, example: Scalar) -> Scalar | None:
    """Return a reported value in the type of its knob, None when it has another one."""
    text = value if isinstance(value, str) else json.dumps(value)
    if isinstance(example, bool):
        small = text.strip().lower()
        return True if small in _TRUE else False if small in _FALSE else None
    try:
        if isinstance(example, int):
            return int(text) if float(text) == int(float(text)) else None
        return float(text) if isinstance(example, float) else text
    except (ValueError, OverflowError):
        return None
