"""Workloads as pandas tables with one row per segment, and back; text and HTML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from gpusched._support.tabular import Table, optional
from gpusched._support.text import clip, escape, shown
from gpusched.model.workload.links import Path
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.segments import CPU, DLA, CopyIn, CopyOut, Kernel, Segment, Sync
from gpusched.model.workload.time_units import TickLength, tick_of, tick_text, time_with_unit
from gpusched.model.workload.workload_document import Parts, observed_time

if TYPE_CHECKING:
    import pandas as pd

_TASK_TIMES = ("period", "deadline", "offset", "jitter", "best")
_TASK_NUMBERS = ("priority", "stream_priority", "gpu_priority", "core", "every", "queue")
_TASK_TEXTS = ("rate", "process", "launches", "after", "reads")
_NAMES = ("after", "reads")
_TASK = ("name", *_TASK_TIMES, *_TASK_NUMBERS, *_TASK_TEXTS)
_COUNTS = ("blocks", "threads", "regs", "smem", "repeat")
_TRAFFIC = ("bytes", "bandwidth")
_SEGMENT = (
    *("kind", "time", "distribution", *_COUNTS, "block_time", "sms", *_TRAFFIC, "barrier", "by"),
    *("blocking", "staged", "on", "label"),
)
_WORDS = ("barrier", "by", "blocking")
_KINDS: dict[str, type[Segment]] = {
    "cpu": CPU,
    "copy in": CopyIn,
    "copy out": CopyOut,
    "kernel": Kernel,
    "sync": Sync,
    "dla": DLA,
}
_OF_KIND = {
    "cpu": ("distribution", "repeat"),
    "sync": (),
    "dla": ("distribution", "on", "repeat"),
    "copy in": ("distribution", "by", "blocking", "staged", "repeat"),
    "copy out": ("distribution", "by", "blocking", "staged", "repeat"),
    "kernel": ("distribution", *_COUNTS, "block_time", "sms", *_TRAFFIC, "barrier"),
}
_WRONG = (ValueError, TypeError, OverflowError)


def table_of(parts: Parts) -> dict[str, Any]:
    """The columns; see ``Workload.to_frame``."""
    columns: dict[str, list[object]] = {key: [] for key in ("task", *_TASK, "segment", *_SEGMENT)}
    for i, task in enumerate(parts.tasks):
        facts = {key: getattr(task, key) for key in _TASK}
        facts |= {"task": i, "deadline": task.deadline if task.has_deadline else None}
        facts |= {key: _joined(facts[key]) for key in _NAMES}
        for j, segment in enumerate(task.segments):
            row = {**facts, "segment": j, **_row(segment)}
            for key, column in columns.items():
                column.append(row.get(key))
    texts = ("name", *_TASK_TEXTS, "kind", "distribution", "sms", *_WORDS, "label")
    made: dict[str, Any] = {
        key: column if key in texts else _numbers(column) for key, column in columns.items()
    }
    made["tick"] = [tick_text(parts.tick)] * len(made["task"])
    return made


def _numbers(column: list[Any]) -> Any:
    """Whole numbers, masked where there are none."""
    there = [value is not None for value in column]
    return optional([0 if value is None else value for value in column], there)


def parts_of(frame: pd.DataFrame, tick: str | None) -> Parts:
    """The tasks of a table; see ``Workload.from_frame``."""
    needed = ("name", "kind")
    known = (*_TASK[1:], *_SEGMENT[1:], "task", "segment", "tick")
    table = Table(frame, needed, known, ("task", "segment"))
    length = _tick(table, tick)
    names = table.text("name")
    numbers: list[object] = [*table.whole("task")] if "task" in table else [*names]
    group: list[int] = []
    first: list[int] = []
    for i, (_, rows) in enumerate(groupby(range(table.length), key=lambda row: numbers[row])):
        found = list(rows)
        first.append(found[0])
        group += [i] * len(found)
    facts = table.first(first, group, _TASK)
    segments: list[list[Segment]] = [[] for _ in first]
    columns = {key: table.entries(key) for key in _SEGMENT}
    for row, i in enumerate(group):
        try:
            segments[i].append(_segment({key: columns[key][row] for key in columns})._at(length))
        except _WRONG as error:
            raise ValueError(f"frame: row {row}: {error}") from None
    of = {key: facts.entries(key) for key in _TASK}
    tasks = []
    for i, start in enumerate(first):
        try:
            tasks.append(_task({key: of[key][i] for key in of}, segments[i], length))
        except _WRONG as error:
            raise ValueError(f"frame: row {start}: {error}") from None
    notes = frame.attrs.get("notes", ())
    observed = observed_time(frame.attrs.get("observed"))
    return Parts(tuple(tasks), length, tuple(str(note) for note in notes), observed)


def paths_table(paths: Sequence[Path]) -> dict[str, Any]:
    """The columns; see ``Workload.paths_frame``."""
    return {
        "name": [path.name for path in paths],
        "tasks": [_joined(path.tasks) for path in paths],
        "deadline": _numbers([path.deadline for path in paths]),
        "kind": [path.kind for path in paths],
        "phases": [path.phases for path in paths],
    }


def paths_of(frame: pd.DataFrame, tick: TickLength) -> tuple[Path, ...]:
    """The paths of a table; see ``Workload.from_frame``."""
    if hasattr(frame, "columns") and len(frame) == 0:
        return ()
    table = Table(frame, ("name", "tasks"), ("deadline", "kind", "phases"), ())
    columns = {key: table.entries(key) for key in ("name", "tasks", "deadline", "kind", "phases")}
    found = []
    for row in range(table.length):
        given: dict[str, Any] = {key: column[row] for key, column in columns.items()}
        given = {key: value for key, value in given.items() if value is not None}
        if "deadline" in given:
            given["deadline"] = _number(given["deadline"])
        try:
            found.append(Path(**{**given, "tasks": _split(given["tasks"], "tasks")})._at(tick))
        except _WRONG as error:
            raise ValueError(f"paths: row {row}: {error}") from None
    return tuple(found)


_NAME = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^",]*?)\s*(,|$)')


def _joined(names: Any) -> str | None:
    """Names of tasks with commas between, unusual ones in quotes; None for no names."""
    plain = re.compile(r'[^\s",](?:[^",]*[^\s",])?')
    texts = [name if plain.fullmatch(name) else json.dumps(name) for name in names]
    return ", ".join(texts) or None


def _split(text: object, name: str) -> tuple[str, ...]:
    """The names that `_joined` made one text."""
    if not isinstance(text, str):
        raise TypeError(f"{name}: got {shown(text)}, expected names of tasks with commas between")
    found, at, more = [], 0, True
    while more:
        part = _NAME.match(text, at)
        if part is None or not part[1]:
            raise ValueError(f"{name}: got {shown(text)}, expected names with commas between")
        found.append(json.loads(part[1]) if part[1][0] == '"' else part[1])
        at, more = part.end(), part[2] == ","
    return tuple(found)


def _row(segment: Segment) -> dict[str, object]:
    kind = next(kind for kind, maker in _KINDS.items() if type(segment) is maker)
    row: dict[str, object] = {"kind": kind, "repeat": segment.repeat, "label": segment.name}
    if isinstance(segment, Sync):
        return {"kind": kind, "label": segment.name}
    if (spread := segment.distribution) is not None:
        given = spread.given()
        row["distribution"] = ", ".join(f"{k}: {of}" for k, of in given.items() if k != "largest")
    if not isinstance(segment, Kernel):
        keys = ("by", "blocking", "staged", "on")
        facts = {key: getattr(segment, key, None) for key in keys}
        return {**row, "time": segment.time, **facts}
    profile = segment.sms
    return {
        **row,
        **{key: getattr(segment, key) for key in (*_COUNTS[:-1], *_TRAFFIC, "barrier")},
        "time": segment.time if segment.has_time else None,
        "block_time": segment.block_time,
        "sms": ", ".join(f"{k}: {time}" for k, time in profile.items())
        if profile
        else segment.sms_text or None,
    }


def _tick(table: Table, tick: str | None) -> int:
    """The tick that is asked for, else that of the column, else 1 ns."""
    found = set(table.entries("tick"))
    if len(found) > 1:
        raise ValueError(f"frame: tick: got {shown(sorted(map(str, found)))}, expected one tick")
    written = found.pop()
    if tick is None:
        return tick_of("ns" if written is None else written)
    if written is not None and tick_of(written) != tick_of(tick):
        raise ValueError(f"tick: got {shown(tick)}, expected {shown(written)} as in the frame")
    return tick_of(tick)


def _task(facts: dict[str, object], segments: list[Segment], tick: int) -> Task:
    given = {key: value for key, value in facts.items() if value is not None}
    for key in _TASK_NUMBERS:
        if key in given:
            given[key] = _number(given[key])
    for key in _NAMES:
        if key in given:
            given[key] = _split(given[key], key)
    if "after" in given:
        given.pop("period", None)  # that of its source
    period = given.pop("period", None) if "rate" in given else None
    made = Task(segments=segments, **given)._at(tick)  # type: ignore[arg-type]
    if period is not None and made.replace(period=period).period != made.period:  # type: ignore[arg-type]
        raise ValueError(f"period: got {shown(period)}, expected {made.period} of {made.rate!r}")
    return made


def _segment(facts: dict[str, object]) -> Segment:
    kind = facts["kind"]
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"kind: got {shown(kind)}, expected one of {', '.join(_KINDS)}")
    given: dict[str, object] = {} if kind == "sync" else {"time": facts["time"]}
    if kind == "sync" and facts["time"] is not None:
        raise ValueError(f"time: got {shown(facts['time'])}, expected none for a sync")
    for key in _SEGMENT[2:-1]:
        if (value := facts[key]) is None:
            continue
        if key not in _OF_KIND[kind]:
            raise ValueError(f"{key}: got {shown(value)}, expected none for a {kind}")
        given[key] = _number(value) if key in (*_COUNTS, *_TRAFFIC, "staged", "on") else value
    if facts["label"] is not None:
        given["name"] = facts["label"]
    if "sms" in given:
        given["sms"] = _profile(given["sms"])
    if (text := given.pop("distribution", None)) is not None:
        given["time"] = {**_distribution(text), "largest": given["time"]}
    return _KINDS[kind](**given)  # type: ignore[arg-type]


def _profile(text: object) -> dict[int, object] | float | str:
    expected = "expected times by number of SMs such as '1: 400, 4: 110', or a share of the SMs"
    if isinstance(text, (int, float)):
        return float(text)
    if not isinstance(text, str):
        raise TypeError(f"sms: got {shown(text)}, {expected}")
    if ":" not in text:
        return text
    found: dict[int, object] = {}
    for key, time in _pairs(text):
        if not (key.isascii() and key.isdecimal() and len(key) < 10):
            raise ValueError(f"sms: got {shown(text)}, {expected}")
        found[int(key)] = time
    return found


def _distribution(text: object) -> dict[str, object]:
    """Quantiles and number of samples, without the largest time."""
    expected = "expected times by quantile, and the count, such as 'p50: 300, p99: 410, count: 900'"
    if not isinstance(text, str):
        raise TypeError(f"distribution: got {shown(text)}, {expected}")
    found = dict[str, object]()
    for key, time in _pairs(text):
        if key == "largest" or key in found:
            raise ValueError(f"distribution: got {shown(text)}, {expected}")
        found[key] = time
    return found


def _pairs(text: str) -> Iterator[tuple[str, object]]:
    """Keys and values of text such as "1: 400, 4: 110"; whole numbers as such."""
    for part in text.split(","):
        key, _, value = (piece.strip() for piece in part.partition(":"))
        whole = value.isascii() and value.isdecimal() and len(value) < 40
        yield key, int(value) if whole else value


def _number(value: object) -> object:
    """A whole number that pandas made a float, as an int."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_ROWS = 40
