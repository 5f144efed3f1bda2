"""Profiles from the files of rocprofv3: kernel traces and statistics as CSV, or its JSON."""

import csv
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

from arbor.events.errors import InvalidInputError
from arbor.events.types import Profile
from arbor.targets.profiles.categories import kernel_category
from arbor.targets.profiles.json_arrays import read_arrays
from arbor.targets.profiles.summary import profile_of
from arbor.targets.profiles.timeline import Measured, NamedTime, Ticks, Timeline, Times

_TRACE, _COPIES, _STATS = "kernel_trace.csv", "memory_copy_trace.csv", "kernel_stats.csv"
_NS = 1e-9
Row = Mapping[str, str]
Devices = dict[Hashable, Timeline]


def profile_of_rocprof(path: Path) -> Profile:
    """Return where the time goes by rocprofv3.

    Files are read row by row, or as a stream of objects; memory grows by some 30 bytes for each
    kernel. Of a folder the first kind that is there is read: kernel traces with the memory copies
    beside them, JSON, statistics (which have no idle time).

    Args:
        path: a CSV or JSON file, or a folder with those of one or several processes.

    Raises:
        InvalidInputError: there is no such file, it is truncated, lacks a column, or is empty.
    """
    kinds = (
        (_TRACE, _read_trace, "kernel trace"),
        (".json", _read_json, "JSON"),
        (_STATS, _read_stats, "kernel statistics"),
    )
    for ending, read, kind in kinds:
        files = [path] if path.is_file() else sorted(path.rglob(f"*{ending}"))
        files = [file for file in files if file.name.endswith(ending)]
        measured = [each for file in files for each in read(file)]
        if files and not measured:
            raise InvalidInputError(f"{path} holds no kernel: send requests while it records")
        if measured:
            return profile_of(measured, f"rocprofv3, {kind}")
    raise InvalidInputError(
        f"{path} holds no *{_TRACE}, *{_STATS} or *.json; call rocprofv3 with --kernel-trace "
        "--stats --output-format csv"
    )


def _read_trace(path: Path) -> list[Measured]:
    devices: Devices = defaultdict(lambda: Timeline(kernel_category))
    ticks = Ticks(_NS)
    for line, row in _rows(path, ("Kernel_Name", "Start_Timestamp", "End_Timestamp")):
        start_s, end_s = _times_s(path, line, row, ticks)
        stream = row.get("Stream_Id") or row.get("Queue_Id") or ""
        devices[row.get("Agent_Id", "")].add(row["Kernel_Name"], start_s, end_s, stream)
    copies = path.with_name(path.name.removesuffix(_TRACE) + _COPIES)
    if copies.exists():
        for line, row in _rows(copies, ("Start_Timestamp", "End_Timestamp")):
            ends = (row.get("Destination_Agent_Id"), row.get("Source_Agent_Id"))
            times_s = _times_s(copies, line, row, ticks)
            _add_copy(devices, ends, row.get("Direction"), times_s)
    return [timeline.measure() for timeline in devices.values()]


def _add_copy(
    devices: Devices,
    ends: tuple[Hashable, Hashable],
    direction: str | None,
    times_s: tuple[float, float],
) -> None:
    """Count a copy for the device that it reaches or leaves; those between hosts for none."""
    owner = next((end for end in ends if end in devices), None)
    if owner is not None:
        # every name begins like this in rocprofv3's own files
        name = direction if direction and "MEMORY_COPY" in direction else "MEMORY_COPY"
        devices[owner].add(name, *times_s, "copies")


def _read_stats(path: Path) -> list[Measured]:
    names = []
    for line, row in _rows(path, ("Name", "Calls", "TotalDurationNs")):
        time_s = _number(path, line, row, "TotalDurationNs") * _NS
        calls = round(_number(path, line, row, "Calls"))
        names.append(NamedTime(row["Name"], kernel_category(row["Name"]), time_s, calls))
    times: Times = {}
    for named in names:
        times[named.category] = times.get(named.category, 0.0) + named.time_s
    total_s = sum(times.values())
    return [Measured(total_s, times, tuple(names), {})] if total_s > 0 else []


def _read_json(path: Path) -> list[Measured]:
    symbols: dict[Any, str] = {}
    devices: Devices = defaultdict(lambda: Timeline(kernel_category))
    ticks = Ticks(_NS)
    # the symbols stand before the records
    for key, each in read_arrays(path, ("kernel_symbols", "kernel_dispatch", "memory_copy")):
        try:
            if key == "kernel_symbols":
                symbols[each["kernel_id"]] = _symbol(each)
                continue
            start, end = each["start_timestamp"], each["end_timestamp"]
            times_s = ticks.seconds(start), ticks.seconds(end)
            if key == "memory_copy":
                ends = (_handle(each, "dst_agent_id"), _handle(each, "src_agent_id"))
                _add_copy(devices, ends, None, times_s)
                continue
            info = each["dispatch_info"]
            name = symbols.get(info["kernel_id"], f"kernel {info['kernel_id']}")
            stream = _handle(each, "stream_id") or _handle(info, "queue_id")
            devices[_handle(info, "agent_id")].add(name, *times_s, stream)
        except (KeyError, TypeError) as error:
            raise InvalidInputError(f"{path.name}: a {key} record lacks {error}") from error
    return [timeline.measure() for timeline in devices.values()]


def _symbol(record: Mapping[str, Any]) -> str:
    names = ("formatted_kernel_name", "demangled_kernel_name", "kernel_name")
    return str(next((record[name] for name in names if record.get(name)), record["kernel_id"]))


def _handle(record: Mapping[str, Any], key: str) -> Hashable:
    value = record.get(key)
    return str(value.get("handle")) if isinstance(value, dict) else value


def _rows(path: Path, needed: tuple[str, ...]) -> Iterator[tuple[int, Row]]:
    """Yield each row with the number of its line.

    Raises:
        InvalidInputError: a column is missing, or a row ends too early.
    """
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            reader = csv.DictReader(file, skipinitialspace=True)
            columns = reader.fieldnames or ()
            missing = [name for name in needed if name not in columns]
            if missing:
                raise InvalidInputError(f"{path.name}: there is no column {missing[0]}")
            for row in reader:
                if any(row[name] is None for name in needed):
                    raise InvalidInputError(
                        f"{path.name} ends in line {reader.line_num}: it is truncated; "
                        "wait until rocprofv3 has written it"
                    )
                yield reader.line_num, row
    except (OSError, csv.Error) as error:
        raise InvalidInputError(f"{path}: cannot be read: {error}") from error


def _times_s(path: Path, line: int, row: Row, ticks: Ticks) -> tuple[float, float]:
    start = ticks.seconds(_number(path, line, row, "Start_Timestamp"))
    return start, ticks.seconds(_number(path, line, row, "End_Timestamp"))


def _number(path: Path, line: int, row: Row, name: str) -> float:
    try:
        return float(row[name])
    except ValueError as error:
        raise InvalidInputError(
            f"{path.name}: line {line}: {name} is {row[name]!r}, not a number"
        ) from error
