"""Columns, tables and events of a trace: launch calls, annotated ranges, copies and memsets.

All times are in ns on the file's clock. Threads are numbered from 0 on, whatever the process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array, frozen
from gpusched._support.tabular import optional
from gpusched._support.text import shown

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from gpusched.model.gpu import GPU

Names = NDArray[np.object_]

INT64_MAX = 2**63 - 1


class Shaped(Protocol):
    """Columns of threads, registers and shared memory."""

    @property
    def threads(self) -> Int64Array:
        """Threads of one block."""

    @property
    def regs(self) -> Int64Array:
        """Registers of one thread."""

    @property
    def smem(self) -> Int64Array:
        """Bytes of shared memory of one block."""


def known_gpu(gpu: GPU | None) -> GPU:
    """``gpu``, or a ``ValueError`` when it is None."""
    if gpu is None:
        raise ValueError("gpu: got None, expected the GPU of the trace (read the trace with gpu=)")
    return gpu


def occupancy_of(gpu: GPU | None, shapes: Shaped) -> Int64Array:
    """Number of blocks of each launch or kernel that an empty SM can host; 0 without a shape."""
    from gpusched.model.gpu import occupancy

    gpu = known_gpu(gpu)
    threads = np.maximum(shapes.threads, 1)
    resident = occupancy(gpu, threads=threads, regs=shapes.regs, smem=shapes.smem)
    return np.where(shapes.threads > 0, resident, 0)


def gpu_text(gpu: GPU | None) -> str:
    if gpu is None:
        return "an unknown GPU"
    return f"{str(gpu.name)[:60] or 'a GPU'} ({gpu.sms} SMs)"


Table = TypeVar("Table", bound="DataclassInstance")


def column(values: Iterable[Any], dtype: Any = np.int64) -> Any:
    """A read-only one-dimensional array."""
    if isinstance(values, np.ndarray):
        return frozen(values.astype(dtype))
    values = list(values)
    array = np.empty(len(values), dtype=dtype)
    array[:] = values
    return frozen(array)


def total(times: Int64Array) -> int:
    """The sum of times, which may exceed 64 bits."""
    return sum(times.tolist())


def take(table: Table, chosen: NDArray[Any]) -> Table:
    """The table restricted to the chosen entries of every array."""
    columns = {}
    for each in fields(table):
        value = getattr(table, each.name)
        if isinstance(value, np.ndarray):
            columns[each.name] = column(value[chosen], value.dtype)
    return replace(table, **columns)


def table_of(table: Any, missing: Sequence[str] = ()) -> dict[str, Any]:
    """The arrays of a table by name.

    ``missing``: names of the arrays in which -1 stands for nothing, masked here.
    """
    columns = {f.name: getattr(table, f.name) for f in fields(table)}
    arrays = {k: v for k, v in columns.items() if isinstance(v, np.ndarray)}
    return {k: optional(v) if k in missing else v for k, v in arrays.items()}


def searcher(pattern: str | re.Pattern[str]) -> Callable[[str], bool]:
    """Whether a text contains a match of a regular expression."""
    search = compiled(pattern, "pattern").search
    return lambda name: search(name) is not None


def compiled(pattern: str | re.Pattern[str], name: str) -> re.Pattern[str]:
    """The argument ``name`` as a regular expression; ``ValueError`` for a malformed one."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(
            f"{name}: got {shown(written(pattern))}, expected a regular expression: {error}"
        ) from error


def written(pattern: str | re.Pattern[str]) -> str:
    """The text of a regular expression."""
    return pattern if isinstance(pattern, str) else pattern.pattern


LABEL_LENGTH = 40
_NESTED = {"<": ">", "(": ")", "[": "]", "{": "}"}


def labels(names: Iterable[str]) -> list[str]:
    """Short names, all different, of at most ``LABEL_LENGTH`` characters."""
    used: set[str] = set()
    last: dict[str, int] = {}
    chosen = []
    for name in names:
        short = _fit(_short(name), LABEL_LENGTH)
        label, number = short, last.get(short, 1)
        while label in used:
            number += 1
            suffix = f"#{number}"
            label = _fit(short, LABEL_LENGTH - len(suffix)) + suffix
        last[short] = number
        used.add(label)
        chosen.append(label)
    return chosen


