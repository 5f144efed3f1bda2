"""A campaign file from a `vllm serve` command line."""

from pathlib import Path

from arbor.cli.command_lines import CommandLine, Option, options
from arbor.cli.scaffold import HEAD, TAIL, block, comments, inline, scalar
from arbor.events.errors import InvalidInputError
from arbor.events.types import Scalar
from arbor.targets.secrets import is_secret_name

_MODULE = "vllm.entrypoints.openai.api_server"
_OWN = {
    "host": "Arbor chooses the address",
    "port": "Arbor chooses the port: two servers run side by side",
    "api-key": "servers get no secrets",
    "served-model-name": "Arbor sets the name",
    "uvicorn-log-level": "Arbor reads the log",
}
"""Options that are left out, and why."""
_SHORT = {
    "-tp": "tensor-parallel-size",
    "-pp": "pipeline-parallel-size",
    "-dp": "data-parallel-size",
    "-q": "quantization",
}


def is_vllm(line: CommandLine) -> bool:
    """Return whether a command starts vLLM's server."""
    return (line.words[1:2] == ("serve",) and line.program == "vllm") or _MODULE in line.words[:3]


def vllm_campaign(line: CommandLine, file: str) -> str:
    """Return the text of a campaign file for target ``vllm``.

    Raises:
        InvalidInputError: the command has no model, or something that a campaign cannot express.
    """
    by_module = _MODULE in line.words[:3]
    found = list(options(line.words[3 if by_module else 2 :]))
    model, args, load_format, remarks = _read(found)
    env = {name: text for name, text in line.env.items() if not is_secret_name(name)}
    remarks += [f"{name} was left out: servers get no secrets" for name in line.env.keys() - env]
    program = line.words[0]
    where = ""
    if "/" in program:
        key = "python" if by_module else "executable"
        where = f"  {key}: {inline(program)}\n"
    name = Path(model).name or "vllm"
    return (
        HEAD.format(file=file)
        + f"name: {inline(name[:80])}\n"
        + "target: vllm\n"
        + "target_config:\n"
        + "  # a folder on this machine; nothing is fetched from a hub\n"
        + f"  model: {inline(str(Path(model).expanduser()) if model.startswith('~') else model)}\n"
        + where
        + (f"  load_format: {inline(load_format)}\n" if load_format else "")
        + "  # options of the baseline, without dashes: what is made faster, and compared with\n"
        + comments(remarks, 2)
        + ("  args:\n" + block(args, 4) if args else "  args: {}\n")
        + ("  env:\n" + block(env, 4) if env else "")
        + "  # what a window plays; make it like your own traffic\n"
        + "  workload:\n"
        + "    input_tokens: 256\n"
        + "    output_tokens: 64\n"
        + "    concurrency: 16\n"
        + "  # entries of `arbor catalog list` to try; all that apply when this stays out\n"
        + "  # actions: []\n"
        + TAIL.format(wall="2h")
    )


def _read(found: list[Option]) -> tuple[str, dict[str, Scalar], str, list[str]]:
    """Return model, options, load format and remarks about what was left out."""
    model, load_format = "", ""
    args: dict[str, Scalar] = {}
    remarks: list[str] = []
    for option in found:
        if not option.name:
            model = _single(option, "the model")
            continue
        name = _long_name(option)
        if name == "model":
            model = _single(option, "--model")
        elif name == "load-format":
            load_format = _single(option, "--load-format")
        elif name in _OWN:
            remarks.append(f"--{name} was left out: {_OWN[name]}")
        elif name in args:
            raise InvalidInputError(f"--from: --{name} is there twice; keep one")
        else:
            key, value = _value(name, option)
            args[key] = value
    if not model:
        raise InvalidInputError(
            "--from: there is no model; write it behind serve, as in 'vllm serve MODEL --flags'"
        )
    return model, args, load_format, remarks


def _long_name(option: Option) -> str:
    if option.name in _SHORT:
        return _SHORT[option.name]
    if not option.name.startswith("--") or option.name == "--":
        raise InvalidInputError(
            f"--from: short option {option.name!r} is not known; write its long name"
        )
    head, dot, field = option.name.removeprefix("--").partition(".")
    return head.replace("_", "-") + dot + field


def _value(name: str, option: Option) -> tuple[str, Scalar]:
    if option.values:
        return name, scalar(_single(option, option.name))
    # --no-enable-x says what --enable-x denies
    return (name.removeprefix("no-"), False) if name.startswith("no-") else (name, True)


def _single(option: Option, what: str) -> str:
    if len(option.values) != 1:
        many = " ".join(option.values) or "nothing"
        raise InvalidInputError(
            f"--from: {what} needs one value, here is {many!r}; put the model right behind serve, "
            "and lists in quotes as JSON"
        )
    return option.values[0]
