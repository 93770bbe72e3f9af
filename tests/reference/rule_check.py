"""Check of a log of blocks against the rules of the scheduling hierarchy, block by block.

Sources: [RTSS17] for queues; Gilman et al. (2020) for SMs. Nothing is simulated: each rule is a
condition on the recorded times. A measured time is later than the scheduler's decision by an
unknown amount; with a tolerance, a violation is reported only if no shift of single times by less
than the tolerance explains it. A kernel joins its queue between ``joined`` and the instant at which
the launch latency has passed since its launch, or its first block starts.

No cleverness: the blocks that are alive are looked through anew for every block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpusched import GPU
from gpusched import occupancy as gs_occupancy
from gpusched.io import BlockLog

Int64Array = npt.NDArray[np.int64]
RESOURCES = ("warps", "block slots", "registers", "shared memory")


class Finding(NamedTuple):
    """The fields of a violation, in its order."""

    rule: str
    kernel: int
    block: int
    time: int
    message: str


def check(
    log: BlockLog, gpu: GPU, tolerance: int = 0, placement: bool = True, latency: int = 0
) -> list[Finding]:
    """All violations, by time."""
    found: list[Finding] = []
    found += _streams(log, tolerance)
    contexts = np.unique(log.context).tolist()
    for context in contexts:
        rows = np.flatnonzero(log.context == context)
        found += _grids(log, rows, gpu.resident_grids, tolerance)
        found += _queues(log, rows, tolerance, latency)
        found += _priorities(log, rows, gpu.resident_grids, tolerance, latency)
        found += _Device(log, gpu, rows, tolerance, latency).placements(placement)
    if len(contexts) == 1:
        found += _Device(log, gpu, np.arange(len(log)), tolerance, latency).idle_times()
    return sorted(found, key=lambda v: (v.time, v.kernel, v.block, v.rule))


def _ready(log: BlockLog, latency: int) -> Int64Array:
    """Latest instants at which the kernels have joined their queues."""
    latest = np.minimum(log.launch + latency, log.first) if len(log) else log.launch
    ready: Int64Array = np.maximum(log.joined, latest)
    return ready


def _told(log: BlockLog, kernel: int, block: int) -> str:
    return f"block {block} of {log.name[kernel]} (kernel {kernel}, stream {log.stream[kernel]})"


def _first_blocks(log: BlockLog) -> Int64Array:
    """Row of each kernel's first block."""
    order = np.lexsort((log.block, log.start, log.kernel))
    rows: Int64Array = order[np.searchsorted(log.kernel[order], np.arange(len(log)))]
    return rows


def _streams(log: BlockLog, tolerance: int) -> Iterator[Finding]:
    """Kernels that start before their launch or the end of their stream's previous kernel."""
    first, ended = _first_blocks(log), log.ended
    order = np.lexsort((log.launch, log.stream)).tolist()
    before = -1
    for k in order:
        block, start = int(log.block[first[k]]), int(log.start[first[k]])
        told = f"{_told(log, k, block)} starts at {start}"
        if start < log.launch[k] - tolerance:
            message = f"{told}, before its launch at {log.launch[k]}"
            yield Finding("stream", k, block, start, message)
        elif before >= 0 and log.stream[before] == log.stream[k]:
            if start < ended[before] - tolerance:
                message = f"{told}, before kernel {before} of its stream ends at {ended[before]}"
                yield Finding("stream", k, block, start, message)
        before = k


def _grids(log: BlockLog, rows: Int64Array, most: int, tolerance: int) -> Iterator[Finding]:
    """Kernels that start, and then more kernels certainly run than may do so at once."""
    at, ended = _first_blocks(log), log.ended - tolerance
    certain = [k for k in rows.tolist() if log.first[k] < ended[k]]
    certain.sort(key=lambda k: (log.first[k], k))
    for i, k in enumerate(certain):
        beside = [j for j in certain[:i] if ended[j] > log.first[k]]
        if len(beside) + 1 > most:
            block, start = int(log.block[at[k]]), int(log.first[k])
            message = (
                f"{_told(log, k, block)} starts at {start} beside {len(beside)} kernels that run; "
                f"the GPU runs {most} at once"
            )
            yield Finding("grids", k, block, start, message)


