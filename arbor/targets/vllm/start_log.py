"""What vLLM's log says of its start: the configuration that it runs with, and facts of sizes."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arbor.events.types import Scalar
from arbor.targets.vllm.python_text import parse_fields, parse_value

_MAX_READ_BYTES = 4 * 2**20
_ARGS = re.compile(r"non-default args: (\{.*\})")
_ENGINE = re.compile(r"Initializing a V\d+ LLM engine \(v([\w.+-]+)\) with config: (.*)")
_UNKNOWN_VARIABLE = re.compile(r"Unknown vLLM environment variable detected: (\w+)")
_NOT_PRELOADED = re.compile(r"from LD_PRELOAD cannot be preloaded")
_CACHED = re.compile(r"Directly load (the compiled graph|AOT compilation)")
_COMPILED = re.compile(
    r"Compiling a graph for|saved AOT compiled function|Compiling model again|"
    r"Cache the graph of shape|\[aiter\] start build"
)

# formats.md, section 4: names of facts and where they stand
_FACTS: Mapping[str, re.Pattern[str]] = {
    "kv_cache_tokens": re.compile(r"(?:GPU|CPU) KV cache size: ([\d,]+) tokens"),
    "max_concurrency_ratio": re.compile(
        r"Maximum concurrency for [\d,]+ tokens per request: ([\d.,]+)x"
    ),
    "kv_cache_memory_gib": re.compile(r"Available KV cache memory: ([-\d.]+) GiB"),
    "model_memory_gib": re.compile(r"Model loading took ([\d.]+) (?:GiB|GB)"),
    "graph_capture_s": re.compile(r"Graph capturing finished in (\d+) secs"),
    "compile_s": re.compile(r"torch\.compile (?:took|takes) ([\d.]+) s"),
    "max_num_batched_tokens": re.compile(
        r"Chunked prefill is enabled with max_num_batched_tokens=(\d+)"
    ),
    "max_model_len": re.compile(r"Using max model len (\d+)"),
    "attention_backend": re.compile(
        r"Using (?:AttentionBackendEnum\.)?(\w+) (?:attention )?backend"
    ),
    "moe_backend": re.compile(r"Using '?(\w+)'? \w+ MoE backend"),
}

# an option whose name in the engine's configuration is another one
_RENAMED = {"max_model_len": "max_seq_len"}

# what the log denies although the option was taken: pattern, option, what holds instead
_DENIED: tuple[tuple[re.Pattern[str], str, Scalar], ...] = (
    (
        re.compile(r"[Aa]?sync(?:hronous)? scheduling (?:is|will be) disabled"),
        "async-scheduling",
        False,
    ),
)


@dataclass(frozen=True)
class StartLog:
    """A log up to a moment.

    Attributes:
        lines: the log.
        args: options that differ from their defaults, as vLLM parsed them, by parameter name.
        has_args: whether the log lists them.
        engine: the engine's resolved configuration, by parameter name.
        version: release that the engine names; empty before it began.
        facts: sizes and choices that the log tells.
        unknown_variables: variables in vLLM's name that it does not read.
    """

    lines: tuple[str, ...]
    args: Mapping[str, Any] = field(default_factory=dict)
    has_args: bool = False
    engine: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    unknown_variables: frozenset[str] = frozenset()

    @property
    def is_code_cached(self) -> bool | None:
        """Whether all compiled code came from a cache; None when nothing was compiled."""
        if any(_COMPILED.search(line) for line in self.lines):
            return False
        return True if any(_CACHED.search(line) for line in self.lines) else None

    def resolved(self, config: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """Return the keys of a configuration with the values that vLLM says it runs with.

        An option is looked up in the engine's configuration, then among the parsed ones. One that
        vLLM parsed and does not list equals its default; without that list nothing is known of
        options. A variable that vLLM calls unknown is left out: it is not in force.

        Args:
            config: of ``serve.yaml``.
        """
        found: dict[str, Scalar] = {}
        for key, value in config.items():
            section, _, path = key.partition(".")
            if section == "args":
                if self.has_args:
                    found[key] = self._option(path, value)
            elif path not in self.unknown_variables and not self._is_not_preloaded(path):
                found[key] = value
        return found

    def _option(self, path: str, value: Scalar) -> Scalar:
        for pattern, name, instead in _DENIED:
            if path == name and any(pattern.search(line) for line in self.lines):
                return instead
        name, *fields = path.split(".")
        parameter = name.replace("-", "_")
        for told in (self.engine, self.args):
            shown = told.get(_RENAMED.get(parameter, parameter), told.get(parameter, _ABSENT))
            for step in fields:
                shown = shown.get(step, _ABSENT) if isinstance(shown, Mapping) else _ABSENT
            if shown is not _ABSENT:
                return value if is_same(value, shown) else _scalar(shown)
        return value

    def _is_not_preloaded(self, name: str) -> bool:
        return name == "LD_PRELOAD" and any(_NOT_PRELOADED.search(line) for line in self.lines)


_ABSENT: Any = object()


def read_start_log(path: Path) -> StartLog:
    """Return what the beginning of a log says; a missing file says nothing."""
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_READ_BYTES).decode(errors="replace")
    except OSError:
        text = ""
    return parse_start_log(text.splitlines())


def parse_start_log(lines: Sequence[str]) -> StartLog:
    """Return what lines of a log say; of a fact that is told twice the last one counts."""
    args: dict[str, Any] = {}
    has_args = False
    engine: dict[str, Any] = {}
    version = ""
    facts: dict[str, Scalar] = {}
    unknown: set[str] = set()
    for line in lines:
        if (said := _ARGS.search(line)) and not has_args:
            parsed = parse_value(said[1])
            has_args = isinstance(parsed, dict)
            args = parsed if isinstance(parsed, dict) else {}
        elif (said := _ENGINE.search(line)) and not engine:
            version, engine = said[1], parse_fields(said[2])
        if said := _UNKNOWN_VARIABLE.search(line):
            unknown.add(said[1])
        for name, pattern in _FACTS.items():
            if said := pattern.search(line):
                facts[name] = _number(said[1])
    return StartLog(tuple(lines), args, has_args, engine, version, facts, frozenset(unknown))


def is_same(asked: Scalar, shown: Any) -> bool:
    """Return whether a shown value is what was asked for, in whatever spelling.

    Enumerations are shown as ``<Mode.NAME: 3>``, parsed into both of their spellings.
    """
    if isinstance(shown, tuple):
        return any(is_same(asked, each) for each in shown)
    if isinstance(shown, list | dict):
        return isinstance(asked, str) and bool(parse_value(asked) == shown)
    if isinstance(asked, bool) or isinstance(shown, bool):
        return asked is shown
    if isinstance(asked, int | float) and isinstance(shown, int | float):
        return asked == shown
    wanted, found = _spelt(asked), _spelt(shown)
    # vLLM resolves a family to a member: fp8 to fp8_per_tensor
    return found == wanted or (isinstance(asked, str) and found.startswith(f"{wanted}_"))


def _spelt(value: Any) -> str:
    return str(value).strip().lower().removeprefix("torch.")


def _scalar(shown: Any) -> Scalar:
    if isinstance(shown, tuple):
        return str(shown[0])
    return shown if isinstance(shown, bool | int | float | str) else repr(shown)


def _number(text: str) -> Scalar:
    plain = text.replace(",", "")
    try:
        return int(plain) if plain.lstrip("-").isdigit() else float(plain)
    except ValueError:
        return text
