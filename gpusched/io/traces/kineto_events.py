"""Events of Kineto's JSON as columns: kernels, calls, annotations, copies and memsets.

Until August 2024 Kineto wrote the grids and blocks of HIP kernels into the launch call alone, and
of what libraries launch (RCCL) it still does. A call and its kernel have a correlation number in
common. Kernels of HIP graphs have no call of their own.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn, cast

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import shown
from gpusched.io.traces.kineto_document import (
    ABSENT,
    IDENTIFIER,
    INTEGER,
    PRODUCT,
    TEXT,
    THOUSANDTHS,
    Field,
    correlation,
    distinct_pairs,
    integer_argument,
    nanoseconds,
    whole,
)
from gpusched.io.traces.trace_tables import (
    COPY_IN,
    COPY_ON_DEVICE,
    COPY_OTHER,
    COPY_OUT,
    INT64_MAX,
    MEMSET,
    NO_CALL,
    OF_STREAM,
    OF_THREAD,
    UNKNOWN_KIND,
    WAIT_CALLS,
    Calls,
    EventWaits,
    LinkedCalls,
    Names,
    Ranges,
    Streams,
    TraceEvents,
    Transfers,
    column,
    unexplained_waits,
)

# Older versions write the categories of the second column.
CALL_CATEGORIES = ("cuda_runtime", "Runtime", "cuda_driver", "hip_runtime")
_COPIES = ("gpu_memcpy", "Memcpy")
_MEMSETS = ("gpu_memset", "Memset")
_ON_CPU = ("user_annotation",)
_ON_GPU = ("gpu_user_annotation",)
_OPERATORS = ("cpu_op", "Operator")  # which older versions call profiler steps, too
_STEP = "ProfilerStep#"
_SYNC = "cuda_sync"  # with the profiler's option enable_cuda_sync_events
_WAIT = "Stream Wait Event"
_BACKWARD = "autograd::engine::evaluate_function"
_DIRECTIONS = {"HtoD": COPY_IN, "DtoH": COPY_OUT, "DtoD": COPY_ON_DEVICE}

# Category and beginning of the name: of operators that run a backward pass; of other events that
# are needed besides kernels and calls.
BACKWARD = tuple((category, _BACKWARD) for category in _OPERATORS)
OTHERS = (
    *((category, "") for category in (*_COPIES, *_MEMSETS, *_ON_CPU, *_ON_GPU)),
    *((category, _STEP) for category in _OPERATORS),
    (_SYNC, _WAIT),
)
OPERATOR_FIELDS = (Field(b"pid", IDENTIFIER), Field(b"tid", IDENTIFIER))
CALL_FIELDS = (
    Field(b"name", TEXT),
    Field(b"ts", THOUSANDTHS),
    Field(b"dur", THOUSANDTHS, 0),
    *OPERATOR_FIELDS,
    Field(b"args.correlation", INTEGER, optional=True),
)


class BesideKernels:
    """Events beside the kernels, added in any order; ``error`` is the first damaged one's.

    Damaged is an event with a missing, non-numeric, negative or huge field.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.error: tuple[int, str] | None = None
        self.backward: set[tuple[Any, Any]] = set()  # process and thread of backward passes
        self.threads: dict[tuple[Any, Any], int] = {}
        self.first: list[int] = []  # the first event of each thread
        self.calls: list[Int64Array] = []  # index in the file, call, correlation number
        self.ranges: list[tuple[Any, ...]] = []
        self.transfers: list[tuple[int, ...]] = []
        self.of_transfer: list[int] = []
        self.waits: list[tuple[int, ...]] = []  # index in the file, and as in `add_wait`
        self.wait_calls: list[Int64Array] = []  # correlation numbers of calls to wait for an event
        self.unfinished = 0

    def add(self, index: int, event: dict[str, Any]) -> None:
        """Add a decoded event of any category; those that are not needed are ignored."""
        category, name = event.get("cat"), event.get("name")
        if not isinstance(category, str) or event.get("ph") != "X":
            return
        if category in _OPERATORS and isinstance(name, str):
            if name.startswith(_BACKWARD):
                key = (event.get("pid"), event.get("tid"))
                if all(isinstance(part, (int, str)) for part in key):
                    self.backward.add(key)
            elif name.startswith(_STEP):
                category = _ON_CPU[0]
        if self.error is not None and self.error[0] < index:
            return
        try:
            if category in CALL_CATEGORIES:
                self.add_call(index, event, category)
            elif category in _ON_CPU or category in _ON_GPU:
                self.add_range(index, event, category)
            elif category in _COPIES or category in _MEMSETS:
                self.add_transfer(index, event, category)
            elif category == _SYNC and isinstance(name, str) and name.startswith(_WAIT):
                self.add_wait(index, event)
        except ValueError as error:
            self.error = index, str(error)

    def add_operators(self, *values: *tuple[Int64Array, *tuple[Any, ...]]) -> None:
        """Add operators that run a backward pass: places, values of ``OPERATOR_FIELDS``, texts."""
        _, process, thread, texts = values
        for i in distinct_pairs(process, thread)[0].tolist():
            self.backward.add((texts[process[i]], texts[thread[i]]))

    def add_calls(self, *values: *tuple[Int64Array, *tuple[Any, ...]]) -> None:
        """Add calls: their places in the file, the values of ``CALL_FIELDS``, the texts."""
        place, name, start, duration, process, thread, call, texts = values
        if not len(place):
            return
        number = np.maximum(call, -1)
        names = [text if isinstance(text, str) else "" for text in texts]
        waits = np.array(["ynchronize" in text for text in names])[name]
        for_event = np.array([text.startswith(WAIT_CALLS) for text in names])[name]
        self.wait_calls.append(number[for_event])
        kept = (number >= 0) | waits
        columns = (place, start, start + duration, process, thread, waits, number)
        place, start, end, process, thread, waits, number = (c[kept] for c in columns)
        first, pair = distinct_pairs(process, thread)
        known = [
            self.thread(int(place[i]), (texts[process[i]], texts[thread[i]]))
            for i in first.tolist()
        ]
        self.calls.append(
            np.array([place, start, end, np.array(known, np.int64)[pair], waits, number])
        )

    def add_call(self, index: int, event: dict[str, Any], category: str) -> None:
        name = event.get("name")
        waits = isinstance(name, str) and "ynchronize" in name
        number = correlation(event.get("args"))
        if isinstance(name, str) and name.startswith(WAIT_CALLS):
            self.wait_calls.append(np.array([number]))
        if number < 0 and not waits:
            return
        start, duration = self.times(index, event, category)
        thread = self.thread_of(index, event, category)
        call = (index, start, start + duration, thread, waits, number)
        self.calls.append(np.array([call], np.int64).T)

    def add_range(self, index: int, event: dict[str, Any], category: str) -> None:
        name = event.get("name")
        if not isinstance(name, str) or not name:
            self.fail(index, event, "name", name, "text", category)
        if any("\ud800" <= char <= "\udfff" for char in name):
            self.fail(index, event, "name", name, "text that UTF-8 can encode", category)
        if event.get("dur") is None:
            self.unfinished += 1
            return
        start, duration = self.times(index, event, category)
        end = start + duration
        if category in _ON_CPU:
            thread = self.thread_of(index, event, category)
            self.ranges.append((name, start, end, thread, OF_THREAD, index))
            return
        stream = integer_argument(event.get("args"), "stream")
        if stream is None and (stream := whole(event.get("tid"))) is None:
            self.fail(index, event, "stream", event.get("tid"), "an integer", category)
        self.ranges.append((name, start, end, stream, OF_STREAM, index))

    def add_transfer(self, index: int, event: dict[str, Any], category: str) -> None:
        start, duration = self.times(index, event, category)
        name, args = event.get("name"), event.get("args")
        kind = MEMSET if category in _MEMSETS else COPY_OTHER
        if kind == COPY_OTHER and isinstance(name, str):
            kind = next((k for word, k in _DIRECTIONS.items() if word in name), kind)
        where = [integer_argument(args, key) for key in ("device", "context", "stream")]
        device, context, stream = (0 if value is None else value for value in where)
        self.transfers.append((start, duration, kind, device, context, stream))
        self.of_transfer.append(correlation(args))

    def add_wait(self, index: int, event: dict[str, Any]) -> None:
        """Add a wait of a stream for an event; a damaged one counts as one of unknown streams."""
        args = event.get("args")
        keys = ("context", "stream", "wait_on_stream", "wait_on_cuda_event_record_corr_id")
        found = [integer_argument(args, key) for key in keys]
        self.waits.append(
            (index, *(-1 if value is None else value for value in found), correlation(args))
        )

    def event_waits(self, every: Calls, numbers: Int64Array) -> tuple[EventWaits, int]:
        """The waits, of all calls and their correlation numbers; and how many are incomplete."""
        rows = np.array(sorted(self.waits), np.int64).reshape(-1, 6).T
        _, context, stream, on_stream, recorded, number = rows
        linked = LinkedCalls(every, numbers, np.concatenate([recorded, number]))
        wait, record = linked.of(number), linked.of(recorded)
        kept = (wait != NO_CALL) & (record != NO_CALL) & (on_stream >= 0) & (stream >= 0)
        time = np.append(linked.calls.start, 0)
        kept &= time[record] <= time[wait]
        columns = (context, stream, time[wait], context, on_stream, time[record])
        return EventWaits(*(column(values[kept]) for values in columns)), int((~kept).sum())

    def result(
        self, launched: Int64Array, priorities: dict[tuple[int, int], int]
    ) -> tuple[TraceEvents, LinkedCalls]:
        """The events, and the calls by correlation number.

        ``launched`` has the correlation numbers of the kernels, below 0 where there is none;
        ``priorities`` are those of streams, by context and stream.
        """
        # Threads are numbered in the order of their first events.
        threads = sorted(self.threads, key=lambda key: self.first[self.threads[key]])
        number_of = np.empty(len(threads), np.int64)
        number_of[[self.threads[key] for key in threads]] = np.arange(len(threads))
        calls = np.concatenate([np.zeros((6, 0), np.int64), *self.calls], axis=1)
        calls = calls[:, np.argsort(calls[0], kind="stable")]
        of_transfer: Int64Array = column(self.of_transfer)
        _, start, end, thread, waits, numbers = calls
        every = Calls(column(start), column(end), column(number_of[thread]), column(waits, bool))
        linked = LinkedCalls(every, column(numbers), np.concatenate([launched, of_transfer]))
        event_waits, lost = self.event_waits(every, numbers)
        rows = [(*key, priority, UNKNOWN_KIND) for key, priority in sorted(priorities.items())]
        context, stream, priority, kind = np.array(rows, np.int64).reshape(-1, 4).T
        streams = Streams(column(context), column(stream), column(priority), column(kind))
        ranges = [
            (*row[:3], number_of[row[3]] if row[4] == OF_THREAD else row[3], *row[4:])
            for row in self.ranges
        ]
        names, *columns = list(zip(*ranges, strict=True)) or [()] * 6
        transfers = list(zip(*self.transfers, strict=True)) or [()] * 6
        events = TraceEvents(
            calls=linked.calls,
            ranges=Ranges(column(names, object), *map(column, columns)),
            transfers=Transfers(*[*map(column, transfers), column(linked.of(of_transfer))]),
            streams=streams,
            waits=event_waits,
            lost_waits=lost,
            unexplained_waits=unexplained_waits(
                self.wait_calls, column([wait[-1] for wait in self.waits])
            ),
            threads=tuple(threads),
            helpers=frozenset(i for i, key in enumerate(threads) if key in self.backward),
            where=f"{self.source}: traceEvents[{{}}]",
            unfinished=self.unfinished,
        )
        return events, linked

    def thread_of(self, index: int, event: dict[str, Any], category: str) -> int:
        key = (event.get("pid"), event.get("tid"))
        if not all(isinstance(part, (int, str)) for part in key):
            field = "pid" if not isinstance(key[0], (int, str)) else "tid"
            what = "an integer or text"
            self.fail(index, event, field, key[field == "tid"], what, category)
        return self.thread(index, key)

    def thread(self, index: int, key: tuple[Any, Any]) -> int:
        number = self.threads.setdefault(key, len(self.first))
        if number == len(self.first):
            self.first.append(index)
        self.first[number] = min(self.first[number], index)
        return number

    def times(self, index: int, event: dict[str, Any], category: str) -> tuple[int, int]:
        found = []
        for field in ("ts", "dur"):
            time = nanoseconds(event.get(field))
            if time is None:
                what = "a time in microseconds"
                self.fail(index, event, field, event.get(field), what, category)
            found.append(time)
        start, duration = found
        if duration < 0:
            self.fail(index, event, "dur", event["dur"], "a non-negative number", category)
        if max(abs(start), duration, start + duration) > INT64_MAX:
            what = "a time that, with dur, fits 64 bits of ns"
            self.fail(index, event, "ts", event["ts"], what, category)
        return start, duration

    def fail(
        self, index: int, event: dict[str, Any], field: str, value: Any, what: str, category: str
    ) -> NoReturn:
        kind = f"{category} {shown(event.get('name'))}"
        where = f"{self.source}: traceEvents[{index}], {kind}"
        found = "nothing" if value is None else shown(value)
        raise ValueError(f"{where}: {field!r}: got {found}, expected {what}")


