"""Actions that would give a server more accelerators than the others have are left out."""

from collections.abc import Mapping

from arbor.core.fitting import fitting_actions
from arbor.events.types import ActionTemplate, Edit, Layer, Parameter, Scalar

BASELINE: dict[str, Scalar] = {"tp": 2, "pp": 1, "other": 0}


def _num_devices(config: Mapping[str, Scalar]) -> int:
    return int(config["tp"]) * int(config["pp"])


def _template(*edits: Edit, space: tuple[Parameter, ...] = ()) -> ActionTemplate:
    return ActionTemplate(
        template_id="t",
        layer=Layer.COMMUNICATION,
        category="comm",
        title="t",
        edits=edits,
        space=space,
    )


def _fitting(template: ActionTemplate, limit: int) -> tuple[ActionTemplate, ...]:
    return fitting_actions([template], BASELINE, _num_devices, limit)


def test_what_does_not_touch_devices_stays_as_it_is() -> None:
    template = _template(
        Edit(key="other", value=1), space=(Parameter(key="x", kind="int", low=1, high=99),)
    )
    assert _fitting(template, 2) == (template,)


def test_an_edit_that_takes_more_is_left_out() -> None:
    template = _template(Edit(key="tp", value=4))
    assert _fitting(template, 4) == (template,)
    assert _fitting(template, 2) == ()


def test_edits_count_together() -> None:
    template = _template(Edit(key="tp", value=1), Edit(key="pp", value=2))
    assert _fitting(template, 2) == (template,)
    assert _fitting(template, 1) == ()


def test_choices_that_take_more_are_taken_out() -> None:
    sizes = Parameter(key="tp", kind="categorical", choices=(1, 2, 4, 8))
    template = _template(Edit(key="tp", value=8), space=(sizes,))
    (fitting,) = _fitting(template, 4)
    assert fitting.space[0].choices == (1, 2, 4)
    assert fitting.edits == (), "its first suggestion is none any more"
    assert _fitting(template, 8) == (template,)


def test_a_choice_of_one_is_none() -> None:
    sizes = Parameter(key="tp", kind="categorical", choices=(1, 4, 8))
    assert _fitting(_template(space=(sizes,)), 2) == ()


def test_a_range_fits_as_a_whole_or_not_at_all() -> None:
    template = _template(space=(Parameter(key="pp", kind="int", low=1, high=2),))
    assert _fitting(template, 4) == (template,)
    assert _fitting(template, 3) == ()
