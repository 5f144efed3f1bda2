"""Campaign files from command lines: they load, and say the same as the command."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from arbor.cli.command_lines import CommandLine, Option, options, parse_command_line
from arbor.core.campaign import Campaign, load_campaign
from arbor.targets.command.config import CommandTargetConfig
from arbor.targets.registry import create_target
from tests.cli.test_commands import arbor, error, output


def written(folder: Path, command: str) -> Campaign:
    """Return the campaign of the file that a command becomes; its target takes it."""
    file = folder / "new.yaml"
    said = output("init", "--from", command, "--out", file)
    assert "arbor plan" in said
    campaign = load_campaign(file)
    create_target(campaign.target, campaign.target_config)
    return campaign


def test_without_a_command_it_explains_itself() -> None:
    said = output("init")
    assert 'arbor init --from "vllm serve' in said
    assert "embedded engine" in said


VLLM = """OMP_NUM_THREADS=8 VLLM_LOGGING_LEVEL='INFO' /opt/vllm/bin/vllm serve /models/llama-8b \\
  --tensor-parallel-size=8 --max_num_seqs 256 --enable-prefix-caching \\
  --no-enable-chunked-prefill \\
  --gpu-memory-utilization 0.9 --compilation-config '{"mode": 3, "cudagraph_mode": "FULL"}' \\
  -q fp8 --load-format dummy --port 8000 --host 0.0.0.0 --api-key sk-secret-secret-secret"""


def test_a_vllm_command(tmp_path: Path) -> None:
    campaign = written(tmp_path, VLLM)
    assert campaign.target == "vllm"
    assert campaign.name == "llama-8b"
    config = campaign.target_config
    assert config["model"] == "/models/llama-8b"
    assert config["executable"] == "/opt/vllm/bin/vllm"
    assert config["load_format"] == "dummy"
    assert config["env"] == {"OMP_NUM_THREADS": "8", "VLLM_LOGGING_LEVEL": "INFO"}
    assert config["args"] == {
        "tensor-parallel-size": 8,
        "max-num-seqs": 256,
        "enable-prefix-caching": True,
        "enable-chunked-prefill": False,
        "gpu-memory-utilization": 0.9,
        "compilation-config": '{"mode": 3, "cudagraph_mode": "FULL"}',
        "quantization": "fp8",
    }
    text = (tmp_path / "new.yaml").read_text()
    assert "sk-secret" not in text
    assert "# --port was left out" in text


def test_vllm_by_its_module(tmp_path: Path) -> None:
    module = "python3 -m vllm.entrypoints.openai.api_server --model /models/m --dtype bfloat16"
    config = written(tmp_path, module).target_config
    assert config["model"] == "/models/m"
    assert config["args"] == {"dtype": "bfloat16"}


def test_a_secret_variable_is_left_out(tmp_path: Path) -> None:
    written(tmp_path, "HF_TOKEN=hf_abcdef vllm serve /models/m")
    text = (tmp_path / "new.yaml").read_text()
    assert "hf_abcdef" not in text
    assert "# HF_TOKEN was left out: servers get no secrets" in text


def launched(campaign: Campaign) -> list[str]:
    """Return the words that a campaign's baseline is started with, on port 8000."""
    config = CommandTargetConfig.model_validate(campaign.target_config)
    values: dict[str, Any] = {**config.knobs, "host": "127.0.0.1", "port": 8000}
    return config.launch.argv(values)


@pytest.mark.parametrize(
    "command",
    [
        "python server.py --port 8000 --threads 8 --batch-size=512 --name 'a b' --rate 0.5",
        "./serve --port=8000 --host 127.0.0.1 --seed 3 -t 4 --size 1_000 --level 01 --x 1e-3",
        'llama-server -m /m.gguf --port 8000 --json \'{"a": "b c"}\' --ratio 3,1',
    ],
)
def test_the_baseline_is_the_command_itself(tmp_path: Path, command: str) -> None:
    campaign = written(tmp_path, command)
    assert campaign.target == "command"
    assert launched(campaign) == shlex.split(command)


