"""Traces of Nsight Systems: the database of ``nsys export --type sqlite``.

Tables and columns differ between versions: those of 2021 describe GPUs in TARGET_INFO_CUDA_GPU,
later ones in TARGET_INFO_GPU, and list the devices of each process in TARGET_INFO_CUDA_DEVICE.

The database is opened read-only; no lock, journal or shared-memory file is created. Generated
columns may make values that are larger than the file: their size is limited, singly and in total.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array
from gpusched._support.input_files import check_size, opened
from gpusched._support.text import shown
from gpusched.io.launch_shapes import Shapes
from gpusched.io.trace import Trace, column

if TYPE_CHECKING:
    import sqlite3

    from gpusched.model.gpu import GPU

MAGIC = b"SQLite format 3\0"

_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_STRINGS = "StringIds"
_DEVICES = "TARGET_INFO_CUDA_DEVICE"
_GPUS = ("TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU")
_NEEDED = (
    *("start", "end", "deviceId", "contextId", "streamId", "registersPerThread"),
    *("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"),
    *("staticSharedMemory", "dynamicSharedMemory"),
)
_NAMES = ("demangledName", "shortName", "mangledName")  # the first that is not empty is used
_NO_NAME = -1
_CHUNK = 4096
_LONGEST = 1 << 24  # bytes of a value; mangled names of kernels have up to some 10,000

# Columns of the limits of a GPU, by version.
_LIMITS = {
    "sms": ("smCount", "numMultiprocessors"),
    "warps": ("maxWarpsPerSm", "maxWarpsPerMultiprocessor"),
    "warp": ("threadsPerWarp", "numThreadsPerWarp"),
    "blocks_per_sm": ("maxBlocksPerSm", "maxBlocksPerMultiprocessor"),
    "regs_per_sm": ("maxRegistersPerSm", "maxRegistersPerMultiprocessor"),
    "smem_per_sm": ("maxShmemPerSm", "maxSharedMemoryPerMultiprocessor"),
    "smem_per_block": ("maxShmemPerBlockOptin",),
    "copy_engines": ("asyncEngines", "numMemcpyEngines"),
    "major": ("computeMajor", "computeCapabilityMajor"),
    "minor": ("computeMinor", "computeCapabilityMinor"),
}


class File:
    """Content of such a file.

    Where processes see different GPUs under the same number, devices have the numbers of
    TARGET_INFO_GPU; contexts of several processes are numbered from 1 on.

    Raises
    ------
    OSError
        The file cannot be read or is being written.
    ValueError
        Another database, a damaged one, or more than ``max_bytes`` of file or values. The message
        names the path.
    """

    def __init__(self, source: str, max_bytes: int) -> None:
        self.source = source
        self.max_bytes = max_bytes
        self.taken = 0  # bytes of the values read
        with _opened(source, max_bytes) as database:
            self.database = database
            self.tables = self._tables()
            if _KERNELS not in self.tables:
                self._no_kernels()
            launches, pids = self._read_kernels()
            self.gpus = self._read_gpus()
            physical = self._physical(_pairs(pids, launches.device)[0])
        del self.database
        self._launches = self._number(launches, pids, physical)

    def launches(self) -> Trace:
        """The launches of all devices, in the order of the file."""
        return self._launches

    def gpu(self, device: int) -> GPU | None:
        """The GPU that the file describes as this device; None without a sufficient description."""
        if (gpu := self.physical.get(device)) not in self.gpus:
            return None
        where, row = self.gpus[gpu]
        try:
            return _gpu(row)
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"{self.source}: {where}: {error} (or give gpu=)") from error

    # Reading

    def _tables(self) -> dict[str, list[str]]:
        """Columns of each known table."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        names = [_text(name) for (name,) in self.database.execute(query)]
        known = [n for n in names if n in (_KERNELS, _GRAPHS, _STRINGS, _DEVICES, *_GPUS)]
        return {
            name: [_text(row[1]) for row in self.database.execute(f'PRAGMA table_info("{name}")')]
            for name in known
        }

    def _read_kernels(self) -> tuple[Trace, Int64Array]:
        """The launches, and the process of each."""
        present = self.tables[_KERNELS]
        if missing := [name for name in _NEEDED if name not in present]:
            raise ValueError(f"{self.source}: {_KERNELS}: got no column {', '.join(missing)}")
        names = [name for name in _NAMES if name in present]
        if not names:
            raise ValueError(f"{self.source}: {_KERNELS}: got no column {' or '.join(_NAMES[:2])}")
        process = ["globalPid"] if "globalPid" in present else []
        selected = ["rowid", *(f'"{name}"' for name in (*_NEEDED, *process))]
        selected += [f'ifnull("{name}", {_NO_NAME})' for name in names]
        query = f'SELECT {", ".join(selected)} FROM "{_KERNELS}" ORDER BY rowid'
        keys = ("rowid", *_NEEDED, *process, *names)
        values = self._integers(query, keys)
        if not len(values):
            self._no_kernels()
        of = dict(zip(keys, values.T, strict=True))

        rows = of["rowid"]
        shapes = Shapes(lambda i: f"{self.source}: {_KERNELS}, row {rows[i]}")
        for name in ("start", "deviceId", "registersPerThread"):
            shapes.at_least(of[name], 0, name)
        early = of["end"] < of["start"]
        shapes.refuse(early, of["end"], "end", "at least start")
        launches = Trace(
            name=self._names(rows, {name: of[name] for name in names}),
            start=column(of["start"]),
            duration=column(of["end"] - of["start"]),
            blocks=shapes.product({name: of[name] for name in _NEEDED[6:9]}),
            threads=shapes.product({name: of[name] for name in _NEEDED[9:12]}),
            regs=column(of["registersPerThread"]),
            smem=shapes.sum({name: of[name] for name in _NEEDED[12:14]}),
            device=column(of["deviceId"]),
            context=column(of["contextId"]),
            stream=column(of["streamId"]),
            occupancy=column(np.full(len(values), -1)),
        )
        # A global id contains the id of the process above the 24 bits of the thread.
        pids = (of["globalPid"] >> 24) & 0xFFFFFF if process else np.zeros_like(rows)
        return launches, pids

    def _integers(self, query: str, keys: tuple[str, ...]) -> Int64Array:
        """The rows of a query of integers, whose first column is the number of the row."""
        parts: list[Int64Array] = [np.empty((0, len(keys)), np.int64)]
        cursor = self.database.execute(query)
        while rows := cursor.fetchmany(_CHUNK):
            self._take(len(rows) * len(keys) * 8)
            if set(map(type, chain.from_iterable(rows))) != {int}:
                self._blame(rows, keys)
            parts.append(np.array(rows, dtype=np.int64))
        return np.concatenate(parts)

    def _take(self, size: int) -> None:
        """Count bytes that are read; ``ValueError`` when they are too many."""
        self.taken += size
        check_size(self.source, self.taken, self.max_bytes, " of values")

    def _blame(self, rows: list[Any], keys: tuple[str, ...]) -> NoReturn:
        """Raise a ``ValueError`` for the first entry that is not an integer."""
        for row in rows:
            for key, value in zip(keys, row, strict=True):
                if type(value) is not int:
                    self._fail(_KERNELS, row[0], key, value, "an integer")
        raise AssertionError("all are integers")

    def _names(self, rows: Int64Array, ids: dict[str, Int64Array]) -> NDArray[np.object_]:
        """The full name of each launch, by the first of the columns ``ids`` that has one."""
        if _STRINGS not in self.tables:
            raise ValueError(f"{self.source}: got no table {_STRINGS} of the kernels' names")
        names = np.full(len(rows), "", dtype=object)
        for key, values in ids.items():
            if not (open_ := np.flatnonzero(names == "")).size:
                break
            unique, where = np.unique(values[open_], return_inverse=True)
            strings = self._strings(key)
            found = np.array([strings.get(i, "") for i in unique.tolist()] + [None], dtype=object)
            names[open_] = found[where]
        if (open_ := np.flatnonzero(names == "")).size:
            key = next(iter(ids))
            value = int(ids[key][open_[0]])
            what = None if value == _NO_NAME else value
            self._fail(_KERNELS, int(rows[open_[0]]), key, what, f"the id of a name in {_STRINGS}")
        return cast("NDArray[np.object_]", column(names, object))

    def _strings(self, key: str) -> dict[int, str]:
        """The names to which a column of the kernels refers, by id."""
        used = f'SELECT "{key}" FROM "{_KERNELS}"'
        query = f'SELECT id, value FROM "{_STRINGS}" WHERE id IN ({used})'
        strings = {}
        for number, value in self.database.execute(query):
            if not isinstance(value, bytes):
                self._fail(_STRINGS, number, "value", value, "a kernel's name")
            self._take(len(value))
            try:
                strings[number] = value.decode()
            except UnicodeDecodeError:
                self._fail(_STRINGS, number, "value", value, "UTF-8")
        return strings

    def _read_gpus(self) -> dict[int, tuple[str, dict[str, Any]]]:
        """Descriptions of GPUs by number: table and row, and columns."""
        table = next((name for name in _GPUS if name in self.tables), None)
        if table is None:
            return {}
        columns = self.tables[table]
        key = next((name for name in ("id", "deviceId") if name in columns), "rowid")
        useful = {"name"}.union(*_LIMITS.values())
        columns = [name for name in columns if name in useful]
        gpus: dict[int, tuple[str, dict[str, Any]]] = {}
        # Without a column of numbers, the first row is device 0.
        number = f'"{key}"' if key != "rowid" else "rowid - 1"
        selected = ", ".join(["rowid", number, *(f'"{name}"' for name in columns)])
        query = f'SELECT {selected} FROM "{table}" ORDER BY rowid'
        for row, gpu, *values in self.database.execute(query):
            if type(gpu) is not int:
                self._fail(table, row, key, gpu, "an integer")
            gpus.setdefault(gpu, (f"{table}, row {row}", dict(zip(columns, values, strict=True))))
        return gpus

    def _physical(self, ran: list[list[int]]) -> dict[tuple[int, int], int]:
        """GPU of each (process, device) that ran kernels and is described."""
        columns = self.tables.get(_DEVICES, [])
        described: dict[tuple[int, int], int] = {}
        of_any: dict[int, set[int]] = {}
        if {"gpuId", "cudaId"} <= set(columns):
            more = [name if name in columns else "NULL" for name in ("pid", "numMultiprocessors")]
            query = f'SELECT gpuId, cudaId, {", ".join(more)} FROM "{_DEVICES}"'
            for gpu, cuda, pid, sms in self.database.execute(query):
                if gpu in self.gpus:
                    described[pid, cuda] = gpu
                    of_any.setdefault(cuda, set()).add(gpu)
                    # Some versions store the number of SMs in this table only.
                    self.gpus[gpu][1].setdefault("numMultiprocessors", sms)
        if not described:
            return {(pid, cuda): cuda for pid, cuda in ran}
        for pid, cuda in ran:
            if (pid, cuda) not in described and len(of_any.get(cuda, ())) == 1:
                described[pid, cuda] = min(of_any[cuda])
        return {(pid, cuda): described[pid, cuda] for pid, cuda in ran if (pid, cuda) in described}

    def _number(
        self, launches: Trace, pids: Int64Array, physical: dict[tuple[int, int], int]
    ) -> Trace:
        """Renumber devices and contexts that have the same number in several processes."""
        gpus: dict[int, set[int]] = {}
        for (_, cuda), gpu in physical.items():
            gpus.setdefault(cuda, set()).add(gpu)
        self.physical = {cuda: min(those) for cuda, those in gpus.items()}
        if len(np.unique(pids)) == 1:
            return launches
        context = _pairs(pids, launches.context)[1] + 1
        device = launches.device
        if any(len(those) > 1 for those in gpus.values()):
            pairs, where = _pairs(pids, launches.device)
            number = [physical.get((pid, cuda), cuda) for pid, cuda in pairs]
            device = np.array(number, dtype=np.int64)[where]
            self.physical = {gpu: gpu for gpu in physical.values()}
        return replace(launches, device=column(device), context=column(context))

    def _no_kernels(self) -> NoReturn:
        """Raise a ``ValueError`` about the missing kernels."""
        if _GRAPHS in self.tables:
            why = "it has whole CUDA graphs only: record with --cuda-graph-trace=node"
        elif _KERNELS in self.tables or _STRINGS in self.tables:
            why = f"{_KERNELS} is {'empty' if _KERNELS in self.tables else 'missing'}"
        else:
            raise ValueError(
                f"{self.source}: got an SQLite database without the table {_KERNELS}, expected an "
                "export of Nsight Systems"
            )
        raise ValueError(f"{self.source}: got no kernels, expected at least one: {why}")

    def _fail(self, table: str, row: int, key: str, value: Any, what: str) -> NoReturn:
        """Raise a ``ValueError`` about an entry; ``what`` is expected."""
        value = _text(value[:100]) if isinstance(value, bytes) else value
        where = f"{self.source}: {table}, {'id' if table == _STRINGS else 'row'} {row}"
        raise ValueError(f"{where}: {key!r}: got {shown(value)}, expected {what}")


