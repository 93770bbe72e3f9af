"""Log of the blocks that ran on a GPU or in a simulation: kernel, SM, start and end of each.

`gpusched.io.read_examiner` reads a `BlockLog` from files; `gpusched.io.check_rules` compares it
with the rules of the scheduling hierarchy: the core (csrc/io/rules) finds the violations, which
become sentences here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, at_least, frozen, int_array
from gpusched._support.registry import enumeration
from gpusched._support.results import Frozen
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import shown
from gpusched.model.gpu import GPU, occupancy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gpusched._draw.timeline import Timeline
    from gpusched.io.log_timeline import Simulated
    from gpusched.io.replay import Replay


_KERNELS = ("stream", "launch", "blocks", "threads", "regs", "smem", "priority", "context")
_BLOCKS = ("kernel", "block", "sm", "start", "end")
_MOST_STREAMS = 2**24
_LEAST = {"blocks": 1, "threads": 1} | dict.fromkeys(
    ("stream", "regs", "smem", "context", "kernel", "block", "sm"), 0
)


@dataclass(frozen=True, eq=False, repr=False)
class BlockLog(Tabular, Frozen):
    """Log of K kernels (one launch each) and their B blocks.

    Columns are stored as read-only int64 arrays; a single number is broadcast to all rows. Times
    are integer ticks of one clock; in ns if they are read from files.

    >>> log = gs.io.BlockLog(["a"], [0], [0], 1, 1024, 0, 0, [0], 0, 0, [0], [100])
    >>> log.sm.tolist(), log.end.tolist()
    ([0], [100])

    Parameters
    ----------
    name
        Shape ``(K,)``: names of the kernels (str).
    stream, launch
        Shape ``(K,)``: number of the stream, from 0, and time of the launch. Kernels of one stream
        run in the order of their launch times; if these are equal, in the order of the rows.
    blocks, threads, regs, smem
        Shape ``(K,)``: blocks of the grid, threads per block, registers per thread (0: no
        constraint), bytes of shared memory per block.
    kernel, block, sm, start, end
        Shape ``(B,)``: row of the kernel, number of the block in its grid, its SM, start and end.
        All blocks of every kernel must be present, in any order.
    priority, context
        Shape ``(K,)``: priority of the stream (a smaller number is a higher priority) and number of
        the application. Default: 0.
    joined
        Shape ``(K,)``: time at which the kernel joined its queue. Default: the later of its launch
        and the end of the previous kernel of its stream, which is correct unless something that is
        not in the log (a copy, an event) delayed the kernel.
    stream_name
        One name per stream. Default: "stream 0", ...
    scenario
        Name of the recorded run. Default: "".

    Raises
    ------
    ValueError
        A column has another length, a number is out of range, a block ends before it starts, is
        missing or occurs twice. The message names the column and row.
    """

    name: npt.NDArray[np.object_]
    stream: Int64Array
    launch: Int64Array
    blocks: Int64Array
    threads: Int64Array
    regs: Int64Array
    smem: Int64Array
    kernel: Int64Array
    block: Int64Array
    sm: Int64Array
    start: Int64Array
    end: Int64Array
    priority: Int64Array
    context: Int64Array
    joined: Int64Array
    stream_name: tuple[str, ...]
    scenario: str

    def __init__(
        self,
        name: Any,
        stream: Any,
        launch: Any,
        blocks: Any,
        threads: Any,
        regs: Any,
        smem: Any,
        kernel: Any,
        block: Any,
        sm: Any,
        start: Any,
        end: Any,
        priority: Any = 0,
        context: Any = 0,
        joined: Any = None,
        stream_name: Any = None,
        scenario: str = "",
    ) -> None:
        given = dict(locals())
        names = np.empty(len(name), dtype=object)
        names[:] = list(name)
        for row, value in enumerate(names):
            if not isinstance(value, str):
                raise ValueError(f"name[{row}]: got {shown(value)}, expected a string")
        values: dict[str, Any] = {"name": names}
        for keys, count in ((_KERNELS, len(names)), (_BLOCKS, np.size(kernel))):
            for key in keys:
                values[key] = _column(given[key], key, count)
        self._check(values)
        for row in np.flatnonzero(values["stream"] >= _MOST_STREAMS)[:1].tolist():
            raise ValueError(
                f"stream[{row}]: got {values['stream'][row]}, expected less than {_MOST_STREAMS}"
            )
        streams = int(values["stream"].max(initial=-1)) + 1
        if joined is None:
            values["joined"] = _joined(values)
        else:
            values["joined"] = _column(joined, "joined", len(names))
        if stream_name is None:
            stream_name = [f"stream {s}" for s in range(streams)]
        values["stream_name"] = tuple(str(label) for label in stream_name)
        if len(values["stream_name"]) < streams:
            raise ValueError(f"stream_name: got {len(stream_name)} names, expected {streams}")
        if not isinstance(scenario, str):
            raise TypeError(f"scenario: got {shown(scenario)}, expected a string")
        for key, value in values.items():
            object.__setattr__(self, key, value if key == "stream_name" else frozen(value))
        object.__setattr__(self, "scenario", scenario)

    @staticmethod
    def _check(values: dict[str, Any]) -> None:
        kernels, kernel, block = len(values["name"]), values["kernel"], values["block"]
        if wrong := np.flatnonzero(kernel >= kernels).tolist():
            raise ValueError(
                f"kernel[{wrong[0]}]: got {kernel[wrong[0]]}, expected 0 to {kernels - 1}"
            )
        if wrong := np.flatnonzero(values["end"] < values["start"]).tolist():
            raise ValueError(
                f"end[{wrong[0]}]: got {values['end'][wrong[0]]}, expected at least the block's "
                f"start, {values['start'][wrong[0]]}"
            )
        grid = values["blocks"]
        if wrong := np.flatnonzero(block >= grid[kernel]).tolist():
            row = wrong[0]
            raise ValueError(
                f"block[{row}]: got {block[row]}, expected 0 to {grid[kernel[row]] - 1}, "
                f"a block of kernel {kernel[row]}"
            )
        order = np.lexsort((block, kernel))
        if twice := np.flatnonzero(
            (np.diff(kernel[order]) == 0) & (np.diff(block[order]) == 0)
        ).tolist():
            row = int(order[twice[0] + 1])
            raise ValueError(
                f"block[{row}]: got {block[row]} of kernel {kernel[row]} twice, expected once"
            )
        ran = np.bincount(kernel, minlength=kernels)
        if missing := np.flatnonzero(ran != grid).tolist():
            row = missing[0]
            raise ValueError(f"blocks[{row}]: got {grid[row]}, expected {ran[row]}, as in the log")

    def __len__(self) -> int:
        return len(self.name)

    @property
    def first(self) -> Int64Array:
        """Start of each kernel's first block, shape ``(K,)``."""
        return _reduced(np.minimum, self.kernel, self.start, len(self))

    @property
    def dispatched(self) -> Int64Array:
        """Start of each kernel's last block, shape ``(K,)``."""
        return _reduced(np.maximum, self.kernel, self.start, len(self))

    @property
    def ended(self) -> Int64Array:
        """End of each kernel's last block, shape ``(K,)``."""
        return _reduced(np.maximum, self.kernel, self.end, len(self))

    def launch_latency(self) -> int | None:
        """Return the longest time from a launch on an idle GPU to the first block of the kernel.

        If no block is running on the GPU, a kernel waits only for its launch to take effect. Only
        those kernels are considered for which no block of the log runs between their launch and
        their first block; blocks that start at the same time as that block are allowed.

        Returns
        -------
        int or None
            In ticks, for use as ``latency`` in ``check_rules``; None if the GPU was never idle at a
            launch. Such kernels do not show latencies that grow with the load.

        Examples
        --------
        >>> log = gs.io.BlockLog(
        ...     ["a", "b"], [0, 1], [0, 500], 1, 32, 0, 0, [0, 1], 0, 0, [40, 540], [300, 900]
        ... )
        >>> log.launch_latency()
        40
        """
        if not len(self):
            return None
        order = np.argsort(self.start, kind="stable")
        busy_until = np.maximum.accumulate(self.end[order])
        before = np.searchsorted(self.start[order], self.first, side="left")
        quiet = (before == 0) | (busy_until[before - 1] <= self.launch)
        latency = (self.first - self.launch)[quiet & (self.first >= self.launch)]
        return int(latency.max()) if len(latency) else None

    def launches(self, latency: Any = None) -> Replay:
        """Make launches of the kernels, whose simulation ``gs.io.agreement`` compares with the log.

        Row i of the log is launch i. A kernel enters its stream when the launch latency has passed
        since its launch, or when it started in the log, if that is earlier. If the log says that it
        ``joined`` its queue later, and the previous kernel of its stream does not explain this, it
        is launched at that later time. Every block takes its measured time (1 tick for a block that
        ended when it started), so that differences are due to queues, rules and SMs. The measured
        times include interference, so simulate them without interference factors.

        Parameters
        ----------
        latency
            Ticks from the logged time of a launch to the kernel's arrival in its stream, one number
            or one per kernel. Default: ``launch_latency``, or 0 if the log shows none.

        Returns
        -------
        Replay
            ``launches``; ``origin``, the time of the earliest launch in the log, which becomes
            tick 0; and ``assumptions``.

        Raises
        ------
        ValueError
            The log is empty, a latency is negative, or kernels of one stream have several contexts
            or priorities; the message names the row.
        OverflowError
            The times span 2**59 ticks or more.

        Pass the GPU to ``gs.simulate.hierarchy``. For a log of several contexts, also pass
        ``timeslice=`` (and ``runlist=`` and ``context_switch=`` if they are known), which are not
        in a log. For measurements under MPS, where there are no time slices, put all kernels into
        context 0. Pass ``channels=0`` if each stream had its own hardware queue: the number of
        queues determines which kernels wait for each other, and is not in a log. Kernels with equal
        launch times are launched in the order of the rows.

        Examples
        --------
        >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
        >>> log = gs.io.BlockLog(
        ...     ["a", "b"], [0, 1], [1000, 1010], 1, 1024, 0, 0, [0, 1], 0, 0,
        ...     [1000, 1100], [1100, 1200]
        ... )
        >>> run = gs.simulate.hierarchy(log.launches().launches, gpu)
        >>> (run.first + log.launches().origin).tolist()
        [1000, 1100]
        """
        from gpusched.io.replay import log_replay

        return log_replay(self, latency)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per block: its columns and those of its kernel."""
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        table = {key: getattr(self, key) for key in _BLOCKS}
        of_kernels = ("name", "joined", *_KERNELS)
        return table | {key: getattr(self, key)[self.kernel] for key in of_kernels}

    # Pictures

    def plot(
        self,
        ax: Axes | None = None,
        *,
        by: Literal["sm", "stream"] = "sm",
        gpu: GPU | str | None = None,
        unit: str | None = None,
        since: int | None = None,
        until: int | None = None,
        against: Simulated | None = None,
        shift: int | None = None,
        tolerance: int = 0,
    ) -> Axes:
        """Draw the log with Matplotlib, alone or together with a simulation of it.

        Parameters
        ----------
        ax
            Axes to draw on. Default: those of a new figure.
        by
            "sm": one lane per SM with its blocks, each as high as its share of the warps, as in
            ``Hierarchy.plot``. "stream": one lane per stream with its kernels from their first
            start to their last end, and triangles at their launches.
        gpu
            A `GPU`, or the name of a preset, whose SMs are drawn with all their warps. Default: the
            SMs up to the last one in the log, with the largest number of warps on one of them.
        unit
            Unit of a tick: None, "ns", "us", "ms" or "s".
        since, until
            Start and end of the drawn interval in ticks of the log's clock. On the axis, 0 is the
            first time in the log. More than 700 groups of blocks (4000 with ``until``) are drawn as
            means, as in ``Hierarchy.plot``.
        against
            A run of ``gs.simulate.hierarchy`` with the same kernels: launch k has as many blocks as
            kernel k of the log. Each lane shows the log above and the run below; for more than 16
            SMs, all lanes of the log are above all lanes of the run. Blocks (kernels, by stream)
            that start or end at different times have a red outline. By SM, the lane "differing"
            below shows the share of the log's running warps that belong to such blocks.
        shift
            Ticks that are added to the times of the run. Default: such that the first launches of
            both coincide.
        tolerance
            Ticks by which starts and ends may differ without being marked.

        Returns
        -------
        matplotlib.axes.Axes
            ``ax``, or those of the new figure.

        Raises
        ------
        ValueError
            The GPU has fewer SMs than the log, an SM is 2**20 or larger, the interval is empty,
            times span more than 2**60 ticks, or the run has other kernels or no blocks.
        TypeError
            ``against`` is not a run.
        """
        from gpusched._draw import timeline_axes

        drawn = self._picture(by, gpu, unit, since, until, against, shift, tolerance)
        shown: Axes = timeline_axes.plot(drawn, ax)
        return shown

    def to_svg(
        self,
        *,
        by: Literal["sm", "stream"] = "sm",
        gpu: GPU | str | None = None,
        unit: str | None = None,
        since: int | None = None,
        until: int | None = None,
        against: Simulated | None = None,
        shift: int | None = None,
        tolerance: int = 0,
    ) -> str:
        """Return the picture of `plot` as an SVG document, made without Matplotlib.

        Examples
        --------
        >>> log = gs.io.BlockLog(["a"], 0, 0, 1, 32, 0, 0, [0], 0, 0, 40, 90)
        >>> run = gs.simulate.hierarchy(gs.Launches([0], 60), "Xavier")
        >>> "1 of 1 blocks differ in time by more than 20" in log.to_svg(against=run, tolerance=20)
        True
        """
        from gpusched._draw import svg

        return svg.svg(self._picture(by, gpu, unit, since, until, against, shift, tolerance))

    def _picture(self, *options: Any) -> Timeline:
        from gpusched.io import log_timeline

        return log_timeline.picture(self, log_timeline.Options(*options))

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def to_chrome_trace(
        self, path: str | os.PathLike[str], *, gpu: GPU | str | None = None, tick: int = 1
    ) -> None:
        """Write the log for Perfetto (ui.perfetto.dev) and chrome://tracing.

        There is a process per SM, with lanes of blocks and a counter of its warps, and a process
        "streams" with a lane per stream, in which kernels extend from their first start to their
        last end. Times are those of the log.

        Parameters
        ----------
        path
            The file, replaced only when the new one is complete; compressed if it ends in .gz.
        gpu
            The GPU, whose name is stored; None: unknown.
        tick
            Length of a tick in ns.

        Raises
        ------
        OSError
            The file cannot be written.
        TypeError, ValueError
            ``tick`` is not a positive integer, or the GPU has fewer SMs than the log.
        """
        from gpusched._draw import chrome_trace
        from gpusched.io import log_timeline

        chrome_trace.write_timeline(log_timeline.trace(self, gpu), path, tick)

    def __reduce__(self) -> Any:
        return (_restored, ({f.name: getattr(self, f.name) for f in fields(self)},))

    def __repr__(self) -> str:
        return (
            f"<BlockLog: {len(self.kernel)} blocks of {len(self)} kernels "
            f"in {len(self.stream_name)} streams>"
        )


def _restored(values: dict[str, Any]) -> BlockLog:
    return BlockLog(**values)


def _column(value: Any, name: str, count: int) -> Int64Array:
    array = int_array(value, name)
    if array.ndim > 1 or (array.ndim == 1 and len(array) != count):
        raise ValueError(f"{name}: got shape {array.shape}, expected ({count},)")
    if name in _LEAST:
        at_least(array, _LEAST[name], name)
    return np.broadcast_to(array, (count,)).copy()


def _reduced(
    function: np.ufunc, kernel: Int64Array, values: Int64Array, kernels: int
) -> Int64Array:
    """``function`` over the blocks of each kernel, shape ``(kernels,)``."""
    order = np.argsort(kernel, kind="stable")
    starts = np.searchsorted(kernel[order], np.arange(kernels))
    if not kernels:
        return np.zeros(0, np.int64)
    reduced: Int64Array = function.reduceat(values[order], starts)
    return reduced


def _joined(values: dict[str, Any]) -> Int64Array:
    stream, launch = values["stream"], values["launch"]
    ended = _reduced(np.maximum, values["kernel"], values["end"], len(launch))
    order = np.lexsort((launch, stream))
    before, after = order[:-1], order[1:]
    same = stream[before] == stream[after]
    joined: Int64Array = launch.copy()
    joined[after[same]] = np.maximum(launch[after[same]], ended[before[same]])
    return joined


_RULES = enumeration("io.rule")
_RESOURCES = ("warps", "block slots", "registers", "shared memory")
_CARVEOUT = enumeration("model.gpu_limit").index("carve-out")
_RULED = ("stream", "launch", "joined", "threads", "regs", "smem", "priority", "context")


@dataclass(frozen=True)
class Violation:
    """A violation of a rule, with the event that violates it.

    >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
    >>> log = gs.io.BlockLog(["a"], [0], [0], 1, 1024, 0, 0, [0], 0, 0, [50], [100])
    >>> found = gs.io.check_rules(log, gpu)[0]
    >>> found.rule, found.kernel, found.time
    ('idle', 0, 0)

    Attributes
    ----------
    rule
        "limits", "grids", "stream", "queue", "priority", "placement" or "idle"; see
        ``check_rules``.
    kernel, block
        Row of the kernel in the log, and number of the block in its grid.
    time
        Start of the block; for "idle", the earliest time at which it could have started.
    message
        One sentence that describes the violation.
    scenario
        ``BlockLog.scenario`` of the log.
    """

    rule: str
    kernel: int
    block: int
    time: int
    message: str
    scenario: str = ""

    def __str__(self) -> str:
        where = f"{self.scenario}: " if self.scenario else ""
        return f"{where}{self.rule}: {self.message}"


def check(
    log: BlockLog, gpu: GPU, tolerance: int, placement: str | None, latency: int
) -> list[Violation]:
    """See ``gpusched.io.check_rules``."""
    fit = occupancy(gpu, log.threads, log.regs, log.smem)
    if none := np.flatnonzero(fit == 0).tolist():
        raise ValueError(
            f"kernel {none[0]} ({log.name[none[0]]}): got a block that fits no SM, expected one "
            "within the limits of the GPU"
        )
    rows = _core.rules_check(
        gpu._limits,
        gpu.sm_order,
        tuple(getattr(log, key) for key in _RULED),
        tuple(getattr(log, key) for key in _BLOCKS),
        tolerance=tolerance,
        latency=latency,
        placement=placement is not None,
        resident_grids=gpu.resident_grids,
    )
    sentences = _Sentences(log)
    found = []
    for number, kernel, block, time, *detail in zip(*(c.tolist() for c in rows), strict=True):
        rule = _RULES[number]
        told = f"block {block} of {log.name[kernel]} (kernel {kernel}, stream {log.stream[kernel]})"
        message = f"{told} {sentences.rest(rule, kernel, time, *detail)}"
        found.append(Violation(rule, kernel, block, time, message, log.scenario))
    return found


class _Sentences:
    """Sentences about violations; the numbers are those of ``gs_io_rules_finding_t``."""

    def __init__(self, log: BlockLog) -> None:
        self.log, self.dispatched, self.ended = log, log.dispatched, log.ended

    def rest(
        self, rule: str, kernel: int, time: int, one: int, two: int, three: int, *more: int
    ) -> str:
        """The rest of a sentence that begins with the block."""
        log = self.log
        if rule == "idle":
            return f"has room from {time} on, but starts at {one}"
        if rule == "grids":
            return f"starts at {time} beside {one - 1} kernels that run; the GPU runs {two} at once"
        if rule == "limits":
            needed, limit = more
            if two == _CARVEOUT:
                return f"starts at {time} on SM {one}, which runs blocks of another carve-out"
            return (
                f"starts at {time} on SM {one}, which has {limit} {_RESOURCES[two]} for it: "
                f"{three} are taken, {needed} needed"
            )
        if rule == "placement":
            return (
                f"starts at {time} on SM {one} with room for {two}; SM {three} has room for "
                f"{more[0]}"
            )
        if rule == "priority":
            return (
                f"starts at {time}; kernel {one} of priority {log.priority[one]} waits from "
                f"{log.joined[one]} to {self.dispatched[one]}"
            )
        if rule == "queue":
            return (
                f"starts at {time}; kernel {one} ahead in its queue is fully dispatched at "
                f"{self.dispatched[one]}"
            )
        if one < 0:
            return f"starts at {time}, before its launch at {log.launch[kernel]}"
        return f"starts at {time}, before kernel {one} of its stream ends at {self.ended[one]}"
