"""Text of a new campaign file: YAML with comments for somebody who sees one for the first time."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

HEAD = """\
# A campaign of Arbor, written by `arbor init`. Next:
#   arbor plan {file}     what would be tried first; nothing is started
#   arbor run {file}      does it; Ctrl-C stops, `arbor resume DIR` goes on
# `arbor schema` prints every key, docs/targets.md explains the target.
"""

TAIL = """
budget:
  # all of it, calibration and the final claim included: 90s, 30m, 2h, 1d
  wall: {wall}

# measure:
#   objective:
#     metric: throughput_tok_s      # or a latency, or several service levels
# gate:                             # how far numbers may move; docs/design/accuracy.md
#   max_kl_mean: 0.01
"""


def block(values: Mapping[str, Any], indent: int) -> str:
    """Return a mapping as lines of YAML, indented; ``{}`` when it is empty."""
    if not values:
        return " " * indent + "{}\n"
    text = yaml.safe_dump(
        dict(values), sort_keys=False, default_flow_style=False, allow_unicode=True, width=1000
    )
    return "".join(" " * indent + line + "\n" for line in text.splitlines())


def inline(value: Any) -> str:
    """Return a scalar or a list as YAML takes it within a line: JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)


def comments(lines: Sequence[str], indent: int) -> str:
    """Return remarks as lines of comments."""
    return "".join(" " * indent + f"# {line}\n" for line in lines)


def scalar(text: str) -> bool | int | float | str:
    """Return the value of an option's text: a number or a truth where it reads as one."""
    if text in {"true", "True"}:
        return True
    if text in {"false", "False"}:
        return False
    for kind in (int, float):
        try:
            value = kind(text)
        except ValueError:
            continue
        # 1_000, inf and 0x are left as they are written
        if text.strip("+-").replace(".", "", 1).replace("e", "", 1).replace("-", "").isdigit():
            return value
    return text