@contextlib.contextmanager
def _opened(source: str, max_bytes: int) -> Iterator[sqlite3.Connection]:
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
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("BEGIN")  # all queries see one state of the database
            yield database
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter from messages of SQLite
        if "locked" in str(error) or "readonly" in str(error):
            reason = f"another program is writing it, or was stopped while it did ({error})"
            raise OSError(errno.EBUSY, reason, source) from error
        raise ValueError(
            f"{source}: expected an intact SQLite database: {str(error)[:200]}"
        ) from error


def _pairs(first: Int64Array, second: Int64Array) -> tuple[list[list[int]], Int64Array]:
    """The distinct pairs, sorted, and the index of each row's pair among them."""
    firsts, i = np.unique(first, return_inverse=True)
    seconds, j = np.unique(second, return_inverse=True)
    codes, where = np.unique(i * len(seconds) + j, return_inverse=True)
    pairs = np.stack([firsts[codes // len(seconds)], seconds[codes % len(seconds)]], axis=1)
    return pairs.tolist(), where


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _gpu(row: dict[str, Any]) -> GPU | None:
    """The GPU of a row: its limits, missing ones by compute capability; else a preset by name."""
    from gpusched.model.gpu import GPU, limits_of

    values = {ours: _limit(row, theirs) for ours, theirs in _LIMITS.items()}
    name = _text(row.get("name") or "")
    sms, major, minor = values.pop("sms"), values.pop("major"), values.pop("minor")
    warps, warp = values.pop("warps"), values.pop("warp")
    known: dict[str, Any] = {key: value for key, value in values.items() if value is not None}
    if warps is not None:
        known["threads_per_sm"] = warps * (warp or 32)
    cc = None if major is None else (major, minor or 0)
    if sms is None or (cc is None and not {"threads_per_sm", "blocks_per_sm"} <= set(known)):
        gpu = preset(name)
        if gpu is not None and sms not in (None, gpu.sms):
            order: Any = None  # the preset's order is for another number of SMs
            gpu = replace(gpu, sms=sms, sm_order=order)
        return gpu
    if cc is not None and {"threads_per_sm", "blocks_per_sm", "smem_per_sm"} - set(known):
        limits = limits_of(cc)
        for key in ("threads_per_sm", "blocks_per_sm", "smem_per_sm"):
            known.setdefault(key, getattr(limits, key))
    return GPU(sms=sms, cc=cc, name=name, **known)


def preset(name: str) -> GPU | None:
    """The preset for a driver's name of a GPU; None when there is none."""
    from gpusched.model.gpu import GPU

    try:
        return GPU.preset(name)
    except ValueError:
        return None


def _limit(row: dict[str, Any], names: tuple[str, ...]) -> int | None:
    """The value of the first of these columns that is neither absent, NULL nor 0."""
    for name in names:
        value = row.get(name)
        if value is None or (value == 0 and "Minor" not in name):
            continue
        if type(value) is not int or value < 0:
            raise ValueError(f"{name!r}: got {shown(_text(value))}, expected a positive integer")
        return value
    return None
