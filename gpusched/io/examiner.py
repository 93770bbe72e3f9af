"""Logs of cuda_scheduling_examiner: one JSON file per benchmark (that is, per stream).

The format is that of the tool's runner: `times` holds objects, the first one empty; those with
`block_times` are kernels, the others hold times of the CPU. Seconds are converted to nanoseconds
exactly: numbers are read as decimals, never as floats.

The tool does not log registers and priorities. Files written here have two additional fields
(`registers`, `stream_priority`), which the tool's scripts ignore.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._support import input_files
from gpusched._support.arguments import MAX_BYTES, integer, is_sequence
from gpusched._support.files import replacing
from gpusched._support.input_files import content
from gpusched._support.text import path_text, shown
from gpusched.io.block_log import BlockLog

if TYPE_CHECKING:
    from gpusched.model.gpu import GPU

INT64_MAX = 2**63 - 1
_KERNELS = ("name", "stream", "launch", "blocks", "threads", "regs", "smem")


def read_scenarios(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    regs: Any = None,
    priority: Any = None,
    max_bytes: int = MAX_BYTES,
) -> dict[str, BlockLog]:
    """See ``gpusched.io.read_scenarios``."""
    files = _files(paths)
    urgency = [_per_file(priority, "priority", i, len(files)) for i in range(len(files))]
    registers = [_per_file(regs, "regs", i, len(files)) for i in range(len(files))]
    of_scenario: dict[str, list[_File]] = {}
    for path, own_priority, own_regs in zip(files, urgency, registers, strict=True):
        file = _File(path, max_bytes)
        file.priority = file.priority if own_priority is None else own_priority
        file.regs = own_regs
        of_scenario.setdefault(file.scenario, []).append(file)
    return {name: _log(documents, name) for name, documents in of_scenario.items()}


def read(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    regs: Any = None,
    priority: Any = None,
    max_bytes: int = MAX_BYTES,
) -> BlockLog:
    """See ``gpusched.io.read_examiner``."""
    logs = read_scenarios(paths, regs, priority, max_bytes)
    if len(logs) > 1:
        first, second = list(logs)[:2]
        raise ValueError(
            f"paths: got {len(logs)} scenarios, {shown(first)} and {shown(second)} "
            "among them, expected one (gs.io.read_scenarios reads several)"
        )
    return next(iter(logs.values()))


def _log(documents: list[_File], scenario: str) -> BlockLog:
    """The log of the files of one scenario."""
    kernels: dict[str, list[Any]] = {key: [] for key in (*_KERNELS, "priority", "context")}
    blocks: dict[str, list[int]] = {key: [] for key in ("kernel", "block", "sm", "start", "end")}
    processes = sorted({file.process for file in documents})
    for stream, file in enumerate(documents):
        for entry in sorted(file.kernels(), key=lambda entry: entry["launch"]):
            row = len(kernels["name"])
            entry |= {"stream": stream, "context": processes.index(file.process)}
            entry["priority"] = file.priority
            entry["regs"] = entry["regs"] if file.regs is None else file.regs
            for key, column in kernels.items():
                column.append(entry[key])
            blocks["kernel"] += [row] * entry["blocks"]
            blocks["block"] += range(entry["blocks"])
            for key in ("sm", "start", "end"):
                blocks[key] += entry[key]
    labels = [file.label for file in documents]
    return BlockLog(**kernels, **blocks, stream_name=labels, scenario=scenario)


def write(
    folder: str | os.PathLike[str], log: BlockLog, gpu: GPU | None, scenario: str | None
) -> tuple[Path, ...]:
    """See ``gpusched.io.write_examiner``."""
    rows_of: list[list[int]] = [[] for _ in log.stream_name]
    for row in np.argsort(log.launch, kind="stable").tolist():
        rows_of[int(log.stream[row])].append(row)
    for stream, rows in enumerate(rows_of):
        for key in ("context", "priority"):
            if len(np.unique(getattr(log, key)[rows])) > 1:
                raise ValueError(f"{key}: got several values in stream {stream}, expected one")
    order = np.lexsort((log.block, log.kernel))
    begin = np.searchsorted(log.kernel[order], np.arange(len(log) + 1))
    digits = len(str(max(len(rows_of) - 1, 0)))
    paths = []
    for stream, rows in enumerate(rows_of):
        head = {
            "scenario_name": log.scenario if scenario is None else scenario,
            "benchmark_name": log.stream_name[stream],
            "label": log.stream_name[stream],
            "max_resident_threads": gpu.sms * gpu.threads_per_sm if gpu else 0,
            "data_size": 0,
            "release_time": 0.0,
            "PID": int(log.context[rows[0]]) if rows else 0,
            "TID": stream,
            "stream_priority": int(log.priority[rows[0]]) if rows else 0,
        }
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
        entries = ["{}", *(_entry(log, row, order[begin[row] : begin[row + 1]]) for row in rows)]
        text = "{\n" + ",\n".join(lines) + ',\n"times": [' + ",\n".join(entries) + "\n]}\n"
        path = Path(folder) / f"stream_{stream:0{digits}d}.json"
        with replacing(path) as file:
            file.write(text.encode())
        paths.append(path)
    return tuple(paths)


def _entry(log: BlockLog, row: int, blocks: Any) -> str:
    """A kernel as an object of `times`, with decimal numbers that no float has rounded."""
    fields = {
        "kernel_name": json.dumps(log.name[row]),
        "block_count": str(log.blocks[row]),
        "thread_count": str(log.threads[row]),
        "shared_memory": str(log.smem[row]),
        "registers": str(log.regs[row]),
    }
    launch, ended = int(log.launch[row]), int(log.end[blocks].max())
    times = np.stack([log.start[blocks], log.end[blocks]], axis=1).ravel().tolist()
    fields["cuda_launch_times"] = _list([launch, launch, ended])
    fields["block_times"] = _list(times)
    fields["block_smids"] = json.dumps(log.sm[blocks].tolist())
    return "{" + ", ".join(f'"{key}": {value}' for key, value in fields.items()) + "}"


def _list(times: Sequence[int]) -> str:
    return "[" + ", ".join(map(_seconds, times)) + "]"


def _seconds(ns: int) -> str:
    whole, rest = divmod(abs(ns), 10**9)
    return f"{'-' if ns < 0 else ''}{whole}.{rest:09d}"


def _files(paths: Any) -> list[str]:
    """The named files, or all JSON files of a folder."""
    if is_sequence(paths):
        files = [path_text(path, f"paths[{i}]") for i, path in enumerate(paths)]
    elif os.path.isdir(folder := path_text(paths, "paths")):
        files = [path_text(path) for path in sorted(Path(folder).glob("*.json"))]
        if not files:
            raise ValueError(f"paths: got the folder {folder}, expected one with .json files")
    else:
        files = [folder]
    if not files:
        raise ValueError("paths: got no file, expected at least one")
    return files


def _per_file(value: Any, name: str, stream: int, files: int) -> int | None:
    if value is None:
        return None
    if np.ndim(value) == 0:
        return integer(value, name)
    if len(value) != files:
        raise ValueError(f"{name}: got {len(value)} numbers, expected {files}, one per file")
    return integer(value[stream], f"{name}[{stream}]")


def decoded_file(source: str, max_bytes: int) -> Any:
    """Content of a file of JSON, with decimal numbers; ``ValueError`` with the path for others."""
    data = content(source, max_bytes)
    input_files.refuse(source, data, "log")
    try:
        return json.loads(data.decode("utf-8-sig"), parse_float=Decimal)
    except RecursionError:
        raise ValueError(f"{source}: expected JSON: nested too deeply") from None
    except (ValueError, ArithmeticError) as error:
        raise ValueError(f"{source}: expected JSON: {str(error)[:200]}") from error


class _File:
    """One log file. Errors name the file, the kernel and the field."""

    def __init__(self, source: str, max_bytes: int) -> None:
        self.source = source
        document = decoded_file(source, max_bytes)
        times = document.get("times") if isinstance(document, dict) else None
        if not isinstance(times, list):
            raise ValueError(
                f"{source}: got JSON without a list of times, expected a log of "
                "cuda_scheduling_examiner"
            )
        self.times = times
        self.process = self._integer(document, "PID", 0, 0, self.source)
        self.priority = self._integer(document, "stream_priority", 0, -INT64_MAX, self.source)
        named = (document.get(key) for key in ("label", "benchmark_name"))
        labels = [text for text in named if isinstance(text, str) and text]
        self.label = labels[0] if labels else Path(source).stem
        scenario = document.get("scenario_name", "")
        if not isinstance(scenario, str):
            raise ValueError(f"{source}: scenario_name: got {shown(scenario)}, expected a string")
        self.scenario = scenario
        self.regs: int | None = None

    def kernels(self) -> list[dict[str, Any]]:
        entries = []
        for index, entry in enumerate(self.times):
            where = f"{self.source}: times[{index}]"
            if not isinstance(entry, dict):
                raise ValueError(f"{where}: got {shown(entry)}, expected an object")
            if "block_times" in entry:
                entries.append(self._kernel(entry, where))
        return entries

    def _kernel(self, entry: dict[str, Any], where: str) -> dict[str, Any]:
        blocks = self._integer(entry, "block_count", None, 1, where)
        times = self._times(entry, "block_times", 2 * blocks, where)
        sms = entry.get("block_smids")
        if not isinstance(sms, list) or len(sms) != blocks:
            raise ValueError(
                f"{where}: block_smids: got {shown(sms)}, expected a list of {blocks} numbers"
            )
        for b in range(blocks):
            self._integer({f"block_smids[{b}]": sms[b]}, f"block_smids[{b}]", None, 0, where)
            if times[2 * b + 1] < times[2 * b]:
                raise ValueError(
                    f"{where}: block_times[{2 * b + 1}]: got {times[2 * b + 1]} ns, expected at "
                    f"least the block's start, {times[2 * b]}"
                )
        name = entry.get("kernel_name")
        return {
            "name": name if isinstance(name, str) and name else self.label,
            "launch": self._times(entry, "cuda_launch_times", 3, where)[0],
            "blocks": blocks,
            "threads": self._integer(entry, "thread_count", None, 1, where),
            "smem": self._integer(entry, "shared_memory", 0, 0, where),
            "regs": self._integer(entry, "registers", 0, 0, where),
            "sm": sms,
            "start": times[::2],
            "end": times[1::2],
        }

    @staticmethod
    def _integer(
        entry: dict[str, Any], key: str, default: int | None, least: int, where: str
    ) -> int:
        value = entry.get(key, default)
        if type(value) is not int or not least <= value <= INT64_MAX:
            raise ValueError(
                f"{where}: {key}: got {shown(value)}, expected an integer from {least} on, of 64 "
                "bits"
            )
        return value

    @staticmethod
    def _times(entry: dict[str, Any], key: str, count: int, where: str) -> list[int]:
        """A list of times in seconds, as nanoseconds."""
        values = entry.get(key)
        if not isinstance(values, list) or len(values) != count:
            raise ValueError(
                f"{where}: {key}: got {shown(values)}, expected a list of {count} times"
            )
        ns = []
        for i, value in enumerate(values):
            if type(value) not in (int, Decimal) or abs(value) > INT64_MAX // 10**9:
                raise ValueError(f"{where}: {key}[{i}]: got {shown(value)}, expected seconds")
            ns.append(round(value * 10**9))
        return ns
