"""Numerics of every operator in Triton's interpreter, beside float64, on odd shapes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="the kernels extra is not installed")

from arbor.kernels.architectures import ARCHITECTURES, KernelInputError, architecture
from arbor.kernels.registry import create_operator, operator_names

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", operator_names())
def test_kernels_agree_with_float64_and_do_nothing_else(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "arbor", "kernels", "check", name, "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    operator = create_operator(name)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(operator.odd_shapes) * len(operator.interpreted_dtypes())
    assert all(0 <= line["error"] <= line["tolerance"] < 1e-2 for line in lines)
    assert all(line["refusals"] == [] for line in lines)


@pytest.mark.parametrize("name", operator_names())
def test_shipped_configurations_lie_in_the_space(name: str) -> None:
    operator = create_operator(name)
    for each in ARCHITECTURES.values():
        choices = operator.space.choices(each)
        for dtype in operator.dtypes:
            for shape in (*operator.shipped_shapes, *operator.odd_shapes):
                config = operator.space.default(shape, dtype, each)
                assert set(config) == set(choices)
                assert operator.space.problem(config, shape, dtype, each) == ""
                assert all(config[key] in choices[key] for key in config)


@pytest.mark.parametrize("name", operator_names())
def test_work_grows_with_every_size(name: str) -> None:
    operator = create_operator(name)
    shape = operator.shipped_shapes[0]
    work = operator.work(shape, operator.dtypes[0])
    for size in operator.dimensions:
        grown = operator.work({**shape, size: 2 * shape[size]}, operator.dtypes[0])
        assert grown.num_bytes >= work.num_bytes
        assert grown.num_flop >= work.num_flop
    assert work.num_bytes > 0


def test_bad_shapes_are_one_line() -> None:
    operator = create_operator("matmul")
    with pytest.raises(KernelInputError, match="m=N,n=N,k=N"):
        operator.check_shape({"m": 1}, "bf16")
    with pytest.raises(KernelInputError, match="k=0 is less than 1"):
        operator.check_shape({"m": 1, "n": 1, "k": 0}, "bf16")
    with pytest.raises(KernelInputError, match="no dtype 'int4'; known: bf16"):
        operator.check_shape({"m": 1, "n": 1, "k": 1}, "int4")
    with pytest.raises(KernelInputError, match="unknown operator 'conv'"):
        create_operator("conv")
    with pytest.raises(KernelInputError, match="unknown architecture 'sm_1'"):
        architecture("sm_1")
