"""Tables of a database of Nsight Systems or nvprof, and their events beside the kernels.

The database is opened read-only; no lock, journal or shared-memory file is created. Generated
columns may make values that are larger than the file: their size is limited, singly and in total.

Events are calls, NVTX ranges, copies and memsets. Tables and columns that a version or a recording
lacks are taken as empty.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array
from gpusched._support.input_files import TooLarge, check_size, guard, opened, pass_interrupt_on
from gpusched._support.text import shown
from gpusched.io.traces.trace_tables import (
    COPY_IN,
    COPY_ON_DEVICE,
    COPY_OTHER,
    COPY_OUT,
    GRAPH,
    INT64_MAX,
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
    column,
    unexplained_waits,
)
from gpusched.model.launch_columns import STREAM_KINDS

if TYPE_CHECKING:
    import sqlite3

STRINGS = "StringIds"
NVPROF_STRINGS = "StringTable"

_CHUNK = 4096
_LONGEST = 1 << 24  # bytes of a value; mangled names of kernels have up to some 10,000


class Database:
    """An open database.

    ``tables`` has the columns of each table that is among ``known``, ``nvprof`` whether the
    database is one of nvprof. Raises ``ValueError`` where the values read are more than
    ``max_bytes``.
    """

    def __init__(
        self, source: str, connection: sqlite3.Connection, max_bytes: int, known: Sequence[str]
    ) -> None:
        self.source = source
        self.connection = connection
        self.max_bytes = max_bytes
        self.taken = 0  # bytes of the values read
        names = [readable(name) for (name,) in self.rows(_TABLES)]
        self.tables = {
            name: [readable(row[1]) for row in self.rows(f'PRAGMA table_info("{name}")')]
            for name in names
            if name in known
        }
        self.nvprof = NVPROF_STRINGS in self.tables and STRINGS not in self.tables

    def rows(self, query: str) -> Iterator[Any]:
        """The rows of a query; text is bytes."""
        return self.connection.execute(query)

    def integers(self, table: str, query: str, keys: Sequence[str]) -> Int64Array:
        """The rows of a query of integers, whose first column is the number of the row."""
        parts: list[Int64Array] = [np.empty((0, len(keys)), np.int64)]
        cursor = self.connection.execute(query)
        while rows := cursor.fetchmany(_CHUNK):
            self.take(len(rows) * len(keys) * 8)
            if set(map(type, chain.from_iterable(rows))) != {int}:
                self._blame(table, rows, keys)
            parts.append(np.array(rows, dtype=np.int64))
        return np.concatenate(parts)

    def columns(
        self, table: str, needed: Sequence[str], usual: dict[str, int]
    ) -> dict[str, Int64Array] | None:
        """Columns of integers by name, with ``rowid``; None where the table lacks a needed one.

        ``usual`` has columns that may be missing or NULL, and the value that stands for it.
        """
        present = self.tables.get(table, [])
        if not set(needed) <= set(present):
            return None
        selected = ["rowid", *(f'"{name}"' for name in needed)]
        for name, value in usual.items():
            selected.append(f'ifnull("{name}", {value})' if name in present else str(value))
        query = f'SELECT {", ".join(selected)} FROM "{table}" ORDER BY rowid'
        keys = ("rowid", *needed, *usual)
        return dict(zip(keys, self.integers(table, query, keys).T, strict=True))

    def strings(self, used: str, what: str) -> dict[int, str]:
        """The texts whose numbers a query selects, which are ``what``."""
        table, key = (NVPROF_STRINGS, "_id_") if self.nvprof else (STRINGS, "id")
        if table not in self.tables:
            return {}
        query = f'SELECT "{key}", value FROM "{table}" WHERE "{key}" IN ({used})'
        found = {}
        for number, value in self.rows(query):
            if not isinstance(value, bytes):
                self.fail(table, number, "value", value, what)
            found[number] = self.text(table, number, "value", value)
        return found

    def text(self, table: str, row: int, key: str, value: bytes) -> str:
        """Bytes as text; ``ValueError`` where they are not UTF-8."""
        self.take(len(value))
        try:
            return value.decode()
        except UnicodeDecodeError:
            self.fail(table, row, key, value, "UTF-8")

    def take(self, size: int) -> None:
        """Count bytes that are read; ``ValueError`` when they are too many."""
        self.taken += size
        check_size(self.source, self.taken, self.max_bytes, " of values")

    def fail(self, table: str, row: int, key: str, value: Any, what: str) -> NoReturn:
        """Raise a ``ValueError`` about an entry; ``what`` is expected."""
        value = readable(value[:100]) if isinstance(value, bytes) else value
        where = (
            f"{self.source}: {table}, {'id' if table in (STRINGS, NVPROF_STRINGS) else 'row'} {row}"
        )
        raise ValueError(f"{where}: {key!r}: got {shown(value)}, expected {what}")

    def _blame(self, table: str, rows: list[Any], keys: Sequence[str]) -> NoReturn:
        """Raise a ``ValueError`` for the first entry that is not an integer."""
        for row in rows:
            for key, value in zip(keys, row, strict=True):
                if type(value) is not int:
                    self.fail(table, row[0], key, value, "an integer")
        raise AssertionError("all are integers")


_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"


@contextlib.contextmanager
def opened_database(source: str, max_bytes: int) -> Iterator[sqlite3.Connection]:
    """The database, opened read-only; errors inside the block name the file."""
    import sqlite3

    with opened(source) as file:
        check_size(source, os.fstat(file.fileno()).st_size, max_bytes)
        versions = file.read(20)[18:20]
    address = f"{Path(os.path.abspath(source)).as_uri()}?mode=ro"
    if b"\x02" in versions:
        # With a write-ahead log, reading creates files beside it unless it is immutable.
        with contextlib.suppress(FileNotFoundError):
            if os.path.getsize(f"{source}-wal"):
                reason = f"{os.path.basename(source)}-wal has changes that are not in it yet"
                raise OSError(errno.EBUSY, reason, source)
        address += "&immutable=1"
    try:
        database = sqlite3.connect(address, uri=True, timeout=1, isolation_level=None)
        with contextlib.closing(database):
            database.text_factory = bytes
            guard(database, _LONGEST)
            database.execute("BEGIN")  # all queries see one state of the database
            yield database
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter from messages of SQLite
        if isinstance(error, sqlite3.Error):
            pass_interrupt_on(error)
        in_use = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY)
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in in_use:
            reason = f"another program is writing it, or was stopped while it did ({error})"
            raise OSError(errno.EBUSY, reason, source) from error
        raise ValueError(
            f"{source}: expected an intact SQLite database: {str(error)[:200]}"
        ) from error


def readable(value: Any) -> str:
    """A value as text, whatever bytes it has."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