_PARTS = 8  # segments of a job that are listed


def repr_of(parts: Parts) -> str:
    """The call that makes a small workload, or the size of a larger one."""
    tasks, tick, paths = parts.tasks, parts.tick, parts.paths
    if len(tasks) <= 10 and sum(len(task.segments) for task in tasks) <= 30:
        through = f", paths=[{', '.join(map(repr, paths))}]" if paths else ""
        text = f"Workload([{', '.join(map(repr, tasks))}], tick={tick_text(tick)!r}{through})"
        if len(text) <= 400:
            return text
    return f"<{_size(tasks, tick)}>"


def text_of(parts: Parts) -> str:
    """A line with the size, and one per task and per path."""
    tasks, tick = parts.tasks, parts.tick
    lines = [_size(tasks, tick)]
    for task in tasks[:_ROWS]:
        timing = ", ".join(f"{key} {value}" for key, value in _facts(task, tick).items())
        lines.append(f"  {clip(task.name, 40)}: {timing}: {_job(task, tick)}")
    if len(tasks) > _ROWS:
        lines.append(f"  and {len(tasks) - _ROWS} more tasks")
    lines += [f"  {_line(path, tick)}" for path in parts.paths[:_ROWS]]
    if len(parts.paths) > _ROWS:
        lines.append(f"  and {len(parts.paths) - _ROWS} more paths")
    return "\n".join(lines)


