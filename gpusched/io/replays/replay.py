"""Launches made from a file for ``gs.simulate.hierarchy``: the result, and those of a log.

A replay states its assumptions. Launches of a log of blocks have the measured times of the blocks.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gpusched._support.arguments import Int64Array, at_least, int_array
from gpusched.io.traces.trace_tables import Names
from gpusched.model.launches import Launches

__all__ = ["MOST_TIME", "Log", "Replay", "TraceReplay", "log_replay", "origin_of", "too_long"]

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
