"""Starts ``vllm serve`` with the options and variables of a ``serve.yaml``; needs no Arbor.

Run as ``python launch.py SERVE_YAML NEGATIVES COMMAND... -- ARGUMENTS...`` by an interpreter that
has PyYAML, which vLLM's environment has. ``NEGATIVES`` names the options of the form ``no-...``
that this vLLM knows, separated by commas. An export carries this file's text in its launch script.
"""

import json
import os
import sys
from typing import Any

import yaml


def words(args: dict[str, Any], negatives: set[str]) -> list[str]:
    """Return the arguments of ``vllm serve``, the model first."""
    options: dict[str, Any] = {}
    for path in sorted(args, key=lambda key: key.count(".")):
        value = args[path]
        if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}:
            value = json.loads(value)
        name, *fields = path.split(".")
        if fields:
            body = options.setdefault(name, {})
            for field in fields[:-1]:
                body = body.setdefault(field, {})
            body[fields[-1]] = value
        else:
            options[name] = value
    found = [str(options.pop("model"))]
    for name, value in options.items():
        if value is True:
            found.append(f"--{name}")
        elif value is False:
            found += [f"--no-{name}"] if f"no-{name}" in negatives else []
        elif isinstance(value, list):
            found += [f"--{name}", *map(str, value)]
        elif isinstance(value, dict):
            found += [f"--{name}", json.dumps(value, sort_keys=True)]
        else:
            found.append(f"--{name}={value}")
    return found


def main() -> None:
    """Become the server."""
    path, negatives, *rest = sys.argv[1:]
    split = rest.index("--")
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - as plain as it gets
        config = yaml.safe_load(file)
    environment = os.environ | {k: str(v) for k, v in (config.get("env") or {}).items()}
    serve = words(config.get("args") or {}, set(negatives.split(",")))
    command = [*rest[:split], "serve", *serve, *rest[split + 1 :]]
    os.execvpe(command[0], command, environment)  # noqa: S606 - there is no shell by intention


if __name__ == "__main__":
    main()
