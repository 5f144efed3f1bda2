"""The tools of a coder: read, search, edit by diff, build and test, micro-benchmark, profile."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, Field

from arbor.actors.models.framing import MAX_CHARACTERS
from arbor.actors.specialists.base import CancelledError, NoPatchError
from arbor.actors.specialists.drafting import Draft, Drafts
from arbor.core.diffs import DiffError
from arbor.core.feedback import Kind
from arbor.core.models import Tool

_MAX_HITS = 40


class ReadArguments(BaseModel):
    """What to read."""

    path: str
    first_line: int = Field(default=1, ge=1)
    num_lines: int = Field(default=400, ge=1, le=2000)


class SearchArguments(BaseModel):
    """What to look for."""

    text: str = Field(min_length=1, max_length=200)


class EditArguments(BaseModel):
    """A change."""

    diff: str


class NoArguments(BaseModel):
    """Nothing."""


class Workbench:
    """One coder's files: in memory, so that nothing leads out of them.

    Attributes:
        files: the changed files' texts now.
        diff: what was applied last.

    Args:
        readable: all files of the workspace by path.
        drafts: what is tried.
        files: the changed files to begin with.
    """

    def __init__(
        self, readable: Mapping[str, str], drafts: Drafts, files: Mapping[str, str]
    ) -> None:
        self.files = dict(files)
        self.diff = ""
        self._readable = readable
        self._drafts = drafts
        self._stopped_by: CancelledError | NoPatchError | None = None

    def check(self) -> None:
        """Do nothing unless a tool met the end of the action, whatever its caller made of that.

        Raises:
            CancelledError: the action is not wanted any more.
            NoPatchError: a diff reached for the harness.
        """
        if self._stopped_by is not None:
            raise self._stopped_by

    def edit(self, diff: str) -> str:
        """Apply a diff; return why it was not, or an empty text.

        Raises:
            NoPatchError: it reaches for benchmark, gate data or harness.
        """
        try:
            self.files = self._drafts.apply(diff, self.files)
        except DiffError as error:
            self._drafts.note_wrong(diff, str(error))
            return str(error)
        self.diff = diff
        return ""

    def try_out(self) -> Draft | None:
        """Return the draft of the files as they are now, tried unless it was before.

        None when nothing was applied, or what was is not new.

        Raises:
            CancelledError: the action is not wanted any more.
        """
        return self._drafts.try_out(self.files, self.diff) if self.diff else None

    def tools(self, *, can_run: bool) -> tuple[Tool, ...]:
        """Return the tools; those that build and run only where nobody else does so meanwhile."""
        named: list[tuple[str, str, type[BaseModel], Callable[[Any], str]]] = [
            ("read_file", "Read a file of the workspace, by lines.", ReadArguments, self._read),
            ("search", "Find a text in all files.", SearchArguments, self._search),
            ("apply_diff", "Apply a unified diff to the files.", EditArguments, self._edit),
        ]
        if can_run:
            named += [
                ("check", "Build, start and try the files.", NoArguments, self._run("debugger")),
                (
                    "analyse",
                    "What has changed, and the answers.",
                    NoArguments,
                    self._run("analyzer"),
                ),
                ("profile", "A short window and a profile.", NoArguments, self._run("profiler")),
            ]
        return tuple(Tool(name, said, form, self._guarded(run)) for name, said, form, run in named)

    def _guarded(self, run: Callable[[Any], str]) -> Callable[[Any], str]:
        """Keep what ends the action, and whoever calls the tool from what would break it."""

        def guarded(arguments: Any) -> str:
            if self._stopped_by is not None:
                return "the action has ended"
            try:
                return run(arguments)
            except (CancelledError, NoPatchError) as error:
                self._stopped_by = error
                return "the action has ended"

        return guarded

    def _text(self, path: str) -> str | None:
        return self.files.get(path, self._readable.get(path))

    def _read(self, arguments: ReadArguments) -> str:
        text = self._text(arguments.path)
        if text is None:
            return f"no file {arguments.path!r}; there are: {', '.join(sorted(self._readable))}"
        first = arguments.first_line - 1
        lines = text.splitlines()[first : first + arguments.num_lines]
        return "\n".join(lines)[:MAX_CHARACTERS] or "no such lines"

    def _search(self, arguments: SearchArguments) -> str:
        hits = [
            f"{path}:{number}: {line.strip()[:200]}"
            for path in sorted(self._readable)
            for number, line in enumerate((self._text(path) or "").splitlines(), start=1)
            if arguments.text in line
        ]
        more = [f"... {len(hits) - _MAX_HITS} more"] if len(hits) > _MAX_HITS else []
        return "\n".join([*hits[:_MAX_HITS], *more]) or "found nowhere"

    def _edit(self, arguments: EditArguments) -> str:
        return self.edit(arguments.diff) or "applied"

    def _run(self, kind: Kind) -> Callable[[NoArguments], str]:
        def run(_: NoArguments) -> str:
            draft = self.try_out()
            if draft is None:
                return self._drafts.rejection or "nothing was applied yet"
            return draft.feedback.texts[kind]

        return run
