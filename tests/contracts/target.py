"""What every target must do; subclasses give a ``target`` fixture and say what to try."""

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from arbor.core.accuracy import Gate, violations
from arbor.events.settings import GateSettings
from arbor.events.types import ActionTemplate, Edit, Hardware, Profile, WindowSample
from arbor.targets.base import Server, ServerFailedError, Target
from arbor.targets.workspace import Workspace

HARDWARE = Hardware(
    host="host", kind="cpu", device_name="processor", num_cores=4, memory_bytes=8 << 30
)
EXACT = Gate(GateSettings(), claims_exact=True)


class Bench:
    """A target with its workspace in a folder of its own."""

    def __init__(self, target: Target, path: Path) -> None:
        self.target = target
        self.path = path
        self.workspace = Workspace(path / "workspace")
        self.root = self.workspace.create(target.create_workspace)

    def serve(
        self, edits: Sequence[Edit] = (), log: str = "server.log"
    ) -> AbstractContextManager[Server]:
        """Start the baseline with some edits."""
        commit = self.workspace.commit_edits(self.root, edits, "Try") if edits else self.root
        worktree = self.workspace.checkout(commit, self.path / "trees" / commit)
        return self.target.serve(worktree, self.path / "logs" / log)

    def actions(self) -> dict[str, ActionTemplate]:
        """Return the catalog by id."""
        return {action.template_id: action for action in self.target.actions(HARDWARE)}


def counters_of(sample: WindowSample) -> dict[str, float]:
    """Return the counters of a window by name."""
    return {counter.key: counter.value for counter in sample.counters}


