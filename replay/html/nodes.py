"""The table of nodes: samples, interval, guardrails, witness and judgement of each."""

from collections.abc import Sequence

from arbor.core.tree import ROOT_ID, Status
from arbor.events.evidence import PairMeasured
from arbor.events.types import Edit
from arbor.replay.html.markup import Markup, join, shorten, tag
from arbor.replay.html.samples import pairs_plot
from arbor.replay.result_models import NodeResult, Result
from arbor.replay.story import Story
from arbor.replay.wording import accuracy_words, duration, percent


def nodes_table(story: Story, result: Result) -> Markup:
    """Return one expandable row a node, in the order of the search."""
    shown = [
        node
        for node in result.nodes
        if node.node_id != ROOT_ID and node.status is not Status.REBASED
    ]
    return tag("div", *(_node(story, node) for node in shown), class_="nodes")


def _node(story: Story, node: NodeResult) -> Markup:
    effect = node.effect
    numbers = (
        f"{effect.ratio:.3f}x [{effect.low:.3f}, {effect.high:.3f}]" if effect is not None else ""
    )
    head = tag(
        "summary",
        tag("span", str(node.status), class_=f"pill {node.status}"),
        tag("span", node.node_id, class_="id"),
        tag("span", node.template_id or "", class_="name"),
        tag("span", node.layer or "", class_="dim layer"),
        tag("span", numbers, class_="numbers"),
        tag("span", shorten(_why(node), 150), class_="why dim"),
    )
    return tag("details", head, tag("div", *_body(story, node), class_="body"))


def _why(node: NodeResult) -> str:
    if node.status is Status.KEPT and node.effect is not None:
        return f"{percent(node.effect.ratio)} over {node.effect.num_pairs} pairs"
    if node.root_cause is not None:
        return f"{node.root_cause}: {node.reason}"
    return node.reason


def _body(story: Story, node: NodeResult) -> list[Markup]:
    rows: list[tuple[str, Markup | str]] = [
        ("change", listed(node.edits)),
        ("on", f"{node.parent_id or ''}, commit {(node.commit or 'none')[:12]}"),
    ]
    if node.reason:
        rows.append(("reason", node.reason))
    if node.root_cause is not None:
        rows.append(("root cause", node.root_cause))
    if node.accuracy is not None:
        rows.append(("accuracy", accuracy_words(node.accuracy, claims_exact=node.claims_exact)))
    rows += [
        (f"{j.purpose} judged", f"{'accepted' if j.is_accepted else 'refused'}: {j.reason}")
        for j in node.judgements
    ]
    if node.has_witness is not None:
        proof = "witnessed" if node.has_witness else "no witness"
        rows.append(("took effect", f"{proof}: {node.witness_detail or ''}"))
    rows.append(("guardrails", _flags(node)))
    if node.seconds is not None:
        rows.append(("took", duration(node.seconds)))
    parts = [tag("table", *(tag("tr", tag("th", k), tag("td", v)) for k, v in rows), class_="kv")]
    found = story.benchmark_of(node.node_id)
    if found is not None:
        request, measured = found
        parts += _samples(request.pairs, pairs_plot(request.pairs, measured.effect))
    return parts


def listed(edits: Sequence[Edit]) -> Markup:
    """Return edits as a list of code words."""
    if not edits:
        return join("none")
    return join(*(tag("code", f"{e.key} = {e.value}", class_="edit") for e in edits))


def _flags(node: NodeResult) -> Markup | str:
    if not node.flags:
        return "nothing found" if node.has_witness is not None else "not measured"
    return join(
        *(
            tag("div", tag("b", f"{flag.rule} ({flag.severity})"), f" {flag.evidence}")
            for flag in node.flags
        )
    )


def _samples(pairs: list[PairMeasured], plot: Markup | None) -> list[Markup]:
    if not pairs:
        return []
    header = ("pair", "first", "candidate tok/s", "incumbent tok/s", "ratio", "requests", "")
    rows = [
        (
            str(pair.pair),
            "candidate" if pair.is_candidate_first else "incumbent",
            f"{pair.candidate.throughput_tok_s:,.1f}",
            f"{pair.incumbent.throughput_tok_s:,.1f}",
            f"{pair.candidate.throughput_tok_s / max(1e-9, pair.incumbent.throughput_tok_s):.3f}",
            f"{pair.candidate.num_completed} + {pair.incumbent.num_completed}",
            "" if pair.is_valid else f"discarded: {pair.flaw or 'broke a rule'}",
        )
        for pair in pairs
    ]
    table = tag(
        "table",
        tag("tr", *(tag("th", cell) for cell in header)),
        *(tag("tr", *(tag("td", cell) for cell in row)) for row in rows),
        class_="samples",
    )
    return [tag("div", plot, class_="plot"), tag("div", table, class_="scroll")]