HIP_CATEGORIES = ("cuda_runtime", "hip_runtime")
_NAMES = ("hipLaunch", "hipExt", "hipModuleLaunch", "hipHcc")

HIP_LAUNCHES = tuple((category, name) for category in HIP_CATEGORIES for name in _NAMES)
"""Categories and beginnings of the names of calls that may launch a kernel."""


class HipLaunches:
    """Grids and blocks by correlation number; calls are added in any order."""

    def __init__(self) -> None:
        self.shapes: dict[int, tuple[Any, Any] | None] = {}

    def add(self, event: dict[str, Any]) -> None:
        """Add a decoded event; one that is no such call, or damaged, is ignored."""
        name, args = event.get("name"), event.get("args")
        if event.get("ph") != "X" or event.get("cat") not in HIP_CATEGORIES:
            return
        if not (isinstance(name, str) and name.startswith(_NAMES) and isinstance(args, dict)):
            return
        number, shape = correlation(args), (args.get("grid"), args.get("block"))
        if number < 0 or not all(map(_is_size, shape)):
            return
        if self.shapes.setdefault(number, shape) != shape:
            self.shapes[number] = None  # calls of several processes: the kernel's is not known

    def completed(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """The event of a kernel with the grid and the block of its call; None without one."""
        shape = self.shapes.get(correlation(event["args"]))
        if shape is None:
            return None
        return event | {"args": event["args"] | {"grid": shape[0], "block": shape[1]}}


def _is_size(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    sides = [whole(side) for side in value]
    return all(side is not None and side >= 1 for side in sides)


# Older versions write the category with a capital letter.
KERNEL_CATEGORIES = ("kernel", "Kernel")

_OCCUPANCY = "est. achieved occupancy %"
# The integers of a kernel, in the order of the columns of a launch.
_INTEGERS = ("registers per thread", "shared memory", "device", "context", "stream")
_NOT_NEGATIVE = 3  # of them
_NOT_OF_ROCM = ("registers per thread", "shared memory", "context")  # which ROCm does not write
_PRIORITY = "priority"  # of the stream, in newer versions
KERNEL_FIELDS = (
    Field(b"name", TEXT),
    Field(b"ts", THOUSANDTHS),
    Field(b"dur", THOUSANDTHS, 0),
    Field(b"args.grid", PRODUCT, 1),
    Field(b"args.block", PRODUCT, 1),
    *(
        Field(f"args.{key}".encode(), INTEGER, 0 if i < _NOT_NEGATIVE else -INT64_MAX)
        for i, key in enumerate(_INTEGERS)
    ),
    Field(f"args.{_OCCUPANCY}".encode(), INTEGER, 0, optional=True),
    Field(b"args.correlation", INTEGER, optional=True),
    Field(f"args.{_PRIORITY}".encode(), INTEGER, optional=True),
)


class Kernels:
    """Kernels in the order in which they were added, which need not be that of the file."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.known: dict[str, str] = {}
        self.names: list[Names] = []
        self.parts: list[Int64Array] = []  # index in the file, launch, correlation number
        self.without_grid: list[tuple[int, str, int]] = []  # index, name, duration
        self.seen: dict[tuple[int, int], tuple[int, int]] = {}  # by context and stream, the first
        self.amd = ""  # the kind of the first kernel that ROCm recorded
        self.launches = HipLaunches()
        self.shapeless: list[tuple[int, dict[str, Any]]] = []  # whose calls may know the grid

    def add(self, index: int, event: dict[str, Any]) -> None:
        """Add a decoded event; ``ValueError`` with file, event and field for a damaged one."""
        kernel = _Event(self.source, index, event)
        if kernel.shapeless:
            self.shapeless.append((index, event))
        else:
            self._put(index, kernel)

    def _put(self, index: int, kernel: _Event) -> None:
        self.amd = self.amd or kernel.amd
        name, *row = kernel.row()
        if (priority := integer_argument(kernel.args, _PRIORITY)) is not None:
            self._see((row[-3], row[-2]), (index, priority))
        self.names.append(column([self.known.setdefault(name, name)], object))
        self.parts.append(np.array([[index, *row, correlation(kernel.args)]], np.int64).T)

    def add_shapeless(self, index: int, event: dict[str, Any]) -> None:
        """Add a kernel without a grid: with that of its launch call, or with no blocks and threads.

        ``ValueError`` as by ``add``.
        """
        kernel = _Event(self.source, index, self.launches.completed(event) or event)
        self._put(index, kernel)
        if kernel.shapeless:
            self.without_grid.append((index, self.names[-1][0], int(self.parts[-1][2, 0])))

    def add_columns(self, *values: *tuple[Int64Array, *tuple[Any, ...]]) -> None:
        """Add events: places in the file, the values of ``KERNEL_FIELDS``, the texts."""
        place, name, *numbers, occupancy, call, priority, texts = values
        if not len(place):
            return
        names = np.array([self.known.setdefault(text, text) for text in texts], object)
        self.names.append(names[name])
        calls = np.maximum(call, -1)
        self.parts.append(np.array([place, *numbers, np.maximum(occupancy, -1), calls]))
        has = priority != ABSENT
        context, stream, place, priority = (v[has] for v in (*numbers[-2:], place, priority))
        for i in distinct_pairs(context, stream)[0].tolist():
            self._see((int(context[i]), int(stream[i])), (int(place[i]), int(priority[i])))

    def _see(self, stream: tuple[int, int], found: tuple[int, int]) -> None:
        self.seen[stream] = min(self.seen.get(stream, found), found)

    def __bool__(self) -> bool:
        return bool(self.parts)

    def priorities(self) -> dict[tuple[int, int], int]:
        """Priorities of streams by context and stream, where kernels tell them."""
        return {stream: priority for stream, (_, priority) in self.seen.items()}

    def table(self) -> tuple[Any, ...]:
        """Names and columns of a launch and correlation numbers, in the order of the file."""
        indices, *columns = np.concatenate(self.parts, axis=1)
        names = np.concatenate(self.names)
        order = np.argsort(indices, kind="stable")
        return (column(names[order], object), *(column(values[order]) for values in columns))


class _Event:
    """One kernel event. Errors name the file, the event, the kernel and the field."""

    def __init__(self, source: str, index: int, event: dict[str, Any]) -> None:
        self.source, self.index, self.event = source, index, event
        args = event.get("args")
        self.args: dict[str, Any] = args if isinstance(args, dict) else {}
        kind = self.args.get("kind")
        shape = self.args.get("grid"), self.args.get("block")
        self.shapeless = bool(self.args) and None in shape
        self.amd = ""  # the kind of a kernel of ROCm
        if isinstance(kind, str) and kind.startswith("Dispatch "):
            self.amd = kind if self.args.get("registers per thread") is None else ""

    def row(self) -> tuple[Any, ...]:
        """Entries of the launch, in the order of the arrays of ``Trace``."""
        name = self.event.get("name")
        if not isinstance(name, str) or not name:
            self.fail("name", name, "the kernel's name")
        if not self.args:
            self.fail("args", self.event.get("args"), "an object with the kernel's data")
        start, duration = self.time("ts"), self.time("dur")
        if duration < 0:
            self.fail("dur", self.event["dur"], "a non-negative number")
        if start + duration > INT64_MAX:
            self.fail("ts", self.event["ts"], "a time that, with dur, fits 64 bits of ns")
        return (
            name,
            start,
            duration,
            0 if self.shapeless else self.product("grid"),
            0 if self.shapeless else self.product("block"),
            *(
                self.integer(field, 0 if i < _NOT_NEGATIVE else -INT64_MAX, self.absent(field))
                for i, field in enumerate(_INTEGERS)
            ),
            self.integer(_OCCUPANCY, 0, absent=-1),
        )

    def absent(self, field: str) -> int | None:
        """The value of an integer that the event lacks; None where it must not."""
        return 0 if (self.amd or self.shapeless) and field in _NOT_OF_ROCM else None

    def time(self, field: str) -> int:
        """Microseconds as nanoseconds; exact for up to three decimals, else rounded."""
        time = nanoseconds(self.event.get(field))
        if time is None:
            self.fail(field, self.event.get(field), "a time in microseconds")
        if abs(time) > INT64_MAX:
            self.fail(field, self.event[field], "a time that fits 64 bits of ns")
        return time

    def integer(self, field: str, least: int, absent: int | None = None) -> int:
        """An integer of at least ``least``; ``absent`` when the event lacks the field."""
        value = self.args.get(field)
        if value is None and absent is not None:
            return absent
        number = whole(value)
        if number is None:
            self.fail(field, value, "an integer")
        if not least <= number <= INT64_MAX:
            self.fail(field, value, f"at least {least}, of 64 bits")
        return number

    def product(self, field: str) -> int:
        """The product of three positive integers: blocks of a grid, threads of a block."""
        value = self.args.get(field)
        sides = [whole(v) for v in value] if isinstance(value, list) else []
        if len(sides) != 3 or any(side is None or side < 1 for side in sides):
            self.fail(field, value, "three positive integers")
        product = math.prod(cast(list[int], sides))
        if product > INT64_MAX:
            self.fail(field, value, "numbers with a product that fits 64 bits")
        return product

    def fail(self, field: str, value: Any, what: str) -> NoReturn:
        """Raise a ``ValueError`` about a field; ``what`` is expected."""
        where = f"{self.source}: traceEvents[{self.index}], kernel {shown(self.event.get('name'))}"
        absent = value is None and field not in self.event and field not in self.args
        found = "nothing" if absent else shown(value)
        raise ValueError(f"{where}: {field!r}: got {found}, expected {what}")
