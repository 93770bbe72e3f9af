"""Tables of a run of the scheduling hierarchy: blocks, waits, time slices, occupancy; deadlocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration
from gpusched.simulate.run_results import Table

__all__ = ["REASONS", "Blocks", "Deadlock", "Occupancy", "Slices", "Waits"]

REASONS = enumeration("simulate.wait_reason")
"""Reasons to wait, by the core's numbers; see ``Waits``."""


@dataclass(frozen=True, eq=False, repr=False)
class Blocks(Table):
    """Blocks in order of start: read-only int64 arrays, (blocks,).

    >>> work = gs.Launches.build()
    >>> kernel = work.kernel(work.stream(), blocks=2, threads=512, duration=100)
    >>> gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=16)
    >>> run = gs.simulate.hierarchy(work.done(), gpu)
    >>> run.blocks.sm.tolist(), run.blocks.end.tolist()
    ([0, 1], [100, 100])

    Attributes
    ----------
    kernel
        Index of the launch.
    block
        The block's number in its grid.
    sm
        The SM that ran it.
    start, end
        In ticks; ``end`` is -1 for a block that had not ended when the simulation did. While
        another context has the GPU, a block that has started is frozen: see ``Slices``.
    """

    _KIND: ClassVar[str] = "Blocks"
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("end",)

    kernel: Int64Array
    block: Int64Array
    sm: Int64Array
    start: Int64Array
    end: Int64Array


@dataclass(frozen=True, eq=False, repr=False)
class Waits(Table):
    """Waits of launches, in order of their ends: read-only int64 arrays, (waits,).

    >>> work = gs.Launches.build()
    >>> for stream in (work.stream(), work.stream()):
    ...     _ = work.kernel(stream, blocks=1, threads=1024, duration=100)
    >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
    >>> waits = gs.simulate.hierarchy(work.done(), gpu).waits
    >>> waits.launch.tolist(), waits.blocker.tolist(), waits.reason.tolist()
    ([1], [-1], ['warps'])

    Attributes
    ----------
    launch
        Index of the launch that waited.
    why
        Index into ``REASONS``. "stream": for the last launch before it in its stream that has not
        ended, or for the triggers of a programmatic kernel's primary. "after": for a launch that it
        was told to wait for. "null_stream": for a launch that the rules of the NULL
        stream keep before it. "channel": for the kernel before it in its channel to be fully
        dispatched. "slice": for a time slice of its context. "priority": for a more urgent queue
        to become empty. "queue": behind another kernel. "warps", "blocks", "registers",
        "shared_memory": at the head of the queue, no SM has enough of that resource for one more
        block (the one that most SMs lack). "copy_engine": for other copies. "carveout": at the head
        of the queue, most SMs run blocks of kernels with another carve-out for shared memory.
        "partition": at the head of the queue, no SM that its partition may use has room, but
        others have. "cooperative": there is room, but not for all its blocks at once. "cluster":
        there is room, but not for a whole cluster on one GPC. "grids": at the head of the queue, as
        many kernels are resident as the GPU runs at once (``GPU.resident_grids``).
    blocker
        Index of the launch that it waited for, -1 if there is none.
    sm
        The SM that had room at the end of a wait for room; -1 otherwise.
    start, end
        In ticks; ``end`` is -1 for a wait that had not ended. A kernel that has started some of its
        blocks may wait for room or priority again for the others, until the last has started.
    """

    _KIND: ClassVar[str] = "Waits"
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("blocker", "sm", "end")

    launch: Int64Array
    why: Int64Array
    blocker: Int64Array
    sm: Int64Array
    start: Int64Array
    end: Int64Array

    @property
    def reason(self) -> npt.NDArray[np.str_]:
        """``why`` in words."""
        return np.array(REASONS)[self.why]

    def _table(self) -> dict[str, npt.NDArray[Any]]:
        columns = super()._table()
        del columns["why"]
        return {"launch": columns.pop("launch"), "reason": self.reason, **columns}


@dataclass(frozen=True, eq=False, repr=False)
class Slices(Table):
    """Time slices of contexts: read-only int64 arrays, (slices,).

    >>> work = gs.Launches.build()
    >>> for stream in (work.stream(context=0), work.stream(context=1)):
    ...     _ = work.kernel(stream, blocks=1, threads=512, duration=100)
    >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
    >>> slices = gs.simulate.hierarchy(work.done(), gpu, timeslice=60).slices
    >>> slices.context.tolist(), slices.start.tolist(), slices.end.tolist()
    ([0, 1, 0, 1], [0, 60, 120, 160], [60, 120, 160, 200])

    Attributes
    ----------
    context
        Index of the context that had the GPU.
    start, end
        In ticks; ``end`` is -1 for one that had not ended. Consecutive slices of one context are
        merged.
    """

    _KIND: ClassVar[str] = "Slices"
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("end",)

    context: Int64Array
    start: Int64Array
    end: Int64Array


@dataclass(frozen=True, eq=False, repr=False)
class Occupancy(Table):
    """Occupancy of each SM over time, as step functions: read-only int64 arrays, (changes,).

    One row per change, by SM and time, valid until the SM's next row; an SM is empty before its
    first row. Frozen blocks do not count.

    >>> work = gs.Launches.build()
    >>> kernel = work.kernel(work.stream(), blocks=2, threads=512, duration=100)
    >>> gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=16)
    >>> load = gs.simulate.hierarchy(work.done(), gpu).occupancy()
    >>> load.sm.tolist(), load.time.tolist(), load.threads.tolist()
    ([0, 0, 1, 1], [0, 100, 0, 100], [512, 0, 512, 0])

    Attributes
    ----------
    sm, time
        The SM, and the instant in ticks.
    warps, threads, blocks
        On it from then on.
    """

    _KIND: ClassVar[str] = "Occupancy"

    sm: Int64Array
    time: Int64Array
    warps: Int64Array
    threads: Int64Array
    blocks: Int64Array

    def of(self, sm: int) -> tuple[Int64Array, Int64Array]:
        """Step function of one SM: (times, warps from each of them on)."""
        low, high = np.searchsorted(self.sm, [sm, sm + 1])
        return self.time[low:high], self.warps[low:high]

    def total(self) -> tuple[Int64Array, Int64Array]:
        """Step function of the whole GPU: (times, warps from each of them on)."""
        first = np.diff(self.sm, prepend=-1) != 0
        change = np.diff(self.warps, prepend=0)
        change[first] = self.warps[first]
        times, at = np.unique(self.time, return_inverse=True)
        sums = np.zeros(len(times), dtype=np.int64)
        np.add.at(sums, at, change)
        return times, np.cumsum(sums)


@dataclass(frozen=True)
class Deadlock:
    """Launches that wait for each other, so that none of them can go on.

    >>> work = gs.Launches.build()
    >>> stream = work.stream()
    >>> first = work.kernel(stream, duration=10, after=1)
    >>> second = work.kernel(stream, duration=10)
    >>> gpu = gs.GPU(sms=1, threads_per_sm=1024, blocks_per_sm=16)
    >>> gs.simulate.hierarchy(work.done(), gpu).deadlock.chain
    ((0, 'after', 1), (1, 'stream', 0))

    Attributes
    ----------
    chain
        Each as (launch, reason, blocker); the blocker is the next launch of the chain, that of the
        last one the first.
    sentence
        The same in words; also what ``str`` gives.
    """

    chain: tuple[tuple[int, str, int], ...]
    sentence: str

    def __str__(self) -> str:
        return self.sentence
