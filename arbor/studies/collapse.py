"""Study 2: do a writer's parameters follow the size, or has its prior collapsed on one answer?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from arbor.search.probes import Collapse, collapse
from arbor.studies.kernel_texts import (
    SIZES,
    UNREADABLE,
    Operator,
    PromptStyle,
    Writer,
    prompt_for,
    read_parameters,
)
from arbor.studies.plot import Bar, bars
from arbor.studies.recording import StudyDirectory, aligned

OPERATORS: tuple[Operator, ...] = ("softmax", "matmul", "convolution")
STYLES: tuple[PromptStyle, ...] = ("implicit", "explicit")
TEMPERATURES = (0.1, 0.5, 0.8)


@dataclass(frozen=True, slots=True)
class Cell:
    """All samples of one operator, prompt and temperature.

    Attributes:
        operator: what was to be written.
        style: whether the prompt speaks of the size.
        temperature: of sampling.
        statistic: how far parameters follow sizes.
        num_distinct: different answers.
        num_unreadable: replies without any parameter; they count as one answer.
        most_common: the answer given most often.
    """

    operator: Operator
    style: PromptStyle
    temperature: float
    statistic: Collapse
    num_distinct: int
    num_unreadable: int
    most_common: str


def run_cell(
    writer: Writer,
    operator: Operator,
    style: PromptStyle,
    temperature: float,
    *,
    num_samples: int,
    directory: StudyDirectory | None = None,
) -> Cell:
    """Ask a writer for every size, several times."""
    sizes: list[int] = []
    answers: list[str] = []
    for size in SIZES[operator]:
        prompt = prompt_for(operator, size, style)
        for sample in range(num_samples):
            reply = writer.write(prompt, temperature, sample)
            sizes.append(size)
            answers.append(read_parameters(reply).text)
            if directory is not None:
                directory.record(
                    "ProgramWritten",
                    writer=writer.name,
                    operator=operator,
                    size=size,
                    style=style,
                    temperature=temperature,
                    sample=sample,
                    parameters=answers[-1],
                    reply=reply,
                )
    return Cell(
        operator=operator,
        style=style,
        temperature=temperature,
        statistic=collapse(sizes, answers),
        num_distinct=len(set(answers)),
        num_unreadable=answers.count(UNREADABLE),
        most_common=max(dict.fromkeys(answers), key=answers.count),
    )


def run(
    writer: Writer,
    num_samples: int,
    directory: StudyDirectory | None = None,
    operators: Sequence[Operator] = OPERATORS,
) -> list[Cell]:
    """Return every cell of the study."""
    return [
        run_cell(
            writer, operator, style, temperature, num_samples=num_samples, directory=directory
        )
        for operator in operators
        for style in STYLES
        for temperature in TEMPERATURES
    ]


def table(cells: Sequence[Cell]) -> str:
    """Return the cells as text."""
    rows = [
        (
            "operator",
            "prompt",
            "T",
            "NMI",
            "by chance",
            "above chance",
            "p",
            "distinct",
            "unreadable",
            "most common",
        )
    ]
    rows += [
        (
            each.operator,
            each.style,
            f"{each.temperature:g}",
            f"{each.statistic.nmi:.2f}",
            f"{each.statistic.by_chance:.2f}",
            f"{each.statistic.above_chance:.2f}",
            f"{each.statistic.p_value:.3f}",
            f"{each.num_distinct} of {each.statistic.num}",
            str(each.num_unreadable),
            each.most_common,
        )
        for each in cells
    ]
    return aligned(rows)


def plot(cells: Sequence[Cell]) -> str:
    """Return the normalised mutual information of each cell, from chance to what was found."""
    heights = [
        Bar(
            f"{each.operator} {each.style} T={each.temperature:g}",
            each.statistic.nmi,
            min(each.statistic.by_chance, each.statistic.nmi),
            max(each.statistic.by_chance, each.statistic.nmi),
        )
        for each in cells
    ]
    return bars("NMI of size and parameters; the line goes to chance", heights)


def summary(cells: Sequence[Cell], writer: str) -> dict[str, object]:
    """Return what goes into the summary file."""
    return {
        "study": "collapse",
        "writer": writer,
        "note": "writers without a model are stand-ins; nothing here reproduces a model's figures",
        "cells": [asdict(each) | {"above_chance": each.statistic.above_chance} for each in cells],
    }
