"""Timelines of whole machines: CPUs, copies, kernels of tasks, chains of jobs; several in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpusched._draw.block_lanes import BlockColumns, sm_lanes, trace_columns
from gpusched._draw.timeline import (
    Counter,
    CounterColumns,
    Key,
    Lane,
    Link,
    Mark,
    Piece,
    PieceColumns,
    Rows,
    Timeline,
    in_window,
    of_tasks,
    window,
)
from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration

_WAIT = "#999999"


@dataclass(frozen=True)
class Stage:
    """A job of a chain: when it has the result of the job before it, or was released, and its end.

    ``reads``: whether it reads that result, which does not release it.
    """

    task: int
    job: int
    start: int
    end: int
    reads: bool


@dataclass(frozen=True)
class Chain:
    """The jobs behind a time of a path, from its beginning to its end, in ticks of the run.

    ``name`` is that of the path, ``text`` also tells the time. ``before`` and ``after`` say what
    happens before the first job and after the last one, if the time has such parts.
    """

    name: str
    text: str
    since: int
    end: int
    stages: tuple[Stage, ...]
    before: str = ""
    after: str = ""


def chain_pieces(chain: Chain, lane: int, names: Sequence[str]) -> Iterator[Piece]:
    """The jobs of a chain in one lane, and pale what is between them: together, its time."""
    at, last = chain.since, ""
    for stage in chain.stages:
        name = f"{names[stage.task]} #{stage.job}"
        if stage.start > at:
            text = f"result of {last} before {name}" if last else chain.before
            yield Piece(lane, at, stage.start, text, _WAIT, style="idle", chained=True)
        yield Piece(
            lane,
            stage.start,
            stage.end,
            name,
            stage.task,
            label=str(stage.job),
            times={"length": stage.end - stage.start},
            chained=True,
        )
        at, last = stage.end, name
    if chain.end > at:
        yield Piece(lane, at, chain.end, chain.after, _WAIT, style="idle", chained=True)


Spans = tuple[Int64Array, Int64Array]
"""Starts and ends."""


def shares(run: Any) -> dict[str, float]:
    """See `MachineRun.busy`."""
    cpu, ops = run.cpu, run.operations
    if cpu is None or ops is None:
        raise ValueError("timeline: got a run without its logs, expected one with timeline=True")
    length = max(run.now, 1)
    found = {}
    for number in np.unique(cpu.cpu).tolist():
        here = cpu.cpu == number
        name = "server" if number == run.cpus else f"CPU {number}"
        found[name] = _covered((cpu.start[here], cpu.end[here])) / length
    begun = ops.first >= 0
    end = np.where(ops.end < 0, run.now, ops.end)
    copies = {"copies in": ops.what == 1, "copies out": ops.what == 2}
    if run.engines < 2:
        copies = {"copies": (ops.what == 1) | (ops.what == 2)}
    for name, kind in (*copies.items(), ("DLAs", ops.what == 3), ("kernels", ops.what == 0)):
        rows = np.flatnonzero(begun & kind)
        if len(rows):
            spans = _served(run, ops.task[rows], (ops.first[rows], end[rows]), name == "kernels")
            found[name] = _covered(spans) / length
    if run.blocks is not None and len(run.blocks):
        block, *both = running_blocks(run)
        found["SMs"] = _busy_sms(run.blocks.sm[block], (both[0], both[1])) / (length * run.sms)
    return found


def running_blocks(run: Any) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Spans in which blocks run: (block, start, end), without those in which they are frozen."""
    log, ops = run.blocks, run.operations
    assert log is not None
    assert ops is not None
    end = np.where(log.end < 0, run.now, log.end)
    return _in_turns(run, ops.task[log.operation], (log.start, end))


def _served(run: Any, task: Int64Array, spans: Spans, kernels: bool) -> Spans:
    return _in_turns(run, task, spans)[1:] if kernels else spans


