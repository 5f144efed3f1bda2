"""Finders that read what was measured on several arms: speeds and accuracies."""

import re
from collections import defaultdict
from collections.abc import Iterator

from arbor.core.rca.finders import compiled, raw
from arbor.core.rca.lines import Line
from arbor.core.rca.record import Record
from arbor.events.causes import LogLine

MIN_LOSS_RATIO = 0.01
"""A difference of speeds below this is noise."""

MIN_ACCURACY_LOSS = 0.05
"""Of a task's score; half of it is within the error of a few hundred questions."""
_ACCURACY = compiled(r"accuracy|exact_match|gsm8k|mmlu|humaneval|pass@1|exact match")
_DEVIATION = compiled(r"±|\+/-|std ?err")
_RATIO = re.compile(r"(?<![\d.])(?:0\.\d+|1\.0+)(?![\d.])")

_FASTER_IS_MORE = (
    r"tok(?:en)?s?/s|throughput|req(?:uest)?s?/s|tokens? per second|TFLOP|goodput|qps|speed"
)
_FASTER_IS_LESS = r"latency|\bttft|\btpot|\bitl|e2el|step[ _]time|\bms\b|duration|seconds"
_METRIC = compiled(rf"{_FASTER_IS_MORE}|{_FASTER_IS_LESS}")
_MORE, _LESS = compiled(_FASTER_IS_MORE), compiled(_FASTER_IS_LESS)
_PERCENT = compiled(r"(?P<change>[+-]\d+(?:\.\d+)?) ?%")
_TWO_ARMS = compiled(
    r"\b(?:base(?:line)?|before|default|old|off|control|main|reference|without|arm a)\b\D{0,12}"
    r"(?P<base>\d+(?:\.\d+)?)\b.{0,60}?\b(?:candidate|cand|after|new|on|with|patched|variant|"
    r"eagle|"
    r"spec\w*|mtp|fused|arm b|[a-z_]\w+)\b\D{0,12}(?P<other>\d+(?:\.\d+)?)"
)
_SAID = compiled(
    r"\bslower\b|slow-?down|perf(?:ormance)? (?:regress|drop|degrad|loss)|throughput (?:drop|fell|"
    r"regress|decreas)|latency (?:rose|increas|regress)|regress(?:ed|ion)\b.{0,40}(?:tok|perf|"
    r"through|"
    r"latency|speed)"
)
_LAST_FIGURE = re.compile(r"^(?P<label>.*?)(?P<value>\d+(?:\.\d+)?)\s*(?:tok/s|req/s|ms|s)?\s*$")

_LOSSY = compiled(
    r"e5m2|e4m3|\bfp8|\bfp4|nvfp4|mxfp\d|int8|int4|\bw\d+a\d+|\b[2-6][- ]?bit|quant|"
    r"half precision|"
    r"float16|fp16|approximat|prun|sparse|evict|skip"
)
_DEFECT = compiled(
    r"uncalibrated|scal(?:e|ing factor)s? (?:of )?1\.0|missing scales?|runner|backend|nightly|"
    r"image|"
    r"kernel|rerun .*(?:pass|ok|0\.9)|tp ?= ?\d|other device|version|commit|build|"
    r"fallback|patch|shape|layout"
)
_ARM = compiled(r"^(?P<label>[^:=]{1,40}?)\s*[:=]\s*(?P<rest>.*)$")
_SHARE = re.compile(
    r"(?P<part>\d+)\s*/\s*(?P<whole>\d+)|(?P<ratio>0\.\d+|1\.0+)|(?P<percent>\d+(?:\.\d+)?) ?%"
)
_NANS = compiled(
    r"(?P<none>\b(?:no|0) (?:nan|inf)s?\b|nans?\w* ?[=:] ?0\b)|\b(?:nan|inf)s?\b.{0,40}(?:logit|"
    r"found|output)|"
    r"nans?\w* ?[=:] ?[1-9]|(?:logits?|outputs?).{0,30}\b(?:nan|inf)"
)
_GOOD_RATIO = 0.9
_BAD_RATIO = 0.75