def _short(name: str) -> str:
    """A kernel's own name, without return type, namespaces, template arguments, parameters."""
    text = re.sub(r"\((anonymous namespace|anonymous)\)|<unnamed>", "anonymous", name)
    kept: list[str] = []
    closing: list[str] = []
    for character in text:
        if closing:
            # Inside parentheses < and > may be comparisons; templates there are dropped anyway.
            if character in _NESTED and not (character == "<" and closing[-1] == ")"):
                closing.append(_NESTED[character])
            elif character == closing[-1]:
                closing.pop()
        elif character == "(" and kept:
            break
        elif character in _NESTED:
            closing.append(_NESTED[character])
        elif character.isprintable():
            kept.append(character)
    words = "".join(kept).split()
    parts = [part for part in words[-1].split("::") if part] if words else []
    short = parts[-1] if parts else ""
    if short.lower() == "kernel":
        # Not distinctive: take the_real_name of cutlass::Kernel<the_real_name>, or the namespace.
        named = re.search(rf"\b{short}<([A-Za-z]\w*_\w*)[,>]", text)
        short = named[1] if named else "::".join(parts[-2:])
    return short or "".join(c for c in name if c.isprintable()).strip() or "kernel"


def _fit(text: str, length: int) -> str:
    """``text`` cut to ``length`` characters in its middle; similar names differ at their ends."""
    if len(text) <= length:
        return text
    tail = (length - 2) // 2
    return f"{text[: length - 2 - tail]}..{text[-tail:]}"


# Kinds of transfers; the last is a CUDA graph that was recorded as a whole, without its kernels.
COPY_IN, COPY_OUT, COPY_ON_DEVICE, COPY_OTHER, MEMSET, MIGRATION_IN, MIGRATION_OUT, GRAPH = range(8)

# Kinds of ranges: nested on a thread; of a process, started and ended by any of its threads; on a
# stream of the GPU, whose number is then in the place of the thread's.
OF_THREAD, OF_PROCESS, OF_STREAM = range(3)

NO_CALL = -1
WAIT_CALLS = ("cudaStreamWaitEvent", "cuStreamWaitEvent", "hipStreamWaitEvent")  # and versions
UNKNOWN_KIND = -1  # of a stream


def _integers() -> Int64Array:
    return np.zeros(0, np.int64)


def _texts() -> Names:
    return np.zeros(0, object)


def _flags() -> NDArray[np.bool_]:
    return np.zeros(0, bool)


@dataclass(frozen=True, eq=False, repr=False)
class Calls:
    """Calls of the CUDA API that launched work, or that waited (``waits``) for it."""

    start: Int64Array = field(default_factory=_integers)
    end: Int64Array = field(default_factory=_integers)
    thread: Int64Array = field(default_factory=_integers)
    waits: NDArray[np.bool_] = field(default_factory=_flags)

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, eq=False, repr=False)
class Ranges:
    """Annotated ranges: name, times, thread, kind (``OF_THREAD``, ...), row in the file."""

    name: Names = field(default_factory=_texts)
    start: Int64Array = field(default_factory=_integers)
    end: Int64Array = field(default_factory=_integers)
    thread: Int64Array = field(default_factory=_integers)
    kind: Int64Array = field(default_factory=_integers)
    row: Int64Array = field(default_factory=_integers)

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, eq=False, repr=False)
class Transfers:
    """Copies, memsets and whole graphs of all devices; ``kind`` is ``COPY_IN``, ..., ``call`` a row
    of calls."""

    start: Int64Array = field(default_factory=_integers)
    duration: Int64Array = field(default_factory=_integers)
    kind: Int64Array = field(default_factory=_integers)
    device: Int64Array = field(default_factory=_integers)
    context: Int64Array = field(default_factory=_integers)
    stream: Int64Array = field(default_factory=_integers)
    call: Int64Array = field(default_factory=_integers)

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, eq=False, repr=False)
class Streams:
    """Streams that the file describes, each once: context, stream, priority, and its kind, a code
    of ``Launches.stream_kind`` or ``UNKNOWN_KIND``."""

    context: Int64Array = field(default_factory=_integers)
    stream: Int64Array = field(default_factory=_integers)
    priority: Int64Array = field(default_factory=_integers)
    kind: Int64Array = field(default_factory=_integers)

    def __len__(self) -> int:
        return len(self.stream)


@dataclass(frozen=True, eq=False, repr=False)
class EventWaits:
    """Waits of streams for CUDA events: the waiting stream and the time of that call; the stream in
    which the event was recorded, and the time of that call, before the first one."""

    context: Int64Array = field(default_factory=_integers)
    stream: Int64Array = field(default_factory=_integers)
    time: Int64Array = field(default_factory=_integers)
    on_context: Int64Array = field(default_factory=_integers)
    on_stream: Int64Array = field(default_factory=_integers)
    recorded: Int64Array = field(default_factory=_integers)

    def __len__(self) -> int:
        return len(self.stream)


