"""The vLLM target keeps the contract of a target, on a fake vLLM that is a real program."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from arbor.events.errors import InvalidInputError
from arbor.events.types import Edit, Load
from arbor.targets.base import CrowdedTarget
from arbor.targets.vllm.devices import Devices
from arbor.targets.vllm.server import VllmServer
from arbor.targets.vllm.target import VllmTarget, VllmTargetConfig
from tests.contracts.target import HARDWARE, Bench, TargetContract, counters_of
from tests.fakes.device_file import DeviceFile
from tests.fakes.fake_vllm.install import make_model
from tests.targets.vllm.conftest import MakeConfig, MakeTarget


class TestVllmTarget(TargetContract):
    """The contract."""

    num_requests = 8
    counted_action = "prefix_caching"
    configured_action = "max_num_seqs"
    crash = (Edit(key="args.block-size", value=16),)
    is_open = True

    @pytest.fixture(scope="class")
    @classmethod
    def target(cls, make_target: MakeTarget) -> VllmTarget:
        return make_target()

    def test_both_sides_of_a_window_agree(self, bench: Bench, server: VllmServer) -> None:
        window = bench.target.benchmark(server, 9, 8)
        assert window.num_planned_requests == window.num_completed == window.num_served_requests
        assert window.num_planned_input_tokens == window.num_input_tokens == 8 * 48
        assert window.num_planned_output_tokens == window.num_output_tokens == 8 * 12
        assert window.num_served_output_tokens == window.num_output_tokens
        assert window.num_concurrent_planned == window.num_concurrent_max == 4
        assert (window.num_rejected, window.num_empty, window.num_preemptions) == (0, 0, 0)
        assert (window.num_compilations, window.debug_switches) == (0, ())
        assert window.num_shared_input_tokens == pytest.approx(7 * 32, abs=8)
        assert window.num_reused_input_tokens == 0
        assert window.server_cpu_s is not None
        assert window.server_e2e_ms_mean is not None
        assert window.e2e_ms_mean is not None
        assert window.ttft_ms_p50 is not None
        assert counters_of(window)["vllm:generation_tokens_total"] == 96

    def test_other_workloads_and_loads(self, bench: Bench, server: VllmServer) -> None:
        assert bench.target.workloads() == ["long_outputs", "long_prompts"]
        long = bench.target.benchmark(server, 3, 4, Load(workload="long_outputs", concurrency=2))
        assert long.num_output_tokens == 4 * 24
        assert long.num_concurrent_max == 2

    def test_what_is_reported_beside_the_options(self, server: VllmServer) -> None:
        resolved = server.resolved_config()
        assert resolved["vllm.version"] == "0.32.0+fake"
        assert resolved["vllm.kv_cache_tokens"] == 131_072
        assert resolved["vllm.max_num_batched_tokens"] == 2048

    def test_memory_of_all_processes(self, bench: Bench, server: VllmServer) -> None:
        rss_bytes = bench.target.rss_bytes(server)
        assert rss_bytes is not None
        assert rss_bytes > 2**20

    def test_a_garbage_format_is_far_away(self, bench: Bench, server: VllmServer) -> None:
        reference = bench.target.reference(server)
        distances = {}
        for cache_format in ("fp8", "int8_per_token_head"):
            edit = Edit(key="args.kv-cache-dtype", value=cache_format)
            with bench.serve([edit], f"{cache_format}.log") as changed:
                sample = bench.target.accuracy(changed, reference)
                distances[cache_format] = sample.kl_mean
                assert changed.resolved_config()["args.kv-cache-dtype"] == cache_format
        assert 0 < distances["fp8"] < 0.01
        assert distances["int8_per_token_head"] > 0.1


class TestBenchClient:
    """The same windows, played by ``vllm bench serve``."""

    @pytest.fixture(scope="class")
    @classmethod
    def bench(cls, make_target: MakeTarget, tmp_path_factory: pytest.TempPathFactory) -> Bench:
        return Bench(make_target(client="bench"), tmp_path_factory.mktemp("bench"))

    @pytest.fixture(scope="class")
    @classmethod
    def server(cls, bench: Bench) -> Iterator[VllmServer]:
        with bench.serve() as server:
            assert isinstance(server, VllmServer)
            yield server

    def test_its_whole_result_is_kept(self, bench: Bench, server: VllmServer) -> None:
        window = bench.target.benchmark(server, 9, 8)
        assert (window.num_completed, window.num_failed, window.num_empty) == (8, 0, 0)
        assert window.num_output_tokens == window.num_served_output_tokens == 8 * 12
        assert window.num_input_tokens == 8 * 48
        assert window.throughput_tok_s == pytest.approx(96 / window.duration_s)
        assert '"request_rate": "inf"' in window.client_result
        assert "ttfts" not in window.client_result
        assert window.num_chunks == 96
        assert window.tpot_ms_p95 is not None
        assert window.foreign_cpu_ratio is not None

    def test_seeds_give_other_prompts(self, bench: Bench, server: VllmServer) -> None:
        first, again, other = (bench.target.benchmark(server, seed, 4) for seed in (1, 1, 2))
        assert first.output_digest == again.output_digest != other.output_digest


def test_prose_in_the_models_tokens(make_target: MakeTarget, tmp_path: Path) -> None:
    workload = {"dataset": "text", "input_tokens": 64, "output_tokens": 8, "concurrency": 2}
    bench = Bench(make_target(workload=workload), tmp_path)
    with bench.serve() as server:
        window = bench.target.benchmark(server, 1, 2)
    assert window.num_input_tokens == 2 * 64


def test_the_lock_names_what_the_numbers_depend_on(
    make_target: MakeTarget, tmp_path: Path
) -> None:
    make_target().create_workspace(tmp_path)
    lock = (tmp_path / "environment.lock").read_text()
    assert '"vllm": "0.32.0+fake"' in lock
    assert "model_config_sha256" in lock


def test_memory_is_split_where_there_are_accelerators(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    devices = Devices(frozenset({0}), DeviceFile(tmp_path / "device"))
    shares, limits = [], []
    for number in (1, 2, 3, 4):
        target = VllmTarget(make_config(servers_per_device=number), devices=devices)
        shares.append(target.baseline_config()["args.gpu-memory-utilization"])
        limits.append(target.max_servers())
        assert "env.VLLM_CPU_KVCACHE_SPACE" not in target.baseline_config()
    assert shares == [0.9, 0.45, 0.3, 0.22]
    assert limits == [0, 1, 2, 2]
    assert isinstance(target, CrowdedTarget)
    given = VllmTarget(make_config(args={"gpu-memory-utilization": 0.4}), devices=devices)
    assert given.baseline_config()["args.gpu-memory-utilization"] == 0.4


def test_devices_of_a_server(make_target: MakeTarget) -> None:
    args = {"tensor-parallel-size": 4, "data-parallel-size": 2}
    target = make_target(device="amd", args=args)
    assert target.num_devices(target.baseline_config()) == 8
    assert make_target(device="cpu", args=args).num_devices(target.baseline_config()) == 0
    assert make_target(args=args).num_devices(target.baseline_config()) == 0
    hardware = HARDWARE.model_copy(update={"kind": "amd", "num_devices": 4})
    with pytest.raises(InvalidInputError, match="a server needs 8 devices, this machine has 4"):
        target.check(hardware)


def test_a_sound_configuration_passes(make_target: MakeTarget) -> None:
    make_target().check(HARDWARE)


def test_what_is_told_before_the_start(
    make_config: MakeConfig, fake_model: Path, tmp_path: Path
) -> None:
    bare = make_model(tmp_path)
    (bare / "tokenizer.json").unlink()
    cases: list[tuple[VllmTargetConfig, str]] = [
        (make_config(model=tmp_path / "none"), "is no folder; give a local one"),
        (make_config(executable=tmp_path / "none"), "is no program; give the vllm"),
        (make_config(device="amd"), "device: amd is asked for, this machine has cpu"),
        (make_config(args={"swap-space": 4}), "--swap-space: vLLM 0.32.0.* no such option"),
        (make_config(args={"port": 4}), "args.port is set by Arbor itself"),
        (make_config(env={"HF_TOKEN": "x"}), "HF_TOKEN looks like a secret"),
        (make_config(model=bare, client="bench"), "no tokenizer, which client: bench needs"),
    ]
    for config, message in cases:
        with pytest.raises(InvalidInputError, match=message):
            VllmTarget(config).check(HARDWARE)
    assert fake_model.is_dir()
