"""A claim is measured again on fresh servers with fresh seeds, and lies are found out."""

from dataclasses import replace
from pathlib import Path

import pytest

from arbor.actors.place import Place
from arbor.actors.processes import place_for
from arbor.actors.recheck import Plan, Recheck, Rechecked, differences
from arbor.core.claims import final_claim, node_claim
from arbor.core.layout import CampaignDirectory
from arbor.core.seeds import SeedsSeen
from arbor.core.state import CampaignState
from arbor.core.tree import ROOT_ID, Status
from arbor.events.base import Recorded
from arbor.events.errors import BusyError
from arbor.events.types import Edit, Effect, Load, Scalar, WindowSample
from arbor.replay.repository import copy_nodes
from arbor.targets.base import STANDARD_LOAD, Server, ServerFailedError
from arbor.targets.landscape import LandscapeServer
from arbor.targets.landscape_config import Noise
from tests.fakes.hooked_landscape import HookedLandscape
from tests.fakes.small_surface import declared
from tests.replay.recorded import HARDWARE


class Bystander:
    """Somebody else, with a copy of a finished campaign and a place of their own."""

    def __init__(self, finished: Path, history: tuple[Recorded, ...], folder: Path) -> None:
        self.state, self.seen = CampaignState(), SeedsSeen()
        for recorded in history:
            self.state.apply(recorded)
            self.seen.apply(recorded)
        self.claim = final_claim(self.state)
        self.folder = folder
        self.workspace = CampaignDirectory(finished).workspace
        self.target = HookedLandscape(declared(), lambda _: None)
        self.said: list[str] = []

    def place(self) -> Place:
        branches = {
            "baseline": self.claim.root_commit,
            "candidate": self.claim.commit,
            "incumbent": self.claim.incumbent_commit,
        }
        copy_nodes(self.workspace, CampaignDirectory(self.folder).workspace, branches)
        return place_for(self.folder, self.target)

    def run(self, num_starts: int = 2, num_pairs: int = 3, seed: int = 0) -> Rechecked:
        plan = Plan(
            campaign_id="c",
            log_head="1:0",
            recorded_on=HARDWARE,
            measured_on=HARDWARE,
            claim=self.claim,
            settings=self.state.settings,
            num_starts=num_starts,
            num_pairs=num_pairs,
            seed=seed,
            used_seeds=frozenset(self.seen.seeds),
        )
        return Recheck(self.place(), plan, self.said.append).run()


@pytest.fixture
def bystander(finished: Path, history: tuple[Recorded, ...], tmp_path: Path) -> Bystander:
    return Bystander(finished, history, tmp_path / "place")


def claimed(ratio: float, width: float) -> Effect:
    return Effect(
        ratio=ratio,
        low=ratio * (1.0 - width),
        high=ratio * (1.0 + width),
        alpha=0.05,
        num_pairs=8,
        sd_log_ratio=0.01,
        num_starts_per_arm=2,
    )


def test_a_true_claim_is_found_again(bystander: Bystander) -> None:
    found = bystander.run()
    assert found.holds
    assert found.is_inside
    assert found.overlaps
    assert found.notes == ()
    assert [start.num_pairs for start in found.starts] == [3, 3]
    assert (found.rechecked.num_pairs, found.rechecked.num_starts_per_arm) == (6, 2)
    assert found.accuracy.kl_mean == 0.0
    truth = bystander.target.surface.true_ratio(
        bystander.state.tree.config_at(bystander.claim.node_id)
    )
    assert found.rechecked.low <= truth <= found.rechecked.high
    assert Rechecked.model_validate_json(found.model_dump_json()) == found


def test_pairs_are_fresh_interleaved_and_of_equal_work(bystander: Bystander) -> None:
    seed = min(bystander.seen.seeds)
    found = bystander.run(seed=seed)
    assert [pair.is_candidate_first for pair in found.pairs] == [True, False, True] * 2
    assert [pair.start for pair in found.pairs] == [1, 1, 1, 2, 2, 2]
    seeds = [pair.candidate.seed for pair in found.pairs]
    assert seeds == [pair.incumbent.seed for pair in found.pairs]
    assert len(set(seeds)) == len(seeds)
    assert not set(seeds) & bystander.seen.seeds
    work = {pair.candidate.num_completed for pair in found.pairs}
    assert work == {bystander.claim.num_requests}


def test_a_false_claim_is_found_out(bystander: Bystander) -> None:
    bystander.claim = replace(bystander.claim, effect=claimed(50.0, 0.01))
    found = bystander.run()
    assert not found.is_inside
    assert not found.overlaps
    assert not found.holds


def test_one_node_is_measured_against_its_parent(bystander: Bystander) -> None:
    node = next(
        n
        for n in bystander.state.tree.nodes.values()
        if n.status is Status.KEPT and n.parent_id not in {None, ROOT_ID}
    )
    bystander.claim = node_claim(bystander.state, node.node_id)
    found = bystander.run()
    assert found.incumbent_id == node.parent_id
    assert found.overlaps
    assert node.effect is not None
    assert found.rechecked.ratio == pytest.approx(node.effect.ratio, rel=0.1)