@dataclass(frozen=True, eq=False, repr=False)
class TraceEvents:
    """Events of a file beside its kernels.

    Attributes
    ----------
    calls, ranges, transfers
        The events, in the order of the file.
    streams, waits
        Streams described by the file, and their waits for events of other streams.
    lost_waits
        Number of waits for events whose recording is not in the file.
    unexplained_waits
        Number of calls of ``cudaStreamWaitEvent`` for which the file does not say which stream
        waits for which event.
    threads
        Process and thread of each thread number.
    helpers
        Threads that run the backward pass for other threads, which wait for them.
    where
        Name of a row of the ranges in messages, with ``{}`` for its number in the file.
    unfinished
        Number of ranges without an end, which are not among ``ranges``.
    elsewhere, elsewhere_ns
        Number of kernels on other devices than the trace's, and their time.
    missing
        The reason why there are no events at all; "" if there are events.
    """

    calls: Calls = field(default_factory=Calls)
    ranges: Ranges = field(default_factory=Ranges)
    transfers: Transfers = field(default_factory=Transfers)
    streams: Streams = field(default_factory=Streams)
    waits: EventWaits = field(default_factory=EventWaits)
    lost_waits: int = 0
    unexplained_waits: int = 0
    threads: Sequence[tuple[Any, Any]] = ()
    helpers: frozenset[int] = frozenset()
    where: str = ""
    unfinished: int = 0
    elsewhere: int = 0
    elsewhere_ns: int = 0
    missing: str = ""

    def place(self, row: int) -> str:
        """File and row of a range, for messages."""
        before, _, after = self.where.rpartition("{}")
        return f"{before}{self.ranges.row[row]}{after}"

    def process(self, thread: int) -> Any:
        """The process of a thread."""
        return self.threads[thread][0]

    def unexplained(self) -> list[str]:
        """A sentence about the waits that the file does not explain, if there are any."""
        if not self.unexplained_waits:
            return []
        one = self.unexplained_waits == 1
        calls = "call of cudaStreamWaitEvent does" if one else "calls of cudaStreamWaitEvent do"
        they = "it waits" if one else "they wait"
        taken = (
            "these waits are left out" if len(self.waits) else "streams are taken as independent"
        )
        return [f"{self.unexplained_waits} {calls} not say for which launch {they}: {taken}"]

    def but_elsewhere(self, durations: Int64Array) -> TraceEvents:
        """The events, with kernels of these durations on other devices."""
        return replace(self, elsewhere=len(durations), elsewhere_ns=total(durations))


def unexplained_waits(calls: Sequence[Int64Array], described: Int64Array) -> int:
    """Number of calls to wait for an event that nothing describes.

    Both by the number that a call and its description have in common, below 0 without one; calls of
    one number, of the runtime and of the driver, are one.
    """
    numbers = np.concatenate([_integers(), *calls])
    known = np.unique(numbers[numbers >= 0])
    return int((numbers < 0).sum() + (~np.isin(known, described)).sum())


class LinkedCalls:
    """Calls found by the number that a call and what it launched have in common.

    Parameters
    ----------
    calls
        Calls of all kinds.
    numbers
        The number of each; below 0 for a call without one.
    used
        The numbers of what was launched. Other calls are dropped unless they wait.

    A number that occurs in calls of several threads belongs to none of them; of several calls of
    one thread, it belongs to the first. ``calls`` are the remaining calls.
    """

    def __init__(self, calls: Calls, numbers: Int64Array, used: Int64Array) -> None:
        kept = calls.waits | (np.isin(numbers, used) & (numbers >= 0))
        numbers = numbers[kept]
        self.calls = Calls(
            start=column(calls.start[kept]),
            end=column(calls.end[kept]),
            thread=column(calls.thread[kept]),
            waits=column(calls.waits[kept], bool),
        )
        order = np.lexsort((self.calls.start, numbers))
        order = order[numbers[order] >= 0]
        self.numbers, first = np.unique(numbers[order], return_index=True)
        self.rows = order[first]
        if len(first):
            threads = self.calls.thread[order]
            several = np.minimum.reduceat(threads, first) < np.maximum.reduceat(threads, first)
            self.rows = np.where(several, NO_CALL, self.rows)

    def of(self, numbers: Int64Array) -> Int64Array:
        """The row of each number's call; ``NO_CALL`` where there is none."""
        if not len(self.numbers):
            return np.full(len(numbers), NO_CALL)
        place = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        return np.where(self.numbers[place] == numbers, self.rows[place], NO_CALL)
