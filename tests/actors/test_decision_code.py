"""The digest covers what decides, and nothing that only acts."""

import sys

from arbor.actors.decision_code import ROOTS, _source, decision_code, decision_modules


def test_it_covers_what_reactors_import() -> None:
    modules = decision_modules()
    assert set(ROOTS) <= modules
    assert {
        "arbor.core.scoring",
        "arbor.core.state",
        "arbor.core.guardrails.arithmetic",
        "arbor.events.types",
        "arbor.actors.choosing",
    } <= modules


def test_it_covers_no_effects() -> None:
    for module in decision_modules():
        assert not module.startswith(("arbor.targets", "arbor.cli", "arbor.replay"))
        assert "cluster" not in module
    assert all(_source(module).is_file() for module in decision_modules())


def test_what_is_loaded_to_decide_is_covered() -> None:
    loaded = {name for name in sys.modules if name.startswith(("arbor.core.", "arbor.events."))}
    needed = {name for name in loaded if name in decision_modules()}
    assert len(needed) > 30


def test_it_is_one_digest() -> None:
    assert decision_code() == decision_code()
    assert len(bytes.fromhex(decision_code())) == 32
