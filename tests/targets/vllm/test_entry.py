"""Entries say what is wrong with them, and where they may be tried."""

from typing import Any

import pytest
from pydantic import ValidationError

from arbor.targets.vllm.entry import Applicability, Entry, ModelFacts, release

GOOD: dict[str, Any] = {
    "id": "wide_steps",
    "lead": "a lead",
    "layer": "framework",
    "category": "all",
    "title": "Compute more tokens in a step",
    "space": {"args.max-num-batched-tokens": {"kind": "int", "low": 1024, "high": 8192}},
    "prior_speedup_ratio": 1.1,
    "accuracy_risk": "none",
    "crash_risk": "low",
    "cost_s": 300,
    "exactness": "regrouped",
    "witness": {"kind": "config"},
    "source": "https://example.org/guide",
}


def test_keys_of_edits_and_space() -> None:
    entry = Entry.model_validate({**GOOD, "edits": {"env.VLLM_SWITCH": "1"}})
    assert entry.config_keys() == ("env.VLLM_SWITCH", "args.max-num-batched-tokens")


def test_a_list_is_a_space_of_choices() -> None:
    [parameter] = Entry.model_validate({**GOOD, "space": {"args.block-size": [16, 32]}}).space
    assert (parameter.kind, parameter.choices) == ("categorical", (16, 32))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"space": {}}, "add edits or a space"),
        ({"edits": {"args.max_num_seqs": 8}}, "neither args.some-option nor env.SOME_NAME"),
        ({"edits": {"serve.max-num-seqs": 8}}, "neither args.some-option nor env.SOME_NAME"),
        ({"edits": {"env.VLLM_SWITCH": 1}}, "quote it"),
        ({"edits": {"args.max-num-batched-tokens": 8}}, "set twice"),
        ({"edits": {"args.lora-modules": ["a", "b"]}}, "as JSON in quotes"),
        ({"space": {"args.block-size": [16]}}, "make it an edit"),
        ({"space": {"args.block-size": {"kind": "int", "low": 9, "high": 9}}}, "higher high"),
        (
            {"space": {"args.watermark": {"kind": "float", "low": 0, "high": 1, "log": True}}},
            "must be above 0",
        ),
        ({"prior_speedup_ratio": 30.0}, "less than or equal to 3"),
        ({"accuracy_risk": "some"}, "'none', 'low', 'medium' or 'high'"),
        ({"category": "magic"}, "'attention'"),
        ({"witness": {"kind": "log"}}, "add present or absent"),
        ({"witness": {"kind": "log", "present": "("}}, "no regular expression"),
        ({"source": "a blog"}, "pattern"),
        ({"applies": {"since": "soon"}}, "write one such as 0.23"),
        ({"applies": {"devices": ["tpu"]}}, "'amd', 'nvidia' or 'cpu'"),
        ({"speed": 2}, "Extra inputs"),
    ],
)
def test_bad_entries(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Entry.model_validate({**GOOD, **change})
    assert complaint in str(caught.value)


def test_no_entry_without_a_witness() -> None:
    with pytest.raises(ValidationError, match="witness"):
        Entry.model_validate({k: v for k, v in GOOD.items() if k != "witness"})


@pytest.mark.parametrize(
    ("demand", "complaint"),
    [
        ({"devices": ["amd"]}, "is for amd, not for nvidia"),
        ({"architectures": ["gfx942"]}, "is for gfx942, not for sm_90"),
        ({"min_devices": 4}, "needs 4 devices, there are 2"),
        ({"traits": ["mla", "mtp"]}, "needs a model with mla, mtp"),
        ({"without": ["moe"]}, "is not for a model with moe"),
        ({"since": "0.33"}, "needs vLLM 0.33, this is 0.32.0+cpu"),
        ({"before": "0.32"}, "is gone since vLLM 0.32, this is 0.32.0+cpu"),
        ({"since": "0.32", "before": "0.33", "architectures": ["sm_90", "sm_100"]}, None),
        ({"traits": ["moe"], "min_devices": 2}, None),
    ],
)
def test_where_an_entry_may_be_tried(demand: dict[str, Any], complaint: str | None) -> None:
    found = Applicability.model_validate(demand).obstacle(
        "nvidia", 2, "sm_90", ModelFacts(traits=("moe",)), "0.32.0+cpu"
    )
    assert found == complaint


def test_what_is_unknown_meets_ranges_but_no_architecture() -> None:
    facts = ModelFacts()
    assert Applicability(since="0.99").obstacle("amd", 1, "", facts, "") is None
    found = Applicability(architectures=("gfx950",)).obstacle("amd", 1, "", facts, "")
    assert found == "is for gfx950, not for unknown"


def test_release() -> None:
    assert release("v0.23.1rc2.dev5+g12ab") == (0, 23, 1)
    with pytest.raises(ValueError, match="is no version"):
        release("main")
