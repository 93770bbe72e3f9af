"""Sentences on the waits of launches."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip, named
from gpusched.model.gpu import GPU
from gpusched.model.launches import Launches
from gpusched.simulate.hierarchy_tables import REASONS, Deadlock, Waits

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


class Records(Protocol):
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


def sentences(run: Records, launch: int, rows: Int64Array | None = None) -> list[str]:
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


def deadlock(run: Records) -> Deadlock:
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
        parts.append(f"{label(run.launches, launch)} waits {reason_of(run, pending, k)}")
    return Deadlock(tuple(chain), f"{'; '.join(parts)}: this never ends")


def reason_of(run: Records, waits: Waits, k: int) -> str:
    """The rest of a sentence that begins with "waits"."""
    launches = run.launches
    launch, blocker = int(waits.launch[k]), int(waits.blocker[k])
    reason = REASONS[waits.why[k]]
    other = "itself" if blocker == launch else label(launches, blocker) if blocker >= 0 else ""
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


def label(launches: Launches, launch: int) -> str:
    """A launch's name in a sentence."""
    return clip(launches.name[launch], _SHOWN)