def _line(path: Path, tick: TickLength) -> str:
    """A path in a line."""
    due = "" if path.deadline is None else f" at most {time_with_unit(path.deadline, tick)}"
    phases = "" if path.phases == "any" else ", with the offsets given"
    tasks = " -> ".join(clip(name, 30) for name in path.tasks[:12])
    tasks += " -> ..." if len(path.tasks) > 12 else ""
    return f"path {clip(path.name, 40)}: {path.kind}{due}{phases}: {tasks}"


def html_of(parts: Parts) -> str:
    """A table with one row per task, and a line per path."""
    tasks, tick = parts.tasks, parts.tick
    rows = []
    for task in tasks[:_ROWS]:
        facts = _facts(task, tick)
        cells = (facts.pop("period"), facts.pop("deadline", ""))
        more = ", ".join(f"{key} {value}" for key, value in facts.items())
        body = "".join(f"<td>{escape(cell)}</td>" for cell in (*cells, more, _job(task, tick)))
        rows.append(f"<tr><th>{escape(clip(task.name, 40))}</th>{body}</tr>")
    head = "".join(f"<th>{key}</th>" for key in ("task", "period", "deadline", "", "job"))
    note = f"<p>and {len(tasks) - _ROWS} more tasks</p>" if len(tasks) > _ROWS else ""
    note += "".join(f"<p>{escape(_line(path, tick))}</p>" for path in parts.paths[:_ROWS])
    caption = f"<caption>{escape(_size(tasks, tick))}</caption>"
    return f"<table>{caption}<tr>{head}</tr>{''.join(rows)}</table>{note}"


