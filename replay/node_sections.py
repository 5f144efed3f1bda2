"""The evidence of every node in Markdown: one compact section each."""

from collections.abc import Iterable, Iterator

from arbor.events.evidence import PairMeasured
from arbor.replay.evidence import PAIR_HEADER, Entry, pair_cells
from arbor.replay.markdown import code, table, text


def node_sections(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the lines of one section an entry; foreign text is escaped."""
    for entry in entries:
        yield f"### {_title(entry)}"
        yield ""
        if entry.edits:
            edits = ", ".join(f"`{code(f'{e.key}={e.value}')}`" for e in entry.edits)
            yield f"- change: {edits}"
        for name, words in entry.facts:
            yield f"- {text(name)}: {text(words)}"
        yield ""
        if entry.pairs:
            yield from table(PAIR_HEADER, [_row(pair) for pair in entry.pairs])
            yield ""


def _row(pair: PairMeasured) -> tuple[str, ...]:
    # All but the last cell are numbers and words of ours; a flaw may quote anything.
    *own, counts = pair_cells(pair)
    return *own, text(counts)


def _title(entry: Entry) -> str:
    effect = entry.effect
    numbers = (
        f", {effect.ratio:.3f}x \\[{effect.low:.3f}, {effect.high:.3f}\\]"
        if effect is not None
        else ""
    )
    return f"{text(entry.node_id)} {text(entry.title)}: {text(entry.status)}{numbers}"