def _queues(log: BlockLog, rows: Int64Array, tolerance: int, latency: int) -> Iterator[Finding]:
    """Kernels that start before all blocks of a kernel that joined the same queue earlier."""
    first, dispatched = _first_blocks(log), log.dispatched
    for priority in np.unique(log.priority[rows]).tolist():
        queue = _Latest(log, rows[log.priority[rows] == priority], dispatched, latency)
        for k in queue.kernels.tolist():
            block, start = int(log.block[first[k]]), int(log.start[first[k]])
            ahead = queue.joined_before(int(log.joined[k]) - tolerance)
            if ahead >= 0 and dispatched[ahead] - tolerance > start:
                message = (
                    f"{_told(log, k, block)} starts at {start}; kernel {ahead} ahead in its "
                    f"queue is fully dispatched at {dispatched[ahead]}"
                )
                yield Finding("queue", k, block, start, message)


def _priorities(
    log: BlockLog, rows: Int64Array, most: int, tolerance: int, latency: int
) -> Iterator[Finding]:
    """Kernels of which a block starts while a kernel of a more urgent queue waits, and not because
    as many others may run as may do so at once."""
    dispatched = log.dispatched
    for priority in np.unique(log.priority[rows]).tolist()[1:]:
        urgent = _Latest(log, rows[log.priority[rows] < priority], dispatched, latency)
        mine = rows[log.priority[rows] == priority]
        told = set()
        blocks = np.flatnonzero(np.isin(log.kernel, mine))
        for row in blocks[np.lexsort((log.block[blocks], log.start[blocks]))].tolist():
            k, block, start = int(log.kernel[row]), int(log.block[row]), int(log.start[row])
            other = urgent.joined_before(start - tolerance)
            if k not in told and other >= 0 and dispatched[other] - tolerance > start:
                others = rows[rows != other]
                may_run = log.first[others] <= start + tolerance
                may_run &= log.ended[others] > start - tolerance
                if may_run.sum() >= most:
                    continue
                told.add(k)
                message = (
                    f"{_told(log, k, block)} starts at {start}; kernel {other} of priority "
                    f"{log.priority[other]} waits from {log.joined[other]} to {dispatched[other]}"
                )
                yield Finding("priority", k, block, start, message)


class _Latest:
    """Latest dispatched kernel among those that joined before an instant, for a set of kernels."""

    def __init__(
        self, log: BlockLog, kernels: Int64Array, dispatched: Int64Array, latency: int
    ) -> None:
        ready = _ready(log, latency)
        self.kernels = kernels[np.argsort(ready[kernels], kind="stable")]
        self._joined = ready[self.kernels]
        self._last: list[int] = []
        for k in self.kernels.tolist():
            last = self._last[-1] if self._last else k
            self._last.append(k if dispatched[k] > dispatched[last] else last)

    def joined_before(self, instant: int) -> int:
        """The kernel, or -1 when none joined before ``instant``."""
        count = int(np.searchsorted(self._joined, instant, side="left"))
        return self._last[count - 1] if count else -1


