"""Tables of a run of the scheduling hierarchy, and sentences on the waits of its launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration
from gpusched._support.text import clip, named
from gpusched.model.gpu import GPU
from gpusched.model.launches import Launches
from gpusched.simulate.run_results import Table

REASONS = enumeration("simulate.wait_reason")
"""Reasons for waiting, by the core's numbers; see ``Waits``."""


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
        Number of the block in its grid.
    sm
        SM that executed it.
    start, end
        Times in ticks; ``end`` is -1 for a block that had not ended when the simulation ended.
        While another context uses the GPU, a started block is frozen: see ``Slices``.
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
        Index into ``REASONS``. "stream": for the last unfinished launch before it in its stream, or
        for the triggers of a programmatic kernel's primary. "after": for a launch given by
        ``after``. "null_stream": for a launch that must precede it by the rules of the NULL stream.
        "channel": for the kernel before it in its channel to be fully dispatched. "slice": for a
        time slice of its context. "priority": for a queue of higher priority to become empty.
        "queue": behind another kernel. "warps", "blocks", "registers", "shared_memory": at the head
        of the queue, no SM has enough of that resource for another block (if several are lacking,
        the one that most SMs lack). "copy_engine": for other copies. "carveout": at the head of the
        queue, most SMs run blocks of kernels with another shared-memory carve-out. "partition": at
        the head of the queue, no SM that its partition may use has room, but others have.
        "cooperative": there is room, but not for all its blocks at once. "cluster": there is room,
        but not for a whole cluster on one GPC. "grids": at the head of the queue,
        as many kernels are resident as the GPU runs at once (``GPU.resident_grids``).
    blocker
        Index of the launch that it waited for, -1 if there is none.
    sm
        The SM that had room at the end of a wait for room; -1 otherwise.
    start, end
        Times in ticks; ``end`` is -1 for a wait that was not over. A kernel that has started some
        of its blocks may wait again for room or priority, until its last block has started.
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
        """The reason of each wait as text (``why`` in words)."""
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
        Index of the context that used the GPU.
    start, end
        Times in ticks; ``end`` is -1 for a slice that had not ended. Consecutive slices of one
        context are merged.
    """

    _KIND: ClassVar[str] = "Slices"
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("end",)

    context: Int64Array
    start: Int64Array
    end: Int64Array


@dataclass(frozen=True, eq=False, repr=False)
class Occupancy(Table):
    """Occupancy of each SM over time, as step functions: read-only int64 arrays, (changes,).

    There is one row per change, ordered by SM and time, valid until the next row of the SM. An SM
    is empty before its first row. Frozen blocks do not count.

    >>> work = gs.Launches.build()
    >>> kernel = work.kernel(work.stream(), blocks=2, threads=512, duration=100)
    >>> gpu = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=16)
    >>> load = gs.simulate.hierarchy(work.done(), gpu).occupancy()
    >>> load.sm.tolist(), load.time.tolist(), load.threads.tolist()
    ([0, 0, 1, 1], [0, 100, 0, 100], [512, 0, 512, 0])

    Attributes
    ----------
    sm, time
        The SM, and the time of the change in ticks.
    warps, threads, blocks
        Numbers on the SM from then on.
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
    """Launches that wait for each other, so that none of them can proceed.

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
        Triples (launch, reason, blocker); the blocker is the launch of the next triple, and that of
        the last triple is the first launch.
    sentence
        The chain in words, also returned by ``str``.
    """

    chain: tuple[tuple[int, str, int], ...]
    sentence: str

    def __str__(self) -> str:
        return self.sentence


_SHOWN = 40  # characters of a name

_ROOM = {
    "warps": "no SM has enough free warps",
    "blocks": "no SM takes another block",
    "registers": "no SM has enough free registers",
    "shared_memory": "no SM has enough free shared memory",
    "carveout": "most SMs run blocks of kernels with another carve-out for shared memory",
    "cooperative": "not all of them fit the SMs at once",
    "cluster": "no GPC takes a whole cluster",
}


class WaitRecords(Protocol):
    """Protocol of a run: launches and waits, from which sentences are made."""

    @property
    def launches(self) -> Launches: ...
    @property
    def gpu(self) -> GPU: ...
    @property
    def first(self) -> Int64Array: ...
    @property
    def waits(self) -> Waits: ...
    @property
    def pending(self) -> Waits: ...


