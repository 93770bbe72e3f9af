"""Launches from a recorder (``gs.Launches.build``), from periodic tasks and from schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from gpusched._support.arguments import at_least, flag, instance, int_array, integer, one_of, ticks
from gpusched.model.kernel_chains import rows_of
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.launch_columns import MOST_STREAMS, STREAM_KINDS, one_each, read_factors
from gpusched.model.schedule import Schedule


def launches_of_tasks(tasks: Any, until: Any, stream: Any) -> dict[str, Any]:
    """One launch for each job that periodic kernels release before a time."""
    instance(tasks, KernelTasks, "tasks")
    if tasks.is_stack:
        raise ValueError(f"tasks: got a stack of {len(tasks)} sets, expected one set")
    last = ticks(until, "until")
    if last < 0:
        raise ValueError(f"until: got {last}, expected a non-negative number")
    counts = np.maximum(0, -((tasks.offset - last) // tasks.period))
    if int(counts.sum()) > 10**8:
        raise ValueError(
            f"until: got {last} with {counts.sum()} launches, expected at most {10**8}"
        )
    task = np.repeat(np.arange(tasks.n), counts)
    job = np.arange(len(task)) - np.repeat(np.cumsum(counts) - counts, counts)
    time = tasks.offset[task] + job * tasks.period[task]
    order = np.lexsort((task, tasks.priority[task], time))
    task, time = task[order], time[order]
    streams = np.arange(tasks.n) if stream is None else int_array(stream, "stream")
    streams = one_each(streams, tasks.n, "stream", "tasks")
    at_least(streams, 0, "stream")
    for i in np.flatnonzero(streams >= MOST_STREAMS)[:1].tolist():
        raise ValueError(f"stream[{i}]: got {streams[i]}, expected less than {MOST_STREAMS}")
    return {
        "time": time,
        "duration": tasks.block_time[task],
        "stream": streams[task],
        "blocks": tasks.blocks[task],
        "threads": tasks.threads[task],
        "regs": tasks.regs[task],
        "smem": tasks.smem[task],
        "name": [tasks.name[i] for i in task.tolist()],
        "stream_context": np.zeros(int(streams.max()) + 1, dtype=np.int64),
        "stream_name": list(tasks.name) if stream is None else None,
    }


def launches_of_schedule(schedule: Any) -> dict[str, Any]:
    """One launch for each kernel of a schedule, at the start of its frame."""
    if not isinstance(schedule, Schedule):
        raise TypeError(f"schedule: got {type(schedule).__name__}, expected Schedule")
    tasks, rows = schedule.tasks, rows_of(schedule.tasks)
    task = np.array(
        [i for frame in range(len(schedule)) for i in schedule.members(frame)], dtype=np.int64
    )
    batches = [schedule._order(mask) for mask in schedule.batch.tolist()]
    row = np.array([i for batch in batches for i in batch], dtype=np.int64)
    return {
        "time": np.repeat(schedule.start, [len(batch) for batch in batches]),
        "duration": rows.block_time[row],
        "stream": task,
        "blocks": rows.blocks[row],
        "threads": rows.threads[row],
        "regs": rows.regs[row],
        "smem": rows.smem[row],
        "name": [rows.name[i] for i in row.tolist()],
        "stream_context": np.zeros(tasks.n, dtype=np.int64),
        "stream_name": list(tasks.name),
    }


Made = TypeVar("Made")


class Recorder(Generic[Made]):
    """Recorder of streams and launches, one by one; made by `Launches.build`.

    >>> work = gs.Launches.build(bandwidth=12)
    >>> camera = work.stream(priority=-1)
    >>> work.copy_in(camera, bytes=640 * 480)
    0
    >>> work.kernel(camera, blocks=16, threads=256, duration=3000, name="edges")
    1
    >>> work.done()
    <Launches: 1 kernels and 1 copies in 1 streams>

    ``partition`` and ``stream`` return the index of the partition or stream, and the other methods
    the index of the launch. ``at`` is the time of the launch in ticks; by default, the time of the
    launch recorded before (0 for the first one). For the other arguments see `Launches`; ``after``
    takes one index or several. ``graph`` returns a recorder for the nodes of a CUDA graph. All
    methods raise TypeError and ValueError for invalid values.
    """

    def __init__(self, make: Callable[..., Made], *, bandwidth: Any = None) -> None:
        self._make = make
        self._bandwidth = bandwidth
        self._streams: list[dict[str, Any]] = []
        self._partitions: list[dict[str, Any]] = []
        self._launches: list[dict[str, Any]] = []
        self._graphs = 0

    def partition(
        self,
        *,
        context: int = 0,
        sms: Iterable[int] | None = None,
        limit: int | None = None,
        name: str = "",
    ) -> int:
        """Record a partition of a context and return its index.

        ``sms``: the SMs that its blocks may use, as in a green context. ``limit``: the largest
        number of SMs that hold its blocks at the same time, as for a client of MPS.

        >>> work = gs.Launches.build()
        >>> camera = work.stream(partition=work.partition(sms=range(8)))
        >>> work.kernel(camera, blocks=16, threads=256, duration=3000)
        0
        >>> work.done().partition_sms
        ((0, 1, 2, 3, 4, 5, 6, 7),)
        """
        number = len(self._partitions)
        self._partitions.append(
            {
                "context": integer(context, "context"),
                "partition_sms": None if sms is None else tuple(sms),
                "partition_limit": 0 if limit is None else integer(limit, "limit"),
                "partition_name": name or f"partition {number}",
            }
        )
        return number

    def stream(
        self,
        *,
        context: int | None = None,
        priority: int = 0,
        kind: str = "blocking",
        name: str = "",
        partition: int | None = None,
    ) -> int:
        """Record a stream of kind "blocking", "non_blocking" or "null" and return its index.

        The default context is that of its partition, or context 0 without a partition. Once there
        are partitions, the streams of a context that were given none form a partition of their
        own.
        """
        one_of(kind, STREAM_KINDS, "kind")
        which = None if partition is None else integer(partition, "partition")
        if which is not None and not 0 <= which < len(self._partitions):
            raise ValueError(
                f"partition: got {which}, expected one of {len(self._partitions)} partitions so far"
            )
        home = 0 if which is None else self._partitions[which]["context"]
        own = home if context is None else integer(context, "context")
        if which is not None and own != home:
            raise ValueError(f"context: got {own}, expected {home}, that of partition {which}")
        number = len(self._streams)
        label = "NULL stream" if kind == "null" else f"stream {number}"
        self._streams.append(
            {
                "stream_context": own,
                "stream_priority": integer(priority, "priority"),
                "stream_kind": kind,
                "stream_partition": which,
                "stream_name": name or label,
            }
        )
        return number

    def kernel(
        self,
        stream: int,
        *,
        blocks: int = 1,
        threads: int = 32,
        duration: int | None = None,
        at: int | None = None,
        regs: int = 0,
        smem: int = 0,
        carveout: int = -1,
        cooperative: bool = False,
        cluster: int = 1,
        longest: int | None = None,
        block_times: Sequence[int] | None = None,
        after: int | Iterable[int] = (),
        programmatic: bool = False,
        trigger: int = -1,
        interference: Sequence[float] | None = None,
        name: str = "",
    ) -> int:
        """Record a kernel whose blocks take ``duration`` ticks each; return its index."""
        shape = {"blocks": blocks, "threads": threads, "regs": regs, "smem": smem}
        shape["carveout"] = integer(carveout, "carveout")
        shape["programmatic"] = flag(programmatic, "programmatic")
        shape["trigger"] = integer(trigger, "trigger")
        shape["cooperative"] = flag(cooperative, "cooperative")
        shape["cluster"] = integer(cluster, "cluster")
        more = {"block_times": block_times, "interference": interference}
        return self._launch("kernel", stream, duration, at, longest, after, name, shape | more)

    def copy_in(
        self,
        stream: int,
        *,
        bytes: int = 0,
        duration: int | None = None,
        at: int | None = None,
        longest: int | None = None,
        after: int | Iterable[int] = (),
        name: str = "",
    ) -> int:
        """Record a copy to the GPU, given by ``bytes`` or ``duration``; return its index."""
        return self._launch("copy_in", stream, duration, at, longest, after, name, {"bytes": bytes})

    def copy_out(
        self,
        stream: int,
        *,
        bytes: int = 0,
        duration: int | None = None,
        at: int | None = None,
        longest: int | None = None,
        after: int | Iterable[int] = (),
        name: str = "",
    ) -> int:
        """Record a copy from the GPU, given by ``bytes`` or ``duration``; return its index."""
        return self._launch(
            "copy_out", stream, duration, at, longest, after, name, {"bytes": bytes}
        )

    def graph(self, stream: int, *, at: int | None = None) -> GraphRecorder:
        """Record a CUDA graph in a stream; returns a recorder of its nodes."""
        before = self._launches[-1]["time"] if self._launches else 0
        time = before if at is None else integer(at, "at")
        if time < 0:
            raise ValueError(f"at: got {time}, expected a non-negative number")
        self._graphs += 1
        return GraphRecorder(self, self._stream(stream), time, self._graphs - 1)

    def done(self) -> Made:
        """Return the launches recorded so far; recording may continue afterwards."""
        rows, streams = self._launches, self._streams
        if not streams:
            raise ValueError("streams: got none, expected at least one call of stream()")
        columns = {key: [row[key] for row in rows] for key in _EMPTY}
        if all(times is None for times in columns["block_times"]):
            del columns["block_times"]
        factors = columns.pop("interference")
        table = None
        if any(row is not None for row in factors):
            table = np.full((len(rows), 4), 1000, dtype=np.int64)
            for i, row in enumerate(factors):
                if row is not None:
                    table[i] = read_factors(row, 1, f"interference of launch {i}")[0]
        return self._make(
            **columns,
            bandwidth=self._bandwidth,
            interference=table,
            **self._stream_columns(),
        )

    def _stream_columns(self) -> dict[str, Any]:
        """The columns of the streams and partitions."""
        columns = _columns(self._streams)
        if not self._partitions:
            del columns["stream_partition"]
            return columns
        rows = [dict(row) for row in self._partitions]
        number: dict[int, int] = {}  # of the partition of a context's other streams
        for i, which in enumerate(columns["stream_partition"]):
            if which is None:
                context = columns["stream_context"][i]
                if context not in number:
                    number[context] = len(rows)
                    rows.append(_OTHERS | {"partition_name": f"rest of context {context}"})
                columns["stream_partition"][i] = number[context]
        used = set(columns["stream_partition"])
        for p, row in enumerate(rows):
            if p not in used:
                raise ValueError(f"{row['partition_name']}: got no stream, expected one")
        partitions = _columns([{key: row[key] for key in _OTHERS} for row in rows])
        return columns | partitions

    def _launch(
        self,
        kind: str,
        stream: int,
        duration: int | None,
        at: int | None,
        longest: int | None,
        after: int | Iterable[int],
        name: str,
        more: dict[str, Any],
    ) -> int:
        number = len(self._launches)
        which = self._stream(stream)
        before = self._launches[-1]["time"] if self._launches else 0
        row: dict[str, Any] = {
            "time": before if at is None else integer(at, "at"),
            "duration": 0 if duration is None else integer(duration, "duration"),
            "kind": kind,
            "stream": which,
            "longest": 0 if longest is None else integer(longest, "longest"),
            "after": tuple(after) if isinstance(after, Iterable) else (after,),
            "name": name or f"{kind.replace('_', ' ')} {number}",
        }
        if row["time"] < 0:
            raise ValueError(f"at: got {row['time']}, expected a non-negative number")
        if duration is not None and row["duration"] < 1:
            raise ValueError(f"duration: got {row['duration']}, expected a positive number")
        self._launches.append(_EMPTY | row | more)
        return number

    def _stream(self, stream: int) -> int:
        which = integer(stream, "stream")
        if not 0 <= which < len(self._streams):
            raise ValueError(
                f"stream: got {which}, expected one of {len(self._streams)} streams so far"
            )
        return which

    def __repr__(self) -> str:
        return f"<Recorder: {len(self._launches)} launches in {len(self._streams)} streams>"


class GraphRecorder:
    """Recorder of the nodes of a CUDA graph; made by `Recorder.graph`.

    >>> work = gs.Launches.build()
    >>> graph = work.graph(work.stream(), at=5)
    >>> first = graph.copy_in(duration=3)
    >>> left, right = (graph.kernel(duration=4, after=first) for _ in range(2))
    >>> graph.copy_out(duration=2, after=[left, right])
    3
    >>> work.done().graph.tolist()
    [0, 0, 0, 0]

    All methods return the index of the launch. Given as ``after``, indices of other nodes are the
    edges of the graph. The other arguments are those of `Recorder`. A graph takes the place of its
    first node among the launches; a graph without nodes has no effect.
    """

    def __init__(self, work: Recorder[Any], stream: int, time: int, number: int) -> None:
        self._work = work
        self._place = {"stream": stream, "at": time}
        self._number = number

    def kernel(
        self,
        *,
        blocks: int = 1,
        threads: int = 32,
        duration: int | None = None,
        regs: int = 0,
        smem: int = 0,
        carveout: int = -1,
        cooperative: bool = False,
        cluster: int = 1,
        longest: int | None = None,
        block_times: Sequence[int] | None = None,
        after: int | Iterable[int] = (),
        programmatic: bool = False,
        trigger: int = -1,
        interference: Sequence[float] | None = None,
        name: str = "",
    ) -> int:
        """Record a kernel whose blocks take ``duration`` ticks each; return its index."""
        return self._node(
            self._work.kernel(
                **self._place,
                blocks=blocks,
                threads=threads,
                duration=duration,
                regs=regs,
                smem=smem,
                carveout=carveout,
                cooperative=cooperative,
                cluster=cluster,
                longest=longest,
                block_times=block_times,
                after=after,
                programmatic=programmatic,
                trigger=trigger,
                interference=interference,
                name=name,
            )
        )

    def copy_in(
        self,
        *,
        bytes: int = 0,
        duration: int | None = None,
        longest: int | None = None,
        after: int | Iterable[int] = (),
        name: str = "",
    ) -> int:
        """Record a copy to the GPU, given by ``bytes`` or ``duration``; return its index."""
        return self._node(
            self._work.copy_in(
                **self._place,
                bytes=bytes,
                duration=duration,
                longest=longest,
                after=after,
                name=name,
            )
        )

    def copy_out(
        self,
        *,
        bytes: int = 0,
        duration: int | None = None,
        longest: int | None = None,
        after: int | Iterable[int] = (),
        name: str = "",
    ) -> int:
        """Record a copy from the GPU, given by ``bytes`` or ``duration``; return its index."""
        return self._node(
            self._work.copy_out(
                **self._place,
                bytes=bytes,
                duration=duration,
                longest=longest,
                after=after,
                name=name,
            )
        )

    def _node(self, launch: int) -> int:
        self._work._launches[launch]["graph"] = self._number
        return launch


# Values of a row of a recorder that were not given.
_EMPTY: dict[str, Any] = {
    "time": 0,
    "duration": 0,
    "kind": "kernel",
    "stream": 0,
    "blocks": 1,
    "threads": 32,
    "regs": 0,
    "smem": 0,
    "carveout": -1,
    "cooperative": False,
    "cluster": 1,
    "longest": 0,
    "after": (),
    "block_times": None,
    "bytes": 0,
    "graph": -1,
    "programmatic": False,
    "trigger": -1,
    "interference": None,
    "name": "",
}


# Partition of the streams of a context that were recorded without one.
_OTHERS: dict[str, Any] = {"partition_sms": None, "partition_limit": 0, "partition_name": ""}


def _columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {key: [row[key] for row in rows] for key in rows[0]}
