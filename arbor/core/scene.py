"""Where something was learned, and how far that is from here."""

import json
import re
from dataclasses import dataclass
from pathlib import PurePath

from arbor.events.base import canonical_json
from arbor.events.campaign import CampaignStarted

SAME = 0.9
"""Prior probability that what was seen holds again where nothing differs."""
OTHER_WORKLOAD = 0.75
OTHER_HARDWARE = 0.6
OTHER_KIND = 0.5
"""On top of other hardware: processor against accelerator, or another vendor."""
OTHER_MODEL = 0.4
_WORKLOAD_KEYS = ("workload", "concurrency", "length_scale")
"""Settings of targets that say what load is played."""
_MODEL_KEYS = ("model", "operator")
_LONGEST = 120
_FAMILY = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a campaign ran.

    Attributes:
        target: registered name of the target; nothing transfers between targets.
        kind: ``cpu``, ``amd`` or ``nvidia``.
        hardware: architecture or name of the accelerators, or the processor's model.
        model_family: first word of the model's name, such as ``llama``; empty when not told.
        workload: what was played, as the campaign file says it; empty means the default.
    """

    target: str
    kind: str
    hardware: str
    model_family: str
    workload: str


def scene_of(started: CampaignStarted) -> Scene:
    """Return where a campaign runs, from its first event."""
    hardware = started.hardware
    device = hardware.devices[0] if hardware.devices else None
    name = (device.architecture or device.name) if device is not None else hardware.device_name
    config = _config(started.target_config)
    model = next((str(config[key]) for key in _MODEL_KEYS if config.get(key)), "")
    family = _FAMILY.match(PurePath(model).name)
    workload = {key: config[key] for key in _WORKLOAD_KEYS if key in config}
    return Scene(
        target=started.target,
        kind=hardware.kind,
        hardware=name[:_LONGEST],
        model_family=family[0].lower()[:_LONGEST] if family is not None else "",
        workload=canonical_json(workload)[:_LONGEST] if workload else "",
    )


def _config(text: str) -> dict[str, object]:
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


def transfer_ratio(source: Scene, here: Scene) -> float:
    """Return the prior probability that what was seen in one scene holds in another.

    Our choice: factors for what differs, so that equal hardware and workload come first, then
    another workload, other hardware, another model. The campaign's own measurements move it from
    there (``knowledge.trusts``).
    """
    if source.target != here.target:
        return 0.0
    ratio = SAME
    if source.workload != here.workload:
        ratio *= OTHER_WORKLOAD
    if source.hardware != here.hardware:
        ratio *= OTHER_HARDWARE
    if source.kind != here.kind:
        ratio *= OTHER_KIND
    if source.model_family != here.model_family:
        ratio *= OTHER_MODEL
    return ratio
