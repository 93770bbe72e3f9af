"""Launches made from a file for ``gs.simulate.hierarchy``: the result, those of a log, of a trace.

A replay states its assumptions. Launches of a log of blocks have the measured times of the blocks;
those of a trace are its kernels and copies, with the times of their launch calls.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array, at_least, frozen, int_array, integer, one_of
from gpusched._support.text import plural, shown
from gpusched.io.traces.trace_jobs import Recording
from gpusched.io.traces.trace_tables import (
    COPY_IN,
    COPY_OUT,
    UNKNOWN_KIND,
    Names,
    TraceEvents,
    known_gpu,
    occupancy_of,
    total,
)
from gpusched.model.gpu import GPU
from gpusched.model.launch_columns import KINDS, STREAM_KINDS
from gpusched.model.launches import Launches
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workload_document import ObservedTime

MOST_TIME = 2**59
"""Times of a simulation are below this number of ticks."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Launches of a log, a trace or a configuration, for ``gs.simulate.hierarchy``.

    >>> log = gs.io.BlockLog(["a"], 0, 5_000, 1, 32, 0, 0, [0], 0, 0, 5_040, 5_300)
    >>> replay = log.launches()
    >>> replay.launches, replay.origin, replay.launches.time.tolist()
    (<Launches: 1 kernels in 1 streams>, 5000, [40])

    Parameters
    ----------
    launches
        Kernels and copies; a tick is 1 ns. Times start near 0, as a simulation requires.
    origin
        Time in the file that is tick 0: add it to a time of the simulation to get one of the file.
    assumptions
        Sentences that state what is not in the file, and what was assumed instead.
    """

    launches: Launches
    origin: int
    assumptions: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TraceReplay(Replay):
    """Launches of a trace (``Trace.launches``).

    >>> replay = gs.io.read_trace("tests/data/pipeline.pt.trace.json").launches()
    >>> len(replay.launches), int((replay.kernel >= 0).sum())
    (45, 37)

    Parameters
    ----------
    launches, origin, assumptions
        As in `Replay`.
    kernel, transfer
        For each launch, its row in the trace, and its row in ``trace.events.transfers``; shape
        ``(n,)``, -1 if it has none.
    """

    kernel: Int64Array
    transfer: Int64Array


def too_long(name: str, value: int, origin: int) -> OverflowError:
    """The error for a time that a simulation cannot have."""
    return OverflowError(
        f"{name}: got {value}, expected less than 2**59 ticks after the earliest launch, {origin}"
    )


class Log(Protocol):
    """The columns of a log, as `gpusched.io.BlockLog` has them."""

    @property
    def name(self) -> Names: ...
    @property
    def stream(self) -> Int64Array: ...
    @property
    def launch(self) -> Int64Array: ...
    @property
    def blocks(self) -> Int64Array: ...
    @property
    def threads(self) -> Int64Array: ...
    @property
    def regs(self) -> Int64Array: ...
    @property
    def smem(self) -> Int64Array: ...
    @property
    def kernel(self) -> Int64Array: ...
    @property
    def block(self) -> Int64Array: ...
    @property
    def start(self) -> Int64Array: ...
    @property
    def end(self) -> Int64Array: ...
    @property
    def priority(self) -> Int64Array: ...
    @property
    def context(self) -> Int64Array: ...
    @property
    def joined(self) -> Int64Array: ...
    @property
    def first(self) -> Int64Array: ...
    @property
    def ended(self) -> Int64Array: ...
    @property
    def stream_name(self) -> tuple[str, ...]: ...
    def __len__(self) -> int: ...
    def launch_latency(self) -> int | None: ...


def log_replay(log: Log, latency: Any) -> Replay:
    """See ``BlockLog.launches``."""
    if not len(log):
        raise ValueError("log: got no kernels, expected at least one")
    delay = _latency(log, latency)
    origin = origin_of(log)
    _refuse_long(log, origin)
    time, held = _times(log, delay, origin)
    order = np.lexsort((log.block, log.kernel))
    measured = log.end[order] - log.start[order]
    times = np.split(np.maximum(measured, 1), np.cumsum(log.blocks)[:-1])
    launches = Launches(
        time,
        stream=log.stream,
        blocks=log.blocks,
        threads=log.threads,
        regs=log.regs,
        smem=log.smem,
        block_times=times,
        name=list(log.name),
        stream_context=_of_streams(log, log.context, "context"),
        stream_priority=_of_streams(log, log.priority, "priority"),
        stream_name=list(log.stream_name),
    )
    return Replay(launches, origin, _sentences(log, delay, held, int((measured == 0).sum())))


def origin_of(log: Log) -> int:
    """The time of the log that is tick 0 of its replay: the earliest launch."""
    return int(log.launch.min())


def _latency(log: Log, given: Any) -> Int64Array:
    if given is None:
        given = log.launch_latency() or 0
    delay = int_array(given, "latency")
    if delay.shape not in ((), (len(log),)):
        raise ValueError(
            f"latency: got shape {delay.shape}, expected one number, or one for each of "
            f"{len(log)} kernels"
        )
    at_least(delay, 0, "latency")
    if delay.size and int(delay.max()) >= MOST_TIME:
        raise OverflowError(f"latency: got {delay.max()}, expected less than 2**59 ticks")
    return np.array(np.broadcast_to(delay, (len(log),)))


def _refuse_long(log: Log, origin: int) -> None:
    """Refuse times that a simulation cannot have; Python's integers, which do not wrap."""
    for name in ("launch", "joined", "end"):
        row = int(np.argmax(getattr(log, name)))
        value = int(getattr(log, name)[row])
        if value - origin >= MOST_TIME:
            raise too_long(f"{name}[{row}]", value, origin)
    row = int(np.argmin(log.start))
    if origin - int(log.start[row]) >= MOST_TIME:
        raise OverflowError(
            f"start[{row}]: got {log.start[row]}, expected less than 2**59 ticks before the "
            f"earliest launch, {origin}"
        )


