"""Configurations that were tuned for a device: one file for each operator and dtype."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from arbor.kernels.architectures import Architecture, KernelInputError
from arbor.kernels.base import Operator, Shape
from arbor.kernels.launching import Config

FOLDER_VARIABLE = "ARBOR_KERNEL_CONFIGS"
"""Names the folder whose files a launcher reads."""
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class TunedShape:
    """The best configuration found for one shape, with its evidence.

    Attributes:
        shape: sizes.
        config: the best.
        median_us: its time.
        shipped_us: time of the shipped configuration, measured in the same run.
        method: how both were timed.
        error: relative error beside the time.
        num_measured: configurations that were timed.
    """

    shape: Shape
    config: Config
    median_us: float
    shipped_us: float
    method: str
    error: float
    num_measured: int


def device_file_name(device_name: str) -> str:
    """Return a device's name as part of a file's name, in vLLM's way: blanks are underscores."""
    return device_name.replace(" ", "_").replace("/", "_")


def write_tuned(
    folder: Path,
    operator: str,
    dtype: str,
    environment: Mapping[str, str],
    shapes: Sequence[TunedShape],
) -> Path:
    """Write what was tuned; shapes that the file has already and are not tuned again stay.

    Args:
        folder: made when it is missing.
        operator: name.
        dtype: of the inputs.
        environment: ``device``, ``architecture`` and versions.
        shapes: the results.
    """
    folder.mkdir(parents=True, exist_ok=True)
    device = device_file_name(environment["device"])
    path = folder / f"{operator},device_name={device},dtype={dtype}.json"
    kept: list[dict[str, Any]] = []
    if path.exists():
        new = [dict(each.shape) for each in shapes]
        kept = [each for each in _read(path)["shapes"] if each["shape"] not in new]
    document = {
        "format": _FORMAT,
        "operator": operator,
        "dtype": dtype,
        "environment": dict(environment),
        "shapes": kept + [asdict(each) for each in shapes],
    }
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(document, indent=2) + "\n")
    partial.replace(path)
    return path


class TunedConfigs:
    """Configurations of one device; the nearest tuned shape decides, else the shipped one."""

    def __init__(self, folder: Path | None, device_name: str) -> None:
        self._device = device_file_name(device_name)
        self._folder = folder
        self._files: dict[tuple[str, str], list[dict[str, Any]]] = {}

    def config(
        self, operator: Operator, shape: Shape, dtype: str, architecture: Architecture
    ) -> Config:
        """Return the configuration for a shape.

        Tuned configurations that cannot run at this shape are passed over.
        """
        for entry in sorted(
            self._shapes(operator.name, dtype), key=lambda each: _distance(each["shape"], shape)
        ):
            config: Config = entry["config"]
            if not operator.space.problem(config, shape, dtype, architecture):
                return config
        return operator.space.default(shape, dtype, architecture)

    def _shapes(self, operator: str, dtype: str) -> list[dict[str, Any]]:
        key = (operator, dtype)
        if key not in self._files:
            name = f"{operator},device_name={self._device},dtype={dtype}.json"
            path = None if self._folder is None else self._folder / name
            self._files[key] = _read(path)["shapes"] if path and path.exists() else []
        return self._files[key]


def tuned_from_environment(device_name: str) -> TunedConfigs:
    """Return the configurations of the folder that the environment names, if any."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return TunedConfigs(Path(folder) if folder else None, device_name)


def _distance(a: Shape, b: Shape) -> float:
    """Return how many times larger or smaller sizes are, summed over logarithms."""
    return sum(abs(math.log(a[name] / b[name])) for name in b)


def _read(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise KernelInputError(f"{path} is no JSON: {error}; tune again or remove it") from error
    if document.get("format") != _FORMAT:
        raise KernelInputError(f"{path} has format {document.get('format')!r}, not {_FORMAT}")
    return document