def wait_sentences(run: WaitRecords, launch: int, rows: Int64Array | None = None) -> list[str]:
    """One sentence per wait of a launch, ordered by time; ``rows``: its rows in the waits."""
    waits = run.waits
    found = np.flatnonzero(waits.launch == launch) if rows is None else rows
    told = []
    for k in found[np.argsort(waits.start[found], kind="stable")].tolist():
        span = f"waited {waits.start[k]} .. {waits.end[k]}"
        told.append(f"{span} {reason_of(run, waits, k)}")
    low, high = np.searchsorted(run.pending.launch, [launch, launch + 1]).tolist()
    for k in range(low, high):
        told.append(f"has waited since {run.pending.start[k]} {reason_of(run, run.pending, k)}")
    return told


def deadlock_of(run: WaitRecords) -> Deadlock:
    """The cycle of launches that wait for each other, from the first unfinished launch."""
    pending = run.pending
    place = {launch: k for k, launch in enumerate(pending.launch.tolist())}
    walk: dict[int, int] = {}  # launches in the order in which they are reached
    launch = int(pending.launch[0])
    while launch not in walk:
        walk[launch] = len(walk)
        launch = int(pending.blocker[place[launch]])
    ring = list(walk)[walk[launch] :]
    first = ring.index(min(ring))
    chain, parts = [], []
    for launch in ring[first:] + ring[:first]:
        k = place[launch]
        chain.append((launch, REASONS[pending.why[k]], int(pending.blocker[k])))
        parts.append(f"{launch_label(run.launches, launch)} waits {reason_of(run, pending, k)}")
    return Deadlock(tuple(chain), f"{'; '.join(parts)}: this never ends")


def reason_of(run: WaitRecords, waits: Waits, k: int) -> str:
    """The rest of a sentence that begins with "waits"."""
    launches = run.launches
    launch, blocker = int(waits.launch[k]), int(waits.blocker[k])
    reason = REASONS[waits.why[k]]
    other = (
        "itself" if blocker == launch else launch_label(launches, blocker) if blocker >= 0 else ""
    )
    stream = int(launches.stream[launch])
    if reason == "stream":
        if launches.programmatic[launch] and _is_primary(launches, launch, blocker):
            where = launches.stream_name[stream]
            return f"until all blocks of {other}, before it in {where}, have triggered or ended"
        return f"for {other}, which is before it in {named(launches.stream_name[stream])}"
    if reason == "after":
        if launches.programmatic[launch] and launches.graph[launch] >= 0:
            return f"until all blocks of {other}, its primary, have triggered or ended"
        return f"for {other}, as it was told to"
    if reason == "null_stream":
        if launches.stream_kind[stream] == 2:
            return f"in the NULL stream for {other}, which was launched before it"
        return f"for {other} in the NULL stream, which was launched before it"
    if reason == "channel":
        return f"for all blocks of {other} to start, which is before it in its channel"
    if reason == "slice":
        context = launches.stream_context[stream]
        return f"for a time slice of its context ({context})"
    if reason == "priority":
        return f"for {other}, which is more urgent"
    if reason == "queue":
        return f"behind {other} in the queue"
    if reason == "copy_engine":
        return f"behind {other} at the copy engine"
    if reason == "grids":
        most = run.gpu.resident_grids
        return f"for a kernel to end: {most} run, as many as the GPU runs at once"
    partly = 0 <= run.first[launch] <= waits.start[k]
    found = f", until SM {waits.sm[k]} had room" if waits.sm[k] >= 0 else ""
    whose = " for all its blocks" if reason == "cooperative" else ""
    whose = " for its other blocks" if partly else whose
    if reason == "partition":
        return f"for room{whose}: {_full(launches, int(launches.stream_partition[stream]))}{found}"
    return f"for room{whose}: {_ROOM[reason]}{found}"


def _full(launches: Launches, partition: int) -> str:
    """Reason for which a partition has no room while other SMs have."""
    names, limits = launches.partition_name, launches.partition_limit
    name = f"partition {partition}" if names is None else clip(names[partition], _SHOWN)
    if limits is not None and limits[partition]:
        return f"the SMs that {name} may use (at most {limits[partition]} at once) are full"
    return f"the SMs of {name} are full"


def _is_primary(launches: Launches, launch: int, blocker: int) -> bool:
    """Whether the last launch before a programmatic one that has not ended is its primary."""
    alone = launches.graph[launch] < 0 and launches.graph[blocker] < 0
    return bool(alone and launches.kind[blocker] == 0)


def launch_label(launches: Launches, launch: int) -> str:
    """A launch's name in a sentence."""
    return clip(launches.name[launch], _SHOWN)
