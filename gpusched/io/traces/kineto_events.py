"""Events of Kineto's JSON beside the kernels: calls, annotations, copies and memsets."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import shown
from gpusched.io.traces.kineto_numbers import nanoseconds, whole
from gpusched.io.traces.trace_events import (
    COPY_IN,
    COPY_ON_DEVICE,
    COPY_OTHER,
    COPY_OUT,
    MEMSET,
    OF_STREAM,
    OF_THREAD,
    Calls,
    LinkedCalls,
    Ranges,
    TraceEvents,
    Transfers,
)
from gpusched.io.traces.trace_tables import INT64_MAX, column

__all__ = ["KinetoEvent", "beside_kernels", "correlation", "kept_event"]

# Older versions write the categories of the second column.
_CALLS = ("cuda_runtime", "Runtime", "cuda_driver")
_COPIES = ("gpu_memcpy", "Memcpy")
_MEMSETS = ("gpu_memset", "Memset")
_ON_CPU = ("user_annotation",)
_ON_GPU = ("gpu_user_annotation",)
_OPERATORS = ("cpu_op", "Operator")  # which older versions call profiler steps, too
_KEPT = frozenset((*_CALLS, *_COPIES, *_MEMSETS, *_ON_CPU, *_ON_GPU))
_STEP = "ProfilerStep#"
_BACKWARD = "autograd::engine::evaluate_function"
_DIRECTIONS = {"HtoD": COPY_IN, "DtoH": COPY_OUT, "DtoD": COPY_ON_DEVICE}


class KinetoEvent(NamedTuple):
    """The fields of an event that are needed, as the file has them."""

    category: str
    name: Any
    start: Any
    duration: Any
    process: Any
    thread: Any
    args: Any


def kept_event(event: dict[str, Any], backward: set[tuple[Any, Any]]) -> KinetoEvent | None:
    """A complete event of one of the categories read here; None for the others.

    Process and thread of operators that run a backward pass are put in ``backward``.
    """
    category = event.get("cat")
    if not isinstance(category, str) or event.get("ph") != "X":
        return None
    name = event.get("name")
    if category not in _KEPT:
        if category not in _OPERATORS or not isinstance(name, str):
            return None
        if name.startswith(_BACKWARD):
            process, thread = event.get("pid"), event.get("tid")
            if isinstance(process, (int, str)) and isinstance(thread, (int, str)):
                backward.add((process, thread))
        if not name.startswith(_STEP):
            return None
        category = _ON_CPU[0]
    args = None if category in _ON_CPU else event.get("args")
    return KinetoEvent(
        *(category, name, event.get("ts"), event.get("dur"), event.get("pid"), event.get("tid")),
        args,
    )


def beside_kernels(
    source: str, events: list[Any], launched: Int64Array, backward: set[tuple[Any, Any]]
) -> tuple[TraceEvents, LinkedCalls]:
    """The events beside the kernels, and the calls by correlation number.

    ``launched`` has the correlation numbers of the kernels, below 0 where there is none;
    ``backward`` process and thread of those that run backward passes.

    Raises
    ------
    ValueError
        An event with a missing, non-numeric, negative or huge field; the message names it.
    """
    reader = _Reader(source)
    for index, event in enumerate(events):
        if isinstance(event, KinetoEvent):
            reader.add(index, event)
    return reader.result(launched, backward)


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.threads: dict[tuple[Any, Any], int] = {}
        self.calls: list[tuple[int, int, int, bool, int]] = []
        self.ranges: list[tuple[Any, ...]] = []
        self.transfers: list[tuple[int, ...]] = []
        self.of_transfer: list[int] = []
        self.unfinished = 0

    def add(self, index: int, event: KinetoEvent) -> None:
        category = event.category
        if category in _CALLS:
            self.add_call(index, event)
        elif category in _ON_CPU or category in _ON_GPU:
            self.add_range(index, event)
        else:
            self.add_transfer(index, event)

    def add_call(self, index: int, event: KinetoEvent) -> None:
        waits = isinstance(event.name, str) and "ynchronize" in event.name
        number = correlation(event.args)
        if number < 0 and not waits:
            return
        start, duration = self.times(index, event)
        self.calls.append((start, start + duration, self.thread(index, event), waits, number))

    def add_range(self, index: int, event: KinetoEvent) -> None:
        if not isinstance(event.name, str) or not event.name:
            self.fail(index, event, "name", event.name, "text")
        if any("\ud800" <= char <= "\udfff" for char in event.name):
            self.fail(index, event, "name", event.name, "text that UTF-8 can encode")
        if event.duration is None:
            self.unfinished += 1
            return
        start, duration = self.times(index, event)
        end = start + duration
        if event.category in _ON_CPU:
            thread = self.thread(index, event)
            self.ranges.append((event.name, start, end, thread, OF_THREAD, index))
            return
        stream = _argument(event.args, "stream")
        if stream is None and (stream := whole(event.thread)) is None:
            self.fail(index, event, "stream", event.thread, "an integer")
        self.ranges.append((event.name, start, end, stream, OF_STREAM, index))

    def add_transfer(self, index: int, event: KinetoEvent) -> None:
        start, duration = self.times(index, event)
        kind = MEMSET if event.category in _MEMSETS else COPY_OTHER
        if kind == COPY_OTHER and isinstance(event.name, str):
            kind = next((k for word, k in _DIRECTIONS.items() if word in event.name), kind)
        where = [_argument(event.args, key) for key in ("device", "context", "stream")]
        device, context, stream = (0 if value is None else value for value in where)
        self.transfers.append((start, duration, kind, device, context, stream))
        self.of_transfer.append(correlation(event.args))

    def result(
        self, launched: Int64Array, backward: set[tuple[Any, Any]]
    ) -> tuple[TraceEvents, LinkedCalls]:
        calls = list(zip(*self.calls, strict=True)) or [()] * 5
        of_transfer: Int64Array = column(self.of_transfer)
        linked = LinkedCalls(
            Calls(column(calls[0]), column(calls[1]), column(calls[2]), column(calls[3], bool)),
            column(calls[4]),
            np.concatenate([launched, of_transfer]),
        )
        ranges = list(zip(*self.ranges, strict=True)) or [()] * 6
        transfers = list(zip(*self.transfers, strict=True)) or [()] * 6
        events = TraceEvents(
            calls=linked.calls,
            ranges=Ranges(column(ranges[0], object), *map(column, ranges[1:])),
            transfers=Transfers(*[*map(column, transfers), column(linked.of(of_transfer))]),
            threads=tuple(self.threads),
            helpers=frozenset(i for key, i in self.threads.items() if key in backward),
            where=f"{self.source}: traceEvents[{{}}]",
            unfinished=self.unfinished,
        )
        return events, linked

    def thread(self, index: int, event: KinetoEvent) -> int:
        key = (event.process, event.thread)
        if not all(isinstance(part, (int, str)) for part in key):
            field = "pid" if not isinstance(event.process, (int, str)) else "tid"
            self.fail(index, event, field, key[field == "tid"], "an integer or text")
        return self.threads.setdefault(key, len(self.threads))

    def times(self, index: int, event: KinetoEvent) -> tuple[int, int]:
        found = []
        for field, value in (("ts", event.start), ("dur", event.duration)):
            time = nanoseconds(value)
            if time is None:
                self.fail(index, event, field, value, "a time in microseconds")
            found.append(time)
        start, duration = found
        if duration < 0:
            self.fail(index, event, "dur", event.duration, "a non-negative number")
        if max(abs(start), duration, start + duration) > INT64_MAX:
            what = "a time that, with dur, fits 64 bits of ns"
            self.fail(index, event, "ts", event.start, what)
        return start, duration

    def fail(self, index: int, event: KinetoEvent, field: str, value: Any, what: str) -> NoReturn:
        where = f"{self.source}: traceEvents[{index}], {event.category} {shown(event.name)}"
        found = "nothing" if value is None else shown(value)
        raise ValueError(f"{where}: {field!r}: got {found}, expected {what}")


def correlation(args: Any) -> int:
    """The number that a call and what it launched have in common; -1 without one."""
    number = _argument(args, "correlation")
    return -1 if number is None or number < 0 else number


def _argument(args: Any, field: str) -> int | None:
    """An integer of 64 bits among the arguments of an event; None for anything else."""
    value = whole(args.get(field)) if isinstance(args, dict) else None
    return value if value is not None and abs(value) <= INT64_MAX else None