def _of_streams(log: Log, values: Int64Array, name: str) -> Int64Array:
    """One value per stream, of values per kernel."""
    found = np.zeros(len(log.stream_name), np.int64)
    found[log.stream] = values
    for row in np.flatnonzero(values != found[log.stream])[:1].tolist():
        raise ValueError(
            f"{name}[{row}]: got {values[row]}, expected {found[log.stream[row]]}, as of another "
            f"kernel of stream {log.stream[row]}"
        )
    return found


def _times(log: Log, delay: Int64Array, origin: int) -> tuple[Int64Array, int]:
    """The time from which each kernel is in its stream, and the number of those that were held up
    by something that is not in the log."""
    order = np.lexsort((log.launch, log.stream))
    # A kernel that had started had arrived; clocks may say that it started before its launch.
    launched = log.launch - origin
    started = np.maximum(log.first, log.launch) - origin
    arrived = np.minimum(launched + delay, started)
    joined = np.maximum(log.joined, origin) - origin
    ended = np.maximum(log.ended, origin) - origin
    expected = arrived.copy()
    before, after = order[:-1], order[1:]
    same = log.stream[before] == log.stream[after]
    expected[after[same]] = np.maximum(arrived[after[same]], ended[before[same]])
    late = joined > expected
    time = np.where(late, joined, arrived)
    # A stream keeps its order: nothing overtakes a kernel that was held up, and of two kernels at
    # one time the one in the upper row is first, so that one in a lower row needs a tick more.
    ahead = np.zeros(len(log), np.int64)
    ahead[1:] = np.cumsum(after < before)
    span = time[order] - ahead
    stream = np.concatenate([[0], np.cumsum(~same)])
    for first, last in _runs(stream):
        span[first:last] = np.maximum.accumulate(span[first:last])
    kept: Int64Array = np.empty(len(log), np.int64)
    kept[order] = span + ahead
    return kept, int(late.sum())


def _runs(group: Int64Array) -> list[tuple[int, int]]:
    edges = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), len(group)]
    return list(itertools.pairwise(edges))


def _sentences(log: Log, delay: Int64Array, held: int, empty: int) -> tuple[str, ...]:
    least, most = int(delay.min()), int(delay.max())
    said = []
    if most:
        span = f"{least}" if least == most else f"{least} to {most}"
        said.append(
            f"a kernel is in its stream {span} ns after the time logged for its launch, or when it "
            "started if that is earlier"
        )
    said.append("blocks take their measured times, which include interference that they suffered")
    if held:
        said.append(
            f"{held} of {len(log)} kernels are launched when they joined their queue, because of "
            "something that is not in the log"
        )
    if empty:
        said.append(
            f"{empty} of {len(log.kernel)} blocks ended when they started, and take 1 tick, the "
            "least"
        )
    if not log.regs.any():
        said.append("registers are not in the log and constrain nothing")
    contexts = len(np.unique(log.context))
    if contexts > 1:
        said.append(
            f"time slices of the {contexts} contexts are not in the log: times of blocks that were "
            "frozen include the slices of the others"
        )
    return tuple(said)