def is_slower(record: Record) -> tuple[LogLine, ...]:
    """Find that a run that ended well was slower than another one of the same work."""
    if not record.is_clean:
        return ()
    worse = [line for line in record.lines if _is_worse(line)]
    worse += [line for line in record.lines if _SAID.search(line.text)]
    if not worse:
        worse = list(_spread(record))
    unique = {line.number: line for line in worse}
    return raw([unique[number] for number in sorted(unique)])


def _is_worse(line: Line) -> bool:
    text = line.text
    if not _METRIC.search(text):
        return False
    is_less_better = _MORE.search(text) is None
    two = _TWO_ARMS.search(text)
    if two is not None:
        base, other = float(two["base"]), float(two["other"])
        if base > 0.0:
            ratio = base / other if is_less_better and other > 0.0 else other / base
            return ratio < 1.0 - MIN_LOSS_RATIO
    return any(
        (float(each["change"]) > 0.0) is is_less_better
        and abs(float(each["change"])) > 100.0 * MIN_LOSS_RATIO
        for each in _PERCENT.finditer(text)
    )


def _spread(record: Record) -> Iterator[Line]:
    """Yield the lines of one metric of several arms, where they differ by more than noise."""
    by_metric: dict[str, list[tuple[float, Line]]] = defaultdict(list)
    for line in record.lines:
        metric = _MORE.search(line.text)
        figure = _LAST_FIGURE.match(line.text.strip())
        if metric is not None and figure is not None and line.level != "info":
            by_metric[metric[0].lower()].append((float(figure["value"]), line))
    for measured in by_metric.values():
        values = [value for value, _ in measured]
        # labels that differ in figures alone are loads of a sweep, not arms
        labels = {re.sub(r"[\d.]+", "#", line.text.strip()) for _, line in measured}
        if len(labels) > 1 and min(values) < (1.0 - MIN_LOSS_RATIO) * max(values):
            yield from (line for _, line in measured)


def is_less_accurate(record: Record) -> tuple[LogLine, ...]:
    """Find that arms of a run that ended well differ in their share of right answers."""
    if not record.is_clean:
        return ()
    stated = [
        (float(each[0]), line)
        for line in record.lines
        if _ACCURACY.search(line.text) and not _DEVIATION.search(line.text)
        for each in _RATIO.finditer(line.text)
    ]
    values = [value for value, _ in stated]
    if len(values) < 2 or max(values) - min(values) < MIN_ACCURACY_LOSS:
        return ()
    unique = {line.number: line for _, line in stated}
    return raw([unique[number] for number in sorted(unique)])


def is_refuted_precision(record: Record) -> tuple[LogLine, ...]:
    """Find that a coarser precision fails where a milder one, or the reference, passes.

    What hints at a defect beside it (scales that are missing, another backend or version that
    passes, invalid numbers) leaves the precision itself unrefuted.
    """
    if record.seen(_DEFECT):
        return ()
    arms = [(line, share) for line in record.lines if (share := _share(line)) is not None]
    arms += [(line, share) for line in record.lines if (share := _finite(line)) is not None]
    good = [line for line, share in arms if share >= _GOOD_RATIO]
    bad = [line for line, share in arms if share <= _BAD_RATIO and _LOSSY.search(line.text)]
    return raw([*bad, *good]) if good and bad else ()


def _finite(line: Line) -> float | None:
    """Return 1 for an arm without invalid numbers, 0 for one with them, None for other lines."""
    found = _NANS.search(line.text)
    if found is None or line.level == "info":
        return None
    return 1.0 if found["none"] is not None else 0.0


def _share(line: Line) -> float | None:
    """Return the share of right answers that an arm's line states, or None."""
    arm = _ARM.match(line.text.strip())
    found = _SHARE.search(arm["rest"]) if arm is not None else None
    if found is None:
        return None
    if found["whole"] is not None:
        whole = float(found["whole"])
        return float(found["part"]) / whole if whole > 0.0 else None
    return float(found["ratio"]) if found["ratio"] is not None else float(found["percent"]) / 100.0
