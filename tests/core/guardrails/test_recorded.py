"""Provoked cases, recorded on real servers: each triggers its rule, its clean twin none at all."""

import pytest

from arbor.core.guardrails import GUARDRAILS, check
from tests.guardrails.provoking import PROVOKED
from tests.guardrails.recorded import load

NAMES = [provoke.__name__ for provoke in PROVOKED]


def test_a_case_is_named_like_its_rule() -> None:
    assert set(NAMES) <= {rule.name for rule in GUARDRAILS}


@pytest.mark.parametrize("name", NAMES)
def test_the_case_triggers_its_rule(name: str) -> None:
    dirty, _ = load(name)
    assert name in {finding.rule for finding in check(dirty.evidence()).findings}


@pytest.mark.parametrize("name", NAMES)
def test_the_clean_twin_triggers_nothing(name: str) -> None:
    _, clean = load(name)
    checked = check(clean.evidence())
    assert checked.findings == ()
    assert name not in {each.rule for each in checked.unobserved}
