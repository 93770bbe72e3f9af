"""Events of a database of Nsight Systems beside the kernels: calls, NVTX ranges, copies, memsets.

Tables and columns that a version or a recording lacks are taken as empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.input_files import TooLarge
from gpusched.io.traces.launch_shapes import Shapes
from gpusched.io.traces.nsys_tables import Database
from gpusched.io.traces.trace_events import (
    COPY_IN,
    COPY_ON_DEVICE,
    COPY_OTHER,
    COPY_OUT,
    MEMSET,
    OF_PROCESS,
    OF_THREAD,
    Calls,
    LinkedCalls,
    Ranges,
    TraceEvents,
    Transfers,
)
from gpusched.io.traces.trace_tables import column

__all__ = [
    *("EVENT_TABLES", "GRAPHS", "BesideKernels", "beside_kernels", "launch_numbers"),
    "process_of",
]

GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_CALLS = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
_COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
_MEMSETS = "CUPTI_ACTIVITY_KIND_MEMSET"
_RANGES = "NVTX_EVENTS"
EVENT_TABLES = (GRAPHS, *_CALLS, _COPIES, _MEMSETS, _RANGES)

_DIRECTIONS = {1: COPY_IN, 2: COPY_OUT, 8: COPY_ON_DEVICE}
# Types of NVTX events, with text of one or two bytes per character.
_KINDS = {59: OF_THREAD, 70: OF_THREAD, 60: OF_PROCESS, 71: OF_PROCESS}


class BesideKernels(NamedTuple):
    """Events, the calls by number, and the process of each transfer (-1 where unknown)."""

    events: TraceEvents
    calls: LinkedCalls
    of_transfer: Int64Array


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
        return BesideKernels(events, LinkedCalls(Calls(), none, none), none)


class _Reader:
    def __init__(self, database: Database, by_process: bool) -> None:
        self.database = database
        self.by_process = by_process
        self.threads: dict[int, int] = {}

    def read(self, launched: Int64Array) -> BesideKernels:
        transfers, numbers, processes = self.transfers()
        linked = self.calls(np.concatenate([launched, numbers]))
        ranges, unfinished = self.ranges()
        events = TraceEvents(
            calls=linked.calls,
            ranges=ranges,
            transfers=Transfers(*[*transfers, column(linked.of(numbers))]),
            threads=[((number >> 24) & 0xFFFFFF, number & 0xFFFFFF) for number in self.threads],
            where=f"{self.database.source}: {_RANGES}, row {{}}",
            unfinished=unfinished,
            graphs=self.graphs(),
        )
        return BesideKernels(events, linked, processes)

    def calls(self, used: Int64Array) -> LinkedCalls:
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
        if not found:
            return LinkedCalls(Calls(), np.zeros(0, np.int64), used)
        columns = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        return LinkedCalls(Calls(*columns), np.concatenate(numbers), used)

    def transfers(self) -> tuple[list[Int64Array], Int64Array, Int64Array]:
        """Columns of the transfers but the calls, their launch numbers, and their processes."""
        found = []
        for table in (_COPIES, _MEMSETS):
            usual = {"contextId": 0, "correlationId": -1, "globalPid": -1, "copyKind": 0}
            of = self.database.columns(table, ("start", "end", "deviceId", "streamId"), usual)
            if of is None:
                continue
            self.check_times(table, of)
            kind = np.full(len(of["rowid"]), MEMSET if table == _MEMSETS else COPY_OTHER)
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

    def graphs(self) -> int:
        if GRAPHS not in self.database.tables:
            return 0
        [(number,)] = self.database.rows(f'SELECT count(*) FROM "{GRAPHS}"')
        return int(number)

    def check_times(self, table: str, of: dict[str, Int64Array]) -> None:
        rows = of["rowid"]
        shapes = Shapes(lambda i: f"{self.database.source}: {table}, row {rows[i]}")
        shapes.at_least(of["start"], 0, "start")
        shapes.refuse(of["end"] < of["start"], of["end"], "end", "at least start")

    def thread(self, numbers: Int64Array) -> Int64Array:
        unique, where = np.unique(numbers, return_inverse=True)
        own = [self.threads.setdefault(number, len(self.threads)) for number in unique.tolist()]
        return np.array(own, np.int64)[where]