_MOST_THREADS = 1024  # of a block
_NULL_STREAM = 7  # the number that CUPTI gives the legacy default stream of a context
_KINDS = {COPY_IN: "copy_in", COPY_OUT: "copy_out"}


def trace_replay(trace: Recording, gpu: GPU | None, latency: Any, others: str) -> TraceReplay:
    """See ``Trace.launches``."""
    device = known_gpu(gpu)
    one_of(others, ("blocking", "non_blocking"), "streams")
    if not len(trace.name):
        raise ValueError("trace: got no kernels, expected at least one")
    table = _Operations(trace)
    issued = table.issued()
    earliest, last = int(issued.min()), int(table.end.max())
    if last - earliest >= MOST_TIME:
        raise too_long("end of the last operation", last, earliest)
    delay = table.usual_latency() if latency is None else integer(latency, "latency")
    if not 0 <= delay < MOST_TIME:
        raise ValueError(f"latency: got {delay}, expected 0 to 2**59 - 1")
    # What had started had arrived, and what is behind it in its stream arrives no earlier.
    time = table.in_order(np.minimum(issued - earliest + delay, table.start - earliest))
    first = int(time.min())
    order = np.lexsort((table.start, time))  # stable: rows of one stream are in order
    shapes = _shapes(trace, device)
    durations, empty = _block_times(trace, device, shapes, table)
    streams = _Streams(trace.events, table, others)
    after, dependent = _dependencies(trace.events, table, streams, issued, order)
    kernels = table.kernel[order]
    blocks, threads, regs, smem = (
        np.where(kernels >= 0, column[np.maximum(kernels, 0)], 0)
        for column in (shapes.blocks, shapes.threads, trace.regs, trace.smem)
    )
    launches = Launches(
        time[order] - first,
        durations[order],
        kind=table.kind[order],
        stream=streams.of[order],
        blocks=blocks,
        threads=threads,
        regs=regs,
        smem=smem,
        after=after,
        name=_names(trace, kernels, table.kind[order]),
        stream_context=streams.context,
        stream_priority=streams.priority,
        stream_kind=streams.kind,
        stream_name=streams.names,
    )
    said = [*_trace_sentences(trace, table, delay, empty), *streams.said, *dependent]
    return TraceReplay(
        launches, earliest + first, tuple(said), frozen(kernels), frozen(table.transfer[order])
    )


def _names(trace: Recording, kernels: Int64Array, kind: Int64Array) -> list[str]:
    words = np.array([kind.replace("_", " ") for kind in KINDS], dtype=object)
    names: list[str] = np.where(
        kernels >= 0, trace.name[np.maximum(kernels, 0)], words[kind]
    ).tolist()
    return names