def test_a_stack_that_lost_its_accuracy_does_not_hold(bystander: Bystander) -> None:
    lossy = (Edit(key="b.lossy", value="int8"),)
    commit = bystander.place().commit(bystander.claim.root_commit, lossy)
    bystander.workspace = CampaignDirectory(bystander.folder).workspace
    bystander.folder = bystander.folder.with_name("again")
    bystander.claim = replace(
        bystander.claim, commit=commit, steps=(lossy,), effect=claimed(1.0, 0.1)
    )
    found = bystander.run()
    assert found.is_inside
    assert found.accuracy_violation is not None
    assert "claims to be exact" in found.accuracy_violation
    assert not found.holds


def test_a_commit_that_the_edits_do_not_give_is_said(bystander: Bystander) -> None:
    bystander.claim = replace(bystander.claim, steps=bystander.claim.steps[:-1])
    (note,) = bystander.run().notes
    assert "taken from the workspace" in note
    assert f"note: {note}" in bystander.said


def test_another_baseline_of_this_installation_is_said(bystander: Bystander) -> None:
    class Newer(HookedLandscape):
        """Writes one key more than the version that ran the campaign."""

        def baseline_config(self) -> dict[str, Scalar]:
            return {**super().baseline_config(), "a.newer": False}

    bystander.target = Newer(declared(), lambda _: None)
    (note,) = bystander.run().notes
    assert "another baseline" in note


def test_foreign_load_is_recorded_and_repeated(bystander: Bystander) -> None:
    noise = Noise(outlier_ratio=0.25, outlier_log_loss=1.0)
    bystander.target = HookedLandscape(declared(noise=noise.model_dump()), lambda _: None)
    found = bystander.run(num_pairs=6)
    flawed = [pair for pair in found.pairs if not pair.is_valid]
    assert flawed, "the landscape makes a quarter of the windows slow"
    assert found.max_foreign_cpu_ratio == noise.outlier_foreign_cpu_ratio
    assert any("50% of the cores, more than 25%" in note for note in found.notes)
    assert found.rechecked.num_pairs == len(found.pairs) - len(flawed)
    assert any("does not count" in line for line in bystander.said)
    assert found.overlaps


def test_a_machine_that_is_never_quiet_gives_no_ratio(bystander: Bystander) -> None:
    class Restless(HookedLandscape):
        """Foreign processes take the cores while the baseline is measured."""

        def benchmark(
            self, server: Server, seed: int, num_requests: int, load: Load = STANDARD_LOAD
        ) -> WindowSample:
            sample = super().benchmark(server, seed, num_requests, load)
            assert isinstance(server, LandscapeServer)
            is_baseline = server.config == self.surface.baseline()
            return sample.model_copy(update={"foreign_cpu_ratio": 0.9 if is_baseline else 0.0})

    bystander.target = Restless(declared(), lambda _: None)
    with pytest.raises(BusyError, match="quieter"):
        bystander.run()


def test_a_server_that_fails_ends_all_others(bystander: Bystander) -> None:
    served: list[LandscapeServer] = []

    class Falling(HookedLandscape):
        """Fails in the third window."""

        def benchmark(
            self, server: Server, seed: int, num_requests: int, load: Load = STANDARD_LOAD
        ) -> WindowSample:
            assert isinstance(server, LandscapeServer)
            served.append(server)
            if len(served) == 3:
                raise ServerFailedError("benchmark", "it fell", 1)
            return super().benchmark(server, seed, num_requests, load)

    bystander.target = Falling(declared(), lambda _: None)
    with pytest.raises(ServerFailedError, match="it fell"):
        bystander.run()
    assert not any(server.is_running for server in served)


def test_another_machine_is_named() -> None:
    assert differences(HARDWARE, HARDWARE.model_copy(update={"host": "elsewhere"})) == ()
    other = HARDWARE.model_copy(update={"device_name": "Fast CPU", "num_cores": 64})
    device, cores = differences(HARDWARE, other)
    assert "Fast CPU" in device
    assert "2 cores, this is 64 cores" in cores


def test_load_of_both_arms_widens_what_is_found(bystander: Bystander) -> None:
    quiet = bystander.run(seed=3).rechecked
    noise = Noise(outlier_ratio=1.0, outlier_log_loss=1.0)
    bystander.target = HookedLandscape(declared(noise=noise.model_dump()), lambda _: None)
    bystander.folder = bystander.folder.with_name("loaded")
    loaded = bystander.run(seed=3).rechecked
    assert loaded.num_pairs == quiet.num_pairs, "load that both saw is no flaw of a pair"
    assert loaded.ratio == pytest.approx(quiet.ratio, rel=1e-9)
    assert loaded.high / loaded.low > quiet.high / quiet.low
