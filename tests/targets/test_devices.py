"""One mask a server, as many accelerators for every server of a campaign."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from arbor.events.errors import InvalidInputError
from arbor.events.types import Hardware, NotObserved, Scalar
from arbor.targets.child import clean_environment
from arbor.targets.devices import (
    AMD_MASK,
    NVIDIA_MASK,
    catalog_of,
    devices_per_server,
    mask_name,
    num_visible,
    require_devices,
    server_mask,
    show_devices,
)
from arbor.targets.landscape import LandscapeConfig, LandscapeTarget
from tests.fakes.simulation import HARDWARE


class Wide(LandscapeTarget):
    """A landscape whose first switch takes twice the devices."""

    def num_devices(self, config: Mapping[str, Scalar]) -> int:
        first = self.surface.switches[0]
        return self.config.num_devices * (1 if config[first.key] == first.baseline else 2)


def test_the_driver_of_the_machine_decides_which_mask(tmp_path: Path) -> None:
    assert mask_name(tmp_path) == AMD_MASK
    assert mask_name(tmp_path / "none") == NVIDIA_MASK


@pytest.mark.parametrize("name", [AMD_MASK, NVIDIA_MASK])
def test_a_process_sees_its_devices_by_one_mask(name: str) -> None:
    environment = {AMD_MASK: "0", NVIDIA_MASK: "1,2", "PATH": "/bin"}
    show_devices(("a1b2:4", "a1b2:7"), environment, name)
    assert environment == {name: "4,7", "PATH": "/bin"}
    assert num_visible(environment) == 2


@pytest.mark.parametrize("name", [AMD_MASK, NVIDIA_MASK])
def test_a_server_gets_one_mask(name: str) -> None:
    both = {AMD_MASK: "0", NVIDIA_MASK: "1"}
    assert server_mask(both, name) == {name: both[name]}
    assert server_mask({name: "3"}, AMD_MASK) == {name: "3"}
    assert server_mask({}, name) == {}


def test_no_mask_and_an_empty_one() -> None:
    assert num_visible({}) is None
    assert num_visible({NVIDIA_MASK: ""}) == 0


def test_servers_inherit_the_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AMD_MASK, "2,3")
    monkeypatch.setenv(NVIDIA_MASK, "0")
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "0")
    passed = clean_environment({})
    masks = {name: passed[name] for name in passed if name.endswith("_VISIBLE_DEVICES")}
    assert len(masks) == 1
    assert masks in ({AMD_MASK: "2,3"}, {NVIDIA_MASK: "0"})


def test_every_server_takes_as_many_as_the_baseline() -> None:
    target = LandscapeTarget(LandscapeConfig(num_devices=4))
    assert devices_per_server(target, 0) == 4
    assert devices_per_server(target, 8) == 8
    with pytest.raises(InvalidInputError, match="max_server_devices is 2, and the baseline takes"):
        devices_per_server(target, 2)


def test_most_targets_take_none() -> None:
    assert devices_per_server(LandscapeTarget(LandscapeConfig()), 8) == 0


def test_the_catalog_holds_what_fits() -> None:
    target = Wide(LandscapeConfig(num_devices=4))
    everything = tuple(target.actions(HARDWARE))
    first = target.surface.switches[0].key
    wide = [t.template_id for t in everything if any(edit.key == first for edit in t.edits)]
    assert wide
    fitting = [template.template_id for template in catalog_of(target, HARDWARE, 0)]
    assert not {*fitting} & {*wide}
    assert len(fitting) < len(everything)
    assert catalog_of(target, HARDWARE, 8) == everything


def test_a_machine_without_them_is_refused() -> None:
    require_devices(HARDWARE, 0)
    with pytest.raises(
        InvalidInputError, match="takes 8 accelerators and this machine has 0; run"
    ):
        require_devices(HARDWARE, 8)
    gap = NotObserved(what="amd-smi", reason="not installed")
    unseen: Hardware = HARDWARE.model_copy(update={"not_observed": (gap,)})
    with pytest.raises(InvalidInputError, match="amd-smi: not installed"):
        require_devices(unseen, 1)