def _size(tasks: Sequence[Task], tick: TickLength) -> str:
    kernels = sum(segment.repeat for task in tasks for segment in task.kernels)
    many = "task" if len(tasks) == 1 else "tasks"
    found = "1 kernel" if kernels == 1 else f"{kernels:,} kernels"
    return f"Workload: {len(tasks):,} {many}, {found} per round of jobs, tick {tick_text(tick)}"


def _facts(task: Task, tick: TickLength) -> dict[str, str]:
    facts = {"period": time_with_unit(task.period, tick)}
    if task.rate is not None:
        facts["period"] += f" ({task.rate})"
    for key in _NAMES:
        if names := getattr(task, key):
            facts[key] = clip(", ".join(names), 80)
    if task.every > 1:
        facts["every"] = str(task.every)
    if task.has_deadline:
        facts["deadline"] = time_with_unit(task.deadline, tick)
    for key, time in (("offset", task.offset), ("jitter", task.jitter), ("best", task.best)):
        if time:
            facts[key] = time_with_unit(time, tick)
    for key in ("priority", "stream_priority", "gpu_priority", "process", "core", "launches"):
        if (value := getattr(task, key)) is not None:
            facts[key.replace("_", " ")] = clip(str(value), 40)
    return facts


def _job(task: Task, tick: TickLength) -> str:
    parts = [_part(segment, tick) for segment in task.segments[:_PARTS]]
    more = len(task.segments) - _PARTS
    return ", ".join(parts) + (f", and {more} more segments" if more > 0 else "")


def _part(segment: Segment, tick: TickLength) -> str:
    times = f" {segment.repeat} times" if segment.repeat > 1 else ""
    named = f" {clip(segment.name, 30)}" if segment.name else ""
    if (spread := segment.distribution) is not None:
        given = ", ".join(f"{key} {of}" for key, of in spread.with_units(tick).items())
        times = f" ({clip(given, 80)}){times}"
    if isinstance(segment, Sync):
        return f"wait{named}"
    if isinstance(segment, CPU):
        return f"CPU{named} {time_with_unit(segment.time, tick)}{times}"
    if isinstance(segment, DLA):
        return f"DLA {segment.on}{named} {time_with_unit(segment.time, tick)}{times}"
    if not isinstance(segment, Kernel):
        way = "in" if isinstance(segment, CopyIn) else "out"
        by = " by the CPU" if segment.by == "cpu" else " blocking" if segment.blocking else ""
        if segment.staged is not None:
            by += f" staged in {time_with_unit(segment.staged, tick)}"
        return f"copy {way}{named} {time_with_unit(segment.time, tick)}{by}{times}"
    facts = [time_with_unit(segment.time, tick)] if segment.has_time else []
    if segment.has_shape:
        facts.append(f"{segment.blocks} blocks of {segment.threads} threads")
    if segment.block_time is not None:
        facts.append(f"{time_with_unit(segment.block_time, tick)} per block")
    if segment.barrier is not None:
        facts[-1] += f" that wait for each other, {segment.barrier} launch"
    if segment.share is not None:
        facts.append(f"needs {segment.sms_text} of the SMs")
    if profile := segment.sms:
        facts.append(f"measured on {clip(', '.join(map(str, profile)), 30)} SMs")
    return f"kernel{named} {' ('.join(facts[:2])}{')' if len(facts) > 1 else ''}{times}"
