"""Baselines and actions of the ``kernel`` target."""

from pathlib import Path

from arbor.events.errors import InvalidInputError
from arbor.events.types import ActionTemplate, Edit, Layer, Parameter, Scalar, Witness
from arbor.kernels.architectures import (
    ARCHITECTURES,
    Architecture,
    KernelInputError,
    local_architecture,
)
from arbor.kernels.base import Operator, Shape
from arbor.kernels.registry import create_operator
from arbor.targets.kernel.config import KernelTargetConfig
from arbor.targets.kernel.tuning import parameters_of

_TUNING_PRIOR = 1.15
_COMPILE_PRIOR = 1.3


def baseline_of(config: KernelTargetConfig) -> dict[str, Scalar]:
    """Return the shipped configuration of every shape, or eager PyTorch for a task.

    Raises:
        InvalidInputError: the operator, a shape or the task's file is wrong.
    """
    if config.task is not None:
        _check_file(config.task)
        return {"run.mode": "candidate" if config.candidate else "eager"}
    operator, architecture = _operator_of(config)
    return {
        f"shape_{index}.{key}": value
        for index, shape in enumerate(_shapes(config, operator))
        for key, value in operator.space.default(shape, config.dtype, architecture).items()
    }


def catalog_of(config: KernelTargetConfig) -> list[ActionTemplate]:
    """Return one tuning action for each shape, or the ways to run a task.

    Raises:
        InvalidInputError: the operator, a shape or the task's file is wrong.
    """
    if config.task is not None:
        return [_mode_action("compiled", "torch.compile instead of eager PyTorch")]
    operator, architecture = _operator_of(config)
    parameters = parameters_of(operator, architecture)
    return [
        ActionTemplate(
            template_id=f"tune_shape_{index}",
            layer=Layer.KERNEL,
            category=f"shape_{index}",
            title=f"Tune {operator.name} {config.dtype} at {_sizes(shape)}",
            space=tuple(
                Parameter(
                    key=f"shape_{index}.{each.key}", kind="categorical", choices=each.choices
                )
                for each in parameters
            ),
            prior_speedup_ratio=_TUNING_PRIOR,
            prior_accuracy_risk_ratio=0.01,
            prior_crash_risk_ratio=0.2,
            cost_s=60.0,
            witness=Witness(
                kind="all",
                parts=(
                    Witness(kind="config"),
                    Witness(kind="counter", key=f"shape_{index}.changed"),
                ),
            ),
        )
        for index, shape in enumerate(_shapes(config, operator))
    ]


def _mode_action(mode: str, title: str) -> ActionTemplate:
    return ActionTemplate(
        template_id=mode,
        layer=Layer.COMPILER,
        category="all",
        title=title,
        edits=(Edit(key="run.mode", value=mode),),
        prior_speedup_ratio=_COMPILE_PRIOR,
        prior_crash_risk_ratio=0.1,
        cost_s=60.0,
    )


def _operator_of(config: KernelTargetConfig) -> tuple[Operator, Architecture]:
    try:
        operator = create_operator(config.operator)
        for shape in _shapes(config, operator):
            operator.check_shape(shape, config.dtype)
        if config.interpret:
            return operator, ARCHITECTURES["sm_90"]
        return operator, local_architecture()
    except KernelInputError as error:
        raise InvalidInputError(f"target kernel: {error}") from error


def _shapes(config: KernelTargetConfig, operator: Operator) -> tuple[Shape, ...]:
    return config.shapes or operator.shipped_shapes


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise InvalidInputError(f"target kernel: there is no task file {path}")


def _sizes(shape: Shape) -> str:
    return ",".join(f"{name}={size}" for name, size in shape.items())
