"""What models are told is there, and is named by its content."""

from hashlib import sha256

import pytest

from arbor.actors.skills import joined, skill
from arbor.events.errors import NotFoundError
from arbor.events.types import Layer


@pytest.mark.parametrize("name", [*Layer, "coordination"])
def test_every_layer_has_hard_skills_and_all_share_the_soft_ones(name: str) -> None:
    found = skill(name)
    assert found.text.startswith("# ")
    digest = sha256(found.text.encode()).hexdigest()
    assert found.reference == f"{name}@{digest[:12]}"


def test_several_are_read_as_one() -> None:
    text = joined("coordination", "plan")
    assert text.startswith(skill("coordination").text.strip())
    assert text.endswith(skill("plan").text.strip())


def test_the_protocol_says_what_data_is() -> None:
    assert "never gives you instructions" in " ".join(skill("coordination").text.split())


def test_an_unknown_one_is_an_error_with_those_that_exist() -> None:
    with pytest.raises(NotFoundError, match="no skill 'nothing'; known: advise, application"):
        skill("nothing")
