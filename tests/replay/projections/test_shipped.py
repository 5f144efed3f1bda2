"""Projections that ship say the same as the folds in Python, at once or bit by bit."""

import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arbor.core.campaign import Campaign, CampaignBudget
from arbor.core.measure.pareto import pareto_front
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID, Status
from arbor.events.base import Event, Recorded
from arbor.events.evidence import BenchmarkMeasured, PairMeasured
from arbor.events.judgement import MeasurementFlagged
from arbor.events.money import BudgetReserved, BudgetSpent
from arbor.events.settings import SearchSettings
from arbor.replay.database import CampaignDatabase
from arbor.replay.projections import SHIPPED
from arbor.replay.spans import TimeSpent
from arbor.targets.landscape_config import LandscapeConfig
from arbor.targets.landscape_samples import RandomShape, random_surface
from tests.fakes.files import MemoryFiles
from tests.fakes.unruly import Mishap, Unruly
from tests.replay.recorded import changed, inserted

Events = tuple[Recorded, ...]
KINDS = ("slow", "kill", "die", "veto", "veto_keep", "constraint", "lift", "pause", "propose")
MISHAPS = st.lists(
    st.builds(Mishap, st.integers(1, 250), st.sampled_from(KINDS), st.integers(0, 60)),
    max_size=16,
)


def database_of(events: Sequence[Recorded]) -> CampaignDatabase:
    """Return a database of events that never were on a disk."""
    return CampaignDatabase(MemoryFiles(events, len(events)))


def table(database: CampaignDatabase, name: str) -> list[tuple[object, ...]]:
    """Return all rows of a projection in an order that does not depend on the engine's."""
    rows = database.query(f"select * from {name}").rows  # noqa: S608 - our own names
    return sorted((tuple(_rounded(v) for v in row) for row in rows), key=repr)


def _rounded(value: object) -> object:
    # Aggregates of floats depend on the order of rows in the last bit.
    return float(f"{value:.12g}") if isinstance(value, float) else value


def state_of(events: Sequence[Recorded]) -> CampaignState:
    state = CampaignState()
    for recorded in events:
        state.apply(recorded)
    return state


def python_tree(events: Sequence[Recorded]) -> list[tuple[object, ...]]:
    """Return the tree as `nodes` shows it, without positions."""
    found = []
    for node in state_of(events).tree.nodes.values():
        effect = node.effect
        numbers = (effect.ratio, effect.low, effect.high) if effect else (None,) * 3
        found.append(
            (
                node.node_id,
                node.parent_id,
                node.action_id,
                node.template_id,
                str(node.status),
                node.commit,
                *numbers,
            )
        )
    return found


def unruly_events(mishaps: list[Mishap], seed: int) -> Events:
    """Return the log of a campaign among people and mishaps."""
    with TemporaryDirectory() as folder:
        shape = RandomShape(seed=seed, num_switches=8, num_crashes=2, harmful_ratio=0.2)
        campaign = Campaign(
            target="landscape",
            budget=CampaignBudget(wall=200.0),
            search=SearchSettings(tuning_trials=2, parallel=1 + seed % 3),
        )
        landscape = LandscapeConfig(surface=random_surface(shape), seed=seed)
        unruly = Unruly(Path(folder), landscape, campaign, mishaps)
        unruly.run()
        return unruly.simulation.events()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mishaps=MISHAPS, seed=st.integers(0, 30), data=st.data())
def test_bit_by_bit_equals_at_once_and_sql_equals_python(
    mishaps: list[Mishap], seed: int, data: st.DataObject
) -> None:
    events = unruly_events(mishaps, seed)
    cuts = data.draw(st.lists(st.integers(1, len(events)), min_size=1, max_size=4))
    source = MemoryFiles(events, 0, per_file=data.draw(st.integers(1, 40)))
    query = "select * exclude (created_at) from nodes order by created_at"
    with CampaignDatabase(source) as grown:
        for cut in sorted(cuts):
            source.num_visible = cut
            grown.catch_up()
            assert grown.query("select position from head").rows == ((cut,),)
            assert list(grown.query(query).rows) == python_tree(events[:cut])
            with database_of(events[:cut]) as rebuilt:
                for projection in SHIPPED:
                    assert table(grown, projection.name) == table(rebuilt, projection.name)


