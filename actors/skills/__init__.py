"""What models are told, as Markdown: hard skills per layer, soft skills, and tasks; by digest."""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from arbor.events.errors import NotFoundError

_FOLDER = Path(__file__).parent
_NUM_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Skill:
    """One text.

    Attributes:
        name: its file, without the ending.
        text: what a model reads.
    """

    name: str
    text: str

    @property
    def reference(self) -> str:
        """The name and the beginning of the text's SHA-256, as events hold it."""
        return f"{self.name}@{sha256(self.text.encode()).hexdigest()[:_NUM_DIGITS]}"


@cache
def skill(name: str) -> Skill:
    """Return a text by name.

    Raises:
        NotFoundError: there is none.
    """
    path = _FOLDER / f"{name}.md"
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in _FOLDER.glob("*.md")))
        raise NotFoundError(f"no skill {name!r}; known: {known}")
    return Skill(name, path.read_text(encoding="utf-8"))


def joined(*names: str) -> str:
    """Return several texts as one.

    Raises:
        NotFoundError: one does not exist.
    """
    return "\n\n".join(skill(name).text.strip() for name in names)
