"""Launches of a configuration of cuda_scheduling_examiner (``gs.io.read_examiner_config``)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gpusched._support.arguments import MAX_BYTES, instance, integer
from gpusched._support.text import path_text, shown_names
from gpusched.io.examiner import decoded_file
from gpusched.io.replays.examiner_config import Config
from gpusched.io.replays.replay import MOST_TIME, Replay
from gpusched.model.launches import Launches

__all__ = ["read_examiner_config"]

_MOST_LAUNCHES = 10**7


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
    launches: list[tuple[Any, ...]] = []
    ended: dict[int, list[int]] = {}  # the last launches of each iteration
    begun: list[tuple[int, int]] = []  # row and iteration of each first launch
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
        for i in range(benchmark.iterations):
            begun.append((len(launches), i))
            time = benchmark.release
            for kernel in benchmark.kernels:
                time += kernel.delay
                launches.append((time, streams[key], kernel))
            ended.setdefault(i, []).append(len(launches) - 1)
    _refuse_unordered(config, streams)
    after: list[tuple[int, ...]] | None = None
    if config.together:
        after = [()] * len(launches)
        for row, i in begun:
            after[row] = tuple(ended.get(i - 1, ()))
    times, of, kernels = zip(*launches, strict=True)
    made = Launches(
        list(times),
        [kernel.duration for kernel in kernels],
        stream=list(of),
        blocks=[kernel.blocks for kernel in kernels],
        threads=[kernel.threads for kernel in kernels],
        smem=[kernel.smem for kernel in kernels],
        after=after,
        name=[kernel.name for kernel in kernels],
        stream_context=columns["context"],
        stream_priority=columns["priority"],
        stream_kind=columns["kind"],
        stream_name=columns["name"],
    )
    return Replay(made, 0, _sentences(config))


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