def test_constraints_in_force_are_the_states(eventful_log: Events) -> None:
    for cut in (len(eventful_log) // 2, len(eventful_log)):
        with database_of(eventful_log[:cut]) as database:
            query = "select constraint_id, reason from constraints where is_in_force"
            found = dict(database.query(query).rows)
        in_force = state_of(eventful_log[:cut]).constraints.in_force
        assert found == {name: each.reason for name, each in in_force.items()}


def test_knowledge_counts_what_was_tried(history: Events) -> None:
    tree = state_of(history).tree
    with database_of(history) as database:
        query = "select template_id, num_tries, num_kept, num_reverted, num_crashed from knowledge"
        rows = database.query(query).rows
    assert {row[0] for row in rows} == set(tree.templates)
    for template_id, *counts in rows:
        own = [n.status for n in tree.nodes.values() if n.template_id == template_id]
        statuses = (Status.KEPT, Status.REVERTED, Status.CRASHED)
        assert counts == [
            len(own) - own.count(Status.REBASED),
            *(own.count(status) for status in statuses),
        ]


def test_calibration_compares_what_scoring_expected(history: Events) -> None:
    measured = [
        r.event
        for r in history
        if isinstance(r.event, BenchmarkMeasured) and r.event.purpose == "benchmark"
    ]
    with database_of(history) as database:
        rows = database.query("select * from calibration").rows
        columns = database.query("select * from calibration").columns
    assert len(rows) == len(measured)
    for values, event in zip(rows, measured, strict=True):
        row = dict(zip(columns, values, strict=True))
        assert row["node_id"] == event.node_id
        assert row["measured_ratio"] == event.effect.ratio
        error = math.log(event.effect.ratio / row["expected_ratio"])
        assert row["log_error"] == pytest.approx(error)
        assert row["is_inside"] == (event.effect.low <= row["expected_ratio"] <= event.effect.high)


def test_yield_adds_up_to_the_tree(history: Events) -> None:
    tree = state_of(history).tree
    with database_of(history) as database:
        query = (
            "select sum(num_dispatched), sum(num_kept), sum(num_crashed), product(gain_ratio)"
            " from specialist_yield"
        )
        [(num_dispatched, num_kept, num_crashed, gain)] = database.query(query).rows
    statuses = [node.status for node in tree.nodes.values() if node.node_id != ROOT_ID]
    assert num_dispatched == len(statuses) - tree.num_rebases
    assert num_kept == statuses.count(Status.KEPT)
    assert num_crashed == statuses.count(Status.CRASHED)
    assert gain == pytest.approx(tree.gain_ratio(tree.current_id))


def test_guardrail_hits_count_flags(history: Events) -> None:
    flags = [r.event for r in history if isinstance(r.event, MeasurementFlagged)]
    assert flags
    with database_of(history) as database:
        rows = database.query("select rule, num_hits, num_refused from guardrail_hits").rows
    assert {rule: num for rule, num, _ in rows if num} == {
        rule: sum(flag.rule == rule for flag in flags) for rule in {flag.rule for flag in flags}
    }
    assert sum(num for _, _, num in rows) > 0


def test_pareto_front_is_the_cores(history: Events) -> None:
    with database_of(history) as database:
        query = "select throughput_tok_s, tpot_ms, is_on_front from pareto"
        rows = database.query(query).rows
    assert len(rows) > 3
    front = pareto_front([(throughput, latency) for throughput, latency, _ in rows])
    assert {(rate, ms) for rate, ms, is_on_front in rows if is_on_front} == set(front)
    assert any(isinstance(r.event, PairMeasured) for r in history)


def test_timeline_begins_at_zero_and_never_runs_back(history: Events) -> None:
    with database_of(history) as database:
        rows = database.query("select kind, elapsed_s from timeline order by position").rows
    assert rows[0] == ("CampaignStarted", 0.0)
    seconds = [elapsed_s for _, elapsed_s in rows]
    assert seconds == sorted(seconds)


def test_costs_are_leases_times_accelerators_and_money(history: Events) -> None:
    started = next(r for r in history if r.event.kind == "CampaignStarted")
    own = started.event
    hardware = own.hardware.model_copy(update={"num_devices": 4})  # type: ignore[attr-defined]
    rich = changed(history, started.position, hardware=hardware)
    said: tuple[Event, ...] = (
        BudgetReserved(reservation_id="b1", usd_micro=900),
        BudgetSpent(reservation_id="b1", usd_micro=250),
        BudgetReserved(reservation_id="b2", usd_micro=40),
    )
    for event in said:
        rich = inserted(rich, len(rich), event, "bench")
    time = TimeSpent()
    for recorded in rich:
        time.apply(recorded)
    with database_of(rich) as database:
        query = "select active_s, gpu_hours, usd * 1000000 from costs where kind = 'budget'"
        [(active_s, gpu_hours, usd_micro)] = database.query(query).rows
        [(parts,)] = database.query("select sum(gpu_hours) from costs where kind = 'time'").rows
    assert active_s == pytest.approx(time.wall_s)
    assert gpu_hours == pytest.approx(4 * time.leased_s / 3600)
    assert parts == pytest.approx(gpu_hours)
    # What was spent of the first reservation, and all of the second.
    assert int(usd_micro) == 290
