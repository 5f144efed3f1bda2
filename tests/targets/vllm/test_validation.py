"""What has to hold between entries."""

from arbor.events.types import Requirement
from arbor.targets.vllm.entry import Entry
from arbor.targets.vllm.validation import fixed_values, problems
from tests.targets.vllm.test_entry import GOOD


def entry(name: str, **fields: object) -> Entry:
    return Entry.model_validate({**GOOD, "id": name, **fields})


def test_values_in_force_are_edits_and_choices() -> None:
    both = entry("both", edits={"args.a": 1}, space={"args.b": [1, 2]})
    assert fixed_values(both) == (
        Requirement(key="args.a", any_of=(1,)),
        Requirement(key="args.b", any_of=(1, 2)),
    )
    assert fixed_values(entry("numbers")) == ()


def test_names_must_exist_and_have_values() -> None:
    fixed = entry("fixed", edits={"args.a": 1}, space={})
    found = list(
        problems(
            [
                fixed,
                entry("numbers"),
                entry("first", requires=["fixed", "gone"], unlocked_by=["numbers"]),
                entry("second", conflicts=["numbers"]),
                entry("third", requires=["fixed"], conflicts=["fixed"]),
            ]
        )
    )
    assert len(found) == 3
    assert "entry first: requires names 'gone', which is no entry" in found[0]
    assert "entry second: conflicts names 'numbers', whose values are searched for" in found[1]
    assert "entry third: requires and conflicts both name 'fixed'" in found[2]


def test_the_same_name_twice() -> None:
    [found] = problems([entry("one"), entry("one", layer="kernel")])
    assert found == "framework.yaml, kernel.yaml: entry one is there 2 times; rename all but one"
