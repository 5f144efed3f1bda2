"""An exported stack starts with the same words as in the campaign, without Arbor."""

import http.client
import subprocess
from pathlib import Path

import yaml

from arbor.cli.launching import launch_script
from arbor.core.campaign import Campaign
from arbor.events.types import Scalar
from arbor.targets.child import ChildProcess, clean_environment, free_port
from arbor.targets.serve_yaml import dump_config
from arbor.targets.vllm.arguments import command_line
from arbor.targets.vllm.launch import words
from tests.targets.vllm.conftest import MakeConfig

CONFIG: dict[str, Scalar] = {
    "args.model": "/m",
    "args.enforce-eager": True,
    "args.enable-prefix-caching": False,
    "args.disable-log-stats": False,
    "args.max-num-seqs": 8,
    "args.compilation-config.pass_config.fuse": True,
    "args.compilation-config.compile_sizes": "[1, 2]",
    "args.cudagraph-capture-sizes": "[1, 2]",
    "args.kv-cache-dtype": "fp8",
}


def test_the_same_words_as_in_the_campaign() -> None:
    names = {key.split(".")[1] for key in CONFIG}
    known = names | {"no-enable-prefix-caching"}
    plain = yaml.safe_load(dump_config(CONFIG))["args"]
    model, *rest = words(plain, {"no-enable-prefix-caching"})
    assert model == "/m"
    assert sorted(rest) == sorted(command_line(CONFIG, known, "0.32.0"))


def test_the_script_starts_the_server(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config()
    campaign = Campaign(target="vllm", target_config=config.model_dump(mode="json"))
    stack: dict[str, Scalar] = {
        "args.model": str(config.model),
        "args.enforce-eager": True,
        "args.enable-prefix-caching": False,
        "env.FAKE_VLLM": "",
    }
    (tmp_path / "serve.yaml").write_bytes(dump_config(stack))
    script = tmp_path / "launch.sh"
    script.write_text(launch_script(campaign))
    subprocess.run(["sh", "-n", script], check=True)
    port = free_port()
    env = clean_environment({"PORT": str(port)})

    def is_ready() -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    with ChildProcess(["sh", str(script)], env, tmp_path, tmp_path / "log") as child:
        child.wait_ready(is_ready, 120.0)
    log = (tmp_path / "log").read_text()
    assert "'enforce_eager': True, 'enable_prefix_caching': False" in log