class _Operations:
    """Kernels and copies of a trace, by context, stream and start: one row each."""

    def __init__(self, trace: Recording) -> None:
        transfers = trace.events.transfers
        here = transfers.device == trace.device[0]
        copied = here & np.isin(transfers.kind, list(_KINDS))
        self.left_out = transfers.duration[here & ~copied]
        chosen = np.flatnonzero(copied)
        n = len(trace.name)
        none = np.full(len(chosen), -1)
        kernel = np.concatenate([np.arange(n), none])
        transfer = np.concatenate([np.full(n, -1), chosen])
        columns: dict[str, Int64Array] = {
            key: np.concatenate([getattr(trace, key), getattr(transfers, key)[chosen]])
            for key in ("context", "stream", "start", "duration", "call")
        }
        context = columns["context"]
        if len(contexts := np.unique(trace.context)) == 1:  # 0 stands for an unknown one
            context[n:] = np.where(context[n:] == 0, contexts[0], context[n:])
        order = np.lexsort((columns["start"], columns["stream"], columns["context"]))
        self.kernel, self.transfer = kernel[order], transfer[order]
        self.context, self.stream = columns["context"][order], columns["stream"][order]
        self.start, self.duration = columns["start"][order], columns["duration"][order]
        self.end = self.start + self.duration
        kind = np.zeros(n + len(chosen), np.int64)
        for theirs, ours in _KINDS.items():
            kind[n:][transfers.kind[chosen] == theirs] = KINDS.index(ours)
        self.kind = kind[order]
        call = columns["call"][order]
        self.called = call >= 0
        calls = np.append(trace.events.calls.start, 0)
        self.call = np.where(self.called, calls[call], self.start)
        new = (np.diff(self.context) != 0) | (np.diff(self.stream) != 0)
        self.begin = np.concatenate([[0], np.flatnonzero(new) + 1])

    def __len__(self) -> int:
        return len(self.start)

    def issued(self) -> Int64Array:
        """Time of each launch call, no earlier than those before it in its stream."""
        return self.in_order(np.minimum(self.call, self.start))

    def in_order(self, time: Int64Array) -> Int64Array:
        """Times that do not decrease within a stream."""
        ordered: Int64Array = time.copy()
        for first, last in zip(self.begin, [*self.begin[1:], len(self)], strict=True):
            np.maximum.accumulate(time[first:last], out=ordered[first:last])
        return ordered

    def usual_latency(self) -> int:
        """Median time from the call to the start where nothing ran between the two; 0 without."""
        order = np.argsort(self.start, kind="stable")
        busy = np.maximum.accumulate(self.end[order])
        before = np.searchsorted(self.start[order], self.start, side="left")
        quiet = (before == 0) | (busy[before - 1] <= self.call)
        quiet &= self.called & (self.call <= self.start)
        found = np.sort(self.start[quiet] - self.call[quiet])
        return int(found[(len(found) - 1) // 2]) if len(found) else 0


class _Shapes(NamedTuple):
    """Shapes of the kernels; those that the file does not say are blocks that fill every SM."""

    blocks: Int64Array
    threads: Int64Array
    regs: Int64Array
    smem: Int64Array


def _shapes(trace: Recording, gpu: GPU) -> _Shapes:
    per_sm = -(-gpu.threads_per_sm // _MOST_THREADS)
    unknown = trace.threads == 0
    return _Shapes(
        np.where(unknown, gpu.sms * per_sm, trace.blocks),
        np.where(unknown, gpu.threads_per_sm // per_sm, trace.threads),
        trace.regs,
        trace.smem,
    )


def _block_times(
    trace: Recording, gpu: GPU, shapes: _Shapes, table: _Operations
) -> tuple[Int64Array, int]:
    """Time of a block such that a kernel alone takes its measured time, rounded up per wave; and
    how many operations had none."""
    resident = occupancy_of(gpu, shapes)
    if wrong := np.flatnonzero(resident == 0).tolist():
        row = wrong[0]
        raise ValueError(
            f"kernel {row}, {shown(trace.name[row])}: got {trace.threads[row]} threads, "
            f"{trace.regs[row]} registers and {trace.smem[row]} bytes of shared memory, expected a "
            "block that fits an SM of the GPU (or give another gpu=)"
        )
    waves = -(-shapes.blocks // (gpu.sms * resident))
    of_kernel = np.maximum(table.kernel, 0)
    waves = np.where(table.kernel >= 0, waves[of_kernel], 1)
    times: Int64Array = np.maximum(-(-table.duration // waves), 1)
    return times, int((table.duration == 0).sum())


class _Streams:
    """Streams of the launches, numbered by context and number in the trace."""

    def __init__(self, events: TraceEvents, table: _Operations, others: str) -> None:
        first = table.begin
        self.of = np.repeat(np.arange(len(first)), np.diff([*first, len(table)]))
        contexts, self.context = np.unique(table.context[first], return_inverse=True)
        self.number, self.own = table.stream[first], table.context[first]
        described = {
            (context, stream): (priority, kind)
            for context, stream, priority, kind in zip(
                *(
                    getattr(events.streams, key).tolist()
                    for key in ("context", "stream", "priority", "kind")
                ),
                strict=True,
            )
        }
        null, unknown = STREAM_KINDS.index("null"), STREAM_KINDS.index(others)
        keys = list(zip(self.own.tolist(), self.number.tolist(), strict=True))
        known = [described.get(key) for key in keys]
        kinds = [UNKNOWN_KIND if row is None else row[1] for row in known]
        named = set()
        for i, (context, _) in enumerate(keys):
            if kinds[i] == null and context in named:  # a context has one
                kinds[i] = UNKNOWN_KIND
            named |= {context} if kinds[i] == null else set()
        guessed = [
            i
            for i, (context, number) in enumerate(keys)
            if kinds[i] == UNKNOWN_KIND and number == _NULL_STREAM and context not in named
        ]
        taken = [i for i, kind in enumerate(kinds) if kind == UNKNOWN_KIND and i not in guessed]
        for i in guessed:
            kinds[i] = null
        for i in taken:
            kinds[i] = unknown
        self.kind = np.array(kinds, np.int64)
        self.priority = np.array([0 if row is None else row[0] for row in known], np.int64)
        several = len(contexts) > 1
        self.names = [
            f"context {context}, stream {number}" if several else f"stream {number}"
            for context, number in keys
        ]
        self.said = []
        if guessed:
            self.said.append(f"stream {_NULL_STREAM} is the legacy NULL stream of its context")
        if taken:
            word = others.replace("_", "-")
            self.said.append(f"{len(taken)} streams of unknown kind are {word}")
        if unranked := sum(row is None for row in known):
            self.said.append(f"{unranked} streams of unknown priority have the default, 0")
        if several:
            self.said.append(f"{len(contexts)} contexts share the GPU by time slices")

    def place(self, context: Int64Array, number: Int64Array) -> Int64Array:
        """Row of each stream; -1 for streams without launches."""
        rows = {
            key: i
            for i, key in enumerate(zip(self.own.tolist(), self.number.tolist(), strict=True))
        }
        keys = zip(context.tolist(), number.tolist(), strict=True)
        return np.array([rows.get(key, -1) for key in keys], np.int64)


def _dependencies(
    events: TraceEvents,
    table: _Operations,
    streams: _Streams,
    issued: Int64Array,
    order: NDArray[Any],
) -> tuple[list[tuple[int, ...]] | None, list[str]]:
    """Operations that each launch waits for because of events, and sentences.

    A wait delays the next operation that is launched in its stream, until the end of the last
    operation that was launched in the other stream before the event was recorded.
    """
    waits = events.waits
    said = []
    if events.lost_waits:
        said.append(f"{events.lost_waits} waits for events of unknown streams are left out")
    said += events.unexplained()
    if not len(waits):
        if not said and len(table.begin) > 1:
            said.append("the file has no waits of streams for events: streams are independent")
        return None, said
    held, until = (np.full(len(waits), -1) for _ in range(2))
    rows = streams.place(waits.context, waits.stream)
    others = streams.place(waits.on_context, waits.on_stream)
    end = [*table.begin[1:].tolist(), len(table)]
    for stream, first in enumerate(table.begin.tolist()):
        times = issued[first : end[stream]]
        mine = np.flatnonzero(rows == stream)
        place = first + np.searchsorted(times, waits.time[mine], side="left")
        held[mine] = np.where(place < end[stream], place, -1)
        mine = np.flatnonzero(others == stream)
        place = first + np.searchsorted(times, waits.recorded[mine], side="left") - 1
        until[mine] = np.where(place >= first, place, -1)
    kept = (held >= 0) & (until >= 0) & (rows != others)
    if not kept.any():
        return None, said
    row_of = np.empty(len(table), np.int64)
    row_of[order] = np.arange(len(table))
    after: list[tuple[int, ...]] = [()] * len(table)
    pairs = np.unique(np.stack([row_of[held[kept]], row_of[until[kept]]]), axis=1)
    for launch, other in pairs.T.tolist():
        after[launch] = (*after[launch], other)
    said.append(
        f"{pairs.shape[1]} dependencies of launches are those of {int(kept.sum())} waits for events"
    )
    return after, said


def _trace_sentences(trace: Recording, table: _Operations, delay: int, empty: int) -> list[str]:
    events = trace.events
    said = [
        "a kernel's measured time includes interference; its blocks take a time with which the "
        "kernel alone takes the measured one"
    ]
    if table.called.any():
        said.append(
            f"operations are in their streams {delay} ns after their launch calls, or when they "
            "started if that is earlier"
        )
    if uncalled := int((~table.called).sum()):
        said.append(
            f"{uncalled} of {len(table)} operations have no launch call in the file and are "
            "launched when they started"
        )
    if len(unknown := trace.duration[trace.threads == 0]):
        said.append(
            f"{plural(len(unknown), 'kernel')} without grid and block ({_time(unknown)} in all) "
            "take all SMs"
        )
    if len(table.left_out):
        said.append(
            "memsets, copies that are not to or from the device, and CUDA graphs recorded as a "
            f"whole are left out: {len(table.left_out)} ({_time(table.left_out)} in all)"
        )
    kept = total(table.duration)
    said.append(f"the launches contain {ObservedTime(kept + total(table.left_out), kept)}")
    if events.elsewhere:
        time = time_with_unit(events.elsewhere_ns, 1)
        said.append(f"kernels on other devices are left out: {events.elsewhere} ({time} in all)")
    if empty:
        said.append(f"{empty} operations of no duration take 1 tick, the least")
    if events.missing:
        said.append(f"no copies and launch calls are known: {events.missing}")
    return said


def _time(durations: Int64Array) -> str:
    return time_with_unit(total(durations), 1)
