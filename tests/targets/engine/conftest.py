"""A tiny synthetic model, and engines on it that run a trace in this process."""

from pathlib import Path

import pytest

from arbor.targets.engine.model_folder import create_synthetic_model
from arbor.targets.engine.server.engine import Engine
from arbor.targets.engine.server.settings import parse_settings
from arbor.targets.engine.trace import TraceRequest, build_trace

from .tiny import TINY, Document, Generate, MakeEngine, run_trace


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_synthetic_model(tmp_path_factory.mktemp("model") / "tiny", seed=3, size=TINY)


@pytest.fixture(scope="session")
def tiny_trace() -> tuple[TraceRequest, ...]:
    return build_trace(5, num_requests=9, vocab_size=TINY.vocab_size, length_scale=0.15)


@pytest.fixture(scope="session")
def make_engine(tiny_model: Path) -> MakeEngine:
    def make(document: Document | None = None) -> Engine:
        return Engine(tiny_model, parse_settings(document))

    return make


@pytest.fixture(scope="session")
def generate(make_engine: MakeEngine, tiny_trace: tuple[TraceRequest, ...]) -> Generate:
    """Run the tiny trace, on a given engine or on one made for the given switches."""

    def run(target: Engine | Document | None = None) -> list[list[int]]:
        engine = target if isinstance(target, Engine) else make_engine(target)
        return [sink.tokens for sink in run_trace(engine, tiny_trace)]

    return run


@pytest.fixture(scope="session")
def baseline_tokens(generate: Generate) -> list[list[int]]:
    return generate()
