"""The arms of the feedback study: two agents over a writer, and a tuner without any prior.

A new arm is a function and a line in ``ARMS``.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from arbor.search.engine import create_engine
from arbor.search.space import values_of
from arbor.studies.kernel_texts import Writer
from arbor.studies.machine import (
    KEYS,
    SPACE,
    WORDS,
    KernelTask,
    Language,
    Outcome,
    configuration,
    program,
    run_program,
)
from arbor.studies.plugins import load

Arm = Callable[["Setting"], list[Outcome]]
_TEMPERATURE = 0.5


@dataclass(frozen=True, slots=True)
class Setting:
    """What an arm works with.

    Attributes:
        task: what to make fast.
        language: in which.
        writer: of programs; a tuner does without.
        budget: programs that may be run.
        seed: of its chance.
    """

    task: KernelTask
    language: Language
    writer: Writer
    budget: int
    seed: int

    def run(self, text: str) -> Outcome:
        """Return what becomes of a program."""
        return run_program(text, self.task, self.language)


def first_prompt(task: KernelTask, language: Language) -> str:
    """Return the task as a writer gets it."""
    words = ", ".join(WORDS[language].values())
    name = "Triton" if language == "dense" else "the schedule language"
    return (
        f"Write a kernel in {name} for C[{task.m}, {task.n}] = A[{task.m}, {task.k}]"
        f" B[{task.k}, {task.n}].\nSet {words}, one a line."
    )


def sampling_agent(setting: Setting) -> list[Outcome]:
    """Return candidates written side by side, then one more from all of their feedback."""
    prompt = first_prompt(setting.task, setting.language)
    texts = [
        setting.writer.write(prompt, _TEMPERATURE, setting.seed * 1000 + number)
        for number in range(setting.budget - 1)
    ]
    outcomes = [setting.run(text) for text in texts]
    report = "\n\n".join(
        f"Candidate {number}:\n{text}\n-> {outcome.feedback}"
        for number, (text, outcome) in enumerate(zip(texts, outcomes, strict=True), 1)
    )
    last = setting.writer.write(
        f"{prompt}\n\n{report}\n\nWrite one better than all.", 0.0, setting.seed
    )
    return [*outcomes, setting.run(last)]


def feedback_loop(setting: Setting) -> list[Outcome]:
    """Return candidates one after the other, each from what became of the last.

    Advice on speed when the last one worked, a diagnosis when it did not.
    """
    prompt = first_prompt(setting.task, setting.language)
    outcomes: list[Outcome] = []
    request = prompt
    for number in range(setting.budget):
        text = setting.writer.write(request, _TEMPERATURE, setting.seed * 1000 + number)
        outcome = setting.run(text)
        outcomes.append(outcome)
        role = "Diagnosis" if outcome.time_us is None else "Advice"
        request = f"{prompt}\n\nLast:\n{text}\n{role}: {outcome.feedback}\nImprove it."
    return outcomes


def tuner(setting: Setting) -> list[Outcome]:
    """Return what black-box search finds, from the space alone."""
    engine = create_engine("tpe", SPACE, setting.seed, budget=setting.budget)
    outcomes = []
    for _ in range(setting.budget):
        point = engine.ask()
        values = {key: int(value) for key, value in values_of(point).items()}
        outcome = setting.run(program(values, setting.language))
        engine.tell(point, None if outcome.time_us is None else -outcome.time_us)
        outcomes.append(outcome)
    return outcomes


ARMS: Mapping[str, Arm] = {
    "sampling": sampling_agent,
    "feedback": feedback_loop,
    "tuner": tuner,
}
TUNER = "tuner"


def _source(own_seed: int, prompt: str, temperature: float, seed: int) -> random.Random:
    key = f"{own_seed}:{prompt}:{temperature}:{seed}"
    return random.Random(key)  # noqa: S311 - a study, not a secret


def _language(prompt: str) -> Language:
    return "dense" if "in Triton" in prompt else "sparse"


class PriorWriter:
    """A stand-in whose prior is dense in one language and for large sizes. It is no model.

    It writes a good large block in the words of Triton. In the other language it often mistakes
    the words, less often after a diagnosis. It takes advice by one step towards less padding.
    """

    name = "prior"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def write(self, prompt: str, temperature: float, seed: int) -> str:
        """Return a program."""
        source = _source(self._seed, prompt, temperature, seed)
        language = _language(prompt)
        values = {"block_m": 128, "block_n": 128, "block_k": 64, "warps": 8}
        if "% padding" in prompt and source.random() < 0.5:
            # What it read said that much of its large block is wasted.
            values |= {"block_m": 64, "block_n": 64, "warps": 4}
        if source.random() < temperature:
            strayed = source.choice(KEYS)
            values[strayed] = configuration(dict.fromkeys(KEYS, source.random()))[strayed]
        text = program(values, language)
        is_diagnosed = "Diagnosis" in prompt or "compile error" in prompt
        mistake = 0.0 if language == "dense" else 0.3 if is_diagnosed else 0.7
        return text.replace("T.tile_r", "T.tile_k") if source.random() < mistake else text


class UniformWriter:
    """Knows the words of both languages and nothing else: the control."""

    name = "uniform"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def write(self, prompt: str, temperature: float, seed: int) -> str:
        """Return a program with arbitrary parameters."""
        source = _source(self._seed, prompt, temperature, seed)
        return program(configuration({k: source.random() for k in KEYS}), _language(prompt))


SHIPPED: Mapping[str, Callable[[int], Writer]] = {"prior": PriorWriter, "uniform": UniformWriter}


def writer_for(text: str, seed: int) -> Writer:
    """Return a writer by name.

    Raises:
        NotFoundError: nothing has that name.
        InvalidInputError: it cannot be imported.
    """
    return load(text, SHIPPED, "writer", seed)
