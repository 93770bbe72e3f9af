"""Events of Kineto's JSON beside the kernels: calls, annotations, copies and memsets."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import shown
from gpusched.io.traces.kineto_document import (
    IDENTIFIER,
    INTEGER,
    TEXT,
    THOUSANDTHS,
    Field,
)
from gpusched.io.traces.kineto_numbers import (
    correlation,
    distinct_pairs,
    integer_argument,
    nanoseconds,
    whole,
)
from gpusched.io.traces.trace_events import (
    COPY_IN,
    COPY_ON_DEVICE,
    COPY_OTHER,
    COPY_OUT,
    MEMSET,
    NO_CALL,
    OF_STREAM,
    OF_THREAD,
    UNKNOWN_KIND,
    WAIT_CALLS,
    Calls,
    EventWaits,
    LinkedCalls,
    Ranges,
    Streams,
    TraceEvents,
    Transfers,
    unexplained_waits,
)
from gpusched.io.traces.trace_tables import INT64_MAX, column

__all__ = [
    "BACKWARD",
    "CALL_CATEGORIES",
    "CALL_FIELDS",
    "OPERATOR_FIELDS",
    "OTHERS",
    "BesideKernels",
]

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
