"""Evidence for guardrails, clean unless a test asks for a fault."""

import math
from collections.abc import Sequence

from arbor.core.guardrails import Evidence
from arbor.core.measure.interval import Series, series_effect
from arbor.events.evidence import (
    AccuracyMeasured,
    BenchmarkMeasured,
    NoiseCalibrated,
    PairMeasured,
)
from arbor.events.settings import MeasureSettings
from arbor.events.types import WindowSample
from tests.fakes.accuracy import accuracy_sample
from tests.fakes.stage import profile, template, window

RATIO = 1.2


def full_window(throughput_tok_s: float = 100.0, **fields: object) -> WindowSample:
    """Return a window in which everything was measured and nothing is wrong."""
    duration_s = 400.0 / throughput_tok_s
    own: dict[str, object] = {
        "num_completed": 20,
        "num_output_tokens": 400,
        "num_input_tokens": 1000,
        "duration_s": duration_s,
        "num_planned_requests": 20,
        "num_planned_input_tokens": 1000,
        "num_planned_output_tokens": 400,
        "num_rejected": 0,
        "num_empty": 0,
        "num_chunks": 400,
        "num_served_requests": 20,
        "num_served_output_tokens": 400,
        "num_concurrent_planned": 4,
        "num_concurrent_max": 4,
        # four always open: 20 requests of a fifth of the duration
        "e2e_ms_mean": 200.0 * duration_s,
        "server_e2e_ms_mean": 199.0 * duration_s,
        "ttft_ms_mean": 48.0 * duration_s,
        "tpot_ms_mean": 8.0 * duration_s,
        "tpot_ms_p50": 8.0 * duration_s,
        "itl_ms_p50": 7.5 * duration_s,
        "first_tenth_ratio": 1.1,
        "num_preemptions": 0,
        "num_shared_input_tokens": 300,
        "num_reused_input_tokens": 300,
        "num_compilations": 0,
        "is_code_cached": True,
        "debug_switches": (),
        "num_log_warnings": 0,
        "server_cpu_s": duration_s,
        "client_cpu_s": 0.2 * duration_s,
        "foreign_cpu_ratio": 0.05,
        "clock_mhz_mean": 2000.0,
        "num_throttlings": 0,
    }
    return window(throughput_tok_s, **(own | fields))


def pair_of(
    candidate: WindowSample | None = None,
    incumbent: WindowSample | None = None,
    *,
    number: int = 1,
    start: int = 1,
    is_valid: bool = True,
) -> PairMeasured:
    """Return a pair; arms that are not given are full and clean."""
    candidate = candidate or full_window(100.0 * RATIO)
    incumbent = incumbent or full_window()
    return PairMeasured(
        request_id="r1",
        node_id="n1",
        commit="c",
        pair=number,
        start=start,
        is_candidate_first=True,
        candidate=candidate,
        incumbent=incumbent,
        log_ratio=math.log(candidate.throughput_tok_s / incumbent.throughput_tok_s),
        is_valid=is_valid,
    )


def result_of(log_ratios: Sequence[float], *, has_witness: bool = True) -> BenchmarkMeasured:
    """Return the result of a series."""
    return BenchmarkMeasured(
        request_id="r1",
        node_id="n1",
        commit="c",
        purpose="benchmark",
        incumbent_commit="b",
        effect=series_effect(Series.of(log_ratios), 0.05, start_sd=0.0),
        stop="gain",
        has_witness=has_witness,
        witness_detail="seen" if has_witness else "fused.used did not grow",
        mean_throughput_tok_s=120.0,
    )


def noise_of(sd_log_ratio: float) -> NoiseCalibrated:
    """Return a calibration whose pairs had this deviation."""
    half = sd_log_ratio / math.sqrt(2.0)
    return NoiseCalibrated(
        request_id="r0",
        node_id="n000",
        commit="b",
        effect=series_effect(Series.of([half, -half]), 0.05, start_sd=0.0),
        mde_ratio=1.03,
        num_requests=20,
    )


def accuracy_of(commit: str) -> AccuracyMeasured:
    """Return the accuracy of a commit."""
    return AccuracyMeasured(request_id="r2", node_id="n1", commit=commit, sample=accuracy_sample())


def evidence_of(
    *pairs: PairMeasured,
    ratio: float = RATIO,
    share: float = 0.6,
    has_witness: bool = True,
) -> Evidence:
    """Return evidence for a gain of ``ratio`` over three pairs; shows one pair, or the given."""
    return Evidence(
        pairs=pairs or (pair_of(),),
        result=result_of([math.log(ratio)] * 3, has_witness=has_witness),
        settings=MeasureSettings(),
        template=template("fused"),
        profile=profile(attention=share, linear=1.0 - share),
        noise=noise_of(0.01),
        accuracy=accuracy_of("c"),
    )


def bare_evidence() -> Evidence:
    """Return evidence of a target that measures tokens and time, and nothing else."""
    bare = pair_of(window(100.0 * RATIO), window(100.0))
    return Evidence((bare,), result_of([math.log(RATIO)] * 3), MeasureSettings())
