"""Launches: kernels and copies of programs, with their launch times and streams.

The operations of [RTAS20], section III: an application (context) has streams, and a stream is a
FIFO queue of operations. ``gs.simulate.hierarchy`` simulates them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, NoArray, at_least, frozen, int_array, names
from gpusched._support.results import Saved
from gpusched._support.tabular import Tabular, frame_of
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.launch_columns import (
    COLUMNS,
    KERNEL,
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
    read_partitions,
    read_starts,
    read_streams,
    row_count,
    switches,
)
from gpusched.model.launch_frames import arguments_of, flat_rows, html_of, nested_rows, table_of

if TYPE_CHECKING:
    import pandas as pd

    from gpusched.model.launch_builder import Recorder
    from gpusched.model.schedule import Schedule

_LEAST = {"blocks": 1, "threads": 1, "duration": 1, "longest": 1}
_NONE = ("carveout", "graph", "trigger")  # -1: none

Numbers = npt.ArrayLike | None
Codes = npt.ArrayLike | Sequence[str]


@dataclass(frozen=True, eq=False, repr=False)
class Launches(NoArray, Tabular, Saved):
    """Kernels and copies, one row each, and the streams in which they are launched.

    All columns are stored as read-only int64 arrays of shape ``(n,)``; a column given as one number
    is broadcast. Times are integers in ticks of a unit that the caller chooses. Launches at the
    same time take place in the order of their rows. `build` records launches one by one,
    `from_tasks` makes the launches of periodic tasks, and `from_schedule` those of a schedule.

    >>> gs.Launches([0, 0, 5], [3, 2, 4], kind=["copy_in", "kernel", "kernel"], stream=[0, 0, 1])
    <Launches: 2 kernels and 1 copies in 2 streams>

    Parameters
    ----------
    time
        Time of the launch, at which the operation enters its stream.
    duration
        Execution time of one block, or of the copy, in ticks. Not needed (None, or 0 in the
        respective rows) if it follows from ``block_times``, or from ``bytes`` and ``bandwidth``.
    kind
        "kernel", "copy_in" (to the GPU) or "copy_out", or the codes 0, 1, 2; stored as codes.
    stream
        Index of the stream.
    blocks, threads, regs, smem
        Grid size in blocks (default 1), threads per block (default 32), registers per thread
        (default 0) and shared memory per block in bytes (default 0). Stored as 0 for copies.
    carveout
        Preferred carve-out: bytes of an SM's memory that are used as shared memory. -1 (default,
        stored for copies): the carve-out that the kernel needs (see ``GPU.carveouts``).
    cooperative
        Whether the blocks start either all at the same time or not at all, as with
        ``cudaLaunchCooperativeKernel``. Default: False. The simulation refuses a grid that exceeds
        the capacity of the GPU, or of the SMs of its partition. Stored as 0 and 1.
    cluster
        Number of blocks of a thread block cluster, at most 16 and a divisor of ``blocks``; default
        1. The blocks of a cluster start together on SMs of one GPC. GPUs of compute capability 9.0
        and later allow clusters of 8 for every kernel, and larger ones for kernels that set
        ``cudaFuncAttributeNonPortableClusterSizeAllowed``; simulators refuse clusters on older
        GPUs. Stored as 1 for copies.
    longest
        Upper end of the execution time: each block (or the copy) takes a time drawn uniformly from
        ``duration`` .. ``longest``. Default (or 0): ``duration``, a fixed time.
    after
        For each launch, the indices of launches that must have ended before it can join its queue
        (like ``cudaStreamWaitEvent``), in addition to those before it in its stream; stored as
        tuples.
    graph
        Number of the CUDA graph that the launch is a node of; -1: none. All nodes of a graph have
        the same time and stream. The graph as a whole takes the place of its first node in the
        stream; the order of its nodes is given by ``after`` alone.
    programmatic
        True for a kernel with programmatic dependent launch. It may start before the end of its
        primary, the kernel directly before it in its stream, namely when all blocks of the primary
        have started and have triggered or ended. A node of a graph must have exactly one entry in
        ``after``, a kernel of the graph, which is its primary. The first launch of a stream, and a
        launch after a copy or a graph, is treated as an ordinary launch. Waiting inside the blocks
        (``cudaGridDependencySynchronize``) is part of their execution time. Stored as 0 and 1, for
        copies as 0.
    trigger
        Ticks from the start of each block to its trigger, for a programmatic kernel behind it. -1
        (stored for copies), or a value that exceeds the block's time: at the end of the block.
    block_times
        For each launch None, or one time per block of the kernel, which replaces ``duration`` and
        ``longest`` (these are then stored as the shortest and the longest of the block times).
    bytes
        Number of bytes that a copy moves. Default: 0.
    bandwidth
        Bytes per tick. A copy with ``bytes`` and no duration takes bytes / bandwidth ticks,
        rounded up.
    interference
        Factors by which a block is slowed down while other work runs ([RTAS20], section V), shape
        ``(n, 4)`` or ``(4,)``. The first factor applies while blocks of another kernel run on the
        same SM; else the second while they run on another SM of the same GPC; else the third while
        they run on another GPC. The fourth applies, in addition, while a copy runs. Factors are 1
        to 1000, read as decimals (1.7); if all are whole numbers of at least 1000, they are
        thousandths (1700). Stored as thousandths, rounded up. None: no interference.
    name
        One label per launch. Default: "kernel 0", "copy in 1", ...
    stream_context
        For each stream, the number of the context (application) that it belongs to, from 0.
    stream_priority
        For each stream, its priority; as in CUDA, a smaller number is a higher priority. Default:
        0.
    stream_kind
        For each stream, "blocking" (ordered with the legacy NULL stream of its partition, as
        streams made by ``cudaStreamCreate``), "non_blocking" or "null" (the NULL stream itself, at
        most one per partition), or the codes 0, 1, 2; stored as codes.
    stream_partition
        For each stream, the number of its partition of the context, counted from 0 over all
        contexts. A partition is a client of MPS, or a green context. All streams of a partition
        belong to one context. Each partition has its own channels and NULL stream (streams made for
        a green context are non-blocking). Default: every context is one partition with the number
        of the context.
    stream_name
        One label per stream. Default: "stream 0", ..., or "NULL stream".
    partition_sms
        For each partition None, or the ids of the SMs that its blocks may use, as in a green
        context; these sets may overlap. Stored as tuples. None: all partitions may use all SMs.
    partition_limit
        For each partition, the largest number of SMs that hold its blocks at the same time; 0 or
        None: no limit. This is the active thread percentage of an MPS client, in whole SMs: no SM
        is reserved. A block may start on an SM that already holds a block of the partition, or on
        any other SM while fewer than the limit hold one.
    partition_name
        One label per partition, or None.

    The number of streams is the length of the longest of the five columns with one entry per
    stream; without them, it is the largest entry of ``stream`` plus 1.

    Raises
    ------
    ValueError, OverflowError, TypeError
        A value is invalid; the message names the row and the value.
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
        values["name"] = names(name, "name", n, lambda: launch_names(rows["kind"]), "launch")
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
        """Return a recorder, which collects streams and launches one by one.

        ``bandwidth``: bytes per tick, for copies that are recorded with ``bytes`` and no duration.
        """
        from gpusched.model.launch_builder import Recorder

        return Recorder(Launches, bandwidth=bandwidth)

    @staticmethod
    def from_tasks(tasks: KernelTasks, until: int, *, stream: Numbers = None) -> Launches:
        """Make one launch for each job that periodic kernels release before ``until``.

        Parameters
        ----------
        tasks
            One task set. Block times are ``block_time``. The priorities of the tasks only determine
            which of the jobs released at the same instant is launched first.
        until
            End of the interval in which jobs are released, in ticks.
        stream
            Index of the stream of each task. Default: each task has its own stream.

        Returns
        -------
        Launches
            Launches ordered by time, then priority, then task, like the jobs of
            ``gs.simulate.fifo``. The names are those of the tasks.

        >>> tasks = gs.KernelTasks(period=[4, 6], wcet=[1, 2])
        >>> gs.Launches.from_tasks(tasks, until=10).time.tolist()
        [0, 0, 4, 6, 8]
        """
        from gpusched.model.launch_builder import launches_of_tasks

        return Launches(**launches_of_tasks(tasks, until, stream))

    @staticmethod
    def from_schedule(schedule: Schedule, *, interference: Numbers = None) -> Launches:
        """Make one launch for each kernel of a schedule, at the start of its frame.

        ``gs.simulate.hierarchy(Launches.from_schedule(schedule), gpu)`` simulates the schedule
        without waiting for the end of each frame. If the batch table is correct, no kernel ends
        after its frame.

        Parameters
        ----------
        schedule
            A schedule of tasks with blocks, threads and so on. Block times are ``block_time``.
        interference
            Factors by which kernels slow each other down, as in the class. Default: 1.

        Returns
        -------
        Launches
            Launches ordered by frame, and within a frame in the order of submission. Each task has
            its own stream. The names are those of the tasks, or of the kernels of chains.
        """
        from gpusched.model.launch_builder import launches_of_schedule

        return Launches(**launches_of_schedule(schedule), interference=interference)

    def replace(self, **changes: Unpack[Changes]) -> Launches:
        """Return a copy with some columns changed; columns derived from them are derived anew.

        Parameters
        ----------
        changes
            Arguments of `Launches`. With None, ``longest``, ``name`` or ``stream_name`` are derived
            even if they were given before; ``after``, ``block_times``, ``interference``,
            ``stream_partition`` and the columns of partitions are removed.

        Returns
        -------
        Launches
            Columns that are not changed are kept. A launch with a fixed duration keeps a fixed
            duration when ``duration`` changes, unless ``longest`` is given too. With ``bandwidth``,
            the times of copies with bytes are computed from it. ``block_times`` that are kept
            replace durations, as in the class. If ``stream`` refers to streams that do not exist,
            they are added with the default kind, priority and context.

        Raises the errors of the class.

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
        """Number of contexts: the largest context number plus 1."""
        return int(self.stream_context.max()) + 1

    @property
    def partitions(self) -> int:
        """Number of partitions: the largest partition number plus 1."""
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
        """Return a pandas table with one row per launch.

        The columns are ``name``; the fields of the launch, with names instead of codes, tuples in
        ``after``, and NA if there is no ``carveout``, ``graph`` or ``trigger``; ``stream_name``,
        ``stream_context``, ``stream_priority``, ``stream_kind`` and ``stream_partition`` of its
        stream; and, if any launch has them, ``block_times`` (tuples, missing for other launches),
        ``interference_sm``, ``_gpc``, ``_gpu`` and ``_copy`` in thousandths, and ``partition_sms``
        (tuples), ``partition_limit`` and ``partition_name`` of its stream's partition. Each stream
        without launches follows with one row, in which all other columns are missing.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        return table_of({f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Launches:
        """Make launches from a pandas table like that of `to_frame`.

        Parameters
        ----------
        frame
            One row per launch. The column ``time`` is required; the others have the defaults of
            the class.

        Returns
        -------
        Launches
            ``from_frame(launches.to_frame()) == launches``.

        Raises
        ------
        ValueError
            Values are missing, columns are unknown, rows contradict each other about a stream or a
            partition, a stream has no row, or the class refuses the values.
        TypeError
            The object is not a pandas table.
        """
        return cls(**arguments_of(frame))

    def __repr__(self) -> str:
        kernels = int((self.kind == KERNEL).sum())
        copies = f" and {len(self) - kernels} copies" if kernels < len(self) else ""
        contexts = f" of {self.contexts} contexts" if self.contexts > 1 else ""
        if not np.array_equal(self.stream_partition, self.stream_context):
            contexts += f" in {self.partitions} partitions"
        return f"<Launches: {kernels} kernels{copies} in {self.streams} streams{contexts}>"

    def _repr_html_(self) -> str:
        return html_of(self)


def _unpickle(values: dict[str, Any]) -> Launches:
    return Launches(**values)