class TargetContract:
    """Runs against every implementation of ``Target``.

    Subclasses define the class attributes and a class-scoped fixture ``target``.
    """

    num_requests: int
    counted_action: str
    """An action whose witness is a counter."""
    configured_action: str
    """An action whose witness is the resolved configuration."""
    crash: tuple[Edit, ...]
    """Edits that end the server at its start."""
    is_open = False
    """Actions may set keys that the baseline does not hold, such as options at their defaults."""

    @pytest.fixture(scope="class")
    @classmethod
    def bench(cls, target: Target, tmp_path_factory: pytest.TempPathFactory) -> Bench:
        return Bench(target, tmp_path_factory.mktemp(target.name))

    @pytest.fixture(scope="class")
    @classmethod
    def server(cls, bench: Bench) -> Iterator[Server]:
        with bench.serve() as server:
            bench.target.warmup(server, 1)
            yield server

    @pytest.fixture(scope="class")
    @classmethod
    def profile(cls, bench: Bench, server: Server) -> Profile:
        return bench.target.profile(server, 2)

    def test_the_workspace_holds_the_baseline(self, bench: Bench) -> None:
        assert bench.workspace.config(bench.root) == dict(bench.target.baseline_config())

    def test_the_catalog_fits_the_configuration(self, bench: Bench, profile: Profile) -> None:
        baseline = bench.target.baseline_config()
        actions = bench.actions()
        assert len(actions) == len(bench.target.actions(HARDWARE))
        categories = {share.category for share in profile.shares} | {"all"}
        for action in actions.values():
            keys = [edit.key for edit in action.edits]
            keys += [parameter.key for parameter in action.space]
            keys += [requirement.key for requirement in action.requires]
            assert action.edits or action.space
            assert self.is_open or set(keys) <= set(baseline)
            assert action.category in categories
            assert set(action.unlocked_by) <= set(actions)
            assert action.witness.kind == "config" or action.witness.key
            known = [edit for edit in action.edits if edit.key in baseline]
            for edit in known:
                assert type(edit.value) is type(baseline[edit.key])
            if action.edits and len(known) == len(action.edits):
                assert any(edit.value != baseline[edit.key] for edit in known)
            for parameter in action.space:
                if parameter.kind != "categorical":
                    assert parameter.low is not None
                    assert parameter.high is not None
                    assert parameter.low < parameter.high
                    assert not parameter.log or parameter.low > 0

    def test_the_server_runs_the_baseline(self, bench: Bench, server: Server) -> None:
        resolved = dict(server.resolved_config())
        assert resolved | dict(bench.target.baseline_config()) == resolved

    def test_shares_of_a_profile_sum_to_one(self, profile: Profile) -> None:
        assert math.fsum(share.share_ratio for share in profile.shares) == pytest.approx(1.0)
        assert profile.window_s > 0
        assert profile.source

    def test_equal_seeds_give_equal_work(self, bench: Bench, server: Server) -> None:
        first, again, other = (
            bench.target.benchmark(server, seed, self.num_requests) for seed in (5, 5, 6)
        )
        assert first.num_completed == self.num_requests
        assert first.num_failed == 0
        assert first.seed == 5
        assert first.output_digest == again.output_digest != other.output_digest
        assert first.num_output_tokens == again.num_output_tokens == other.num_output_tokens
        assert first.num_input_tokens == again.num_input_tokens
        assert first.throughput_tok_s == pytest.approx(first.num_output_tokens / first.duration_s)
        assert all(value >= 0 for value in counters_of(first).values())

    def test_the_default_window_is_a_number_of_requests(self, bench: Bench) -> None:
        assert bench.target.default_num_requests() >= 1

    def test_the_baseline_is_no_distance_from_itself(self, bench: Bench, server: Server) -> None:
        sample = bench.target.accuracy(server, bench.target.reference(server))
        assert sample.num_tokens > 0
        assert sample.kl_mean_high == pytest.approx(0.0, abs=1e-9)
        assert sample.top1_agreement_ratio == 1.0
        assert sample.greedy_match_ratio == 1.0
        assert {each.kind for each in sample.passes} == set(EXACT.settings.required_passes)
        assert max(each.batch for each in sample.passes) > 1
        assert sample.task is None or sample.task.score == sample.task.baseline_score > 0
        assert violations(sample, EXACT) == ()

    def test_actions_show_their_witness(self, bench: Bench, server: Server) -> None:
        counted, configured = (
            bench.actions()[name] for name in (self.counted_action, self.configured_action)
        )
        values = configured.edits or tuple(
            Edit(key=parameter.key, value=int(parameter.low or 0) + 1)
            for parameter in configured.space
        )
        reference = bench.target.reference(server)
        before = bench.target.benchmark(server, 7, self.num_requests)
        assert counters_of(before).get(counted.witness.key, 0) == 0
        with bench.serve((*counted.edits, *values), "changed.log") as changed:
            sample = bench.target.benchmark(changed, 7, self.num_requests)
            assert counters_of(sample)[counted.witness.key] > 0
            # both claim to be exact
            assert sample.output_digest == before.output_digest
            checked = bench.target.accuracy(changed, reference, EXACT)
            assert violations(checked, EXACT) == ()
            assert checked.kl_mean_high < 1e-5
            resolved = changed.resolved_config()
            assert [resolved[edit.key] for edit in values] == [edit.value for edit in values]
        with pytest.raises(ServerFailedError):
            changed.resolved_config()
        with pytest.raises(ServerFailedError):
            bench.target.benchmark(changed, 1, self.num_requests)

    def test_a_crash_is_an_outcome_with_its_log(self, bench: Bench) -> None:
        with pytest.raises(ServerFailedError) as caught, bench.serve(self.crash, "crash.log"):
            pytest.fail("it started")
        assert caught.value.phase == "start"
        assert caught.value.exit_code not in {None, 0}
        assert caught.value.log_tail
        assert "\n" not in str(caught.value)
        log = (bench.path / "logs" / "crash.log").read_text().splitlines()
        assert log[-1] == caught.value.log_tail[-1]

    def test_a_worktree_without_configuration_is_an_outcome(self, bench: Bench) -> None:
        empty = bench.path / "empty"
        empty.mkdir()
        log = bench.path / "logs" / "empty.log"
        with pytest.raises(ServerFailedError), bench.target.serve(empty, log):
            pytest.fail("it started")
