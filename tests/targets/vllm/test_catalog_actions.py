"""Actions for one served model: known to its vLLM, a change, and at its costs."""

import pytest

from arbor.events.errors import InvalidInputError
from arbor.targets.vllm.catalog import load_catalog
from arbor.targets.vllm.catalog_actions import vllm_actions
from arbor.targets.vllm.config import VllmTargetConfig
from arbor.targets.vllm.entry import ModelFacts
from arbor.targets.vllm.installation import Installation
from tests.contracts.target import HARDWARE

OPTIONS = frozenset(("enable-prefix-caching", "max-num-seqs", "compilation-config"))


def names(
    options: frozenset[str] = OPTIONS,
    variables: frozenset[str] | None = None,
    version: str = "0.32.0",
    **config: object,
) -> dict[str, float]:
    """Return the names of the actions with their costs."""
    made = VllmTargetConfig.model_validate({"model": "m"} | config)
    baseline = {f"args.{name}": value for name, value in made.args.items()}
    installation = Installation(("vllm",), version, options, variables)
    found = vllm_actions(made, HARDWARE, ModelFacts(), installation, baseline)
    return {action.template_id: action.cost_s for action in found}


def test_what_this_vllm_does_not_know_is_left_out() -> None:
    found = names()
    assert {"max_num_seqs", "inductor_partition", "prefix_caching", "rust_frontend"} <= set(found)
    assert not {"stream_interval", "cpu_block_size"} & set(found)
    known = names(variables=frozenset({"VLLM_USE_FASTOKENS"}))
    assert "fast_tokeniser" in known
    assert "rust_frontend" not in known
    # not in vLLM's name: whoever reads it
    assert "cpu_tcmalloc" in known


def test_what_the_baseline_holds_is_no_action() -> None:
    assert "prefix_caching" not in names(args={"enable-prefix-caching": True})
    assert "prefix_caching_off" in names(args={"enable-prefix-caching": True})


def test_named_actions_and_their_costs() -> None:
    [(name, cost_s)] = names(actions=["max_num_seqs"], cost_ratio=0.5).items()
    [entry] = [each for each in load_catalog().entries if each.id == name]
    assert cost_s == entry.cost_s / 2
    with pytest.raises(InvalidInputError, match="actions names 'max_seqs'"):
        names(actions=["max_seqs"])


def test_a_release_bounds_the_actions() -> None:
    assert "fast_tokeniser" not in names(version="0.22.1")
    assert "fast_tokeniser" in names(version="unknown")


def test_who_cannot_compare_batches_holds_nobody_to_exactness() -> None:
    for is_invariant in (True, False):
        made = VllmTargetConfig.model_validate(
            {"model": "m", "is_batch_invariant": is_invariant, "actions": ["rust_frontend"]}
        )
        installation = Installation(("vllm",), "0.32.0", OPTIONS, None)
        [action] = vllm_actions(made, HARDWARE, ModelFacts(), installation, {})
        assert action.is_exact is is_invariant
