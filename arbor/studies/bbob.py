"""The BBOB suite of COCO: 24 noiseless functions, two instances of each in every dimension."""

from collections.abc import Sequence
from typing import Any

from arbor.events.errors import InvalidInputError
from arbor.search.space import Space
from arbor.studies.problems import Problem, box

NUM_FUNCTIONS = 24
INSTANCES = (1, 2)


def bbob_problems(
    dimensions: Sequence[int] = (2, 5), instances: Sequence[int] = INSTANCES
) -> list[Problem]:
    """Return the problems, 48 in each dimension as a rule.

    Raises:
        InvalidInputError: COCO is not installed.
    """
    try:
        import cocoex  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            "BBOB needs COCO: pip install 'arbor-inference[studies]'"
        ) from error
    wanted = ",".join(str(each) for each in dimensions)
    numbers = ",".join(str(each) for each in instances)
    suite = cocoex.Suite("bbob", f"instances: {numbers}", f"dimensions: {wanted}")
    return [_problem(suite, index) for index in range(len(suite))]


def _problem(suite: Any, index: int) -> Problem:
    function = suite.get_problem(index)
    dimension = int(function.dimension)

    def value(numbers: Sequence[float]) -> float:
        return -float(function(list(numbers)))

    return Problem(
        name=f"bbob-f{function.id_function:02d}-i{function.id_instance}-d{dimension}",
        group=f"bbob-{dimension}d",
        space=_space(dimension),
        value=value,
    )


def _space(dimension: int) -> Space:
    return box([f"x{n}" for n in range(dimension)], -5.0, 5.0)