class _Device:
    """Occupancy of the SMs by the blocks of one context over time.

    Blocks that started at the same time are ordered by the kernel's priority, the time at which it
    joined its queue, its launch, and the block's number in the grid.
    """

    def __init__(
        self, log: BlockLog, gpu: GPU, rows: Int64Array, tolerance: int, latency: int
    ) -> None:
        self.log, self.gpu, self.tolerance = log, gpu, tolerance
        self.exact = tolerance == 0 and latency == 0
        self.ready = _ready(log, latency)
        self.rows = rows
        blocks = np.flatnonzero(np.isin(log.kernel, rows))
        of = log.kernel[blocks]
        keys = (log.block[blocks], of, log.launch[of], log.joined[of], log.priority[of])
        self.blocks = blocks[np.lexsort((*keys, log.start[blocks]))]
        self.kernel, self.number = log.kernel[self.blocks], log.block[self.blocks]
        self.sm, self.start = log.sm[self.blocks], log.start[self.blocks]
        self.end = log.end[self.blocks]
        self.take, self.usable = _footprints(log, gpu)
        self.carveout = _carveouts(log, gpu)
        self.limits = np.array(
            [gpu.warps_per_sm, gpu.blocks_per_sm, gpu.regs_per_sm, gpu.smem_per_sm], np.int64
        )
        self.position = np.empty(gpu.sms, np.int64)  # of each SM in the device's order
        self.position[gpu.sm_order] = np.arange(gpu.sms)

    def _load(self, at: Int64Array) -> Int64Array:
        """Resources that these blocks occupy, shape ``(SMs, 4)``."""
        sm, take = self.sm[at], self.take[self.kernel[at]]
        columns = [
            np.bincount(sm, weights=take[:, r], minlength=self.gpu.sms)  # exact: below 2**53
            for r in range(take.shape[1])
        ]
        return np.stack(columns, axis=1).astype(np.int64)

    def _limits_for(self, kernel: int) -> Int64Array:
        limits = self.limits.copy()
        limits[2] = self.usable[kernel]
        return limits

    def _room(self, load: Int64Array, kernel: int) -> Int64Array:
        """Number of further blocks of a kernel that each SM can host, shape ``(SMs,)``."""
        take = self.take[kernel]
        needed = take > 0
        free = (self._limits_for(kernel) - load)[:, needed] // take[needed]
        room: Int64Array = np.maximum(free.min(axis=1), 0)
        return room

    def _suits(self, at: Int64Array, kernel: int) -> npt.NDArray[np.bool_]:
        """SMs whose blocks, these, let one of a kernel join for certain, by their carve-outs."""
        found = np.ones(self.gpu.sms, np.bool_)
        own = self.carveout[kernel]
        for s in range(self.gpu.sms) if self.gpu.carveout_rule != "ignore" else ():
            there = self.carveout[self.kernel[at[self.sm[at] == s]]]
            if len(there):
                match = self.gpu.carveout_rule == "match"
                found[s] = bool((there == own if match else there >= own).all())
        return found

    def placements(self, placement: bool) -> Iterator[Finding]:
        """Findings of the limits of SMs and of the placement rule."""
        tolerance = self.tolerance
        seen, alive = 0, np.zeros(0, np.int64)
        for i in range(len(self.blocks)):
            now, k = int(self.start[i]), int(self.kernel[i])
            reach = int(np.searchsorted(self.start, now + tolerance, side="right"))
            alive = np.concatenate([alive, np.arange(seen, reach)])
            seen = reach
            alive = alive[self.end[alive] > now - tolerance]
            surely, perhaps = self._others(i, alive)
            load = self._load(surely)
            sm, take, limits = int(self.sm[i]), self.take[k], self._limits_for(k)
            told = f"{_told(self.log, k, int(self.number[i]))} starts at {now} on SM {sm}"
            over = (load[sm] + take > limits) & (take > 0)
            if over.any():
                r = int(np.argmax(over))
                message = (
                    f"{told}, which has {limits[r]} {RESOURCES[r]} for it: "
                    f"{load[sm][r]} are taken, {take[r]} needed"
                )
                yield Finding("limits", k, int(self.number[i]), now, message)
            elif self.gpu.carveout_rule == "match" and not self._suits(surely, k)[sm]:
                message = f"{told}, which runs blocks of another carve-out"
                yield Finding("limits", k, int(self.number[i]), now, message)
            elif placement:
                least = self._room(load, k)
                most = int(least[sm])
                others = np.concatenate([surely, perhaps])
                least = self._room(self._load(others), k)
                least[~self._suits(others, k)] = 0
                better = (least > most) | ((least == most) & (self.position < self.position[sm]))
                better[sm] = False
                if better.any():
                    best = int(np.argmax(np.where(better, least, -1)))
                    message = f"{told} with room for {most}; SM {best} has room for {least[best]}"
                    yield Finding("placement", k, int(self.number[i]), now, message)

    def _others(self, i: int, alive: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Blocks certainly resident, and blocks possibly resident, when block i was placed.

        ``alive``: blocks that start by then, or within the tolerance after it, and end later.
        """
        now, tolerance = int(self.start[i]), self.tolerance
        alive = alive[alive != i]
        same = self.kernel[alive] == self.kernel[i]
        earlier = self.start[alive] < now - tolerance
        by_number = self.number[alive] < self.number[i]
        if not self.exact:
            started, open_start = earlier | (same & by_number), ~same & ~earlier
        else:
            rank = self._rank(self.kernel[alive]) - self._rank(self.kernel[i : i + 1])
            ahead = _first_sign(rank)
            started = earlier | np.where(same, by_number, ahead < 0)
            open_start = ~same & ~earlier & (ahead == 0)
        stays = self.end[alive] > now + tolerance
        surely = started & stays
        return alive[surely], alive[(started | open_start) & ~surely]

    def _rank(self, kernel: Int64Array) -> Int64Array:
        log = self.log
        return np.stack([log.priority[kernel], log.joined[kernel], log.launch[kernel]], axis=-1)

    def idle_times(self) -> Iterator[Finding]:
        """Times for which the kernel at the head could have started, longer than the tolerance."""
        log = self.log
        events = [self.start, self.end, log.joined[self.rows], self.ready[self.rows]]
        dispatched = log.dispatched
        since: tuple[list[int], int, int] | None = None  # heads that fit, the first, since when
        told = False
        for now in np.unique(np.concatenate(events)).tolist():
            if since is not None and not told and now - since[2] > self.tolerance:
                yield self._idle(since[1], since[2])
                told = True
            alive = np.flatnonzero((self.start <= now) & (self.end > now))
            waiting = [
                k for k in self.rows.tolist() if log.joined[k] <= now and dispatched[k] > now
            ]
            first = min(
                ((log.priority[k], self.ready[k], k) for k in waiting if self.ready[k] <= now),
                default=None,
            )
            heads = [] if first is None else self._heads(waiting, *first[:2])
            load = self._load(alive)
            running = sum(log.first[k] <= now < log.ended[k] for k in self.rows.tolist())
            full = running >= self.gpu.resident_grids
            if first is None or any(
                (full and log.first[k] > now)
                or (self._room(load, k) * self._suits(alive, k)).max() == 0
                for k in heads
            ):
                since = None
            elif since is None or since[0] != heads:
                since, told = (heads, first[2], now), False

    def _heads(self, waiting: list[int], priority: int, ready: int) -> list[int]:
        """The kernels that may be at the head, if one of this priority is ready since then."""
        log = self.log
        return [
            k
            for k in waiting
            if log.priority[k] < priority
            or (log.priority[k] == priority and log.joined[k] <= ready + self.tolerance)
        ]

    def _idle(self, kernel: int, since: int) -> Finding:
        row = int(np.flatnonzero((self.kernel == kernel) & (self.start > since))[0])
        block, start = int(self.number[row]), int(self.start[row])
        message = (
            f"{_told(self.log, kernel, block)} has room from {since} on, but starts at {start}"
        )
        return Finding("idle", kernel, block, since, message)


def _first_sign(difference: Int64Array) -> npt.NDArray[Any]:
    """The sign of the first column that is not 0, 0 where all are."""
    columns = np.sign(difference)
    at = np.argmax(columns != 0, axis=1)
    return np.take_along_axis(columns, at[:, None], axis=1)[:, 0]


def _footprints(log: BlockLog, gpu: GPU) -> tuple[Int64Array, Int64Array]:
    """Resources of an SM that a block of each kernel occupies, and registers usable by its blocks.

    The shapes are ``(K, 4)`` and ``(K,)``. Not all registers are usable, because the registers of a
    warp are in one register file.
    """
    reserved, smem_unit, reg_unit, files = gpu._limits[6:10]
    warps = -(-log.threads // 32)
    per_warp = _up(log.regs * 32, reg_unit)
    whole = gpu.regs_per_sm // files // np.maximum(per_warp, 1) * per_warp * files
    take = [warps, np.ones_like(warps), warps * per_warp, _up(log.smem + reserved, smem_unit)]
    return np.stack(take, axis=1), whole


def _carveouts(log: BlockLog, gpu: GPU) -> Int64Array:
    """The least carve-out with which as many blocks of a kernel fit an SM as with the largest."""
    if gpu.carveout_rule == "ignore":
        return np.zeros(len(log), np.int64)
    reserved, smem_unit = gpu._limits[6:8].tolist()
    found = []
    for k in range(len(log)):
        smem = int(log.smem[k])
        each = -(-(smem + reserved) // smem_unit) * smem_unit
        plain = GPU(**{**gpu._fields(), "carveout_rule": "ignore"})
        shape = (int(log.threads[k]), int(log.regs[k]))
        fit = gs_occupancy(plain, *shape, smem)
        most = max(1, min(fit, gpu.carveouts[-1] // each)) if each else fit
        enough = [size for size in gpu.carveouts if smem == 0 or size >= most * each]
        found.append(enough[0] if enough else gpu.carveouts[-1])
    return np.array(found, np.int64)


def _up(value: Int64Array, unit: Any) -> Int64Array:
    rounded: Int64Array = -(-value // unit) * unit
    return rounded
