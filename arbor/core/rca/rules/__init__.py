"""All rules, the most specific first; a new class of errors is an entry in one of the modules."""

from arbor.core.rca.base import Rule
from arbor.core.rca.rules import (
    code,
    endings,
    hangs,
    host,
    launch,
    machine,
    memory,
    outcome,
    packages,
)

RULES: tuple[Rule, ...] = (
    *machine.RULES,
    *host.RULES,
    *memory.RULES,
    *packages.RULES,
    *launch.RULES,
    *code.RULES,
    *hangs.RULES,
    *outcome.RULES,
    *endings.RULES,
)
"""The first rule that finds something decides."""
