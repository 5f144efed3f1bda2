"""How text from files, logs and tools is put before a model: as data, framed and cut."""

MAX_CHARACTERS = 24_000
"""Of one piece of data; the middle of a longer one is left out."""


def data(name: str, text: str) -> str:
    """Return a text as data: it cannot end its frame, and is no instruction.

    Args:
        name: what it is; Arbor's own word.
        text: what somebody else wrote.
    """
    body = text if len(text) <= MAX_CHARACTERS else _cut(text)
    body = body.replace("</data", "<\\/data").replace("<data", "<\\data")
    return f'<data name="{_attribute(name)}">\n{body}\n</data>'


def _attribute(name: str) -> str:
    return "".join(c if c.isalnum() or c in " ._-/:" else "_" for c in name)[:200]


def _cut(text: str) -> str:
    half = MAX_CHARACTERS // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n... {left_out} characters left out ...\n{text[-half:]}"
