"""Events of a database of Nsight Systems beside the kernels: calls, NVTX ranges, copies, memsets.

Tables and columns that a version or a recording lacks are taken as empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.input_files import TooLarge
from gpusched.io.traces.nsys_tables import Database, Shapes
from gpusched.io.traces.trace_events import (
    COPY_IN,
    COPY_ON_DEVICE,
    COPY_OTHER,
    COPY_OUT,
    GRAPH,
    MEMSET,
    MIGRATION_IN,
    MIGRATION_OUT,
    NO_CALL,
    OF_PROCESS,
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
from gpusched.io.traces.trace_tables import column
from gpusched.model.launch_columns import STREAM_KINDS

__all__ = [
    *("EVENT_TABLES", "GRAPHS", "BesideKernels", "beside_kernels", "launch_numbers"),
    "process_of",
]

GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_CALLS = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
_COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
_MEMSETS = "CUPTI_ACTIVITY_KIND_MEMSET"
_RANGES = "NVTX_EVENTS"
_STREAMS = "TARGET_INFO_CUDA_STREAM"
_SYNCS = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
_RECORDS = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
EVENT_TABLES = (GRAPHS, *_CALLS, _COPIES, _MEMSETS, _RANGES, _STREAMS, _SYNCS, _RECORDS)

_WAIT_EVENT = 2  # the type of a synchronization: a stream waits for an event
_KINDS_OF_STREAMS = {1: "blocking", 2: "non_blocking", 3: "null"}  # by CUPTI's flag

# By CUPTI's number of a copy, which Nsight Systems continues with migrations of unified memory.
_DIRECTIONS = {
    **{1: COPY_IN, 2: COPY_OUT, 8: COPY_ON_DEVICE},
    **{11: MIGRATION_IN, 12: MIGRATION_OUT},
}
# Types of NVTX events, with text of one or two bytes per character.
_KINDS = {59: OF_THREAD, 70: OF_THREAD, 60: OF_PROCESS, 71: OF_PROCESS}


class BesideKernels(NamedTuple):
    """Events, the calls by number, and the process of each transfer, stream and wait for an event
    (-1 where unknown)."""

    events: TraceEvents
    calls: LinkedCalls
    of_transfer: Int64Array
    of_stream: Int64Array
    of_wait: Int64Array


def process_of(number: Int64Array) -> Int64Array:
    """The process in a global number of a process or thread, above 24 bits of the thread."""
    return (number >> 24) & 0xFFFFFF


def launch_numbers(process: Int64Array | int, correlation: Int64Array) -> Int64Array:
    """One number of the process and its correlation number; -1 where one is unknown."""
    known = (correlation >= 0) & (correlation < 2**32) & (np.asarray(process) >= 0)
    return np.where(known, (process << 32) | correlation, -1)


def beside_kernels(database: Database, launched: Int64Array, by_process: bool) -> BesideKernels:
    """The events beside the kernels; where they are damaged, none and the reason.

    ``launched`` has the `launch_numbers` of the kernels, which contain the process if
    ``by_process``.
    """
    try:
        return _Reader(database, by_process).read(launched)
    except TooLarge:
        raise
    except ValueError as error:
        none: Int64Array = np.zeros(0, np.int64)
        events = TraceEvents(missing=str(error))
        return BesideKernels(events, LinkedCalls(Calls(), none, none), none, none, none)


class _Reader:
    def __init__(self, database: Database, by_process: bool) -> None:
        self.database = database
        self.by_process = by_process
        self.threads: dict[int, int] = {}
        # Launch numbers of calls to wait for an event, and of rows that describe one.
        self.wait_calls: list[Int64Array] = []
        self.described: Int64Array = np.zeros(0, np.int64)

    def read(self, launched: Int64Array) -> BesideKernels:
        transfers, numbers, processes = self.transfers()
        every, called = self.calls()
        linked = LinkedCalls(every, called, np.concatenate([launched, numbers]))
        streams, of_stream = self.streams()
        waits, lost, of_wait = self.waits(every, called)
        ranges, unfinished = self.ranges()
        events = TraceEvents(
            calls=linked.calls,
            ranges=ranges,
            transfers=Transfers(*[*transfers, column(linked.of(numbers))]),
            streams=streams,
            waits=waits,
            lost_waits=lost,
            unexplained_waits=unexplained_waits(self.wait_calls, self.described),
            threads=[((number >> 24) & 0xFFFFFF, number & 0xFFFFFF) for number in self.threads],
            where=f"{self.database.source}: {_RANGES}, row {{}}",
            unfinished=unfinished,
        )
        return BesideKernels(events, linked, processes, of_stream, of_wait)

    def streams(self) -> tuple[Streams, Int64Array]:
        """The described streams, and their processes."""
        usual = {"processId": -1, "flag": 0}
        of = self.database.columns(_STREAMS, ("streamId", "contextId", "priority"), usual)
        if of is None or not len(of["rowid"]):
            return Streams(), np.zeros(0, np.int64)
        kind = np.full(len(of["rowid"]), UNKNOWN_KIND)
        for flag, name in _KINDS_OF_STREAMS.items():
            kind[of["flag"] == flag] = STREAM_KINDS.index(name)
        # The priority is one of 32 bits, which versions write with and without its sign.
        priority = of["priority"]
        priority = np.where((priority >= 2**31) & (priority < 2**32), priority - 2**32, priority)
        columns = (of["contextId"], of["streamId"], priority, kind)
        return Streams(*map(column, columns)), of["processId"]

    def waits(self, every: Calls, called: Int64Array) -> tuple[EventWaits, int, Int64Array]:
        """Waits of streams for events, the number of incomplete ones, and their processes.

        An event is the one that was recorded last before the call that waits for it.
        """
        keys = ("contextId", "streamId", "correlationId", "eventId")
        of = self.database.columns(_SYNCS, (*keys, "syncType"), {"globalPid": -1})
        records = self.database.columns(_RECORDS, keys, {"globalPid": -1})
        if of is None:
            return EventWaits(), 0, np.zeros(0, np.int64)
        chosen = of["syncType"] == _WAIT_EVENT
        of = {key: values[chosen] for key, values in of.items()}
        lost = int(chosen.sum())
        process = np.where(of["globalPid"] < 0, -1, process_of(of["globalPid"]))
        self.described = launch_numbers(process if self.by_process else 0, of["correlationId"])
        if records is None or not lost or not len(records["rowid"]):
            return EventWaits(), lost, np.zeros(0, np.int64)
        numbers, processes = [], []
        for table in (of, records):
            process = np.where(table["globalPid"] < 0, -1, process_of(table["globalPid"]))
            own: Int64Array | int = process if self.by_process else 0
            numbers.append(launch_numbers(own, table["correlationId"]))
            processes.append(process)
        linked = LinkedCalls(every, called, np.concatenate(numbers))
        (wait, time), (record, recorded) = (
            (call, np.append(linked.calls.start, 0)[call]) for call in map(linked.of, numbers)
        )
        _, event = np.unique(
            np.stack(
                [
                    np.concatenate(processes),
                    np.concatenate([of["eventId"], records["eventId"]]),
                ]
            ),
            axis=1,
            return_inverse=True,
        )
        event = event.ravel()
        waited, event = event[: len(wait)], event[len(wait) :]
        known = np.flatnonzero(record != NO_CALL)
        known = known[np.lexsort((recorded[known], event[known]))]
        # The last record of the event that is not after the wait.
        last = _last_not_after(event[known], recorded[known], waited, time)
        kept = (wait != NO_CALL) & (last >= 0)
        last = known[last[kept]]
        waits = EventWaits(
            context=column(of["contextId"][kept]),
            stream=column(of["streamId"][kept]),
            time=column(time[kept]),
            on_context=column(records["contextId"][last]),
            on_stream=column(records["streamId"][last]),
            recorded=column(recorded[last]),
        )
        return waits, lost - len(waits), processes[0][kept]

    def calls(self) -> tuple[Calls, Int64Array]:
        """The calls, and the launch number of each."""
        found = []
        numbers = []
        for table in _CALLS:
            needed = ("start", "end", "globalTid", "correlationId")
            of = self.database.columns(table, needed, {"nameId": -1})
            if of is None:
                continue
            self.check_times(table, of)
            query = f'SELECT "nameId" FROM "{table}"'
            known = "nameId" in self.database.tables[table]
            names = self.database.strings(query, "the name of a call") if known else {}
            waiting = [number for number, name in names.items() if "ynchronize" in name]
            waits = np.isin(of["nameId"], waiting)
            found.append((of["start"], of["end"], self.thread(of["globalTid"]), waits))
            process: Int64Array | int = process_of(of["globalTid"]) if self.by_process else 0
            numbers.append(launch_numbers(process, of["correlationId"]))
            for_event = [number for number, name in names.items() if name.startswith(WAIT_CALLS)]
            self.wait_calls.append(numbers[-1][np.isin(of["nameId"], for_event)])
        if not found:
            return Calls(), np.zeros(0, np.int64)
        columns = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        return Calls(*columns), np.concatenate(numbers)

    def transfers(self) -> tuple[list[Int64Array], Int64Array, Int64Array]:
        """Columns of the transfers but the calls, their launch numbers, and their processes."""
        found = []
        for table, usual_kind in ((_COPIES, COPY_OTHER), (_MEMSETS, MEMSET), (GRAPHS, GRAPH)):
            usual = {"contextId": 0, "correlationId": -1, "globalPid": -1, "copyKind": 0}
            of = self.database.columns(table, ("start", "end", "deviceId", "streamId"), usual)
            if of is None:
                continue
            self.check_times(table, of)
            kind = np.full(len(of["rowid"]), usual_kind)
            if table == _COPIES:
                for theirs, ours in _DIRECTIONS.items():
                    kind[of["copyKind"] == theirs] = ours
            process = np.where(of["globalPid"] < 0, -1, process_of(of["globalPid"]))
            number = launch_numbers(process if self.by_process else 0, of["correlationId"])
            where = (of["deviceId"], of["contextId"], of["streamId"])
            found.append((of["start"], of["end"] - of["start"], kind, *where, number, process))
        if not found:
            found.append((np.zeros(0, np.int64),) * 8)
        *columns, numbers, processes = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return [column(values) for values in columns], numbers, processes

    def ranges(self) -> tuple[Ranges, int]:
        """The ranges, and the number of those without an end."""
        present = self.database.tables.get(_RANGES, [])
        if not {"start", "end", "eventType", "globalTid"} <= set(present):
            return Ranges(), 0
        kinds = f"eventType IN ({', '.join(map(str, _KINDS))})"
        texts = [name if name in present else "NULL" for name in ("textId", "text")]
        query = (
            f'SELECT rowid, start, "end", eventType, globalTid, {", ".join(texts)} '
            f'FROM "{_RANGES}" WHERE {kinds} ORDER BY rowid'
        )
        numbered = {}
        if texts[0] != "NULL":
            used = f'SELECT textId FROM "{_RANGES}" WHERE {kinds}'
            numbered = self.database.strings(used, "the text of a range")
        shared: dict[bytes, str] = {}
        rows, names, unfinished = [], [], 0
        for row, *numbers, number, text in self.database.rows(query):
            self.database.take(48)
            if numbers[1] is None:
                unfinished += 1
                continue
            if set(map(type, numbers)) != {int}:
                keys = ("start", "end", "eventType", "globalTid")
                key, value = next(
                    pair for pair in zip(keys, numbers, strict=True) if type(pair[1]) is not int
                )
                self.database.fail(_RANGES, row, key, value, "an integer")
            if isinstance(text, bytes) and text:
                if (name := shared.get(text, "")) == "":
                    name = shared[text] = self.database.text(_RANGES, row, "text", text)
            else:
                name = numbered.get(number, "")
            if not name:
                value = text if number is None else number
                what = "the range's name, or the id of one in StringIds"
                self.database.fail(
                    _RANGES, row, "text" if number is None else "textId", value, what
                )
            rows.append((row, *numbers))
            names.append(name)
        fields = ("rowid", "start", "end", "eventType", "globalTid")
        values = np.array(rows, np.int64).reshape(-1, len(fields)).T
        of = dict(zip(fields, values, strict=True))
        self.check_times(_RANGES, of)
        kind = np.where(np.isin(of["eventType"], (60, 71)), OF_PROCESS, OF_THREAD)
        ranges = Ranges(
            name=column(names, object),
            start=column(of["start"]),
            end=column(of["end"]),
            thread=column(self.thread(of["globalTid"])),
            kind=column(kind),
            row=column(of["rowid"]),
        )
        return ranges, unfinished

    def check_times(self, table: str, of: dict[str, Int64Array]) -> None:
        rows = of["rowid"]
        shapes = Shapes(lambda i: f"{self.database.source}: {table}, row {rows[i]}")
        shapes.at_least(of["start"], 0, "start")
        shapes.refuse(of["end"] < of["start"], of["end"], "end", "at least start")

    def thread(self, numbers: Int64Array) -> Int64Array:
        unique, where = np.unique(numbers, return_inverse=True)
        own = [self.threads.setdefault(number, len(self.threads)) for number in unique.tolist()]
        return np.array(own, np.int64)[where]


def _last_not_after(
    group: Int64Array, time: Int64Array, of: Int64Array, at: Int64Array
) -> Int64Array:
    """For each pair (of, at), the last row of the group ``of`` whose time is at most ``at``; -1
    without one. Rows are sorted by group and time."""
    times, place = np.unique(np.concatenate([time, at]), return_inverse=True)
    width = len(times) + 1
    keys = group * width + place[: len(time)]
    last: Int64Array = np.searchsorted(keys, of * width + place[len(time) :], side="right") - 1
    found = (last >= 0) & (np.append(group, -1)[last] == of)
    return np.where(found, last, -1)
