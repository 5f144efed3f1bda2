"""A log as rules see it: lines that say something went wrong, and the exception at the root."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from arbor.core.rca.base import Incident
from arbor.core.rca.excerpt import select
from arbor.core.rca.lines import Line, parse
from arbor.events.causes import LogLine

_RAISED = re.compile(
    r"^(?:\w+ hit an exception: )?(?P<type>(?:[A-Za-z_][\w]*\.)*[A-Z]\w*"
    r"(?:Error|Exception|Unsupported|Failure|OutOfResources|Timeout|Interrupt|Exit))"
    r"(?:\(.*\))?(?::\s*(?P<text>.*))?$"
)
# said by a process because another one broke: never the cause
_ECHO = re.compile(
    r"engine core initialization failed|enginedeaderror|enginecore (encountered|failed)|"
    r"engine ?core .*died|worker proc \S* ?died|workerproc (hit|failed)|\bcancelled$|"
    r"calledprocesserror|childprocesserror|actordiederror|rayactorerror|raytaskerror|"
    r"got fatal signal from worker|executor failed|background loop (has )?errored|systemexit|"
    r"keyboardinterrupt|subprocess .* died|childfailederror|brokenpipeerror|"
    r"connection (reset|closed) by peer|scheduler hit an exception|server (process )?(ended|"
    r"exited)",
    re.IGNORECASE,
)
_READY = re.compile(
    r"application startup complete|uvicorn running on|server (is )?ready|ready to roll|"
    r"server ready:",
    re.IGNORECASE,
)
_RECOVERED = re.compile(
    r"fall(ing|s)? ?back|will retry|retrying|skipping|ignor(ed|ing)|using \S+ instead|"
    r"\boptional\b|us(e|ing) (the )?default|disabl(ed|ing)\b|non-fatal|not fatal|harmless",
    re.IGNORECASE,
)
_ENDED = re.compile(
    r"exit(?:ed)?(?: with)? (?:status|code):? ?(?P<code>\d+)|returncode[ =:]+(?P<code2>-?\d+)"
    r"|(?:terminated by|received|ended by|killed by) signal:? (?P<signal>\d+)",
    re.IGNORECASE,
)
_SIGNAL_BASE = 128
"""A shell's exit code for a program that a signal ended, minus the signal."""
_MAX_SIGNAL = 64


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception of the log.

    Attributes:
        name: class, without its modules.
        text: its message.
        frames: files of its traceback, the innermost last.
        source: the line of code that raised it, where it is shown.
    """

    line: Line
    name: str
    text: str
    frames: tuple[str, ...] = ()
    source: str = ""

    @property
    def is_echo(self) -> bool:
        """True when it only says that another process broke."""
        return _ECHO.search(f"{self.name}: {self.text}") is not None


@dataclass(eq=False)
class Record:
    """The log of an incident, taken apart once for all rules."""

    incident: Incident
    lines: tuple[Line, ...] = ()
    exit_code: int | None = None
    signal: int | None = None
    _ready_number: int = field(default=0)

    @classmethod
    def of(cls, incident: Incident) -> "Record":
        """Take an incident's log apart; what its message says counts as the last line."""
        chosen = select(incident.lines)
        said = (LogLine(number=0, text=incident.message),) if incident.message else ()
        record = cls(incident, tuple(parse((*chosen, *said))))
        record._read_end()
        record._ready_number = record._last_ready()
        return record

    def _read_end(self) -> None:
        self.exit_code, self.signal = self.incident.exit_code, self.incident.signal
        for line in self.lines:
            found = _ENDED.search(line.text)
            if found is None or line.level == "info":
                continue
            code = found["code"] or found["code2"]
            if code is not None and self.exit_code is None:
                self.exit_code = int(code)
            if found["signal"] is not None and self.signal is None:
                self.signal = int(found["signal"])
        code_or_zero = self.exit_code or 0
        if self.signal is None and _SIGNAL_BASE < code_or_zero <= _SIGNAL_BASE + _MAX_SIGNAL:
            self.signal = code_or_zero - _SIGNAL_BASE
        if self.signal is None and -_MAX_SIGNAL <= code_or_zero < 0:
            self.signal = -code_or_zero

    def _last_ready(self) -> int:
        """Return the last line before which trouble was survived; 0 when none was."""
        ready = [line.number for line in self.lines if _READY.search(line.text)]
        after = ready[-1] if ready else 0
        return after if any(self._is_serious(x) for x in self.lines if x.number > after) else 0

    @staticmethod
    def _is_serious(line: Line) -> bool:
        return line.level == "error" or _RAISED.match(line.text) is not None

    def seen(self, pattern: re.Pattern[str]) -> list[Line]:
        """Return the plain lines, of any level, that a pattern is found in."""
        return [x for x in self.lines if x.kind == "plain" and pattern.search(x.text)]

    def trouble(self, pattern: re.Pattern[str]) -> list[Line]:
        """Return the lines that report trouble and hold a pattern.

        Left out are notes and warnings, what was survived, and what the program says it has
        found a way around.
        """
        return [x for x in self._troubled if pattern.search(x.text)]

    @cached_property
    def _troubled(self) -> tuple[Line, ...]:
        return tuple(
            x
            for x in self.lines
            if x.kind == "plain"
            and x.level not in {"info", "warning"}
            and (x.number == 0 or x.number > self._ready_number)
            and not _RECOVERED.search(x.text)
        )

    @cached_property
    def raised(self) -> tuple[Raised, ...]:
        """Exceptions in their order, echoes of other processes left out."""
        return tuple(each for each in self._exceptions() if not each.is_echo)

    @property
    def root(self) -> Raised | None:
        """The exception that the others followed from, or None."""
        return self.raised[0] if self.raised else None

    def _exceptions(self) -> Iterator[Raised]:
        frames: list[str] = []
        source = ""
        for line in self.lines:
            if line.kind == "frame":
                frames.append(line.path)
            elif line.kind == "source":
                source = line.text.strip() if line.text.strip(" ^~") else source
            elif (found := _RAISED.match(line.text.strip())) is not None:
                is_survived = 0 < line.number <= self._ready_number
                if line.level != "warning" and not is_survived:
                    name = found["type"].rpartition(".")[2]
                    yield Raised(line, name, found["text"] or "", tuple(frames), source)
                frames, source = [], ""

    @property
    def frames(self) -> Sequence[str]:
        """Files of the root exception's traceback, the innermost last."""
        return self.root.frames if self.root is not None else ()

    @property
    def is_clean(self) -> bool:
        """True when nothing broke: no exception, no error, no signal, no other exit than 0."""
        has_code = self.exit_code not in {None, 0}
        return not (self.raised or has_code or self.signal is not None or self._has_errors)

    @cached_property
    def _has_errors(self) -> bool:
        return any(line.level == "error" for line in self.lines)
