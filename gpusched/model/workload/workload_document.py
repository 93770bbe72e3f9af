"""Workloads as documents of dicts, lists, text and numbers: what the TOML and JSON files hold.

One schema serves both; ``workload.schema.json`` states it for editors. Every refusal begins with
the path of the key: ``task[2].segments[0].kernel: got ..., expected ...``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

from gpusched._support.arguments import integer64, is_sequence, real
from gpusched._support.text import clip, shown
from gpusched.model.workload.links import LinkError, Path, check_paths, linked, refuse_long_bests
from gpusched.model.workload.periodic_task import Launches, Task, launches_of
from gpusched.model.workload.segments import CPU, DLA, CopyIn, CopyOut, Kernel, Segment, Sync
from gpusched.model.workload.time_units import (
    TickLength,
    as_factor,
    tick_of,
    tick_text,
    time_with_unit,
)


class ObservedTime(NamedTuple):
    """GPU time observed in a recording, and how much of it is in the jobs of a workload, in ns.

    ``quantile``: the share of the recorded jobs, for each part, that take no more than its time.

    >>> workload = gs.io.read_trace("tests/data/pipeline.pt.trace.json").workload("kernel")
    >>> print(workload.observed)
    94 % of the observed GPU time (4.68368ms of 4.978848ms)
    """

    gpu_ns: int
    kept_ns: int
    quantile: float = 1.0

    @property
    def share(self) -> Fraction:
        """The part of the observed time that the jobs contain."""
        return Fraction(self.kept_ns, self.gpu_ns) if self.gpu_ns else Fraction(1)

    def __str__(self) -> str:
        """The share, rounded down to a tenth of a percent, and both times."""
        return (
            f"{int(1000 * self.share) / 10:g} % of the observed GPU time "
            f"({time_with_unit(self.kept_ns, 1)} of {time_with_unit(self.gpu_ns, 1)})"
        )


def observed_time(given: Any) -> ObservedTime | None:
    """The argument ``observed`` of a workload: two numbers of ns and a quantile, or None."""
    if given is None:
        return None
    parts = list(given) if is_sequence(given) else []
    if len(parts) not in (2, 3):
        raise TypeError(f"observed: got {shown(given)}, expected gpu_ns, kept_ns and quantile")
    gpu, kept = integer64(parts[0], "observed.gpu_ns"), integer64(parts[1], "observed.kept_ns")
    if not 0 <= kept <= gpu:
        raise ValueError(f"observed.kept_ns: got {kept}, expected 0 to gpu_ns, {gpu}")
    part = parts[2] if len(parts) == 3 else 1
    read = as_factor if isinstance(part, str) else real
    quantile = float(read(part, "observed.quantile"))
    if not 0 < quantile <= 1:
        raise ValueError(
            f"observed.quantile: got {shown(part)}, expected more than 0 and at most 1"
        )
    return ObservedTime(gpu, kept, quantile)


def together(one: ObservedTime | None, other: ObservedTime | None) -> ObservedTime | None:
    """Of the jobs of both, the smaller share and the smaller quantile."""
    both = [of for of in (one, other) if of is not None]
    if not both:
        return None
    least = min(both, key=lambda of: of.share)
    return least._replace(quantile=min(of.quantile for of in both))


class Parts(NamedTuple):
    """Tasks in ticks of ``tick`` ns, notes, the share of observed GPU time, and paths."""

    tasks: tuple[Task, ...]
    tick: TickLength
    notes: tuple[str, ...]
    observed: ObservedTime | None
    paths: tuple[Path, ...] = ()


VERSIONS = (1, 2)
"""Versions that are read; the first one that has all keys of a workload is written."""

_TOP = ("version", "tick", "notes", "observed", "launches", "task", "path")
_TASK = (
    *("name", "period", "rate", "deadline", "offset", "jitter", "priority", "stream_priority"),
    *("gpu_priority", "process", "core", "launches", "after", "every", "queue", "reads"),
    *("best", "segments"),
)
# Keys of the document and of its tasks that version 1 does not have.
_NEW = ("launches", "path")
_NEW_OF_TASK = ("launches", "after", "every", "queue", "reads", "best")
_PATH = ("name", "tasks", "deadline", "kind", "phases")
_MAKERS: dict[str, type[Segment]] = {
    "cpu": CPU,
    "copy_in": CopyIn,
    "copy_out": CopyOut,
    "kernel": Kernel,
    "sync": Sync,
    "dla": DLA,
}
_SEGMENT: dict[str, tuple[str, ...]] = {
    "cpu": ("cpu", "repeat", "name"),
    "copy_in": ("copy_in", "by", "blocking", "staged", "repeat", "name"),
    "copy_out": ("copy_out", "by", "blocking", "staged", "repeat", "name"),
    "kernel": (
        *("kernel", "blocks", "threads", "regs", "smem", "block_time", "sms", "bytes"),
        *("bandwidth", "barrier", "repeat", "name"),
    ),
    "sync": ("sync", "name"),
    "dla": ("dla", "on", "repeat", "name"),
}
_ALL = tuple(dict.fromkeys(key for keys in _SEGMENT.values() for key in keys))
_ALL_SET = frozenset(_ALL)
_TASK_SET = frozenset(_TASK)
_TIMES = ("period", "deadline", "offset", "jitter", "best", "block_time", "staged", *_SEGMENT)
_WRONG = (ValueError, TypeError, OverflowError)


# Reading ------------------------------------------------------------------------------------------


def workload_parts(document: object) -> Parts:
    """The tasks, tick, notes and share of observed GPU time of a document.

    Raises ValueError that begins with the path of the key.
    """
    top = _mapping(document, "document", "a table")
    _known(top, _TOP, "")
    version = _version(top)
    try:
        tick = tick_of(top.get("tick", "ns"))
    except TypeError as error:
        raise ValueError(str(error)) from None
    notes = _list(top.get("notes", []), "notes")
    for i, note in enumerate(notes):
        if not isinstance(note, str) or not note:
            raise ValueError(f"notes[{i}]: got {shown(note)}, expected text")
    observed = _observed(top["observed"]) if "observed" in top else None
    launches = _launches(top["launches"]) if "launches" in top else None
    if "task" not in top:
        raise ValueError("task: got none, expected at least one task")
    given = _list(top["task"], "task")
    if not given:
        raise ValueError("task: got an empty list, expected at least one task")
    places: dict[str, int] = {}
    tasks = []
    for i, item in enumerate(given):
        task = _task(item, i, tick, version, launches)
        if (first := places.setdefault(task.name, i)) != i:
            raise ValueError(
                f"task[{i}].name: got {task.name!r:.60}, expected another name than that of "
                f"task[{first}]"
            )
        tasks.append(task)
    try:
        whole = linked(tasks)
        refuse_long_bests(whole)
    except LinkError as error:
        raise ValueError(f"task[{error.place}].{error.text}") from None
    listed = _list(top.get("path", []), "path")
    paths = tuple(_path(item, f"path[{i}]", tick) for i, item in enumerate(listed))
    try:
        check_paths(paths, whole)
    except LinkError as error:
        raise ValueError(f"path[{error.place}].{error.text}") from None
    return Parts(whole, tick, tuple(str(note) for note in notes), observed, paths)


def _path(item: object, where: str, tick: int) -> Path:
    given = _mapping(item, where, "a table")
    _known(given, _PATH, f"{where}.")
    for key in ("name", "tasks"):
        if key not in given:
            raise ValueError(f"{where}.{key}: got none, expected one")
    _plain(given, where)
    _list(given["tasks"], f"{where}.tasks")
    try:
        return Path(**given)._at(tick)  # type: ignore[arg-type]
    except _WRONG as error:
        raise ValueError(f"{where}.{error}") from None


def _version(top: Mapping[str, object]) -> int:
    expected = " or ".join(map(str, VERSIONS))
    if "version" not in top:
        raise ValueError(f"version: got none, expected {expected}")
    version = top["version"]
    if type(version) is not int or version not in VERSIONS:
        raise ValueError(f"version: got {shown(version)}, expected {expected}")
    _refuse_new(top, _NEW, version, "")
    return version


def _refuse_new(given: Mapping[str, object], keys: Iterable[str], version: int, where: str) -> None:
    """Refuse keys that a document of version 1 does not have."""
    for key in keys if version == 1 else ():
        if key in given:
            raise ValueError(
                f"{where}{key}: got a key of version 2 in a document of version 1, expected "
                "version = 2"
            )


def _launches(item: object) -> Launches | None:
    if item is None:
        raise ValueError("launches: got null, expected a value, or no such key")
    return launches_of(item)


def _observed(item: object) -> ObservedTime | None:
    given = _mapping(item, "observed", "a table")
    _known(given, ObservedTime._fields, "observed.")
    try:
        times = [given.get(key) for key in ObservedTime._fields[:2]]
        return observed_time([*times, *([given["quantile"]] if "quantile" in given else [])])
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from None


def _task(item: object, number: int, tick: int, version: int, launches: Launches | None) -> Task:
    where = f"task[{number}]"
    given = _mapping(item, where, "a table")
    if not _TASK_SET.issuperset(given):
        _known(given, _TASK, f"{where}.")
    _refuse_new(given, _NEW_OF_TASK, version, f"{where}.")
    for key in ("name", "segments"):
        if key not in given:
            raise ValueError(f"{where}.{key}: got none, expected one")
    _plain(given, where)
    _refuse_keys(given, where)
    listed = _list(given["segments"], f"{where}.segments")
    segments = [_segment(part, f"{where}.segments[{i}]", tick) for i, part in enumerate(listed)]
    for i, part in enumerate(segments if version == 1 else ()):
        if what := _new_of(part):
            raise ValueError(
                f"{where}.segments[{i}].{what} in a document of version 1, expected version = 2"
            )
    if launches is not None:
        given = {"launches": launches, **given}
    try:
        return Task(**{**given, "segments": segments})._at(tick)  # type: ignore[arg-type]
    except _WRONG as error:
        raise ValueError(f"{where}.{error}") from None


def _refuse_keys(given: Mapping[str, object], where: str) -> None:
    """Refuse keys of timed tasks in others, and those of others in timed tasks."""
    for key in ("offset", "jitter") if "after" in given else ():
        if key in given:
            raise ValueError(
                f"{where}.{key}: got {shown(given[key])} of a task with after, expected none"
            )
    for key in ("every", "queue") if "after" not in given else ():
        if key in given:
            raise ValueError(
                f"{where}.{key}: got {shown(given[key])}, expected after; a period says how often "
                "a timed task reads"
            )


def _segment(item: object, where: str, tick: int) -> Segment:
    given = _mapping(item, where, "a table such as { cpu = '2ms' }")
    if not _ALL_SET.issuperset(given):
        _known(given, _ALL, f"{where}.")
    kind = _kind(given, where)
    for key in given:
        if key not in _SEGMENT[kind]:
            raise ValueError(
                f"{where}.{key}: got a key that {kind} does not have, expected some of "
                f"{', '.join(_SEGMENT[kind])}"
            )
    _plain(given, where)
    if kind == "sync":
        if given["sync"] is not True:
            raise ValueError(f"{where}.sync: got {shown(given['sync'])}, expected true")
        given = {key: value for key, value in given.items() if key != "sync"}
    arguments: dict[str, object] = {
        "time" if key == kind else key: _sms(value, f"{where}.sms") if key == "sms" else value
        for key, value in given.items()
    }
    try:
        return _MAKERS[kind](**arguments)._at(tick)  # type: ignore[arg-type]
    except _WRONG as error:
        text = str(error)
        if text.startswith(("time:", "time.")):
            text = kind + text.removeprefix("time")
        raise ValueError(f"{where}.{text}") from None


def _kind(given: Mapping[str, object], where: str) -> str:
    kinds = [key for key in _SEGMENT if key in given]
    if len(kinds) == 1:
        return kinds[0]
    if not kinds and ("sms" in given or "block_time" in given):
        return "kernel"
    got = " and ".join(kinds) or "neither"
    raise ValueError(f"{where}: got {got}, expected one of {', '.join(_SEGMENT)}")


def _plain(given: Mapping[str, object], where: str) -> None:
    """Refuse null, and numbers with a fraction where times stand."""
    for key, value in given.items():
        if value is None:
            raise ValueError(f"{where}.{key}: got null, expected a value, or no such key")
        if type(value) is float and key in _TIMES:
            raise ValueError(
                f"{where}.{key}: got {value}, expected a whole number of ticks or text such as "
                "'4.1ms'"
            )


def _new_of(segment: Segment) -> str:
    """A fact of a segment that version 1 does not have, for messages; "" for none."""
    if isinstance(segment, Sync):
        return "sync: got a wait"
    if isinstance(segment, DLA):
        return "dla: got work on a DLA"
    if segment.distribution is not None:
        kind = next(kind for kind, maker in _MAKERS.items() if type(segment) is maker)
        return f"{kind}: got a distribution"
    if not isinstance(segment, Kernel):
        waits = isinstance(segment, (CopyIn, CopyOut)) and segment.has_waits
        return "blocking, staged: got a copy that its thread waits for" if waits else ""
    if segment.share is not None:
        return "sms: got a share of the SMs"
    if segment.barrier is not None:
        return "barrier: got blocks that wait for each other"
    for key in ("bytes", "bandwidth"):
        if getattr(segment, key) is not None:
            return f"{key}: got traffic with the memory"
    return ""


def _sms(given: object, where: str) -> object:
    """Measured times by number of SMs, or a share of the SMs."""
    return given if isinstance(given, (int, float, str)) else _profile(given, where)


def _profile(given: object, where: str) -> dict[int, object]:
    found: dict[int, object] = {}
    for key, value in _mapping(given, where, "times by number of SMs").items():
        if not (key.isascii() and key.isdecimal() and len(key) < 10 and key[0] != "0"):
            raise ValueError(f"{where}: got the key {shown(key)}, expected a number of SMs")
        if type(value) is float or value is None:
            raise ValueError(f"{where}[{key}]: got {shown(value)}, expected a time")
        found[int(key)] = value
    if not found:
        raise ValueError(f"{where}: got an empty table, expected times by number of SMs")
    return found


def _mapping(value: object, where: str, expected: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: got {shown(value)}, expected {expected}")
    return value


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"{where}: got {shown(value)}, expected a list")
    return value


def _known(given: Mapping[str, object], keys: Iterable[str], where: str) -> None:
    known = tuple(keys)
    for key in given:
        if key not in known:
            _unknown(key, known, where)


def _unknown(key: str, known: tuple[str, ...], where: str) -> NoReturn:
    near = difflib.get_close_matches(key[:60], known, n=1, cutoff=0.5)
    expected = near[0] if near else f"one of {', '.join(known)}"
    raise ValueError(f"{where}{clip(key, 60)}: got an unknown key, expected {expected}")


# Writing ------------------------------------------------------------------------------------------


def head_document(parts: Parts) -> dict[str, object]:
    """The keys of a document before its tasks."""
    new = bool(parts.paths) or any(
        getattr(task, key) not in (None, (), 0 if key == "best" else 1)
        for task in parts.tasks
        for key in _NEW_OF_TASK
    )
    new = new or any(_new_of(part) for task in parts.tasks for part in task.segments)
    head: dict[str, object] = {"version": 2 if new else 1, "tick": tick_text(parts.tick)}
    if parts.notes:
        head["notes"] = list(parts.notes)
    if parts.observed is not None:
        times: dict[str, object] = parts.observed._asdict()
        if (quantile := times.pop("quantile")) != 1:
            times["quantile"] = format(Decimal(repr(quantile)), "f")
        head["observed"] = times
    return head


def parts_document(parts: Parts) -> dict[str, object]:
    """The document of a workload, as its files have it."""
    document = {**head_document(parts), "task": list(task_documents(parts.tasks, parts.tick))}
    if parts.paths:
        document["path"] = list(path_documents(parts.paths, parts.tick))
    return document


def task_documents(tasks: Iterable[Task], tick: TickLength) -> Iterator[dict[str, object]]:
    """The tables of tasks whose times are ticks of ``tick`` ns, without what is usual."""
    for task in tasks:
        table: dict[str, object] = {"name": task.name}
        if task.after:
            table["after"] = _names(task.after)
            if task.every > 1:
                table["every"] = task.every
            if task.queue is not None:
                table["queue"] = task.queue
        elif task.rate is None:
            table["period"] = time_with_unit(task.period, tick)
        else:
            table["rate"] = task.rate
        if task.has_deadline:
            table["deadline"] = time_with_unit(task.deadline, tick)
        for key, time in (("offset", task.offset), ("jitter", task.jitter)):
            if time:
                table[key] = time_with_unit(time, tick)
        for key in ("priority", "stream_priority", "gpu_priority", "process", "core", "launches"):
            if (value := getattr(task, key)) is not None:
                table[key] = value
        if task.reads:
            table["reads"] = _names(task.reads)
        if task.best:
            table["best"] = time_with_unit(task.best, tick)
        table["segments"] = [segment_document(segment, tick) for segment in task.segments]
        yield table


def path_documents(paths: Iterable[Path], tick: TickLength) -> Iterator[dict[str, object]]:
    """The tables of paths whose deadlines are ticks of ``tick`` ns, without what is usual."""
    for path in paths:
        table: dict[str, object] = {"name": path.name, "tasks": list(path.tasks)}
        if path.deadline is not None:
            table["deadline"] = time_with_unit(path.deadline, tick)
        if path.kind != "latency":
            table["kind"] = path.kind
        if path.phases != "any":
            table["phases"] = path.phases
        yield table


def _names(names: tuple[str, ...]) -> str | list[str]:
    """Names of tasks; a single one as text."""
    return names[0] if len(names) == 1 else list(names)


def _copy_facts(copy: CopyIn | CopyOut, tick: TickLength) -> dict[str, object]:
    table: dict[str, object] = {}
    if copy.by != "engine":
        table["by"] = copy.by
    if copy.blocking:
        table["blocking"] = True
    if copy.staged is not None:
        table["staged"] = time_with_unit(copy.staged, tick)
    return table


def segment_document(segment: Segment, tick: TickLength) -> dict[str, object]:
    """The table of a segment, without what is usual."""
    table: dict[str, object] = {}
    kind = next(kind for kind, maker in _MAKERS.items() if type(segment) is maker)
    spread = segment.distribution
    if isinstance(segment, Sync):
        table[kind] = True
    elif not isinstance(segment, Kernel):
        table[kind] = time_with_unit(segment.time, tick)
        if isinstance(segment, DLA):
            table |= {"on": segment.on} if segment.on else {}
        elif not isinstance(segment, CPU):
            table |= _copy_facts(segment, tick)
    else:
        if segment.has_time:
            table[kind] = time_with_unit(segment.time, tick)
        for key in ("blocks", "threads", "regs", "smem"):
            if value := getattr(segment, key):
                table[key] = value
        for key in ("bytes", "bandwidth", "barrier"):
            if (value := getattr(segment, key)) is not None:
                table[key] = value
        if segment.block_time is not None:
            table["block_time"] = time_with_unit(segment.block_time, tick)
        if segment.share is not None:
            table["sms"] = segment.sms_text
        if profile := segment.sms:
            table["sms"] = {str(k): time_with_unit(time, tick) for k, time in profile.items()}
    if spread is not None:
        table[kind] = spread.with_units(tick)
    if segment.repeat != 1:
        table["repeat"] = segment.repeat
    if segment.name:
        table["name"] = segment.name
    return table
