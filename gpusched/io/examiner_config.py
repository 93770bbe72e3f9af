"""Configurations of cuda_scheduling_examiner and their launches (``gs.io.read_examiner_config``).

A configuration lists benchmarks, each a shared library that runs in a thread or process of its own.
Known here are the libraries that spin for a given time: timer_spin, timer_spin_default_stream,
sharedmem_timer_spin, multikernel, and the kernels of stream_action.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate
from pathlib import PurePosixPath
from typing import Any, NoReturn

from gpusched._support.arguments import MAX_BYTES, instance, integer
from gpusched._support.text import path_text, shown, shown_names
from gpusched.io.examiner import decoded_file
from gpusched.io.replay import MOST_TIME, Replay
from gpusched.model.launches import Launches

_SECOND = 10**9
_USUAL_SPIN = 10_000_000  # ns, where timer_spin is given none
_WORD = 4  # bytes of the integers in which shared memory is counted
_URGENT, _LEAST_URGENT = -5, 0  # priorities of today's GPUs; for others the tool uses the default
_SETTINGS = {
    *("name", "max_iterations", "max_time", "use_processes", "cuda_device", "pin_cpus"),
    *("base_result_directory", "do_warmup", "sync_every_iteration", "benchmarks", "comment"),
}
_BENCHMARK_SETTINGS = {
    *("filename", "log_name", "label", "mps_thread_percentage", "thread_count", "block_count"),
    *("data_size", "additional_info", "max_iterations", "max_time", "release_time", "cpu_core"),
    *("stream_priority", "sm_mask", "comment"),
}
_ON_CPU = ("cpu_inorder_walk", "cpu_random_walk")


@dataclass
class ConfiguredKernel:
    """A kernel of a benchmark; ``delay`` is the time from the launch before it, in ns."""

    name: str
    duration: int
    blocks: int
    threads: int
    smem: int = 0
    delay: int = 0


@dataclass
class Benchmark:
    """A benchmark: the kernels of one iteration, and its stream."""

    label: str
    where: str
    release: int
    iterations: int
    priority: int | None
    null: bool = False
    kernels: list[ConfiguredKernel] = field(default_factory=list)


class Config:
    """A configuration. Errors name the file, the benchmark and the field."""

    def __init__(
        self, source: str, document: Any, durations: Mapping[str, int], iterations: int | None
    ) -> None:
        self.source = source
        if not isinstance(document, dict) or not isinstance(document.get("benchmarks"), list):
            hint = " (gs.io.read_examiner reads logs)" if _is_log(document) else ""
            raise ValueError(
                f"{source}: got JSON without a list of benchmarks, expected a configuration of "
                f"cuda_scheduling_examiner{hint}"
            )
        if not document["benchmarks"]:
            raise ValueError(f"{source}: benchmarks: got none, expected at least one")
        self.iterations = iterations
        self.durations = durations
        self.unused = set(self.durations)
        self.said: list[str] = []
        self.limit = self.count(document, "max_iterations", source)
        self.processes = self.flag(document, "use_processes")
        self.together = self.flag(document, "sync_every_iteration")
        self.ignored = {key for key in document if key not in _SETTINGS}
        self.timed = self.seconds(document, "max_time", source) > 0
        self.on_cpu: list[str] = []
        self.limited: list[str] = []
        self.benchmarks = [
            benchmark
            for i, entry in enumerate(document["benchmarks"])
            if (benchmark := self.benchmark(i, entry)) is not None
        ]
        if self.unused:
            raise ValueError(
                f"durations: got {shown_names(sorted(self.unused))}, expected labels of benchmarks"
            )
        if not self.benchmarks:
            raise ValueError(f"{source}: benchmarks: got none that use the GPU")

    # Reading

    def benchmark(self, number: int, entry: Any) -> Benchmark | None:
        where = f"{self.source}: benchmarks[{number}]"
        if not isinstance(entry, dict):
            self.fail(where, entry, "an object")
        filename = entry.get("filename")
        if not isinstance(filename, str) or not filename:
            self.fail(f"{where}: filename", filename, "the path of a library")
        library = PurePosixPath(filename).name.removesuffix(".so")
        label = entry.get("label", library)
        if not isinstance(label, str) or not label:
            self.fail(f"{where}: label", label, "text")
        where = f"{where}, {shown(label)}"
        self.ignored |= {key for key in entry if key not in _BENCHMARK_SETTINGS}
        if library in _ON_CPU:
            self.on_cpu.append(label)
            return None
        if self.masked(entry.get("sm_mask")):
            self.fail(f"{where}: sm_mask", entry["sm_mask"], "no mask: SM masks are not simulated")
        if self.processes and entry.get("mps_thread_percentage", 100) != 100:
            self.limited.append(label)
        self.timed |= self.seconds(entry, "max_time", where) > 0
        limit = self.count(entry, "max_iterations", where, self.limit)
        found = Benchmark(
            label=label,
            where=where,
            release=max(self.seconds(entry, "release_time", where), 0),
            iterations=limit if self.iterations is None else self.iterations,
            priority=self.priority(entry, where),
        )
        if not found.iterations:
            self.fail(f"{where}: max_iterations", 0, "a limit (or give iterations=)")
        read = {
            "timer_spin": self.timer_spin,
            "timer_spin_default_stream": self.timer_spin,
            "sharedmem_timer_spin": self.shared_timer_spin,
            "multikernel": self.multikernel,
            "stream_action": self.stream_action,
        }.get(library, self.with_duration)
        found.null = library == "timer_spin_default_stream"
        if library == "task_host":
            self.fail(f"{where}: filename", filename, "a benchmark, not a nested configuration")
        read(found, entry, library)
        if found.iterations > 1 and any(kernel.delay for kernel in found.kernels):
            self.fail(
                f"{where}: max_iterations",
                found.iterations,
                "1 for kernels with delays, whose later launches depend on the run",
            )
        return found

    def timer_spin(self, found: Benchmark, entry: dict[str, Any], library: str) -> None:
        info = entry.get("additional_info")
        if info in (None, ""):
            duration = _USUAL_SPIN
        else:
            duration = self.duration(info, f"{found.where}: additional_info", library)
        self.one_kernel(found, entry, duration)

    def shared_timer_spin(self, found: Benchmark, entry: dict[str, Any], library: str) -> None:
        where = f"{found.where}: additional_info"
        info = entry.get("additional_info")
        if not isinstance(info, dict):
            self.fail(where, info, "an object with duration and shared_memory_size")
        duration = self.duration(info.get("duration"), f"{where}: duration", library)
        self.one_kernel(found, entry, duration, self.shared_memory(info, where))

    def with_duration(self, found: Benchmark, entry: dict[str, Any], library: str) -> None:
        """A benchmark whose time the caller knows."""
        if found.label not in self.durations:
            raise ValueError(
                f"{found.where}: filename: got {shown(library)}, whose time is not in the "
                f"configuration, expected durations={{{found.label!r}: ns}}"
            )
        self.one_kernel(found, entry, self.durations[found.label])

    def one_kernel(
        self, found: Benchmark, entry: dict[str, Any], duration: int, smem: int = 0
    ) -> None:
        self.unused.discard(found.label)
        duration = self.durations.get(found.label, duration)
        blocks, threads = (
            self.size(entry.get(key), f"{found.where}: {key}")
            for key in ("block_count", "thread_count")
        )
        found.kernels.append(ConfiguredKernel(found.label, duration, blocks, threads, smem))

    def multikernel(self, found: Benchmark, entry: dict[str, Any], library: str) -> None:
        where = f"{found.where}: additional_info"
        info = entry.get("additional_info")
        if isinstance(info, str):  # older versions: name, ns, blocks, threads, name, ...
            parts = info.split(",")
            if len(parts) % 4:
                self.fail(where, info, "four parts per kernel, separated by commas")
            keys = ("kernel_label", "duration", "block_count", "thread_count")
            info = [dict(zip(keys, parts[k : k + 4], strict=True)) for k in range(0, len(parts), 4)]
        if not isinstance(info, list) or not info:
            self.fail(where, info, "a list of kernels")
        for i, kernel in enumerate(info):
            place = f"{where}[{i}]"
            if not isinstance(kernel, dict):
                self.fail(place, kernel, "an object")
            for key in ("copy_in_count", "copy_out_count"):
                if kernel.get(key, 0) != 0:
                    self.fail(f"{place}: {key}", kernel[key], "no copies, which have no known time")
            found.kernels.append(self.kernel(kernel, kernel.get("kernel_label"), place, kernel))

    def stream_action(self, found: Benchmark, entry: dict[str, Any], library: str) -> None:
        where = f"{found.where}: additional_info"
        info = entry.get("additional_info")
        if not isinstance(info, dict) or not isinstance(info.get("actions"), list):
            self.fail(where, info, "an object with a list of actions")
        found.null = self.flag(info, "use_null_stream", where)
        synchronized, delay = False, 0
        for i, action in enumerate(info["actions"]):
            place = f"{where}: actions[{i}]"
            if not isinstance(action, dict):
                self.fail(place, action, "an object")
            given = action.get("parameters", {})
            if not isinstance(given, dict):
                self.fail(f"{place}: parameters", given, "an object")
            kind = action.get("type")
            delay += max(self.seconds(action, "delay", place), 0)
            if synchronized and delay:
                self.fail(f"{place}: delay", action.get("delay"), "none after a synchronize action")
            if kind == "synchronize" and not self.flag(given, "device", place):
                # The program waits for its stream, where the next kernel would wait, too.
                synchronized = True
                continue
            if kind != "kernel":
                self.fail(
                    f"{place}: type",
                    kind,
                    "kernel, or synchronize for the stream; others have no known time",
                )
            if given.get("type", "timer_spin") != "timer_spin":
                self.fail(f"{place}: parameters: type", given["type"], "timer_spin, with a time")
            sizes = {key: entry.get(key) for key in ("block_count", "thread_count")} | given
            kernel = self.kernel(sizes, action.get("label"), f"{place}: parameters", {})
            kernel.delay, delay = delay, 0
            found.kernels.append(kernel)
        if not found.kernels:
            self.fail(f"{where}: actions", info["actions"], "at least one kernel")

    def kernel(
        self, given: dict[str, Any], name: Any, where: str, timed: dict[str, Any]
    ) -> ConfiguredKernel:
        if not isinstance(name, str):
            self.fail(f"{where}: label", name, "text")
        return ConfiguredKernel(
            name=name,
            duration=self.duration(given.get("duration"), f"{where}: duration", "kernel"),
            blocks=self.size(given.get("block_count"), f"{where}: block_count"),
            threads=self.size(given.get("thread_count"), f"{where}: thread_count"),
            smem=self.shared_memory(given, where),
            delay=max(self.seconds(timed, "delay", where), 0),
        )

    # Values

    def duration(self, value: Any, where: str, of: str) -> int:
        """Nanoseconds, at least 1: a number, or its digits in quotation marks."""
        if isinstance(value, str) and value.strip().isdecimal() and len(value) <= 20:
            value = int(value)
        if isinstance(value, Decimal) and value.is_finite() and 0 <= value < MOST_TIME:
            value = int(value)
        if type(value) is not int or not 0 <= value < MOST_TIME:
            self.fail(f"{where} ({of})", value, "ns from 0 to 2**59 - 1")
        return max(int(value), 1)

    def seconds(self, entry: dict[str, Any], key: str, where: str) -> int:
        """Seconds as nanoseconds; 0 where there are none."""
        value = entry.get(key, 0)
        if type(value) not in (int, Decimal) or not abs(value) < MOST_TIME // _SECOND:
            self.fail(f"{where}: {key}", value, "seconds")
        ns: int = round(value * _SECOND)
        return ns

    def count(self, entry: dict[str, Any], key: str, where: str, usual: int = 0) -> int:
        value = entry.get(key, usual)
        if isinstance(value, Decimal) and value < 2**62 and value == value.to_integral_value():
            value = int(value)
        if type(value) is not int or not 0 <= value < 2**62:
            self.fail(f"{where}: {key}", value, "a number of iterations, 0 for no limit")
        return int(value)

    def size(self, value: Any, where: str) -> int:
        """Blocks of a grid, or threads of a block: a number, or up to three of them."""
        sides = value if isinstance(value, list) and 1 <= len(value) <= 3 else [value]
        product = 1
        for side in sides:
            if isinstance(side, str) and side.strip().isdecimal() and len(side) <= 10:
                side = int(side)
            if type(side) is not int or not 1 <= side < 2**31:
                self.fail(where, value, "a positive number, or up to three")
            product *= side
        if product >= 2**31:
            self.fail(where, value, "a product below 2**31")
        return product

    def shared_memory(self, given: dict[str, Any], where: str) -> int:
        value = given.get("shared_memory_size", 0)
        if type(value) is not int or not 0 <= value < 2**29:
            self.fail(f"{where}: shared_memory_size", value, "a number of integers of 4 bytes")
        return value * _WORD

    def priority(self, entry: dict[str, Any], where: str) -> int | None:
        """The priority of the stream; None for the default."""
        value = entry.get("stream_priority")
        if value is not None and type(value) is not int:
            self.fail(f"{where}: stream_priority", value, "an integer")
        return value if value is not None and _URGENT <= value <= _LEAST_URGENT else None

    def flag(self, entry: dict[str, Any], key: str, where: str = "") -> bool:
        value = entry.get(key, False)
        if type(value) is not bool:
            self.fail(f"{where or self.source}: {key}", value, "true or false")
        return value

    @staticmethod
    def masked(value: Any) -> bool:
        """Whether a mask disables SMs: text of hexadecimal digits, or a number; 0 is none."""
        return str(value or "0").strip("0xX") != ""

    def fail(self, where: str, value: Any, what: str) -> NoReturn:
        raise ValueError(
            f"{where}: got {'nothing' if value is None else shown(value)}, expected {what}"
        )


def _is_log(document: Any) -> bool:
    return isinstance(document, dict) and isinstance(document.get("times"), list)


_MOST_LAUNCHES = 10**6


def read_examiner_config(
    path: str | os.PathLike[str],
    *,
    durations: Mapping[str, int] | None = None,
    iterations: int | None = None,
    max_bytes: int = MAX_BYTES,
) -> Replay:
    """Read a configuration of cuda_scheduling_examiner and make the launches that it describes.

    This predicts an experiment before it is measured: ``gs.simulate.hierarchy`` simulates the
    launches. Rows are ordered by benchmark, iteration and kernel, like the logs of the benchmarks
    that ``read_examiner`` reads in this order.

    Parameters
    ----------
    path
        Path of the JSON file.
    durations
        Block times in ns by label of the benchmark (or by library, if it has no label), for
        libraries whose times are not in the configuration, such as counter_spin or mandelbrot. They
        also replace the time of a benchmark with one kernel that has one.
    iterations
        Number of iterations of each benchmark, instead of that in the configuration; required if
        that is 0, which means no limit.
    max_bytes
        Size in bytes of the largest file that is read (default: 4 GiB).

    Returns
    -------
    Replay
        Launches in ns after the common start of all benchmarks, with ``origin`` 0, and
        ``assumptions``. With ``use_processes``, each benchmark has its own context, and
        ``hierarchy`` needs a ``timeslice``.

    Raises
    ------
    OSError
        The file cannot be read, or is not a regular file.
    ValueError
        The file is not such a configuration; the time of a benchmark is unknown, or its launch
        times depend on the run (nested configurations, copies, sleeps between iterations); or it
        has SM masks. The message names file, benchmark and field.

    Assumptions
    -----------
    Release times are launch times: initialization, launch latency and the copies of logged times
    between iterations take no time. An iteration is launched when the previous one ends. Streams
    with a priority are non-blocking. Other streams, and those with a priority that the GPU does not
    have (above 0 or below -5), are ordered with the NULL stream, as the tool creates them.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.json"
    >>> spin = {"filename": "./bin/timer_spin.so", "thread_count": 1024, "block_count": 4,
    ...         "data_size": 0, "additional_info": 500_000}
    >>> two = [spin | {"label": "first"}, spin | {"label": "second", "release_time": 0.0001}]
    >>> _ = path.write_text(json.dumps({"name": "two", "max_iterations": 1, "max_time": 0,
    ...                                 "cuda_device": 0, "benchmarks": two}))
    >>> replay = gs.io.read_examiner_config(path)
    >>> run = gs.simulate.hierarchy(replay.launches, gs.GPU(sms=2, threads_per_sm=2048,
    ...                                                     blocks_per_sm=32))
    >>> replay.launches.name, run.first.tolist()
    (('first', 'second'), [0, 500000])
    """
    source = path_text(path)
    if iterations is not None and integer(iterations, "iterations") < 1:
        raise ValueError(f"iterations: got {iterations}, expected a positive number")
    known = _durations({} if durations is None else durations)
    return _replay(Config(source, decoded_file(source, max_bytes), known, iterations))


def _durations(given: Mapping[str, int]) -> dict[str, int]:
    instance(given, Mapping, "durations")
    found = {}
    for label, value in given.items():
        found[label] = integer(value, f"durations[{label!r}]")
        if not 1 <= found[label] < MOST_TIME:
            raise ValueError(
                f"durations[{label!r}]: got {found[label]}, expected ns from 1 to 2**59 - 1"
            )
    return found


def _replay(config: Config) -> Replay:
    """Launches of the benchmarks, one after the other."""
    rows = sum(b.iterations * len(b.kernels) for b in config.benchmarks)
    if rows > _MOST_LAUNCHES:
        raise ValueError(
            f"{config.source}: max_iterations: got {rows} launches, expected at most "
            f"{_MOST_LAUNCHES} (give iterations=)"
        )
    streams: dict[tuple[int, int], int] = {}  # by context and benchmark, -1 for NULL streams
    columns: dict[str, list[Any]] = {key: [] for key in ("context", "priority", "kind", "name")}
    of_kernel = ("duration", "blocks", "threads", "smem", "name")
    launches: dict[str, list[Any]] = {key: [] for key in ("time", "stream", *of_kernel)}
    begins = []  # the first row of each benchmark
    for number, benchmark in enumerate(config.benchmarks):
        context = number if config.processes else 0
        key = (context, -1 if benchmark.null else number)
        if key not in streams:
            streams[key] = len(streams)
            plain = "blocking" if benchmark.priority is None else "non_blocking"
            columns["context"].append(context)
            columns["priority"].append(0 if benchmark.null else benchmark.priority or 0)
            columns["kind"].append("null" if benchmark.null else plain)
            columns["name"].append("NULL stream" if benchmark.null else benchmark.label)
        begins.append(len(launches["time"]))
        delays = (kernel.delay for kernel in benchmark.kernels)
        times = list(accumulate(delays, initial=benchmark.release))[1:]
        launches["time"] += times * benchmark.iterations
        launches["stream"] += [streams[key]] * (len(times) * benchmark.iterations)
        for column in of_kernel:
            once = [getattr(kernel, column) for kernel in benchmark.kernels]
            launches[column] += once * benchmark.iterations
    _refuse_unordered(config, streams)
    made = Launches(
        launches["time"],
        launches["duration"],
        stream=launches["stream"],
        blocks=launches["blocks"],
        threads=launches["threads"],
        smem=launches["smem"],
        after=_after(config, begins, rows) if config.together else None,
        name=launches["name"],
        stream_context=columns["context"],
        stream_priority=columns["priority"],
        stream_kind=columns["kind"],
        stream_name=columns["name"],
    )
    return Replay(made, 0, _sentences(config))


def _after(config: Config, begins: list[int], rows: int) -> list[tuple[int, ...]]:
    """The launches that each waits for: the first of an iteration for the last of the one before.

    ``begins``: the first row of each benchmark, of ``rows`` in all.
    """
    after: list[tuple[int, ...]] = [()] * rows
    places = list(zip(begins, config.benchmarks, strict=True))
    for i in range(1, max(benchmark.iterations for benchmark in config.benchmarks)):
        last = tuple(at + i * len(b.kernels) - 1 for at, b in places if b.iterations >= i)
        for at, benchmark in places:
            if benchmark.iterations > i:
                after[at + i * len(benchmark.kernels)] = last
    return after


def _refuse_unordered(config: Config, streams: dict[tuple[int, int], int]) -> None:
    """Refuse iterations whose order with the NULL stream is known only when they run."""
    with_null = {context for context, number in streams if number < 0}
    for number, benchmark in enumerate(config.benchmarks):
        context = number if config.processes else 0
        ordered = benchmark.null or benchmark.priority is None
        others = len(config.benchmarks) > 1 and not config.processes
        if benchmark.iterations > 1 and ordered and others and context in with_null:
            config.fail(
                f"{benchmark.where}: max_iterations",
                benchmark.iterations,
                "1 beside a NULL stream, whose order with later iterations depends on the run "
                "(or give iterations=1)",
            )


def _sentences(config: Config) -> tuple[str, ...]:
    said = ["launches are at the release times: initialization and launch latency take no time"]
    if any(b.iterations > 1 for b in config.benchmarks):
        until = "all benchmarks end theirs" if config.together else "the one before it ends"
        said.append(
            f"an iteration is launched when {until}; copies of logged times between them take "
            "no time"
        )
        if config.timed:
            said.append("max_time is not reached")
    if config.processes:
        said.append("each benchmark is a process, and processes share the GPU by time slices")
    if config.limited:
        said.append(f"limits of MPS are ignored: {shown_names(config.limited)}")
    if config.on_cpu:
        said.append(f"benchmarks on the CPU are left out: {shown_names(config.on_cpu)}")
    if config.ignored:
        said.append(f"unknown settings are ignored: {shown_names(sorted(config.ignored))}")
    return tuple(said)
