"""The expandable list of nodes: what was tried, its evidence in words, its samples."""

from collections.abc import Iterable, Sequence

from arbor.events.types import Edit
from arbor.replay.evidence import Entry
from arbor.replay.html.markup import Markup, join, shorten, tag
from arbor.replay.html.samples import pairs_plot, pairs_table


def nodes_table(entries: Iterable[Entry]) -> Markup:
    """Return one expandable row an entry, important ones open."""
    return tag("div", *(_entry(entry) for entry in entries), class_="nodes")


def _entry(entry: Entry) -> Markup:
    head = tag(
        "summary",
        tag("span", entry.status, class_=f"pill {entry.status}"),
        tag("span", entry.node_id, class_="id"),
        tag("span", entry.title, class_="name"),
        tag("span", entry.layer, class_="dim layer"),
        tag("span", _numbers(entry), class_="numbers"),
        tag("span", shorten(entry.summary, 150), class_="why dim"),
    )
    body = tag("div", *_body(entry), class_="body")
    return tag("details", head, body, open=entry.is_important)


def _numbers(entry: Entry) -> str:
    effect = entry.effect
    return f"{effect.ratio:.3f}x [{effect.low:.3f}, {effect.high:.3f}]" if effect else ""


def _body(entry: Entry) -> list[Markup]:
    rows: list[tuple[str, Markup | str]] = []
    if entry.edits:
        rows.append(("change", listed(entry.edits)))
    rows += entry.facts
    words = tag("table", *(tag("tr", tag("th", k), tag("td", v)) for k, v in rows), class_="kv")
    if not entry.pairs:
        return [words]
    plot = (
        pairs_plot(entry.pairs, entry.effect, entry.shrunk_ratio)
        if entry.effect is not None
        else None
    )
    return [
        words,
        tag("div", plot, class_="plot"),
        tag("div", pairs_table(entry.pairs), class_="scroll"),
    ]


def listed(edits: Sequence[Edit]) -> Markup:
    """Return edits as a list of code words."""
    if not edits:
        return join("none")
    return join(*(tag("code", f"{e.key} = {e.value}", class_="edit") for e in edits))
