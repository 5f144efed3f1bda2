"""The catalog's own files hold, wrong ones say where and how, and machines get what suits them."""

import shutil
from pathlib import Path

import pytest

from arbor.events.errors import InvalidInputError
from arbor.events.types import ActionTemplate, Hardware, Layer, Requirement
from arbor.targets.vllm.catalog import FOLDER, applicable, load_catalog
from arbor.targets.vllm.entry import LogProof, ModelFacts


def actions(
    kind: str, num_devices: int, architecture: str, *traits: str, num_cores: int = 8
) -> dict[str, ActionTemplate]:
    hardware = Hardware(
        host="h",
        kind=kind,
        device_name="d",
        num_cores=num_cores,
        memory_bytes=1,
        num_devices=num_devices,
    )
    facts = ModelFacts.model_validate({"traits": traits})
    found = applicable(load_catalog(), hardware, facts, "0.32.0", architecture)
    return {template.template_id: template for template in found}


def test_every_layer_has_entries_and_all_leads_are_accounted_for() -> None:
    catalog = load_catalog()
    assert {entry.layer for entry in catalog.entries} == set(Layer)
    assert sum(leads.num_given for leads in catalog.leads.values()) == 168


def test_heads_of_the_files_tell_their_numbers() -> None:
    catalog = load_catalog()
    for layer, leads in catalog.leads.items():
        num = sum(entry.layer is layer for entry in catalog.entries)
        head = (FOLDER / f"{layer.value}.yaml").read_text(encoding="utf-8").split("\nlayer:")[0]
        num_taken = leads.num_given - len(leads.left_out)
        assert f"Of {leads.num_given} leads {num_taken} were taken, as {num} entries" in head


def test_devices_architectures_and_traits_choose() -> None:
    amd = actions("amd", 8, "gfx942", "moe")
    assert {"aiter", "expert_parallel", "quick_reduce", "kv_cache_fp8"} <= amd.keys()
    assert not {"flashinfer_sampler", "cpu_kv_space", "aiter_fp4_assembly"} & amd.keys()
    assert "expert_parallel" not in actions("amd", 8, "gfx942")
    assert "aiter" not in actions("amd", 8, "")
    cpu = actions("cpu", 0, "")
    assert {"cpu_kv_space", "max_num_seqs", "cpu_thread_binding"} <= cpu.keys()
    assert not {"aiter", "kv_cache_fp8", "tensor_parallel", "async_scheduling"} & cpu.keys()
    assert "flashinfer_sampler" in actions("nvidia", 1, "sm_90")


def test_spaces_end_where_the_machine_does() -> None:
    [parameter] = actions("amd", 4, "gfx942")["tensor_parallel"].space
    assert parameter.choices == (1, 2, 4)
    assert "tensor_parallel" not in actions("amd", 1, "gfx942")
    assert "renderer_workers" not in actions("amd", 1, "gfx942", num_cores=2)


def test_requirements_are_the_named_entries_values() -> None:
    amd = actions("amd", 8, "gfx942")
    assert amd["aiter_rotary"].requires == (
        Requirement(key="env.VLLM_ROCM_USE_AITER", any_of=("1",)),
    )
    [choices] = amd["quick_reduce_bfloat16"].requires
    assert choices.any_of == ("FP", "INT8", "INT6", "INT4")


def test_conflicts_hold_both_ways_but_never_about_own_keys() -> None:
    amd = actions("amd", 8, "gfx942", "mtp")
    unified = Requirement(key="env.VLLM_ROCM_USE_AITER_UNIFIED_ATTENTION", any_of=("1",))
    assert amd["aiter_flash_attention"].conflicts == (unified,)
    assert amd["aiter_unified_attention"].conflicts == ()
    [looked_up] = amd["speculation_mtp"].conflicts
    assert looked_up.key == "args.speculative-config.prompt_lookup_max"


def test_hints_name_actions_that_are_there() -> None:
    for found in (actions("amd", 8, "gfx942", "moe"), actions("cpu", 0, "")):
        assert all(name in found for t in found.values() for name in t.unlocked_by)


def test_witnesses() -> None:
    amd = actions("amd", 8, "gfx942")
    assert amd["aiter"].witness.key == "log.aiter"
    assert amd["prefix_caching"].witness.kind == "counter"
    assert amd["prefix_caching"].witness.key == "vllm:prefix_cache_hits_total"
    assert (amd["weights_fp8"].witness.kind, amd["weights_fp8"].witness.key) == ("config", "")
    logs = [e for e in load_catalog().entries if isinstance(e.witness, LogProof)]
    assert len(logs) >= 10


def test_what_changes_numbers_does_not_claim_to_be_exact() -> None:
    amd = actions("amd", 8, "gfx942")
    assert amd["stream_interval"].is_exact
    assert not amd["max_num_seqs"].is_exact
    assert not amd["kv_cache_fp8"].is_exact
    assert amd["kv_cache_fp8"].prior_accuracy_risk_ratio > amd["aiter"].prior_accuracy_risk_ratio


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("layer: dispatch\n", "layer: kernel\n", "dispatch.yaml: layer is not dispatch"),
        ("entries:\n", "entries:\n  - just text\n", "entry 'just text': is no mapping"),
        ("cost_s: 300", "cost_s: 1", "dispatch.yaml: entry kernel_arguments_on_device: cost_s"),
        ("id: hardware_queues", "id: aiter", "entry aiter is there 2 times; rename"),
        (
            "unlocked_by: [gpu_memory_utilization]",
            "unlocked_by: [nothing]",
            "dispatch.yaml: entry expandable_segments: unlocked_by names 'nothing'",
        ),
        (
            "unlocked_by: [gpu_memory_utilization]",
            "requires: [max_num_seqs]",
            "whose values are searched for; name keys instead",
        ),
        (
            "unlocked_by: [gpu_memory_utilization]",
            "requires: [expandable_segments]",
            "requires names the entry itself",
        ),
        ("num_given: 30", "num_given: 31", "say why the others were left out"),
        ("rt.sdma:", "rt.dev_kernarg:", "rt.dev_kernarg is taken and left out"),
        (
            "    witness: {kind: config}\n",
            "",
            "entry kernel_arguments_on_device: witness: Field required; add the field",
        ),
        ("entries:\n", "entries: [\n", "dispatch.yaml: is no YAML"),
    ],
)
def test_wrong_files_say_where_and_how(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    folder = tmp_path / "catalog"
    shutil.copytree(FOLDER, folder)
    path = folder / "dispatch.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        load_catalog(folder)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"application\.yaml: cannot be read"):
        load_catalog(tmp_path)
