"""What a program asks of the GPU: kernels and copies, when they are launched, and in which stream.

The operations of Olmedo et al. 2020, section III: an application (context) has streams, a stream is
a FIFO of operations. ``gs.simulate.hierarchy`` says what becomes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._support.arguments import (
    Int64Array,
    at_least,
    frozen,
    instance,
    int_array,
    names,
    ticks,
)
from gpusched._support.text import clip
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.launch_columns import (
    KINDS,
    MOST_STREAMS,
    STREAM_KINDS,
    codes,
    fill_durations,
    launch_names,
    one_each,
    read_after,
    read_block_times,
    read_factors,
    read_streams,
    row_count,
)

if TYPE_CHECKING:
    from gpusched.model.launch_builder import Recorder
    from gpusched.model.schedule import Schedule

__all__ = ["KINDS", "STREAM_KINDS", "Launches"]

_COLUMNS = (
    *("time", "kind", "stream", "blocks", "threads", "regs", "smem"),
    *("duration", "longest", "bytes"),
)
_STREAM_COLUMNS = ("stream_context", "stream_priority", "stream_kind")
_LEAST = {"blocks": 1, "threads": 1, "duration": 1, "longest": 1}
_SHOWN = 40


@dataclass(frozen=True, eq=False, repr=False)
class Launches:
    """Kernels and copies, one row each, and the streams that they are launched in.

    All columns are stored as read-only int64 arrays of shape ``(n,)``; what is given as one number
    is repeated. Times are integer ticks (the unit is yours). Equal times: in the order of the rows.
    ``Launches.build()`` records them one by one, ``from_tasks`` makes periodic ones, and
    ``from_schedule`` those of a schedule.

    Parameters
    ----------
    time
        When it is launched: from then on it is in its stream.
    duration
        Ticks that one block takes, or the copy. Not needed for rows whose time follows from
        ``block_times`` or from ``bytes`` and ``bandwidth`` (None, or 0 in those rows).
    kind
        "kernel", "copy_in" (to the GPU) or "copy_out", or the codes 0, 1, 2; stored as codes.
    stream
        The index of its stream.
    blocks, threads, regs, smem
        Grid size in blocks (1), threads per block (32), registers per thread (0) and shared memory
        per block in bytes (0). Stored as 0 for copies.
    longest
        Each block (or the copy) takes a time drawn uniformly from ``duration`` .. ``longest``;
        ``duration`` unless given (or 0).
    after
        Per launch, the indices of launches that have to end before it may join its queue, besides
        those before it in its stream (as ``cudaStreamWaitEvent`` does); stored as tuples.
    block_times
        Per launch None, or a time for each block of the kernel, which replaces ``duration`` and
        ``longest`` (they are then stored as the shortest and the longest of them).
    bytes
        That a copy moves (0).
    bandwidth
        Bytes per tick: a copy with ``bytes`` and no duration takes bytes / bandwidth, rounded up.
    interference
        Shape ``(n, 4)`` or ``(4,)``: how many times slower a block runs while blocks of another
        kernel run on its SM; else on another SM of its GPC; else on another GPC; and, times that,
        while a copy runs (Olmedo et al. 2020, section V). Factors within 1 .. 1000, read as
        decimals (1.7); thousandths (1700) if all of them are whole numbers from 1000 on. Stored as
        thousandths, rounded up. None: blocks do not disturb each other.
    name
        One label per launch; "kernel 0", "copy in 1", ... unless given.
    stream_context
        Per stream, the context (application) that it belongs to, from 0.
    stream_priority
        Per stream; smaller is more urgent, as in CUDA (0).
    stream_kind
        Per stream: "blocking" (ordered with the legacy NULL stream of its context, as
        ``cudaStreamCreate`` makes them), "non_blocking" or "null" (that stream itself, one per
        context at most), or the codes 0, 1, 2; stored as codes.
    stream_name
        One label per stream; "stream 0", ..., or "NULL stream", unless given.

    There are as many streams as the longest of the last four says, or as ``stream`` needs.

    Raises
    ------
    ValueError, OverflowError, TypeError
        For what is no such launch; the message names the row and the value.
    """

    time: Int64Array
    kind: Int64Array
    stream: Int64Array
    blocks: Int64Array
    threads: Int64Array
    regs: Int64Array
    smem: Int64Array
    duration: Int64Array
    longest: Int64Array
    bytes: Int64Array
    after: tuple[tuple[int, ...], ...]
    block_times: tuple[Int64Array | None, ...] | None
    interference: Int64Array | None
    name: tuple[str, ...]
    stream_context: Int64Array
    stream_priority: Int64Array
    stream_kind: Int64Array
    stream_name: tuple[str, ...]

    def __init__(
        self,
        time: Any,
        duration: Any = None,
        *,
        kind: Any = "kernel",
        stream: Any = 0,
        blocks: Any = 1,
        threads: Any = 32,
        regs: Any = 0,
        smem: Any = 0,
        longest: Any = None,
        after: Sequence[Any] | None = None,
        block_times: Sequence[Any] | None = None,
        bytes: Any = 0,
        bandwidth: Any = None,
        interference: Any = None,
        name: Sequence[str] | None = None,
        stream_context: Any = 0,
        stream_priority: Any = 0,
        stream_kind: Any = "blocking",
        stream_name: Sequence[str] | None = None,
    ) -> None:
        given = {
            "time": int_array(time, "time"),
            "kind": codes(kind, KINDS, "kind"),
            "stream": int_array(stream, "stream"),
            "blocks": int_array(blocks, "blocks"),
            "threads": int_array(threads, "threads"),
            "regs": int_array(regs, "regs"),
            "smem": int_array(smem, "smem"),
            "duration": int_array(0 if duration is None else duration, "duration"),
            "bytes": int_array(bytes, "bytes"),
        }
        n = row_count(given, "time", {"after": after, "block_times": block_times, "name": name})
        rows = {key: one_each(array, n, key, "launches") for key, array in given.items()}
        for key in ("time", "regs", "smem", "duration", "bytes"):
            at_least(rows[key], 0, key)
        copies = rows["kind"] > 0
        for key in ("blocks", "threads", "regs", "smem"):
            if key in _LEAST:
                at_least(np.where(copies, 1, rows[key]), 1, key)
            rows[key][copies] = 0
        rows["bytes"][~copies] = 0
        times = read_block_times(block_times, rows["blocks"])
        fill_durations(rows, times, bandwidth)
        rows["longest"] = rows["duration"].copy()
        if longest is not None:
            most = one_each(int_array(longest, "longest"), n, "longest", "launches")
            rows["longest"] = np.where(most == 0, rows["duration"], most)
        for i, each in enumerate(times or ()):
            if each is not None:
                rows["longest"][i] = each.max()
        for i in np.flatnonzero(rows["longest"] < rows["duration"])[:1].tolist():
            raise ValueError(
                f"longest[{i}] = {rows['longest'][i]}: must not be less than the duration, "
                f"{rows['duration'][i]}"
            )
        values: dict[str, Any] = {key: frozen(rows[key]) for key in _COLUMNS}
        values["after"] = read_after(after, n)
        values["block_times"] = times
        values["interference"] = None if interference is None else read_factors(interference, n)
        values["name"] = names(name, "name", launch_names(rows["kind"]), "launch")
        values |= read_streams(
            rows["stream"],
            int_array(stream_context, "stream_context"),
            int_array(stream_priority, "stream_priority"),
            codes(stream_kind, STREAM_KINDS, "stream_kind"),
            stream_name,
        )
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @staticmethod
    def build(*, bandwidth: Any = None) -> Recorder[Launches]:
        """A recorder, which collects streams and launches one by one."""
        from gpusched.model.launch_builder import Recorder

        return Recorder(Launches, bandwidth=bandwidth)

    @staticmethod
    def from_tasks(tasks: KernelTasks, until: int, *, stream: Any = None) -> Launches:
        """The jobs that periodic kernels release before ``until``, each a launch.

        Parameters
        ----------
        tasks
            One task set. Blocks take ``block_time``; the tasks' priorities decide which of two
            jobs released at the same instant is launched first, and nothing else.
        until
            In ticks.
        stream
            The index of each task's stream; unless given, each has one of its own.

        Returns
        -------
        Launches
            By time, then priority, then task: the order of ``gs.simulate.fifo``'s jobs. Names are
            those of the tasks.
        """
        instance(tasks, KernelTasks, "tasks")
        if tasks.is_stack:
            raise ValueError(f"tasks: a stack of {len(tasks)} sets; launches are those of one set")
        last = ticks(until, "until")
        if last < 0:
            raise ValueError(f"until = {last}: must not be negative")
        counts = np.maximum(0, -((tasks.offset - last) // tasks.period))
        if int(counts.sum()) > 10**8:
            raise ValueError(f"until = {last}: {counts.sum()} launches; at most 100000000")
        task = np.repeat(np.arange(tasks.n), counts)
        job = np.arange(len(task)) - np.repeat(np.cumsum(counts) - counts, counts)
        time = tasks.offset[task] + job * tasks.period[task]
        order = np.lexsort((task, tasks.priority[task], time))
        task, time = task[order], time[order]
        streams = np.arange(tasks.n) if stream is None else int_array(stream, "stream")
        streams = one_each(streams, tasks.n, "stream", "tasks")
        at_least(streams, 0, "stream")
        for i in np.flatnonzero(streams >= MOST_STREAMS)[:1].tolist():
            raise ValueError(f"stream[{i}] = {streams[i]}: must be below {MOST_STREAMS}")
        return Launches(
            time,
            tasks.block_time[task],
            stream=streams[task],
            blocks=tasks.blocks[task],
            threads=tasks.threads[task],
            regs=tasks.regs[task],
            smem=tasks.smem[task],
            name=[tasks.name[i] for i in task.tolist()],
            stream_context=np.zeros(int(streams.max()) + 1, dtype=np.int64),
            stream_name=list(tasks.name) if stream is None else None,
        )

    @staticmethod
    def from_schedule(schedule: Schedule, *, interference: Any = None) -> Launches:
        """A schedule's kernels, each frame's launched at its start: to play it without a GPU.

        ``gs.simulate.hierarchy(gpu, Launches.from_schedule(schedule))`` says when they end where
        nobody waits for the end of a frame: where the plan is right, before their frames do.

        Parameters
        ----------
        schedule
            Of tasks with blocks, threads and so on; blocks take ``block_time``.
        interference
            How much kernels slow each other, as in the class; not at all unless given.

        Returns
        -------
        Launches
            Frame by frame, and within a frame in the order of submission. Each task has a stream.
            Names are those of the tasks.
        """
        from gpusched.model.schedule import Schedule as Plan

        if not isinstance(schedule, Plan):
            raise TypeError(f"schedule: must be a Schedule, got {type(schedule).__name__}")
        tasks = schedule.tasks
        batches = [schedule.members(frame) for frame in range(len(schedule))]
        task = np.array([i for batch in batches for i in batch], dtype=np.int64)
        return Launches(
            np.repeat(schedule.start, [len(batch) for batch in batches]),
            tasks.block_time[task],
            stream=task,
            blocks=tasks.blocks[task],
            threads=tasks.threads[task],
            regs=tasks.regs[task],
            smem=tasks.smem[task],
            interference=interference,
            name=[tasks.name[i] for i in task.tolist()],
            stream_context=np.zeros(tasks.n, dtype=np.int64),
            stream_name=list(tasks.name),
        )

    @property
    def n(self) -> int:
        """How many launches."""
        return len(self.time)

    @property
    def streams(self) -> int:
        """How many streams."""
        return len(self.stream_context)

    @property
    def contexts(self) -> int:
        """How many contexts: one more than the largest."""
        return int(self.stream_context.max()) + 1

    def __len__(self) -> int:
        return len(self.time)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Launches):
            return NotImplemented
        for f in fields(self):
            one, two = getattr(self, f.name), getattr(other, f.name)
            if f.name == "block_times":
                same = (one is None) == (two is None) and all(
                    np.array_equal(() if a is None else a, () if b is None else b)
                    for a, b in zip(one or (), two or (), strict=False)
                )
            elif isinstance(one, np.ndarray):
                same = np.array_equal(one, two)
            else:
                same = one == two
            if not same:
                return False
        return True

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (_unpickle, ({f.name: getattr(self, f.name) for f in fields(self)},))

    def to_frame(self) -> Any:
        """A pandas table with one row per launch: names for codes, and its stream's settings."""
        import pandas as pd

        columns: dict[str, Any] = {"name": np.array(self.name, dtype=object)}
        columns |= {key: getattr(self, key) for key in _COLUMNS}
        columns["kind"] = np.array(KINDS)[self.kind]
        columns["after"] = np.fromiter(self.after, dtype=object, count=len(self))
        for key in _STREAM_COLUMNS:
            columns[key] = getattr(self, key)[self.stream]
        columns["stream_kind"] = np.array(STREAM_KINDS)[columns["stream_kind"]]
        return pd.DataFrame(columns)

    def __repr__(self) -> str:
        kernels = int((self.kind == 0).sum())
        copies = f" and {len(self) - kernels} copies" if kernels < len(self) else ""
        contexts = f" of {self.contexts} contexts" if self.contexts > 1 else ""
        return f"<Launches: {kernels} kernels{copies} in {self.streams} streams{contexts}>"

    def _repr_html_(self) -> str:
        from html import escape

        shown = [key for key in _COLUMNS if key == "time" or getattr(self, key).any()]
        if np.array_equal(self.longest, self.duration):
            shown.remove("longest")
        head = "".join(f"<th>{key}</th>" for key in ("", *shown))
        body = []
        for i in range(min(len(self), _SHOWN)):
            cells = []
            for key in shown:
                value = int(getattr(self, key)[i])
                text = str(value)
                if key == "kind":
                    text = KINDS[value].replace("_", " ")
                elif key == "stream":
                    text = clip(self.stream_name[value], 40)
                cells.append(f"<td>{escape(text)}</td>")
            body.append(f"<tr><th>{escape(clip(self.name[i], 60))}</th>{''.join(cells)}</tr>")
        more = len(self) - _SHOWN
        note = f"<p>and {more} more launches</p>" if more > 0 else ""
        return f"<table><tr>{head}</tr>{''.join(body)}</table>{note}"


def _unpickle(values: dict[str, Any]) -> Launches:
    return Launches(**values)
