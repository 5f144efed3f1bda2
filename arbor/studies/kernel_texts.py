"""Kernel programs as text: what a writer is asked, and the parameters that its text holds."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

Operator = Literal["softmax", "matmul", "convolution"]
PromptStyle = Literal["implicit", "explicit"]

SIZES: Mapping[Operator, tuple[int, ...]] = {
    "softmax": (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768),
    "matmul": (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192),
    "convolution": (7, 14, 28, 32, 56, 64, 112, 128, 224, 256),
}
"""Ten sizes of each: the length of a row, of a side, of an image."""

_REFERENCES: Mapping[Operator, str] = {
    "softmax": "x = torch.randn(4096, {size})\nout = torch.softmax(x, dim=-1)",
    "matmul": (
        "a, b = torch.randn({size}, {size}), torch.randn({size}, {size})\nout = torch.matmul(a, b)"
    ),
    "convolution": (
        "x, w = torch.randn(16, 64, {size}, {size}), torch.randn(64, 64, 3, 3)\n"
        "out = torch.nn.functional.conv2d(x, w, padding=1)"
    ),
}
UNREADABLE = "unreadable"
_ASSIGNED = re.compile(
    r"\b((?:BLOCK|TILE|GROUP)\w*|\w+_(?:BLOCK|TILE)(?:_SIZE)?|num_warps|num_stages)['\"]?"
    r"\s*(?::\s*[\w.]+\s*)?[=:]\s*(\d+|(?:triton\.)?next_power_of_2\([^)]*\))"
)


class Writer(Protocol):
    """Writes programs: a chat model, or a stand-in."""

    @property
    def name(self) -> str:
        """What records call it."""
        ...

    def write(self, prompt: str, temperature: float, seed: int) -> str:
        """Return the reply to a prompt; equal arguments give equal replies where it can."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    """Parameters of one program.

    Attributes:
        values: by name, sorted; empty when the text holds none.
    """

    values: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The parameters in one line; what cannot be read is an answer of its own kind."""
        return ", ".join(f"{k}={v}" for k, v in self.values) or UNREADABLE


def prompt_for(operator: Operator, size: int, style: PromptStyle) -> str:
    """Return the task as a writer gets it; only ``explicit`` speaks of the size."""
    text = (
        f"Write a Triton kernel and its launch that replace this {operator}:\n\n"
        f"```python\n{_REFERENCES[operator].format(size=size)}\n```\n\n"
        "State every block or tile size, num_warps and num_stages as a number."
    )
    if style == "explicit":
        text += f"\nThe size is {size}. Choose the parameters for exactly this size."
    return text


def read_parameters(text: str) -> Answer:
    """Return block and tile parameters of a program; of several settings the first counts."""
    found: dict[str, str] = {}
    for name, value in _ASSIGNED.findall(text):
        found.setdefault(name, "next_power_of_2" if "next_power" in value else value)
    return Answer(tuple(sorted(found.items())))
