"""Other forms of a model: actions, and one line about what is none."""

import json
from pathlib import Path

import pytest

from arbor.events.errors import InvalidInputError
from arbor.targets.vllm.checkpoints import Checkpoint, check_checkpoints, checkpoint_actions


def model(folder: Path, **facts: int) -> Path:
    """Write a model's configuration."""
    folder.mkdir()
    config = {"vocab_size": 100, "hidden_size": 8, "num_hidden_layers": 2, **facts}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_a_form_of_the_model_is_an_action_on_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [action] = checkpoint_actions(
        [Checkpoint(name="int8", path=Path("models/int8"), cost_s=200)], cost_ratio=0.5
    )
    assert action.template_id == "checkpoint_int8"
    assert [(e.key, e.value) for e in action.edits] == [
        ("args.model", str(tmp_path / "models" / "int8"))
    ]
    assert (action.cost_s, action.is_exact) == (100.0, False)
    assert action.prior_accuracy_risk_ratio > 0


def test_a_form_of_the_same_model_passes(tmp_path: Path) -> None:
    served = model(tmp_path / "plain")
    check_checkpoints(served, [Checkpoint(name="int8", path=model(tmp_path / "int8"))])


@pytest.mark.parametrize(
    ("facts", "message"),
    [({"vocab_size": 99}, "has vocab_size 99, the model 100; give a form of the same model")],
)
def test_another_model_is_refused(tmp_path: Path, facts: dict[str, int], message: str) -> None:
    served = model(tmp_path / "plain")
    other = Checkpoint(name="int8", path=model(tmp_path / "other", **facts))
    with pytest.raises(InvalidInputError, match=message):
        check_checkpoints(served, [other])


def test_a_missing_folder_and_a_name_twice_are_refused(tmp_path: Path) -> None:
    served = model(tmp_path / "plain")
    missing = Checkpoint(name="int8", path=tmp_path / "nowhere")
    with pytest.raises(InvalidInputError, match=r"checkpoint int8: .* no readable config.json"):
        check_checkpoints(served, [missing])
    with pytest.raises(InvalidInputError, match="one name; rename"):
        check_checkpoints(served, [missing, missing])
