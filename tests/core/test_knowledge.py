"""Imported knowledge: what it counts for, and how the campaign's own evidence outweighs it."""

import math

import pytest

from arbor.core.knowledge import MAX_WEIGHT, Knowledge
from arbor.core.scoring import NOTHING_IMPORTED, Imported, score_terms
from arbor.core.state import CampaignState
from arbor.events.knowledge import KnowledgeImported, StackImported
from arbor.events.settings import SearchSettings
from arbor.events.types import Edit, Layer, ScoreTerms
from tests.fakes.recording import feed
from tests.fakes.stage import WITHOUT_SOAK, Stage, template


def belief(name: str, speedup: float, source: str = "s", **fields: object) -> KnowledgeImported:
    """Return a belief of a source about a template."""
    own: dict[str, object] = {"num_observations": 3, "num_tries": 3, "transfer_ratio": 0.9}
    return KnowledgeImported.model_validate(
        {
            "template_id": name,
            "source_campaign_id": source,
            "source_digest": "d" * 64,
            "speedup_ratio": speedup,
        }
        | own
        | fields
    )


def stack(*names: str, ratio: float = 2.0, source: str = "s") -> StackImported:
    """Return a source's stack of switches."""
    return StackImported(
        source_campaign_id=source,
        source_digest="d" * 64,
        template_ids=names,
        edits=tuple(Edit(key=f"s.{name}", value=True) for name in names),
        ratio=ratio,
        transfer_ratio=0.9,
    )


def knowing(*events: KnowledgeImported | StackImported) -> Knowledge:
    """Return the fold of imported events."""
    knowledge = Knowledge()
    feed(knowledge, events)
    return knowledge


def trust(state: CampaignState, source: str = "s") -> float:
    """Return the trust in a source as the campaign stands."""
    return state.knowledge.trusts(state.tree, 0.0)[source]


def terms(state: CampaignState, name: str) -> ScoreTerms:
    """Return the terms of a template as the Orchestrator gets them."""
    trusts = state.knowledge.trusts(state.tree, state.settings.measure.start_sd)
    return score_terms(
        state.tree,
        state.tree.templates[name],
        SearchSettings(),
        10.0,
        imported=state.knowledge.imported(name, trusts),
    )


def told(*events: KnowledgeImported | StackImported, parallel: int = 2) -> Stage:
    """Return an opened campaign that was told something at its start."""
    layers = (Layer.KERNEL, Layer.FRAMEWORK, Layer.COMPILER)
    settings = WITHOUT_SOAK.model_copy(update={"search": SearchSettings(parallel=parallel)})
    catalog = (template(name, layer) for name, layer in zip("abc", layers, strict=True))
    stage = Stage(*catalog, settings=settings)
    stage.say(*events, actor="supervisor")
    stage.open(attention=0.4, linear=0.6)
    return stage


def test_a_cold_campaign_knows_nothing() -> None:
    knowledge = Knowledge()
    assert knowledge.trusts(Stage(template("a")).state.tree, 0.0) == {}
    assert knowledge.imported("a", {}) == NOTHING_IMPORTED
    assert terms(told().state, "a").imported_weight == 0.0


def test_beliefs_enter_the_score_by_trust() -> None:
    knowledge = knowing(belief("a", 3.0), belief("a", 1.0, "doubtful", transfer_ratio=0.1))
    imported = knowledge.imported("a", {"s": 0.9, "doubtful": 0.1})
    assert imported.weight == pytest.approx(MAX_WEIGHT), "all sources together have one limit"
    assert imported.speedup_ratio == pytest.approx(3.0**0.9)
    assert knowledge.imported("a", {"s": 0.0, "doubtful": 0.0}) == NOTHING_IMPORTED
    cold, warm = terms(told().state, "a"), terms(told(belief("a", 3.0)).state, "a")
    assert warm.speedup_ratio > cold.speedup_ratio
    assert warm.imported_weight > 0.0


def test_believed_failures_raise_the_risks() -> None:
    failed = belief("a", 1.0, num_observations=0, num_tries=2, num_crashed=2, num_inexact=0)
    cold, warm = terms(told().state, "a"), terms(told(failed).state, "a")
    assert warm.crash_risk_ratio > 2 * cold.crash_risk_ratio
    assert warm.imported_weight == 0.0, "no effect was seen, so no speed-up is believed"
    refused = belief("a", 1.0, num_tries=1, num_inexact=1)
    assert terms(told(refused).state, "a").accuracy_risk_ratio > cold.accuracy_risk_ratio


def test_many_foreign_tries_are_few_here() -> None:
    crowd = [belief("a", 2.0, f"s{i}", num_tries=500, num_crashed=500) for i in range(9)]
    imported = knowing(*crowd).imported("a", {f"s{i}": 1.0 for i in range(9)})
    assert imported.num_tries == pytest.approx(MAX_WEIGHT)
    assert imported.num_crashed == pytest.approx(MAX_WEIGHT)
    assert imported.weight == MAX_WEIGHT


def test_own_tries_take_the_place_of_beliefs() -> None:
    imported = Imported(weight=3.0, speedup_ratio=4.0)
    weights = [imported.weight_after(num) for num in range(4)]
    assert weights == [3.0, 1.5, 1.0, 0.75]
    stage = told(belief("a", 4.0))
    before = terms(stage.state, "a")
    stage.revert("a", ratio=0.98)
    after = terms(stage.state, "a")
    assert after.imported_weight < before.imported_weight / 2
    assert after.speedup_ratio < before.speedup_ratio


def test_a_source_that_is_borne_out_is_trusted_more() -> None:
    # 1.5x of 40 % of the time is 1.154x of the whole.
    stage = told(belief("a", 1.5), belief("b", 3.0))
    before = trust(stage.state)
    stage.keep("a", 1.154, attention=0.4, linear=0.6)
    assert trust(stage.state) > before == pytest.approx(0.9)


def test_a_source_that_misleads_is_soon_doubted_about_everything() -> None:
    stage = told(belief("a", 6.0), belief("b", 6.0), belief("c", 6.0))
    start = terms(stage.state, "c")
    trusted = [trust(stage.state)]
    for name in ("a", "b"):
        stage.revert(name, ratio=0.97)
        trusted.append(trust(stage.state))
    assert trusted == sorted(trusted, reverse=True)
    assert trusted[-1] < 0.4
    later = terms(stage.state, "c")
    assert later.imported_weight < 0.6 * start.imported_weight
    assert later.speedup_ratio < start.speedup_ratio


def test_one_outlier_convicts_nobody() -> None:
    stage = told(belief("a", 6.0))
    stage.revert("a", ratio=0.2)
    assert trust(stage.state) == pytest.approx(1 / (1 + math.exp(2.0) * (0.1 / 0.9)))


def test_other_sources_are_not_touched() -> None:
    stage = told(belief("a", 6.0), belief("b", 2.0, "other"))
    stage.revert("a", ratio=0.9)
    assert trust(stage.state, "other") == pytest.approx(0.9)
    assert trust(stage.state) < 0.9


def test_a_stack_speaks_for_its_source() -> None:
    for ratio, is_better in ((1.8, True), (0.9, False)):
        stage = told(stack("b", "c"), belief("a", 1.5), parallel=1)
        name = next(t for t in stage.state.tree.templates if t.startswith("imported"))
        before = trust(stage.state)
        if is_better:
            stage.keep(name, ratio, attention=0.4, linear=0.6)
        else:
            stage.revert(name, ratio)
        assert (trust(stage.state) > before) is is_better
