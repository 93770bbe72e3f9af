"""Launches: kernels and copies of programs, with their launch times and streams.

The operations of [RTAS20], section III: an application (context) has streams, a stream is a FIFO
of operations. ``gs.simulate.hierarchy`` simulates them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import (
    Int64Array,
    at_least,
    frozen,
    int_array,
    names,
)
from gpusched._support.arrow import Tabular
from gpusched._support.missing_values import frame_of
from gpusched._support.no_array import NoArray
from gpusched._support.saved import Saved
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.launching.launch_columns import (
    COLUMNS,
    KINDS,
    STREAM_KINDS,
    Changes,
    changed,
    check_orders,
    codes,
    fill_durations,
    launch_names,
    one_each,
    read_after,
    read_block_times,
    read_factors,
    read_starts,
    read_streams,
    row_count,
    switches,
)
from gpusched.model.launching.launch_fields import flat_rows, nested_rows
from gpusched.model.launching.launch_frames import arguments_of, table_of
from gpusched.model.launching.launch_partitions import read_partitions

if TYPE_CHECKING:
    import pandas as pd

    from gpusched.model.launching.launch_builder import Recorder
    from gpusched.model.schedule import Schedule

__all__ = ["KINDS", "STREAM_KINDS", "Launches"]

_LEAST = {"blocks": 1, "threads": 1, "duration": 1, "longest": 1}
_NONE = ("carveout", "graph", "trigger")  # -1: none

Numbers = npt.ArrayLike | None
Codes = npt.ArrayLike | Sequence[str]


@dataclass(frozen=True, eq=False, repr=False)
class Launches(NoArray, Tabular, Saved):
    """Kernels and copies, one row each, and the streams that they are launched in.

    All columns are stored as read-only int64 arrays of shape ``(n,)``; a column given as one number
    is repeated. Times are integer ticks; the unit is the caller's. Launches of equal times are
    ordered as the rows. `build` records launches one by one, `from_tasks` makes periodic ones, and
    `from_schedule` those of a schedule.

    >>> gs.Launches([0, 0, 5], [3, 2, 4], kind=["copy_in", "kernel", "kernel"], stream=[0, 0, 1])
    <Launches: 2 kernels and 1 copies in 2 streams>

    Parameters
    ----------
    time
        Time of the launch: from then on it is in its stream.
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
    carveout
        Bytes of an SM's memory that are preferred as shared memory; -1, also stored for copies:
        those that the kernel needs (see ``GPU.carveouts``).
    cooperative
        Whether all blocks start at one instant or none (False): ``cudaLaunchCooperativeKernel``. A
        grid that exceeds what the GPU holds, or the SMs of its partition, is refused when it is
        simulated. Stored as 0 and 1.
    cluster
        Blocks of a thread block cluster (1), at most 16, a divisor of ``blocks``: they start
        together on SMs of one GPC. GPUs from compute capability 9.0 on allow 8 to every kernel, and
        more to those that set ``cudaFuncAttributeNonPortableClusterSizeAllowed``; simulators refuse
        clusters on older ones. Stored as 1 for copies.
    longest
        Each block (or the copy) takes a time drawn uniformly from ``duration`` .. ``longest``;
        ``duration`` unless given (or 0).
    after
        Per launch, the indices of launches that have to end before it may join its queue, besides
        those before it in its stream (as ``cudaStreamWaitEvent`` does); stored as tuples.
    graph
        Number of the CUDA graph of which it is a node; -1: none. The nodes of a graph have the same
        time and stream. The graph as a whole takes its place in the stream, that of its first node;
        among each other its nodes are ordered by ``after`` alone.
    programmatic
        True for a kernel that may start before the end of its primary, the kernel right before it
        in its stream: when all blocks of the primary have started, and triggered or ended
        (programmatic dependent launch). A node of a graph needs one entry in ``after``, a kernel of
        the graph, which is its primary. First in its stream, or behind a copy or a graph, it is an
        ordinary launch. What its blocks wait for themselves (``cudaGridDependencySynchronize``) is
        part of their time. Stored as 0 and 1, for copies as 0.
    trigger
        Ticks from the start of each block to its trigger, for a programmatic kernel behind it; -1,
        also stored for copies, and what exceeds the block's time: at the block's end.
    block_times
        Per launch None, or a time for each block of the kernel, which replaces ``duration`` and
        ``longest`` (they are then stored as the shortest and the longest of them).
    bytes
        That a copy moves (0).
    bandwidth
        Bytes per tick: a copy with ``bytes`` and no duration takes bytes / bandwidth, rounded up.
    interference
        Shape ``(n, 4)`` or ``(4,)``: the factor by which a block slows down while blocks of another
        kernel run on its SM; else on another SM of its GPC; else on another GPC; and, times that,
        while a copy runs ([RTAS20], section V). Factors within 1 .. 1000, read as
        decimals (1.7); thousandths (1700) if all of them are whole numbers from 1000 on. Stored as
        thousandths, rounded up. None: blocks do not disturb each other.
    name
        One label per launch; "kernel 0", "copy in 1", ... unless given.
    stream_context
        Per stream, the context (application) that it belongs to, from 0.
    stream_priority
        Per stream; smaller is more urgent, as in CUDA (0).
    stream_kind
        Per stream: "blocking" (ordered with the legacy NULL stream of its partition, as
        ``cudaStreamCreate`` makes them), "non_blocking" or "null" (that stream itself, one per
        partition at most), or the codes 0, 1, 2; stored as codes.
    stream_partition
        Per stream, the partition of the context that it belongs to, from 0, counted over all
        contexts: a client of MPS, or a green context. All streams of a partition are of one
        context. Each has channels and a NULL stream of its own (the streams that are made for a
        green context are non-blocking). Unless given, every context is one partition, with its
        number.
    stream_name
        One label per stream; "stream 0", ..., or "NULL stream", unless given.
    partition_sms
        Per partition None, or the ids of the SMs that its blocks may use, as in a green context;
        sets may overlap. Stored as tuples. None: all SMs, for all.
    partition_limit
        Per partition, the largest number of SMs that hold its blocks at once, 0 or None: no limit.
        That is a client's active thread percentage in whole SMs: nothing is reserved, and a block
        may start on an SM that holds one of the partition or, while there are fewer, on any other.
    partition_name
        One label per partition, or None.

    The number of streams is the length of the longest of the five columns with one entry per
    stream, or else the smallest that ``stream`` needs.

    Raises
    ------
    ValueError, OverflowError, TypeError
        Values that are not possible; the message names the row and the value.
    """

    _KIND: ClassVar[str] = "Launches"

    _INSTEAD = ".time, .duration, ..., or .to_frame()"

    time: Int64Array
    kind: Int64Array
    stream: Int64Array
    blocks: Int64Array
    threads: Int64Array
    regs: Int64Array
    smem: Int64Array
    carveout: Int64Array
    cooperative: Int64Array
    cluster: Int64Array
    duration: Int64Array
    longest: Int64Array
    bytes: Int64Array
    graph: Int64Array
    programmatic: Int64Array
    trigger: Int64Array
    after: tuple[tuple[int, ...], ...]
    block_times: tuple[Int64Array | None, ...] | None
    interference: Int64Array | None
    name: tuple[str, ...]
    stream_context: Int64Array
    stream_priority: Int64Array
    stream_kind: Int64Array
    stream_partition: Int64Array
    stream_name: tuple[str, ...]
    partition_sms: tuple[tuple[int, ...] | None, ...] | None
    partition_limit: Int64Array | None
    partition_name: tuple[str, ...] | None

    def __init__(
        self,
        time: npt.ArrayLike,
        duration: Numbers = None,
        *,
        kind: Codes = "kernel",
        stream: npt.ArrayLike = 0,
        blocks: npt.ArrayLike = 1,
        threads: npt.ArrayLike = 32,
        regs: npt.ArrayLike = 0,
        smem: npt.ArrayLike = 0,
        carveout: npt.ArrayLike = -1,
        cooperative: npt.ArrayLike = False,
        cluster: npt.ArrayLike = 1,
        longest: Numbers = None,
        after: Sequence[Sequence[int] | int | None] | None = None,
        graph: npt.ArrayLike = -1,
        programmatic: npt.ArrayLike = False,
        trigger: npt.ArrayLike = -1,
        block_times: Sequence[Numbers] | None = None,
        bytes: npt.ArrayLike = 0,
        bandwidth: float | Fraction | None = None,
        interference: Numbers = None,
        name: Sequence[str] | None = None,
        stream_context: npt.ArrayLike = 0,
        stream_priority: npt.ArrayLike = 0,
        stream_kind: Codes = "blocking",
        stream_partition: Numbers = None,
        stream_name: Sequence[str] | None = None,
        partition_sms: Sequence[Numbers] | None = None,
        partition_limit: Numbers = None,
        partition_name: Sequence[str] | None = None,
    ) -> None:
        given = {
            "time": int_array(time, "time"),
            "kind": codes(kind, KINDS, "kind"),
            "stream": int_array(stream, "stream"),
            "blocks": int_array(blocks, "blocks"),
            "threads": int_array(threads, "threads"),
            "regs": int_array(regs, "regs"),
            "smem": int_array(smem, "smem"),
            "carveout": int_array(carveout, "carveout"),
            "cooperative": switches(cooperative, "cooperative"),
            "cluster": int_array(cluster, "cluster"),
            "duration": int_array(0 if duration is None else duration, "duration"),
            "bytes": int_array(bytes, "bytes"),
            "graph": int_array(graph, "graph"),
            "programmatic": switches(programmatic, "programmatic"),
            "trigger": int_array(trigger, "trigger"),
        }
        n = row_count(given, "time", {"after": after, "block_times": block_times, "name": name})
        rows = {key: one_each(array, n, key, "launches") for key, array in given.items()}
        for key in ("time", "regs", "smem", "duration", "bytes"):
            at_least(rows[key], 0, key)
        for key in _NONE:
            at_least(rows[key], -1, key)
        copies = rows["kind"] > 0
        rows["carveout"][copies] = -1
        for key in ("blocks", "threads", "regs", "smem"):
            if key in _LEAST:
                at_least(np.where(copies, 1, rows[key]), 1, key)
            rows[key][copies] = 0
        rows["bytes"][~copies] = 0
        read_starts(rows)
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
                f"longest[{i}]: got {rows['longest'][i]}, expected at least the duration, "
                f"{rows['duration'][i]}"
            )
        edges = read_after(after, n)
        check_orders(rows, edges)
        values: dict[str, Any] = {key: frozen(rows[key]) for key in COLUMNS}
        values["after"] = edges
        values["block_times"] = times
        values["interference"] = None if interference is None else read_factors(interference, n)
        values["name"] = names(name, "name", launch_names(rows["kind"]), "launch")
        values |= read_streams(
            rows["stream"],
            int_array(stream_context, "stream_context"),
            int_array(stream_priority, "stream_priority"),
            codes(stream_kind, STREAM_KINDS, "stream_kind"),
            None if stream_partition is None else int_array(stream_partition, "stream_partition"),
            stream_name,
        )
        values |= read_partitions(
            values["stream_partition"], partition_sms, partition_limit, partition_name
        )
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @staticmethod
    def build(*, bandwidth: float | Fraction | None = None) -> Recorder[Launches]:
        """Make a recorder, which collects streams and launches one by one.

        ``bandwidth``: bytes per tick of copies that are recorded with ``bytes`` alone.
        """
        from gpusched.model.launching.launch_builder import Recorder

        return Recorder(Launches, bandwidth=bandwidth)

    @staticmethod
    def from_tasks(tasks: KernelTasks, until: int, *, stream: Numbers = None) -> Launches:
        """Make a launch of each job that periodic kernels release before ``until``.

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

        >>> tasks = gs.KernelTasks(period=[4, 6], wcet=[1, 2])
        >>> gs.Launches.from_tasks(tasks, until=10).time.tolist()
        [0, 0, 4, 6, 8]
        """
        from gpusched.model.launching.launch_sources import launches_of_tasks

        return Launches(**launches_of_tasks(tasks, until, stream))

    @staticmethod
    def from_schedule(schedule: Schedule, *, interference: Numbers = None) -> Launches:
        """Make a launch of each kernel of a schedule, at the start of its frame.

        ``gs.simulate.hierarchy(Launches.from_schedule(schedule), gpu)`` simulates the schedule
        without waiting for the ends of frames: with the right batch table, no kernel ends after
        its frame.

        Parameters
        ----------
        schedule
            Of tasks with blocks, threads and so on; blocks take ``block_time``.
        interference
            Factors by which kernels slow each other, as in the class; 1 unless given.

        Returns
        -------
        Launches
            Frame by frame, and within a frame in the order of submission. Each task has a stream.
            Names are those of the tasks, or of the kernels of chains.
        """
        from gpusched.model.launching.launch_sources import launches_of_schedule

        return Launches(**launches_of_schedule(schedule), interference=interference)

    def replace(self, **changes: Unpack[Changes]) -> Launches:
        """Make launches with other columns; what had been derived from them is derived anew.

        Parameters
        ----------
        changes
            Arguments as of `Launches`. None lets ``longest``, ``name`` or ``stream_name`` be
            derived although they were given before, and removes ``after``, ``block_times``,
            ``interference``, ``stream_partition`` or what is said of partitions.

        Returns
        -------
        Launches
            Columns that are not among the changes are kept. A launch of one fixed duration keeps
            one when its duration changes, unless ``longest`` is given too. With ``bandwidth``,
            copies with bytes take the time that it gives. ``block_times`` that are kept replace
            durations as in the class. Streams of the default kind, priority and context are added
            where ``stream`` needs them.

        Raises what the class raises.

        >>> launches = gs.Launches([0, 5], [3, 2], kind=["copy_in", "kernel"], bytes=[6000, 0])
        >>> launches.replace(bandwidth=1000).duration.tolist()
        [6, 2]
        >>> launches.replace(kind="copy_out", stream=[0, 1]).name
        ('copy out 0', 'copy out 1')
        """
        return Launches(**changed({f.name: getattr(self, f.name) for f in fields(self)}, changes))

    @property
    def n(self) -> int:
        """Number of launches."""
        return len(self.time)

    @property
    def streams(self) -> int:
        """Number of streams."""
        return len(self.stream_context)

    @property
    def contexts(self) -> int:
        """Number of contexts: one more than the largest."""
        return int(self.stream_context.max()) + 1

    @property
    def partitions(self) -> int:
        """Number of partitions: one more than the largest."""
        return int(self.stream_partition.max()) + 1

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

    def _fields(self) -> dict[str, Any]:
        """As few arrays: those of the rows are put end to end, with their lengths."""
        return flat_rows(self, super()._fields())

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Launches:
        return cls(**nested_rows(values))

    def to_frame(self) -> pd.DataFrame:
        """Make a pandas table with one row per launch.

        The columns are ``name``; the fields of the launch, with names for codes, tuples in
        ``after``, and NA for no ``carveout``, ``graph`` and ``trigger``; its stream's
        ``stream_name``, ``stream_context``, ``stream_priority``, ``stream_kind`` and
        ``stream_partition``; and, where there are any, ``block_times`` (tuples, missing for
        launches without), ``interference_sm``, ``_gpc``, ``_gpu`` and ``_copy`` in thousandths, and
        the ``partition_sms`` (tuples), ``partition_limit`` and ``partition_name`` of its stream's
        partition. Streams without launches, if any, follow with a row each in which the rest is
        missing.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        return table_of({f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Launches:
        """Make launches of a pandas table such as `to_frame` makes.

        Parameters
        ----------
        frame
            One row per launch. Needed is ``time``; the others are as in the class unless given.

        Returns
        -------
        Launches
            ``from_frame(launches.to_frame()) == launches``.

        Raises
        ------
        ValueError
            Missing values, unknown columns, rows that say different things of one stream or
            partition, streams without a row, and what the class raises.
        TypeError
            An object that is not a pandas table.
        """
        return cls(**arguments_of(frame))

    def __repr__(self) -> str:
        kernels = int((self.kind == 0).sum())
        copies = f" and {len(self) - kernels} copies" if kernels < len(self) else ""
        contexts = f" of {self.contexts} contexts" if self.contexts > 1 else ""
        if not np.array_equal(self.stream_partition, self.stream_context):
            contexts += f" in {self.partitions} partitions"
        return f"<Launches: {kernels} kernels{copies} in {self.streams} streams{contexts}>"

    def _repr_html_(self) -> str:
        from gpusched.model.launching.launch_text import html_of

        return html_of(self)


def _unpickle(values: dict[str, Any]) -> Launches:
    return Launches(**values)