class Shapes:
    """Checks of columns. ``where(i)`` names file and row of entry i in the ``ValueError``."""

    def __init__(self, where: Callable[[int], str]) -> None:
        self.where = where

    def refuse(self, wrong: NDArray[np.bool_], values: Any, key: str, what: str) -> None:
        """Raise a ``ValueError`` for the first entry that is wrong; ``what`` is expected."""
        if wrong.any():
            i = int(np.argmax(wrong))
            value = values[i].item() if isinstance(values[i], np.generic) else values[i]
            raise ValueError(f"{self.where(i)}: {key!r}: got {shown(value)}, expected {what}")

    def at_least(self, values: Int64Array, least: int, key: str) -> None:
        """Raise a ``ValueError`` for the first value below ``least``, 0 or 1."""
        what = "a positive number" if least == 1 else "a non-negative number"
        self.refuse(values < least, values, key, what)

    def product(self, sides: Mapping[str, Int64Array]) -> Int64Array:
        """Product of columns of positive integers: blocks of a grid, or threads of a block."""
        for key, values in sides.items():
            self.at_least(values, 1, key)
        columns = list(sides.values())
        product: Int64Array = np.multiply.reduce(columns)  # wraps on overflow, checked below
        rough = np.multiply.reduce([values.astype(float) for values in columns])
        for i in np.flatnonzero(rough >= 2.0**62).tolist():
            if math.prod(int(values[i]) for values in columns) > INT64_MAX:
                keys = ", ".join(sides)
                raise ValueError(f"{self.where(i)}: {keys}: expected a product that fits 64 bits")
        return product

    def sum(self, parts: Mapping[str, Int64Array]) -> Int64Array:
        """Sum of two columns of non-negative numbers: static and dynamic shared memory."""
        for key, values in parts.items():
            self.at_least(values, 0, key)
        (_, first), (key, second) = parts.items()
        self.refuse(
            first > INT64_MAX - second,
            second,
            key,
            "a number whose sum with the other part fits 64 bits",
        )
        total: Int64Array = first + second
        return total


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
