"""What serve.yaml asks of a server's environment is set before it starts, or left out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from arbor.events.types import Edit
from arbor.targets.engine.catalog_dispatch import dispatch_actions
from arbor.targets.engine.process import EngineServer
from arbor.targets.engine.server.environment import installed_allocators, missing_variables
from arbor.targets.engine.server.settings import DispatchSettings, parse_settings
from arbor.targets.engine.target import EngineTarget, EngineTargetConfig
from arbor.targets.hardware import num_usable_cores
from tests.contracts.target import Bench


@pytest.fixture(scope="module")
def bench(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    path = tmp_path_factory.mktemp("environment")
    target = EngineTarget(EngineTargetConfig(model=tiny_model, cache=path / "cache"))
    yield Bench(target, path)
    target.close()


def _agreed(bench: Bench, key: str, value: str) -> tuple[str, dict[str, float]]:
    """Value that a server of one switch reports, and its counters."""
    with bench.serve((Edit(key=key, value=value),), f"{key}-{value}.log") as server:
        assert isinstance(server, EngineServer)
        return str(server.resolved_config()[key]), server.state("start")["counters"]


def test_a_preloaded_allocator_is_in_effect_and_told(bench: Bench) -> None:
    for name in installed_allocators():
        resolved, counters = _agreed(bench, "dispatch.allocator", name)
        assert (resolved, counters[f"allocator.{name}"]) == (name, 1)
    for name in {"jemalloc", "tcmalloc"} - set(installed_allocators()):
        assert _agreed(bench, "dispatch.allocator", name)[0] == "system"


def test_huge_pages_are_in_effect_or_told_to_be_not(bench: Bench) -> None:
    resolved, counters = _agreed(bench, "dispatch.malloc", "huge_pages")
    assert resolved == ("huge_pages" if "malloc.huge_pages" in counters else "default")


def test_threads_are_placed_apart_where_there_are_cores(bench: Bench) -> None:
    resolved, counters = _agreed(bench, "dispatch.affinity", "apart")
    assert resolved == ("apart" if num_usable_cores() > 1 else "none")
    assert ("affinity.apart" in counters) == (num_usable_cores() > 1)


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (DispatchSettings(), set()),
        (DispatchSettings(malloc="huge_pages"), {"GLIBC_TUNABLES"}),
        (DispatchSettings(malloc="arena_tuned"), set()),
        *(
            (parse_settings({"dispatch": {"allocator": name}}).dispatch, {"LD_PRELOAD"})
            for name in installed_allocators()
        ),
    ],
)
def test_only_what_has_to_be_there_at_the_start_is_missing(
    settings: DispatchSettings, names: set[str]
) -> None:
    missing = missing_variables(settings, {})
    assert set(missing) == names
    assert missing_variables(settings, missing) == {}
    joined = missing_variables(settings, dict.fromkeys(names, "another"))
    assert all(value.endswith(":another") for value in joined.values())


def test_only_installed_allocators_are_offered() -> None:
    def offered(*allocators: str) -> set[str]:
        names = {action.template_id for action in dispatch_actions(2, allocators)}
        return names & {"jemalloc", "tcmalloc"}

    assert offered() == set()
    assert offered("tcmalloc") == {"tcmalloc"}
    assert all(path.is_file() for path in installed_allocators().values())
