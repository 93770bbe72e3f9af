"""Response-time bounds of whole programs: CPUs, copy engines and the GPU in one fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import (
    Int64Array,
    at_least,
    flag,
    frozen,
    instance,
    int_array,
    integer,
    is_sequence,
    one_of,
    spread,
    task_number,
)
from gpusched._support.registry import enumeration
from gpusched._support.text import shown
from gpusched.analysis.fifo_threads import refuse_many_streams
from gpusched.analysis.holistic_answer import HolisticBound
from gpusched.model.gpu import GPU, WARP_THREADS, as_gpu
from gpusched.model.programs import Programs

__all__ = ["holistic"]

_RULES = enumeration("analysis.holistic_rule")
_PARTS = enumeration("analysis.holistic_parts")
_LAUNCHES = enumeration("analysis.holistic_launch")
Launching = Literal["graph", "sync", "async"]
"""Form in which a task launches operations."""

_QUEUES = ("own", "shared", "own_blocks")


def holistic(
    tasks: Programs,
    rule: Literal["one_stream", "streams", "time_slices", "edf_serial", "gcaps"],
    *,
    gpu: GPU | str | None = None,
    threads: int | None = None,
    sms: int = 1,
    launches: Launching | Sequence[Launching] = "graph",
    mode: Literal["suspend", "busy"] = "suspend",
    latency: int = 0,
    launch_cpu: int = 0,
    graph_launch_cpu: int = 0,
    kernel_gap: int = 0,
    wake_latency: int = 0,
    timeslice: int | None = None,
    context_switch: int = 0,
    update_cost: int = 0,
    stall: bool = False,
    part_sms: npt.ArrayLike | None = None,
    part_limit: npt.ArrayLike | None = None,
    queues: Literal["own", "shared", "own_blocks"] = "own",
    instances: bool = False,
    assumed: npt.ArrayLike | None = None,
    channel_release: Literal["dispatched", "ended"] = "dispatched",
    after: Sequence[Any] | None = None,
    best: npt.ArrayLike = 0,
    windows: bool = True,
    stop: Any = None,
) -> HolisticBound:
    """Bound response times of whole programs: CPU work, copies and kernels anywhere in a job.

    All tasks have their bounds in one fixed point, which counts that threads share cores, copies
    share engines, and sections share the GPU. A section is what a thread launches in one go.

    >>> tasks = gs.Programs(
    ...     period=[90, 120, 150], jitter=[0, 0, 5], core=[0, 0, 1],
    ...     kind=[["cpu", "copy", "kernel", "copy", "cpu"], ["cpu", "kernel", "kernel", "cpu"],
    ...           ["cpu", "copy", "kernel", "copy"]],
    ...     time=[[2, 2, 4, 1, 1], [3, 10, 3, 2], [1, 3, 12, 2]],
    ...     blocks=[[0, 0, 2, 0, 0], [0, 3, 1, 0], [0, 0, 4, 0]],
    ...     threads=[[0, 0, 3, 0, 0], [0, 2, 4, 0], [0, 0, 2, 0]],
    ...     block_time=[[0, 0, 4, 0, 0], [0, 5, 3, 0], [0, 0, 6, 0]])
    >>> gs.analysis.holistic(tasks, "streams", threads=4, sms=2).response.tolist()
    [38, 39, 43]
    >>> gs.analysis.holistic(tasks, "time_slices", timeslice=3, context_switch=1).accepted
    True

    Parameters
    ----------
    tasks
        One set, or a stack. Streams share the SMs by the shapes of kernels, ``blocks``, ``threads``
        and ``block_time``; one stream and time slices need the ``time`` of kernels alone.
    rule
        "one_stream": all sections are in one stream. "streams": each task has a stream, with its
        ``level`` and hardware ``channel``; kernels run side by side. "time_slices": each task that
        uses the GPU is a process; the GPU serves these in turn. With ``gpu`` or ``threads`` a
        process has all tasks of a ``part``, each with a stream in a channel of its own, and their
        kernels share the SMs in its slices. "edf_serial": a dispatcher runs the
        units of jobs, each from its first section with a kernel to its last, one at a time. The one
        that is due first begins, less the longest time of the work behind it; deadlines are at most
        the periods. "gcaps": each task that uses the GPU is a process; the GPU belongs to the one
        with an open section that comes first by ``level``, of equal levels by CPU priority. Levels
        agree with the priorities of each core, which are unique there.
    gpu
        With streams, or processes of several tasks: GPU whose SMs hold the blocks.
    threads, sms
        Likewise, without ``gpu``: number of SMs, and threads of each.
    launches
        "graph": copies and kernels without CPU work between them are one section, which is one
        call. "async": they are one section, with a call for each; where a call costs nothing, that
        is the same. "sync": each is a section of its own. One form for all tasks, or one per task.
    mode
        "suspend": a thread leaves its core until its section has ended. "busy": it keeps the core,
        at its priority.
    latency
        Maximum number of ticks from a launch until the section is in its stream.
    launch_cpu, graph_launch_cpu
        Ticks of CPU work of a call, and of the call of a graph.
    kernel_gap
        Ticks from when a kernel is the first one of its stream until it can start.
    wake_latency
        Ticks from the end of a section until its thread is ready, if it has left its core.
    timeslice
        With time slices: longest turn of a process while others wait.
    context_switch
        With time slices and gcaps: ticks that it takes to switch to another process.
    update_cost, stall
        With gcaps: ticks of CPU work, not preempted, that open a section, and that close it; and
        whether each such update stops the GPU, not only one that opens a more urgent section.
    part_sms
        With streams: number of SMs of each part, which only its tasks use.
    part_limit
        With streams: number of SMs that hold blocks of each part at once, at most.
    queues
        With ``part_sms``: "own": parts have queues and channels of their own. "own_blocks": they
        share channels, but not the queues of blocks. "shared": a kernel that does not fit its part
        keeps kernels of all other parts waiting.
    instances
        Whether parts are GPU instances (MIG), which share CPUs alone: each has copy engines of its
        own, and one stream, or a ring of slices, or with streams and ``part_sms`` its SMs, queues
        and channels. Work on DLAs is in none; in one stream there can be none. Neither for
        "edf_serial" and "gcaps" nor with ``after``.
    assumed
        Responses of tasks for which no bound is looked for, -1 for the others. Bounds hold if these
        do, such as deadlines of tasks that another test shows to be kept.
    channel_release
        With streams that share a channel: whether a kernel may join its queue once all blocks of
        the kernels before it in the channel have started ("dispatched"), or have ended ("ended").
    after
        For each task the tasks that release its jobs: None, a name or an index, or a list of them.
        Job j is released when job j of all of them has ended, with k times their period job k j.
        These go back to one task with arrivals of its own, whose jitter is given. With
        "edf_serial", a task with kernels has to have a deadline that ends, from its latest release
        on, within a period. Not for "gcaps".
    best
        With ``after``, least time of a job of each task.
    windows
        With ``after``, one stream or time slices, and threads that suspend: whether the tasks of a
        path are looked at in one window where each job of a group has ended when the next one of
        its source arrives. The bounds are smaller then.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    HolisticBound
        Sufficient: accepted or undecided.

    Raises
    ------
    ValueError
        A kernel has no shape although streams need one, or a block fits no SM; a part does not
        exist; tasks of one core have equal priorities with ``mode="busy"`` or gcaps, or levels in
        another order with gcaps; streams share a channel in processes of several tasks; an option
        belongs to another rule; there are more tasks than kernels that ``gpu`` runs at once; or
        tasks release each other in a cycle, or are released by tasks that go back to several, or of
        several periods.
    OverflowError
        Times exceed 2**60 ticks.
    gpusched.Cancelled
        ``stop`` was set.

    Source: developed for this package, with the proofs in csrc/analysis/holistic/. The joint fixed
    point over several resources is that of Tindell and Clark, "Holistic Schedulability Analysis for
    Distributed Hard Real-Time Systems", 1994.
    """
    instance(tasks, Programs, "tasks")
    one_of(rule, _RULES, "rule")
    forms = _forms(launches, tasks.n)
    one_of(mode, ("suspend", "busy"), "mode")
    one_of(channel_release, ("dispatched", "ended"), "channel_release")
    began = perf_counter()
    processes = rule == "time_slices" and (gpu is not None or threads is not None)
    streams = rule == "streams" or processes
    _refuse_others(rule, processes, gpu, threads, part_sms, part_limit)
    _refuse_costs(rule, timeslice, context_switch, update_cost, flag(stall, "stall"))
    limits, per_sm, count = _device(tasks, gpu, threads, sms) if streams else (None, 1, 1)
    sharing, parts = _parts(part_sms, part_limit, queues, count)
    if processes:
        sharing, parts = "in_turns", np.full(int(tasks.part.max()) + 1, count, np.int64)
    if flag(instances, "instances") and sharing != ("own" if streams else ""):
        raise ValueError(
            "instances: got it without part_sms, or with part_limit or queues, expected it with "
            "streams and part_sms, or with another rule"
        )
    columns = tasks._arrays()
    stack = {name: column if tasks.is_stack else column[None] for name, column in columns.items()}
    before_begin, before = (None, None) if after is None else _links(after, tasks)
    bound, jobs, terms, ends = _core.holistic(
        **stack,
        rule=_RULES.index("streams" if processes else rule),
        launches=np.array([_LAUNCHES.index(form) for form in forms], np.int64),
        busy=mode == "busy",
        latency=integer(latency, "latency"),
        launch_cpu=integer(launch_cpu, "launch_cpu"),
        graph_launch_cpu=integer(graph_launch_cpu, "graph_launch_cpu"),
        kernel_gap=integer(kernel_gap, "kernel_gap"),
        wake_latency=integer(wake_latency, "wake_latency"),
        timeslice=0 if timeslice is None else integer(timeslice, "timeslice"),
        context_switch=integer(context_switch, "context_switch"),
        update_cost=integer(update_cost, "update_cost"),
        stall=flag(stall, "stall"),
        sms=count,
        sm_threads=per_sm,
        limits=limits,
        parts=_PARTS.index(sharing),
        part_sms=parts,
        instances=instances,
        assumed=None if assumed is None else _per_task(assumed, "assumed", tasks.n),
        channel_ended=channel_release == "ended",
        whole_ticks=False,
        before_begin=before_begin,
        before=before,
        best=None if after is None else _per_task(best, "best", tasks.n),
        windows=flag(windows, "windows"),
        stop=stop,
    )
    released: dict[str, Any] = {}
    if ends is not None:
        for name, column in zip(("earliest", "latest", "end", "window"), ends, strict=True):
            released[name] = frozen(column if tasks.is_stack else column[0])
        released["window"] = frozen(released["window"] > 0)
    return HolisticBound(
        tasks=tasks,
        rule=rule,
        launches=forms[0] if len(set(forms)) == 1 else "mixed",
        mode=mode,
        bound=frozen(bound if tasks.is_stack else bound[0]),
        jobs=frozen(jobs if tasks.is_stack else jobs[0]),
        terms=frozen(terms if tasks.is_stack else terms[0]),
        sharing="instances" if instances else sharing,
        seconds=perf_counter() - began,
        **released,
    )


def _forms(launches: Any, n: int) -> list[str]:
    """The form of launching of each task."""
    if isinstance(launches, str) or not is_sequence(launches):
        one_of(launches, _LAUNCHES, "launches")
        return [launches] * n
    forms = list(launches)
    if len(forms) != n:
        raise ValueError(f"launches: got {len(forms)} forms, expected one per task ({n})")
    for i, form in enumerate(forms):
        one_of(form, _LAUNCHES, f"launches[{i}]")
    return forms


def _per_task(values: npt.ArrayLike, name: str, n: int) -> Int64Array:
    """Numbers of the tasks, one for all or one each."""
    array = int_array(values, name)
    if array.shape not in ((), (1,), (n,)):
        raise ValueError(f"{name}: got shape {array.shape}, expected one number per task ({n})")
    return spread(array, (n,))


def _links(after: Sequence[Any], tasks: Programs) -> tuple[Int64Array, Int64Array]:
    """The tasks that release each task, as offsets and numbers."""
    if not is_sequence(after) or len(after) != tasks.n:
        raise ValueError(f"after: got {shown(after)}, expected one entry per task ({tasks.n})")
    begin, found = [0], list[int]()
    for i, given in enumerate(after):
        names = [] if given is None else [given] if not isinstance(given, (list, tuple)) else given
        numbers = [task_number(name, tasks.name) for name in names]
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"after[{i}]: got {shown(given)}, expected different tasks")
        found += numbers
        begin.append(len(found))
    return np.array(begin, np.int64), np.array(found, np.int64)


def _refuse_others(rule: str, processes: bool, gpu: Any, threads: Any, *parts: Any) -> None:
    """Raise for options of streams with another rule; ``processes``: of several tasks."""
    if rule != "streams":
        named = {"gpu": gpu, "threads": threads, "part_sms": parts[0], "part_limit": parts[1]}
        if processes:
            named = {"part_sms": parts[0], "part_limit": parts[1]}
        for name, value in named.items():
            if value is not None:
                raise ValueError(f"{name}: got it with {rule!r}, expected it with 'streams' alone")


def _refuse_costs(rule: str, timeslice: Any, switch: Any, update: Any, stall: bool) -> None:
    """Raise for costs of another rule, and for those that the rule lacks."""
    if rule == "time_slices" and timeslice is None:
        raise TypeError("timeslice: got None, expected the longest turn of a process")
    for name, given, rules in (
        ("timeslice", timeslice is not None, ("time_slices",)),
        ("context_switch", switch != 0, ("time_slices", "gcaps")),
        ("update_cost", update != 0, ("gcaps",)),
        ("stall", stall, ("gcaps",)),
    ):
        if given and rule not in rules:
            expected = " or ".join(map(repr, rules))
            raise ValueError(f"{name}: got it with {rule!r}, expected it with {expected} alone")


def _device(tasks: Programs, gpu: Any, threads: Any, sms: Any) -> tuple[Any, int, int]:
    """Limits of an SM or None, threads of an SM, number of SMs."""
    if gpu is None:
        if threads is None:
            raise TypeError("threads: got None, expected the number of threads of an SM, or gpu=")
        per_sm, count = integer(threads, "threads"), integer(sms, "sms")
        for name, value in (("threads", per_sm), ("sms", count)):
            if not 1 <= value < 2**31:
                raise ValueError(f"{name}: got {value}, expected a positive number below 2**31")
        return None, per_sm, count
    if threads is not None or sms != 1:
        raise ValueError("threads: got both threads or sms and gpu, expected one of them")
    device = as_gpu(gpu)
    kernels = np.atleast_2d((tasks.kind == 2).any(axis=-1)).sum(axis=-1)
    refuse_many_streams(int(kernels.max()), device)
    return device._limits, device.warps_per_sm * WARP_THREADS, device.sms


def _parts(sms: Any, limit: Any, queues: Any, gpu_sms: int) -> tuple[str, Int64Array | None]:
    """The queues of parts, "" without parts, and the SMs of each."""
    one_of(queues, _QUEUES, "queues")
    if sms is not None and limit is not None:
        raise ValueError("part_sms: got both part_sms and part_limit, expected one of them")
    if queues != "own" and sms is None:
        raise ValueError(f"queues: got {queues!r} without part_sms, expected both")
    if sms is None and limit is None:
        return "", None
    name, given = ("part_sms", sms) if limit is None else ("part_limit", limit)
    column = int_array(given, name)
    if column.ndim != 1 or len(column) == 0:
        raise ValueError(f"{name}: got shape {column.shape}, expected one number per part")
    at_least(column, 1, name)
    if limit is not None:
        return "limits", np.minimum(column, gpu_sms)
    if int(column.sum()) > gpu_sms:
        raise ValueError(
            f"part_sms: got {int(column.sum())} SMs in all, expected at most the {gpu_sms} of the "
            "GPU"
        )
    return queues, column
