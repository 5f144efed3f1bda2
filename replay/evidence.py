"""What stands behind every node and the final claim, as words that all reports share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arbor.core.requests import Request
from arbor.core.tree import ROOT_ID, Status
from arbor.events.evidence import BenchmarkMeasured, NoiseCalibrated, PairMeasured
from arbor.events.types import Edit, Effect
from arbor.replay.result_models import NodeResult, Result
from arbor.replay.story import Story
from arbor.replay.wording import accuracy_words, duration, percent

Fact = tuple[str, str]
"""Name of a piece of evidence, and what it says."""

PAIR_HEADER = (
    "pair",
    "start",
    "first",
    "candidate tok/s",
    "incumbent tok/s",
    "log ratio",
    "requests",
    "foreign load",
    "counts",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One node, the calibration or the final claim, with everything that supports it.

    Attributes:
        node_id: the node.
        title: what was tried.
        status: how it ended, or what kind of entry it is.
        layer: layer of the stack that was changed.
        effect: measured effect.
        shrunk_ratio: the effect without the luck of selection.
        summary: a few words.
        edits: what was changed.
        facts: evidence in words.
        pairs: raw samples.
        is_important: whether a reader should see it at once.
    """

    node_id: str
    title: str
    status: str
    layer: str
    effect: Effect | None
    shrunk_ratio: float | None
    summary: str
    edits: tuple[Edit, ...]
    facts: tuple[Fact, ...]
    pairs: Sequence[PairMeasured]
    is_important: bool


def entries(story: Story, result: Result) -> Iterator[Entry]:
    """Yield the final claim, then all nodes in the order of the tree.

    Patches that were rebased onto a newer node appear once, where they were measured.
    """
    final = story.final_request()
    if final is not None:
        yield _final(story, final)
    results = {node.node_id: node for node in result.nodes}
    for node in story.in_tree_order():
        if node.node_id == ROOT_ID:
            yield _baseline(story, results[node.node_id])
        elif node.status is not Status.REBASED:
            yield _node(story, results[node.node_id])


def pair_cells(pair: PairMeasured) -> tuple[str, ...]:
    """Return the cells of one pair, as ``PAIR_HEADER`` names them."""
    candidate, incumbent = pair.candidate, pair.incumbent
    loads = [window.foreign_cpu_ratio for window in (candidate, incumbent)]
    return (
        str(pair.pair),
        str(pair.start),
        "candidate" if pair.is_candidate_first else "incumbent",
        f"{candidate.throughput_tok_s:,.1f}",
        f"{incumbent.throughput_tok_s:,.1f}",
        f"{pair.log_ratio:+.4f}",
        f"{candidate.num_completed} / {incumbent.num_completed}",
        " / ".join("?" if load is None else f"{load:.0%}" for load in loads),
        "yes" if pair.is_valid else f"no: {pair.flaw or 'broke a rule'}",
    )


def _final(story: Story, request: Request) -> Entry:
    measured = request.result if isinstance(request.result, BenchmarkMeasured) else None
    arms = f"commit {(measured.commit if measured is not None else 'none')[:12]}"
    facts = [
        ("arms", f"{arms} against commit {request.asked.incumbent_commit[:12]}"),
        *_judged(story, request),
        *_guardrails((request,), is_measured=measured is not None),
    ]
    if request.crash is not None:
        facts.insert(0, ("failed", request.crash.message))
    return Entry(
        node_id=request.asked.node_id,
        title="whole stack against the frozen baseline",
        status="final",
        layer="",
        effect=measured.effect if measured is not None else None,
        shrunk_ratio=None,
        summary="fresh servers, fresh seeds",
        edits=(),
        facts=tuple(facts),
        pairs=request.pairs,
        is_important=True,
    )


def _baseline(story: Story, node: NodeResult) -> Entry:
    request = story.state.measurement_of(ROOT_ID, "noise")
    measured = request.result if request is not None else None
    return Entry(
        node_id=node.node_id,
        title="frozen baseline",
        status="baseline",
        layer="",
        effect=measured.effect if isinstance(measured, NoiseCalibrated) else None,
        shrunk_ratio=None,
        summary="identical arms: what noise looks like",
        edits=(),
        facts=(("commit", (node.commit or "none")[:12]),),
        pairs=request.pairs if request is not None else (),
        is_important=False,
    )


def _node(story: Story, node: NodeResult) -> Entry:
    benchmark = story.state.measurement_of(node.node_id, "benchmark")
    return Entry(
        node_id=node.node_id,
        title=node.template_id or "",
        status=str(node.status),
        layer=node.layer or "",
        effect=node.effect,
        shrunk_ratio=node.shrunk_ratio,
        summary=_summary(node),
        edits=node.edits,
        facts=tuple(_facts(story, node)),
        pairs=benchmark.pairs if benchmark is not None else (),
        is_important=node.status is Status.KEPT,
    )


def _summary(node: NodeResult) -> str:
    if node.status is Status.KEPT and node.effect is not None:
        shrunk = f", shrunk to {node.shrunk_ratio:.3f}x" if node.shrunk_ratio is not None else ""
        return f"{percent(node.effect.ratio)} over {node.effect.num_pairs} pairs{shrunk}"
    if node.root_cause is not None:
        return f"{node.root_cause}: {node.reason}"
    return node.reason


def _facts(story: Story, node: NodeResult) -> Iterator[Fact]:
    requests = [
        request
        for request in story.state.requests.of_node(node.node_id)
        if request.asked.purpose in {"accuracy", "benchmark"}
    ]
    yield "on", f"{node.parent_id or ''}, commit {(node.commit or 'none')[:12]}"
    if node.reason:
        yield "reason", node.reason
    if node.root_cause is not None:
        yield "root cause", node.root_cause
    if node.effect is not None and node.shrunk_ratio is not None:
        yield "shrunk", f"{node.shrunk_ratio:.3f}x without the luck of selection"
    if node.accuracy is not None:
        yield "accuracy", accuracy_words(node.accuracy, claims_exact=node.claims_exact)
    for request in requests:
        yield from _judged(story, request)
    if node.has_witness is not None:
        proof = "witnessed" if node.has_witness else "no witness"
        yield "took effect", f"{proof}: {node.witness_detail or ''}"
    yield from _guardrails(requests, is_measured=node.has_witness is not None)
    if node.kept_position is not None:
        yield "keys", _keys(node)
    if node.seconds is not None:
        yield "took", duration(node.seconds)


def _judged(story: Story, request: Request) -> Iterator[Fact]:
    judgement = request.judgement
    if judgement is not None:
        verdict = "accepted" if judgement.is_accepted else "refused"
        at = story.judged_at.get(request.asked.request_id)
        yield (
            f"{judgement.purpose} judged",
            f"{verdict} at position {at}: {judgement.reason}",
        )
        if judgement.unobserved_rules:
            yield "not observed", ", ".join(judgement.unobserved_rules)


def _guardrails(requests: Sequence[Request], *, is_measured: bool) -> Iterator[Fact]:
    flags = [flag for request in requests for flag in request.flags]
    for flag in flags:
        yield "guardrail", f"{flag.rule} ({flag.severity}): {flag.evidence}"
    if not flags:
        yield "guardrails", "nothing found" if is_measured else "not measured"


def _keys(node: NodeResult) -> str:
    accepted = [j for j in node.judgements if j.is_accepted]
    critic = " and ".join(f"{j.purpose} at position {j.position}" for j in accepted)
    return (
        f"the Critic accepted {critic or 'nothing'}; the Orchestrator kept it at position"
        f" {node.kept_position}"
    )