def _in_turns(
    run: Any, task: Int64Array, spans: Spans
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """The parts of spans of tasks in which their contexts have the GPU: (row, start, end)."""
    start, end = spans
    every = np.flatnonzero(end > start)
    turns = run.turns
    if turns is None or not len(turns):
        return every, start[every], end[every]
    context = run.context[task]
    parts = []
    for c in np.unique(context[every]).tolist():
        mine = np.flatnonzero((turns.task == c) & (turns.switches == 0))
        chosen = every[context[every] == c]
        low = np.searchsorted(turns.end[mine], start[chosen], side="right")
        high = np.searchsorted(turns.start[mine], end[chosen], side="left")
        counts = np.maximum(high - low, 0)
        row = np.repeat(chosen, counts)
        at = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        at = mine[at + np.repeat(low, counts)]
        parts.append(
            (row, np.maximum(start[row], turns.start[at]), np.minimum(end[row], turns.end[at]))
        )
    row, begin, stop = (np.concatenate(column) for column in zip(*parts, strict=True))
    return row, begin, stop


def _covered(spans: Spans) -> int:
    """Ticks that the spans cover together."""
    order = np.argsort(spans[0], kind="stable")
    start, end = spans[0][order], spans[1][order]
    before = np.maximum.accumulate(np.concatenate([[-1], end[:-1]])) if len(end) else end
    return int(np.maximum(end - np.maximum(start, before), 0).sum())


def _busy_sms(sm: Int64Array, spans: Spans) -> int:
    """Ticks in which each SM has any span, summed over the SMs."""
    order = np.argsort(sm, kind="stable")
    first = np.flatnonzero(np.diff(sm[order], prepend=-1))
    rows = np.split(order, first[1:]) if len(first) else []
    return sum(_covered((spans[0][of], spans[1][of])) for of in rows)


_SHOWN = (300, 3000)  # bars of a picture: without ``until``, and with it
_MOST_RELEASES = 600
_MOST_CPUS = 256  # lanes
_HEIGHT = 20.0  # of a lane, in points
_SERVER = "#999999"
_CHAINS, _CPUS, _GPU, _JOBS = "paths", "CPUs", "GPU", "jobs"
_WORK = enumeration("simulate.machine_activity").index("work")


@dataclass(frozen=True)
class _Bars:
    """Bars as columns: what ran or waited where; ``style`` and ``what`` are indices."""

    lane: Int64Array
    task: Int64Array
    job: Int64Array
    start: Int64Array
    end: Int64Array
    style: Int64Array
    what: Int64Array


_STYLES = ("run", "copy", "idle")
_WHAT = (
    *("work", "spin", "update", "kernel", "copy in", "copy out", "DLA", "waits", "turn", "switch"),
)
_WAITS, _TURN = _WHAT.index("waits"), _WHAT.index("turn")


class _Places:
    """Lanes of the CPUs, the copies and the kernels that there were, from ``first`` on."""

    def __init__(self, run: Any, first: int = 0) -> None:
        assert run.cpu is not None
        assert run.operations is not None
        self.lanes: list[Lane] = []
        self.first = first
        used = np.unique(run.cpu.cpu).tolist()
        self.cpus = {
            cpu: self._add("server" if cpu == run.cpus else f"CPU {cpu}", _CPUS)
            for cpu in used[:_MOST_CPUS]
        }
        hidden = len(used) - len(self.cpus)
        self.notes = (f"{hidden:,} of {len(used):,} CPUs not shown",) if hidden else ()
        ops = run.operations
        both = ("copies in", "copies out") if run.engines > 1 else ("copies", "copies")
        names = (*both, "DLAs")
        homes = run.instances or ("",) * len(run.name)
        self.copies: dict[tuple[int, int], int] = {}  # by task and direction
        self.kernels: dict[int, int] = {}
        for home in dict.fromkeys(homes):
            here = np.isin(ops.task, [i for i, each in enumerate(homes) if each == home])
            shown: dict[str, int] = {}
            copies = zip(ops.what[here].tolist(), ops.task[here].tolist(), strict=True)
            for what, task in sorted({pair for pair in copies if pair[0]}):
                name = names[what - 1]
                lane = shown[name] if name in shown else self._add(_on(name, home), home or _GPU)
                shown[name] = self.copies[task, what] = lane
            for task in np.unique(ops.task[here & (ops.what == 0)]).tolist():
                self.kernels[task] = self._add(_on(run.name[task], home), home or _GPU)
        self.turns = self._add("turns", _GPU) if run.turns is not None and len(run.turns) else -1

    def _add(self, name: str, group: str) -> int:
        self.lanes.append(Lane(name, group, height=_HEIGHT))
        return self.first + len(self.lanes) - 1


def _on(name: str, instance: str) -> str:
    """The name of a lane, with its GPU instance."""
    return f"{name}, {instance}" if instance else name


def _bars(run: Any, places: _Places) -> _Bars:
    """All bars, in the order of their starts."""
    cpu, ops = run.cpu, run.operations
    assert cpu is not None
    assert ops is not None
    parts = []
    shown = np.isin(cpu.cpu, list(places.cpus))
    lane = np.array([places.cpus.get(k, -1) for k in range(run.cpus + 1)], np.int64)
    idle = np.where(cpu.what == _WORK, 0, _STYLES.index("idle"))
    columns = (lane[cpu.cpu], cpu.task, cpu.job, cpu.start, cpu.end, idle, cpu.what)
    parts.append([column[shown] for column in columns])
    lanes = [
        (places.kernels.get(k, -1), *(places.copies.get((k, what), -1) for what in (1, 2, 3)))
        for k in range(len(run.name))
    ]
    lane = np.array(lanes, np.int64)[ops.task, ops.what]
    end = np.where(ops.end < 0, run.now, ops.end)
    first = np.where(ops.first < 0, run.now, ops.first)
    style = np.where(ops.what == 0, 0, _STYLES.index("copy"))
    began, kernels = ops.first >= 0, (ops.joined >= 0) & (ops.what == 0) & (ops.joined < first)
    what = ops.what + _WHAT.index("kernel")
    columns = (lane, ops.task, ops.job, ops.first, end, style, what)
    parts.append([column[began] for column in columns])
    waits = np.full(len(lane), _STYLES.index("idle")), np.full(len(lane), _WAITS)
    columns = (lane, ops.task, ops.job, ops.joined, first, *waits)
    parts.append([column[kernels] for column in columns])
    if run.turns is not None and len(run.turns):
        turns = run.turns
        here, none = np.full(len(turns), places.turns), np.full(len(turns), -1)
        idle = turns.switches * _STYLES.index("idle")
        what = _TURN + turns.switches
        parts.append([here, turns.task, none, turns.start, turns.end, idle, what])
    both = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.lexsort((both[0], both[3]))
    return _Bars(*(column[order] for column in both))


def picture(
    run: Any, unit: str | None, since: Any, until: Any, chain: Chain | None = None
) -> Timeline:
    """Timeline of a window; ``chain`` has the top lane, and its jobs are outlined and joined."""
    if run.cpu is None or run.operations is None:
        raise ValueError("timeline: got a run without its logs, expected one with timeline=True")
    low, high = window(since, until)
    above = [] if chain is None else [Lane(chain.name, _CHAINS, height=_HEIGHT)]
    places = _Places(run, len(above))
    bars = _bars(run, places)
    last = int(bars.end.max(initial=1))
    shown, end, hidden = in_window(bars.start, bars.end, low, high, last, _SHOWN)
    pieces = tuple(_pieces(run, bars, shown, chain))
    if chain is not None:
        pieces = (*chain_pieces(chain, 0, run.name), *pieces)
    marks = tuple(_releases(run, places, low, end))
    return of_tasks(
        run.name,
        [*above, *places.lanes],
        pieces,
        marks,
        since=low,
        end=end,
        unit=unit,
        styles={"copy": "copies", "idle": "waits, spins, updates"},
        hidden=hidden,
        notes=places.notes,
        links=() if chain is None else tuple(_links(bars, chain)),
        chain="" if chain is None else chain.text,
    )


def _links(bars: _Bars, chain: Chain) -> Iterator[Link]:
    """Arrows through the bars of a chain: within a job where its lane changes, and between jobs."""
    lane, end = -1, -1
    for stage in chain.stages:
        rows = np.flatnonzero((bars.task == stage.task) & (bars.job == stage.job))
        reads = stage.reads
        for row in rows[bars.start[rows] >= stage.start].tolist():
            start = int(bars.start[row])
            if lane >= 0 and start >= end and (lane != bars.lane[row] or start > end):
                yield Link(lane, end, int(bars.lane[row]), start, dashed=reads)
            if bars.end[row] >= end:
                lane, end = int(bars.lane[row]), int(bars.end[row])
            reads = False


def trace(run: Any, chains: Sequence[Chain] = ()) -> Timeline:
    """Timeline of the whole run: chains, jobs from release to end, and who used what."""
    above = [Lane(chain.text, _CHAINS) for chain in chains]
    lanes = [*above, *(Lane(name, _JOBS) for name in run.name)]
    places = None if run.cpu is None else _Places(run, len(lanes))
    blocks = None if run.blocks is None else _block_columns(run)
    before = [*lanes, *(places.lanes if places is not None else ())]

    def pieces() -> Iterator[Piece]:
        for lane, chain in enumerate(chains):
            yield from chain_pieces(chain, lane, run.name)
        yield from _jobs(run, len(above))
        if places is not None:
            bars = _bars(run, places)
            yield from _pieces(run, bars, np.arange(len(bars.lane)))

    def columns() -> Iterator[PieceColumns | CounterColumns]:
        if blocks is not None:
            yield from trace_columns(blocks, len(before))

    return Timeline(
        lanes=(*before, *(() if blocks is None else sm_lanes(blocks))),
        pieces=Rows(pieces),
        columns=Rows(columns),
        other={"not shown": ", ".join(places.notes)} if places and places.notes else {},
    )


def _block_columns(run: Any) -> BlockColumns:
    log, ops = run.blocks, run.operations
    assert log is not None
    assert ops is not None
    block, start, end = running_blocks(run)
    return BlockColumns(
        kernel=log.operation,
        block=log.block,
        sm=log.sm,
        start=log.start,
        end=np.where(log.end < 0, run.now, log.end),
        name=tuple(run.name[task] for task in ops.task.tolist()),
        threads=run.threads[ops.task, ops.item],
        context=run.context[ops.task],
        sms=run.sms,
        warps=run.warps,
        parts=(np.zeros(len(block), np.bool_), block, start, end),
    )


def _pieces(run: Any, bars: _Bars, rows: Int64Array, chain: Chain | None = None) -> Iterator[Piece]:
    chained = set() if chain is None else {(stage.task, stage.job) for stage in chain.stages}
    rows_late = run.late
    columns_late = (run.jobs.task[rows_late].tolist(), run.jobs.number[rows_late].tolist())
    late = set(zip(*columns_late, strict=True))
    columns = (bars.lane, bars.task, bars.job, bars.start, bars.end, bars.style, bars.what)
    for lane, task, job, start, end, style, what in zip(
        *(column[rows].tolist() for column in columns), strict=True
    ):
        server, number = task == len(run.name), "" if what >= _TURN else f" #{job}"
        yield Piece(
            lane=lane,
            start=start,
            end=end,
            name=f"{'server' if server else f'{run.name[task]}{number}'}: {_WHAT[what]}",
            color=_SERVER if server else task,
            label="" if server or what >= _WAITS else str(job),
            style=_STYLES[style],
            late=(task, job) in late,
            chained=(task, job) in chained,
        )


def _releases(run: Any, places: _Places, since: int, end: int) -> Iterator[Mark]:
    """Releases in the lane of the task's kernels, else of the last CPU."""
    jobs = run.jobs
    lowest = max(places.cpus.values(), default=None)
    seen = np.flatnonzero((jobs.release >= since) & (jobs.release < end))[:_MOST_RELEASES]
    for task, time in zip(jobs.task[seen].tolist(), jobs.release[seen].tolist(), strict=True):
        lane = places.kernels.get(task, lowest)
        if lane is not None:
            yield Mark(lane, time, "release", task)


def _jobs(run: Any, first: int) -> Iterator[Piece]:
    """Jobs in the lanes of their tasks, from ``first`` on."""
    jobs, late = run.jobs, run.late
    ends = np.where(jobs.end >= 0, jobs.end, np.maximum(run.now, jobs.release))
    for k in range(len(jobs)):
        task, number, ended = int(jobs.task[k]), int(jobs.number[k]), bool(jobs.end[k] >= 0)
        arrival = int(jobs.arrival[k])
        yield Piece(
            lane=first + task,
            start=int(jobs.release[k]),
            end=int(ends[k]),
            name=f"{run.name[task]} #{number}",
            color=task,
            late=bool(late[k]),
            unfinished=not ended,
            times={
                "deadline": arrival + int(run.deadline[task]),
                "response": int(jobs.end[k]) - arrival if ended else None,
            },
            args={"job": number, "late": bool(late[k])},
        )


_HEAD = 18.0  # height of a name's lane, in points


def joined(named: Sequence[tuple[str, Timeline, int]]) -> Timeline:
    """Combine several timelines into one, one below the other.

    Parameters
    ----------
    named
        For each of at least one timeline: its name, the timeline, and a number by which its colours
        are shifted, so that colours of different timelines differ. All intervals begin at the same
        time; the picture ends at the earliest end of a timeline that does not show all its pieces.
        Timelines with images (`Raster`), which fill their own intervals, are not supported.
    """
    lanes: list[Lane] = []
    first: list[int] = []
    marks: list[Mark] = []
    keys: list[Key] = []
    other: dict[str, Any] = {}
    for name, timeline, shift in named:
        lanes.append(Lane(name, name, height=_HEAD))
        first.append(len(lanes))
        lanes += [replace(lane, group=_group(name, lane.group)) for lane in timeline.lanes]
        marks += [_mark(mark, first[-1], shift) for mark in timeline.marks]
        keys += [key for key in (_key(key, shift) for key in timeline.keys) if key not in keys]
        other |= {f"{name} {key}": value for key, value in timeline.other.items()}
    cut = [timeline.end for _, timeline, _ in named if timeline.notes]
    end = min(cut) if cut else max(timeline.end for _, timeline, _ in named)
    head = named[0][1]
    same = all(timeline.title == head.title for _, timeline, _ in named)

    def pieces() -> Iterator[Piece]:
        for (_, timeline, shift), at in zip(named, first, strict=True):
            for piece in timeline.pieces:
                yield replace(piece, lane=piece.lane + at, color=_color(piece.color, shift))

    def counters() -> Iterator[Counter]:
        for name, timeline, _ in named:
            for counter in timeline.counters:
                yield replace(counter, group=_group(name, counter.group))

    def columns() -> Iterator[PieceColumns | CounterColumns]:
        for (name, timeline, _), at in zip(named, first, strict=True):
            for column in timeline.columns:
                if isinstance(column, PieceColumns):
                    yield replace(column, lane=column.lane + at)
                else:
                    groups = tuple(_group(name, group) for group in column.groups)
                    yield replace(column, groups=groups)

    return Timeline(
        lanes=tuple(lanes),
        pieces=Rows(pieces),
        since=head.since,
        end=end,
        unit=head.unit,
        marks=tuple(mark for mark in marks if mark.time <= end),
        keys=tuple(keys),
        notes=("more is not shown",) if cut else (),
        counters=Rows(counters),
        columns=Rows(columns),
        title=head.title if same else "",
        width=head.width,
        other=other,
        numbers=head.numbers if all(part.numbers == head.numbers for _, part, _ in named) else "",
    )


def _group(name: str, group: str) -> str:
    return f"{name} {group}" if group else name


def _color(color: int | str, shift: int) -> int | str:
    return color if isinstance(color, str) else color + shift


def _mark(mark: Mark, first: int, shift: int) -> Mark:
    return replace(mark, lane=mark.lane + first, color=_color(mark.color, shift))


def _key(key: Key, shift: int) -> Key:
    return replace(key, color=_color(key.color, shift))