def test_numbers_behind_options_become_knobs(tmp_path: Path) -> None:
    command = "A=1 python server.py --port 8000 --threads 8 --batch-size=512 --rate 0.5 --seed 1"
    campaign = written(tmp_path, command)
    config = campaign.target_config
    assert config["knobs"] == {"threads": 8, "batch_size": 512, "rate": 0.5}
    assert config["launch"]["env"] == {"A": "1"}
    assert config["actions"] == []


def test_the_file_is_for_newcomers(tmp_path: Path) -> None:
    written(tmp_path, "python server.py --port 8000 --threads 8")
    text = (tmp_path / "new.yaml").read_text()
    assert text.startswith("# A campaign of Arbor")
    assert "arbor run new.yaml" in text
    # the example in the comments is one that the target takes
    lines = [line.replace("  # ", "  ", 1) for line in text.splitlines() if "- id:" in line]
    lines += [line.replace("  # ", "  ", 1) for line in text.splitlines() if "search:" in line]
    document = yaml.safe_load(text)
    document["target_config"]["actions"] = yaml.safe_load("\n".join(lines))
    [action] = create_target("command", document["target_config"]).actions(None)  # type: ignore[arg-type]
    assert action.space[0].key == "knobs.threads"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("", "there is no command"),
        ("A=1", "there is no command"),
        ("vllm serve 'm", "check the quotes"),
        ("docker run --gpus all vllm/vllm-openai --model m", "docker is not supported"),
        ("sudo vllm serve m", "leave out sudo"),
        ("cd /x && vllm serve m", "'&&' needs a shell"),
        ("vllm serve m > log 2>&1", "'>' needs a shell"),
        ("vllm serve $MODEL", "'$MODEL' needs a shell"),
        ("vllm serve --port 8000", "there is no model"),
        ("vllm serve --enforce-eager m n", "put the model right behind serve"),
        ("vllm serve m --lora-modules a b", "--lora-modules needs one value"),
        ("vllm serve m -z 3", "short option '-z' is not known"),
        ("vllm serve m --dtype half --dtype float16", "--dtype is there twice"),
        ("python server.py --threads 8", "names no port"),
        ("python server.py --port 8000 --api-key abc", "--api-key holds a secret"),
        ("--port 8000", "is an option; give the program first"),
    ],
)
def test_what_it_cannot_read_is_one_clear_line(tmp_path: Path, command: str, told: str) -> None:
    file = tmp_path / "new.yaml"
    assert told in error("init", "--from", command, "--out", file)
    assert not file.exists()


def test_a_file_is_not_replaced_unasked(tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    file.write_text("mine")
    words = ("init", "--from", "vllm serve /m", "--out", file)
    assert "exists; give --out another file, or --force" in error(*words)
    assert file.read_text() == "mine"
    output(*words, "--force")
    assert load_campaign(file).target == "vllm"
    assert "cannot write" in error(
        "init", "--from", "vllm serve /m", "--out", tmp_path / "a" / "b"
    )


def test_it_can_be_printed() -> None:
    done = arbor("init", "--from", "vllm serve /m", "--out", "-")
    assert done.exit_code == 0
    assert yaml.safe_load(done.stdout)["target"] == "vllm"


def test_words_and_options() -> None:
    line = parse_command_line("env A='x y' B= run --a=1=2 --b -3 '--c d' \\\n e")
    assert line == CommandLine(
        {"A": "x y", "B": ""}, ("run", "--a=1=2", "--b", "-3", "--c d", "e")
    )
    assert list(options(("m", "--a=1=2", "--b", "-3", "--c", "-"))) == [
        Option("", ("m",)),
        Option("--a", ("1=2",)),
        Option("--b", ("-3",)),
        Option("--c", ("-",)),
    ]
