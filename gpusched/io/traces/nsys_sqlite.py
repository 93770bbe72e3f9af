"""Traces of Nsight Systems: the database of ``nsys export --type sqlite``, and that of nvprof.

Tables and columns differ between versions: those of 2021 describe GPUs in TARGET_INFO_CUDA_GPU,
later ones in TARGET_INFO_GPU, and list the devices of each process in TARGET_INFO_CUDA_DEVICE.
nvprof has the same columns of kernels, copies and GPUs, in tables that are named after CUPTI; its
launch calls and ranges are of another form and are not read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from gpusched._support.arguments import Int64Array
from gpusched._support.text import shown
from gpusched.io.traces.nsys_tables import (
    EVENT_TABLES,
    GRAPHS,
    NVPROF_STRINGS,
    STRINGS,
    BesideKernels,
    Database,
    Shapes,
    beside_kernels,
    launch_numbers,
    opened_database,
    process_of,
    readable,
)
from gpusched.io.traces.trace import Trace
from gpusched.io.traces.trace_tables import NO_CALL, TraceEvents, column

if TYPE_CHECKING:
    from gpusched.model.gpu import GPU

_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_CONCURRENT = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"  # of nvprof, unless it serialized kernels
_NVPROF_GPUS = "CUPTI_ACTIVITY_KIND_DEVICE"
_OF_NVPROF = (_CONCURRENT, NVPROF_STRINGS, _NVPROF_GPUS)
_DEVICES = "TARGET_INFO_CUDA_DEVICE"
_GPUS = ("TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU")
_NEEDED = (
    *("start", "end", "deviceId", "contextId", "streamId", "registersPerThread"),
    *("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"),
    *("staticSharedMemory", "dynamicSharedMemory"),
)
# The first name that is not empty is used; nvprof has one.
_NAMES = ("demangledName", "shortName", "mangledName")
_NVPROF_NAMES = ("name",)
_NO_NAME = -1
_NVPROF_NOTE = (
    "the database is one of nvprof: names are mangled, and launch calls and ranges are not read"
)
_ROCPD = "SELECT 1 FROM sqlite_master WHERE name LIKE 'rocpd%' LIMIT 1"

# Columns of the limits of a GPU, by version.
_LIMITS = {
    "sms": ("smCount", "numMultiprocessors"),
    "warps": ("maxWarpsPerSm", "maxWarpsPerMultiprocessor"),
    "warp": ("threadsPerWarp", "numThreadsPerWarp"),
    "blocks_per_sm": ("maxBlocksPerSm", "maxBlocksPerMultiprocessor"),
    "regs_per_sm": ("maxRegistersPerSm", "maxRegistersPerMultiprocessor"),
    "regs_per_block": ("maxRegistersPerBlock",),
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
        with opened_database(source, max_bytes) as connection:
            known = (_KERNELS, STRINGS, _DEVICES, *_GPUS, *EVENT_TABLES, *_OF_NVPROF)
            self.database = Database(source, connection, max_bytes, known)
            self.kernels = self._table_of_kernels()
            if self.kernels not in self.database.tables:
                self._no_kernels()
            launches, pids, numbers = self._read_kernels()
            self.gpus = self._read_gpus()
            physical = self._physical(_pairs(pids, launches.device)[0])
            by_process = "globalPid" in self.database.tables[self.kernels]
            beside = beside_kernels(self.database, numbers, by_process)
        self.events = beside.events
        launches = replace(launches, call=column(beside.calls.of(numbers)))
        self._launches = self._number(launches, pids, physical, beside)

    def launches(self) -> Trace:
        """The launches of all devices, in the order of the file."""
        return self._launches

    def beside_kernels(self) -> TraceEvents:
        """The events beside the kernels; the reason where there are none."""
        return self.events

    def gpu(self, device: int) -> GPU | None:
        """The GPU that the file describes as this device; None without a sufficient description."""
        if (gpu := self.physical.get(device)) not in self.gpus:
            return None
        where, row = self.gpus[gpu]
        try:
            return _gpu(row)
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"{self.source}: {where}: {error} (or give gpu=, --gpu)") from error

    # Reading

    def _table_of_kernels(self) -> str:
        if self.database.nvprof and _CONCURRENT in self.database.tables:
            [(any_,)] = self.database.rows(f'SELECT EXISTS (SELECT 1 FROM "{_CONCURRENT}")')
            return _CONCURRENT if any_ or _KERNELS not in self.database.tables else _KERNELS
        return _KERNELS

    def _read_kernels(self) -> tuple[Trace, Int64Array, Int64Array]:
        """The launches, and the process and the launch number of each."""
        present = self.database.tables[self.kernels]
        if missing := [name for name in _NEEDED if name not in present]:
            raise ValueError(f"{self.source}: {self.kernels}: got no column {', '.join(missing)}")
        of_version = _NVPROF_NAMES if self.database.nvprof else _NAMES
        names = [name for name in of_version if name in present]
        if not names:
            what = " or ".join(of_version[:2])
            raise ValueError(f"{self.source}: {self.kernels}: got no column {what}")
        process = ["globalPid"] if "globalPid" in present else []
        usual = {"correlationId": -1, **dict.fromkeys(names, _NO_NAME)}
        of = self.database.columns(self.kernels, (*_NEEDED, *process), usual)
        assert of is not None  # no column is missing
        rows = of["rowid"]
        if not len(rows):
            self._no_kernels()
        shapes = Shapes(lambda i: f"{self.source}: {self.kernels}, row {rows[i]}")
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
            occupancy=column(np.full(len(rows), -1)),
            call=column(np.full(len(rows), NO_CALL)),
            notes=(_NVPROF_NOTE,) if self.database.nvprof else (),
        )
        pids = process_of(of["globalPid"]) if process else np.zeros_like(rows)
        return launches, pids, launch_numbers(pids, of["correlationId"])

    def _names(self, rows: Int64Array, ids: dict[str, Int64Array]) -> NDArray[np.object_]:
        """The full name of each launch, by the first of the columns ``ids`` that has one."""
        if not self.database.nvprof and STRINGS not in self.database.tables:
            raise ValueError(f"{self.source}: got no table {STRINGS} of the kernels' names")
        names = np.full(len(rows), "", dtype=object)
        for key, values in ids.items():
            if not (open_ := np.flatnonzero(names == "")).size:
                break
            unique, where = np.unique(values[open_], return_inverse=True)
            used = f'SELECT "{key}" FROM "{self.kernels}"'
            strings = self.database.strings(used, "a kernel's name")
            found = np.array([strings.get(i, "") for i in unique.tolist()] + [None], dtype=object)
            names[open_] = found[where]
        if (open_ := np.flatnonzero(names == "")).size:
            key = next(iter(ids))
            value = int(ids[key][open_[0]])
            what = None if value == _NO_NAME else value
            table = NVPROF_STRINGS if self.database.nvprof else STRINGS
            self.database.fail(
                self.kernels, int(rows[open_[0]]), key, what, f"the id of a name in {table}"
            )
        return cast("NDArray[np.object_]", column(names, object))

    def _read_gpus(self) -> dict[int, tuple[str, dict[str, Any]]]:
        """Descriptions of GPUs by number: table and row, and columns."""
        known = (_NVPROF_GPUS,) if self.database.nvprof else _GPUS
        table = next((name for name in known if name in self.database.tables), None)
        if table is None:
            return {}
        columns = self.database.tables[table]
        key = next((name for name in ("id", "deviceId") if name in columns), "rowid")
        useful = {"name"}.union(*_LIMITS.values())
        columns = [name for name in columns if name in useful]
        gpus: dict[int, tuple[str, dict[str, Any]]] = {}
        # Without a column of numbers, the first row is device 0.
        number = f'"{key}"' if key != "rowid" else "rowid - 1"
        selected = ", ".join(["rowid", number, *(f'"{name}"' for name in columns)])
        query = f'SELECT {selected} FROM "{table}" ORDER BY rowid'
        for row, gpu, *values in self.database.rows(query):
            if type(gpu) is not int:
                self.database.fail(table, row, key, gpu, "an integer")
            gpus.setdefault(gpu, (f"{table}, row {row}", dict(zip(columns, values, strict=True))))
        if self.database.nvprof and "name" in columns:
            names = self.database.strings(f'SELECT name FROM "{table}"', "the name of a GPU")
            for _, fields in gpus.values():
                fields["name"] = names.get(fields["name"], fields["name"])
        return gpus

    def _physical(self, ran: list[list[int]]) -> dict[tuple[int, int], int]:
        """GPU of each (process, device) that ran kernels and is described."""
        columns = self.database.tables.get(_DEVICES, [])
        described: dict[tuple[int, int], int] = {}
        of_any: dict[int, set[int]] = {}
        if {"gpuId", "cudaId"} <= set(columns):
            more = [name if name in columns else "NULL" for name in ("pid", "numMultiprocessors")]
            query = f'SELECT gpuId, cudaId, {", ".join(more)} FROM "{_DEVICES}"'
            for gpu, cuda, pid, sms in self.database.rows(query):
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
        self,
        launches: Trace,
        pids: Int64Array,
        physical: dict[tuple[int, int], int],
        beside: BesideKernels,
    ) -> Trace:
        """Renumber devices and contexts that have the same number in several processes."""
        gpus: dict[int, set[int]] = {}
        for (_, cuda), gpu in physical.items():
            gpus.setdefault(cuda, set()).add(gpu)
        self.physical = {cuda: min(those) for cuda, those in gpus.items()}
        if len(np.unique(pids)) == 1:
            return launches
        contexts, where = _pairs(pids, launches.context)
        context = where + 1
        device = launches.device
        self._number_contexts(contexts, beside)
        if any(len(those) > 1 for those in gpus.values()):
            pairs, where = _pairs(pids, launches.device)
            number = [physical.get((pid, cuda), cuda) for pid, cuda in pairs]
            device = np.array(number, dtype=np.int64)[where]
            self.physical = {gpu: gpu for gpu in physical.values()}
            self._move_transfers(physical, beside.of_transfer)
        return replace(launches, device=column(device), context=column(context))

    def _number_contexts(self, contexts: list[list[int]], beside: BesideKernels) -> None:
        """Renumber the contexts of events as those of the kernels; others follow."""
        numbers = {(pid, context): i for i, (pid, context) in enumerate(contexts, start=1)}

        def renumbered(pids: Int64Array, given: Int64Array) -> Any:
            keys = zip(pids.tolist(), given.tolist(), strict=True)
            return column([numbers.setdefault(key, len(numbers) + 1) for key in keys])

        transfers, streams, waits = self.events.transfers, self.events.streams, self.events.waits
        of_wait = beside.of_wait
        self.events = replace(
            self.events,
            transfers=replace(transfers, context=renumbered(beside.of_transfer, transfers.context)),
            streams=replace(streams, context=renumbered(beside.of_stream, streams.context)),
            waits=replace(
                waits,
                context=renumbered(of_wait, waits.context),
                on_context=renumbered(of_wait, waits.on_context),
            ),
        )

    def _move_transfers(self, physical: dict[tuple[int, int], int], pids: Int64Array) -> None:
        """Renumber the devices of transfers as those of the kernels."""
        transfers = self.events.transfers
        keys = zip(pids.tolist(), transfers.device.tolist(), strict=True)
        found = [physical.get(key, key[1]) for key in keys]
        self.events = replace(self.events, transfers=replace(transfers, device=column(found)))

    def _no_kernels(self) -> NoReturn:
        """Raise a ``ValueError`` about the missing kernels."""
        if GRAPHS in self.database.tables:
            why = "it has whole CUDA graphs only: record with --cuda-graph-trace=node"
        elif self.database.nvprof:
            why = f"{self.kernels} of nvprof is empty or missing"
        elif _KERNELS in self.database.tables or STRINGS in self.database.tables:
            why = f"{_KERNELS} is {'empty' if _KERNELS in self.database.tables else 'missing'}: "
            why += "record with 'nsys profile -t cuda,nvtx' (-t cuda was missing, or nothing ran)"
        else:
            found = "an SQLite database"
            if any(True for _ in self.database.rows(_ROCPD)):
                found = "a database of rocprofv3 (rocpd), which is not read,"
            raise ValueError(
                f"{self.source}: got {found} without the table {_KERNELS}, expected an export of "
                "Nsight Systems"
            )
        raise ValueError(f"{self.source}: got no kernels, expected at least one: {why}")


def _pairs(first: Int64Array, second: Int64Array) -> tuple[list[list[int]], Int64Array]:
    """The distinct pairs, sorted, and the index of each row's pair among them."""
    firsts, i = np.unique(first, return_inverse=True)
    seconds, j = np.unique(second, return_inverse=True)
    codes, where = np.unique(i * len(seconds) + j, return_inverse=True)
    pairs = np.stack([firsts[codes // len(seconds)], seconds[codes % len(seconds)]], axis=1)
    return pairs.tolist(), where


def _gpu(row: dict[str, Any]) -> GPU | None:
    """The GPU of a row: its limits, missing ones by compute capability; else a preset by name."""
    from gpusched.model.gpu import GPU
    from gpusched.model.gpus.gpu_presets import fields_of_preset, limits_of

    values = {ours: _limit(row, theirs) for ours, theirs in _LIMITS.items()}
    name = readable(row.get("name") or "")
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
    unsaid = {} if cc is None else fields_of_preset(name, sms, cc)
    return GPU(sms=sms, cc=cc, name=name, **{**unsaid, **known})


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
            raise ValueError(f"{name!r}: got {shown(readable(value))}, expected a positive integer")
        return value
    return None
