"""Platforms: the hardware that a workload runs on, its parts, and the cost of its operations."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal, TypedDict, Unpack

from gpusched._support.arguments import flag, integer, is_sequence, one_of
from gpusched._support.text import clip, escape, named, shown
from gpusched.model.batches import ONE, factors
from gpusched.model.gpu import GPU, as_gpu
from gpusched.model.gpus.gpu_fields import (
    CopyEngines,
    as_bandwidth,
    bandwidth_of_gpu,
    copy_engines_of,
)
from gpusched.model.gpus.gpu_presets import partition_unit, static_partition_unit
from gpusched.model.gpus.mps_shares import Share, SMs, has_shares, share_of, share_text
from gpusched.model.workload.facts import Facts, count, label
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.time_units import (
    Duration,
    Stored,
    TickLength,
    Time,
    as_time,
    in_ticks,
    tick_of,
    time_with_unit,
)

GreenContexts = (
    Mapping[str | tuple[str, ...], int | Sequence[int]]
    | Sequence[tuple[str | Sequence[str], int | Sequence[int]]]
    | None
)
"""Argument of a platform: a task or several, and the number of SMs or the SMs themselves."""

StaticPartitions = (
    Mapping[str | tuple[str, ...], int] | Sequence[tuple[str | Sequence[str], int]] | None
)
"""Argument of a platform: a process or several, and their number of SMs."""

Entry = tuple[tuple[str, ...], int | tuple[int, ...]]


def green_contexts_of(given: Any, gpu: GPU | None, *, together: bool = True) -> tuple[Entry, ...]:
    """Tasks and SMs of each green context, checked: the GPU has them.

    ``together``: with co-scheduling of SMs, which decides their number.

    Raises ValueError and TypeError, with the task.
    """
    found, device = _parts(given, gpu, "green_contexts", "task")
    entries = tuple(
        (tasks, _sms(_where(tasks, "green_contexts"), sms, device)) for tasks, sms in found
    )
    _refuse_misfits(entries, device, partition_unit(device.cc, together=together))
    return entries


def static_partitions_of(given: Any, gpu: GPU | None) -> tuple[tuple[tuple[str, ...], int], ...]:
    """Processes and SMs of each static partition of MPS, checked: they fit the GPU together.

    Raises ValueError and TypeError, with the process.
    """
    found, device = _parts(given, gpu, "mps_partitions", "process")
    unit, total = static_partition_unit(device.cc), 0
    if not unit:
        has = ".".join(map(str, device.cc or ()))
        raise ValueError(
            f"mps_partitions: got {shown(given)}, expected none; MPS has static partitions from "
            f"compute capability 8.0 on, and {named(device.name) or 'the GPU'} has {has}"
        )
    entries = []
    for processes, sms in found:
        where = _where(processes, "mps_partitions")
        count = integer(sms, where)
        if count < 1 or count % unit:
            raise ValueError(
                f"{where}: got {count} SMs, expected a positive multiple of {unit}, the SMs of a "
                "chunk of this GPU"
            )
        total += count
        _refuse_too_many(where, count, total, device)
        entries.append((processes, count))
    return tuple(entries)


def _parts(
    given: Any, gpu: GPU | None, name: str, what: str
) -> tuple[list[tuple[tuple[str, ...], Any]], GPU]:
    """Keys and SMs of the parts of a GPU, each key in one of them, and the GPU."""
    if gpu is None:
        raise ValueError(f"{name}: got {shown(given)} without a GPU, expected one")
    found = [(_keys(keys, name), sms) for keys, sms in _rows(given, name, what, "SMs")]
    if not found:
        raise ValueError(f"{name}: got none, expected at least one, or None")
    seen: set[str] = set()
    for keys, _ in found:
        for key in keys:
            if key in seen:
                raise ValueError(
                    f"{name}: got {shown(key)} twice, expected each {what} in one of them"
                )
            seen.add(key)
    return found, gpu


def green_sms(
    entries: Sequence[tuple[tuple[str, ...], int | tuple[int, ...] | None]], gpu: GPU
) -> list[tuple[int, ...]]:
    """The SMs of each green context: numbers of SMs take the first that no list has; None: all."""
    taken = {sm for _, sms in entries if isinstance(sms, tuple) for sm in sms}
    free = iter([sm for sm in range(gpu.sms) if sm not in taken])
    found = []
    for _, sms in entries:
        given = tuple(range(gpu.sms)) if sms is None else sms
        found.append(tuple(next(free) for _ in range(given)) if isinstance(given, int) else given)
    return found


def parts_text(entries: Sequence[Entry]) -> str:
    """Tasks or processes and SMs of all parts of a GPU, in a line."""
    parts = []
    for keys, sms in entries:
        count = sms if isinstance(sms, int) else len(sms)
        parts.append(f"{' + '.join(keys)} {count} SMs")
    return ", ".join(parts)


def _rows(given: Any, name: str, what: str, amount: str) -> list[tuple[Any, Any]]:
    """Pairs of keys and amounts of a mapping, or of a list of pairs."""
    if isinstance(given, Mapping):
        return list(given.items())
    if not is_sequence(given):
        raise TypeError(
            f"{name}: got {shown(given)}, expected {amount} by {what}, as {{'camera': 8}}"
        )
    return [_pair(row, name, what, amount) for row in given]


def _pair(row: Any, name: str, what: str, amount: str) -> tuple[Any, Any]:
    if isinstance(row, str) or not is_sequence(row) or len(row := list(row)) != 2:
        plural = "tasks" if what == "task" else "processes"
        raise TypeError(f"{name}: got {shown(row)}, expected a pair of {plural} and {amount}")
    keys, sms = row
    return keys, sms


def _keys(given: Any, name: str) -> tuple[str, ...]:
    if is_sequence(given) and (keys := list(given)):
        return tuple(label(key, name) for key in keys)
    return (label(given, name),)


def _where(keys: tuple[str, ...], name: str) -> str:
    return f"{name}[{shown(keys[0] if len(keys) == 1 else keys)}]"


def _sms(where: str, given: Any, gpu: GPU) -> int | tuple[int, ...]:
    if not is_sequence(given):
        count = integer(given, where)
        if not 1 <= count <= gpu.sms:
            raise ValueError(f"{where}: got {count} SMs, expected 1 to {gpu.sms}")
        return count
    found = tuple(integer(sm, where) for sm in given)
    if not found:
        raise ValueError(f"{where}: got no SMs, expected at least one")
    for i, sm in enumerate(found):
        if not 0 <= sm < gpu.sms:
            raise ValueError(f"{where}: got SM {sm}, expected SMs from 0 to {gpu.sms - 1}")
        if sm in found[:i]:
            raise ValueError(f"{where}: got SM {sm} twice, expected each SM once")
    return found


def _refuse_too_many(where: str, count: int, total: int, gpu: GPU) -> None:
    """Raise ValueError if ``total`` SMs with these exceed those of the GPU."""
    if total > gpu.sms:
        raise ValueError(
            f"{where}: got {count} SMs, expected at most {gpu.sms - total + count}, those that "
            "others leave"
        )


def _refuse_misfits(entries: tuple[Entry, ...], gpu: GPU, unit: int) -> None:
    """Raise ValueError for more SMs than those of the GPU, and for impossible numbers of SMs.

    Lists may have SMs in common; numbers of SMs are those that no list has. A split of the SMs
    leaves a remainder: if all SMs are assigned, one green context may have any number of SMs.
    """
    listed = {sm for _, sms in entries if not isinstance(sms, int) for sm in sms}
    total, odd = len(listed), []
    for tasks, sms in entries:
        where = _where(tasks, "green_contexts")
        count = sms if isinstance(sms, int) else len(sms)
        if isinstance(sms, int):
            total += count
            _refuse_too_many(where, count, total, gpu)
        if count % unit:
            odd.append((where, count))
    for where, count in odd[0 if total < gpu.sms else 1 :][:1]:
        flag = " (or of 2 with sm_coscheduling=False, --no-sm-coscheduling)" if unit > 2 else ""
        raise ValueError(
            f"{where}: got {count} SMs, expected a multiple of {unit}{flag}, or for one green "
            f"context the rest of the {gpu.sms} SMs"
        )


_RINGS = ("fifo", "cyclic")
_WORKQUEUES = ("shared", "balanced")
_MOST = 2**31 - 1


Shares = Mapping[str, int | str | SMs] | Sequence[tuple[str, int | str | SMs]] | None
"""Argument of a platform: a percentage of the SMs or a number of them, by process."""


class _Changes(TypedDict, total=False):
    gpu: GPU | str | None
    cpus: int
    launch_latency: Time
    launch_cpu: Time
    graph_launch_cpu: Time
    kernel_gap: Time
    wake_latency: Time
    context_switch: Time
    timeslice: Time
    ring: Literal["fifo", "cyclic"]
    update_cost: Time
    server_overhead: Time
    priority_levels: int | None
    slowdown: Sequence[float] | float | str | None
    bandwidth: int | str | None
    copy_engines: int | Sequence[str] | None
    mig: Sequence[str] | None
    mps: Shares
    mps_partitions: StaticPartitions
    green_contexts: GreenContexts
    channels: int | None
    workqueue: Literal["shared", "balanced"]
    sm_coscheduling: bool


class Platform(Facts):
    """Hardware that a workload runs on: GPU, CPU cores, overheads and GPU partitions.

    >>> platform = gs.Platform("AGX Orin", cpus=8, launch_latency="6us")
    >>> platform.sms, platform.copy_engines, platform.at("us").launch_latency
    (16, 2, 6)
    >>> gs.Platform("H100", green_contexts={"camera": 16, ("planner", "map"): 116}).green_contexts
    ((('camera',), 16), (('planner', 'map'), 116))

    Parameters
    ----------
    gpu
        A `GPU` or the name of a preset. None: the GPU is unknown, and kernels are not divided
        into waves.
    cpus
        Number of CPU cores.
    launch_latency
        Time from a launch to the start of the kernel on an idle GPU. It is added to every kernel.
    launch_cpu, graph_launch_cpu
        CPU time of a call that launches a kernel or a copy on an engine, and of one that launches a
        graph (of a task with ``launches="graph"``).
    kernel_gap
        Time from the end of the operation before a kernel in its stream, or from its arrival at an
        idle stream, until the GPU can start it. Copies have none.
    wake_latency
        Time from the end of what a suspended thread waits for on the GPU until it is ready. Threads
        that spin need none, and neither does a job that ends with the operation.
    context_switch
        Time to switch the GPU to another context (theta).
    timeslice
        Maximum time that a context keeps the GPU while other contexts wait (L).
    ring
        Order in which contexts with pending work receive time slices: ``"fifo"`` (after its slice
        a context queues behind the others) or ``"cyclic"`` (a fixed order).
    update_cost
        Time to update the run list (eps).
    server_overhead
        Overhead that a GPU server adds to every request.
    priority_levels
        Number of priority levels of streams. None: unlimited.
    slowdown
        Smallest and largest factor by which kernels slow down when they run together: a pair
        (default: 1.1 to 1.4), a single number, ``"small"``, ``"large"``, ``"mixed"``, or None (no
        slowdown). Tests use the largest factor, in batches, and for all kernels under streams,
        MPS, green contexts and STGM if more than one task has kernels. Simulations use it in
        batches only.
    bandwidth
        Bandwidth of the memory of the GPU: bytes per second, or text such as ``"1555GB/s"``. If all
        kernels state their traffic, it says how much they slow each other, in place of the factor,
        unless ``slowdown`` is None. Default: that of the preset's data sheet, a peak.
    copy_engines
        Number of copy engines, or the direction of each, as of `GPU`. Default: the copy engines of
        the GPU. Where they are unknown, answers hold for one engine, or say that they need two.
    mig
        Profiles of the GPU's instances (Multi-Instance GPU), such as ``["3g.40gb", "4g.40gb"]``,
        for the way "mig". None: that way may choose the instances. All other ways use the whole
        GPU.
    mps
        Share of the SMs that each process may use as a client of MPS, by process name, such as
        ``{"perception": 50, "planner": gs.SMs(16)}``: a percentage (its active thread percentage),
        which is rounded down to whole SMs, or a number of SMs (execution affinity, also as text,
        "16 SMs"). All SMs for processes that are not listed. Used by the way "mps". A share is an
        upper limit and does not reserve SMs. It needs compute capability 7.0 (Volta) or later.
    mps_partitions
        SMs of static partitions of MPS, keyed by the processes that belong to them, such as
        ``{"perception": 64, ("planner", "logger"): 32}``. Used by the way "mps_static". A partition
        reserves its SMs: a multiple of 8 from compute capability 9.0 on, of 4 on 8.x, and of 2 on
        integrated GPUs (8.7, 11.0). It needs 8.0 (Ampere) or later, and MPS of CUDA 13.1 or later.
    green_contexts
        SMs of green contexts, keyed by the names of the tasks whose streams belong to them. The
        value is a number of SMs or a list of SMs, such as
        ``{"camera": 16, ("planner", "map"): 24}``. Used by the way "green_contexts". All tasks of
        green contexts belong to one process, which is why keys are tasks and not processes. Tasks
        with kernels that are not listed run in the primary context, on all SMs. Lists of SMs may
        have SMs in common; numbers of SMs are those that no list has. Simulations take both, tests
        need SMs that no other context has. With compute capability 9.0 or later, a green context
        has a multiple of 8 SMs (7.x, 8.x and Tegra: of 2); one may have the remaining SMs of the
        GPU instead. A number of SMs takes the first free SMs, in the given order. See also
        ``GPU.split_sms``.
    channels
        Hardware channels of each context, and of each client of MPS: the value of the environment
        variable CUDA_DEVICE_MAX_CONNECTIONS. None: not set, so that contexts have the channels of
        the GPU and clients of MPS have 2. 0: no limit.
    workqueue
        Channels of green contexts: "shared" (all green contexts use the channels of one context,
        the default of CUDA) or "balanced" (each has its own; work queue configuration of CUDA 13.1
        or later).
    sm_coscheduling
        False: green contexts are made with the flag that ignores the co-scheduling of SMs
        (CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING), so that their SMs are a multiple of 2 on
        every GPU. Clusters of more than 2 blocks are then not possible in them.

    Times are given as ticks of the workload or as text with a unit. An attribute whose time was
    given as text raises ValueError; ``platform.at(workload.tick)`` has all times in ticks.

    Raises
    ------
    ValueError, TypeError, OverflowError
        An argument is invalid; the message names it.
    """

    __slots__ = (
        *(
            "_bandwidth",
            "_context_switch",
            "_copy_engines",
            "_graph_launch_cpu",
            "_kernel_gap",
            "_launch_cpu",
        ),
        *("_launch_latency", "_server_overhead", "_timeslice", "_wake_latency"),
        *("_update_cost", "channels", "cpus", "gpu", "green_contexts", "mig", "mps"),
        *("mps_partitions", "priority_levels", "ring", "slowdown", "sm_coscheduling", "workqueue"),
    )

    _KEYS: ClassVar[tuple[str, ...]] = (
        *("gpu", "cpus", "_launch_latency", "_launch_cpu", "_graph_launch_cpu", "_kernel_gap"),
        *("_wake_latency", "_context_switch", "_timeslice", "ring"),
        *(
            "_update_cost",
            "_server_overhead",
            "priority_levels",
            "slowdown",
            "_bandwidth",
            "_copy_engines",
            "mig",
            "mps",
            "mps_partitions",
            "green_contexts",
            "channels",
            "workqueue",
            "sm_coscheduling",
        ),
    )
    _TIMES: ClassVar[frozenset[str]] = frozenset(
        {
            *("_launch_latency", "_launch_cpu", "_graph_launch_cpu", "_kernel_gap"),
            *("_wake_latency", "_context_switch", "_timeslice", "_update_cost", "_server_overhead"),
        }
    )

    gpu: GPU | None
    cpus: int
    ring: Literal["fifo", "cyclic"]
    priority_levels: int | None
    slowdown: tuple[float, float]
    mig: tuple[str, ...] | None
    mps: tuple[tuple[str, int | SMs], ...] | None
    mps_partitions: tuple[tuple[tuple[str, ...], int], ...] | None
    green_contexts: tuple[tuple[tuple[str, ...], int | tuple[int, ...]], ...] | None
    _launch_latency: Stored
    _launch_cpu: Stored
    _graph_launch_cpu: Stored
    _kernel_gap: Stored
    _wake_latency: Stored
    _context_switch: Stored
    _timeslice: Stored
    _update_cost: Stored
    _server_overhead: Stored
    _bandwidth: int | None
    _copy_engines: int | tuple[str, ...] | None
    channels: int | None
    workqueue: Literal["shared", "balanced"]
    sm_coscheduling: bool

    def __init__(
        self,
        gpu: GPU | str | None = None,
        cpus: int = 1,
        *,
        launch_latency: Time = 0,
        launch_cpu: Time = 0,
        graph_launch_cpu: Time = 0,
        kernel_gap: Time = 0,
        wake_latency: Time = 0,
        context_switch: Time = 0,
        timeslice: Time = "2ms",
        ring: Literal["fifo", "cyclic"] = "fifo",
        update_cost: Time = 0,
        server_overhead: Time = 0,
        priority_levels: int | None = None,
        slowdown: Sequence[float] | float | str | None = (1.1, 1.4),
        bandwidth: int | str | None = None,
        copy_engines: int | Sequence[str] | None = None,
        mig: Sequence[str] | None = None,
        mps: Shares = None,
        mps_partitions: StaticPartitions = None,
        green_contexts: GreenContexts = None,
        channels: int | None = None,
        workqueue: Literal["shared", "balanced"] = "shared",
        sm_coscheduling: bool = True,
    ) -> None:
        device = None if gpu is None else as_gpu(gpu)
        cores = count(cpus, "cpus", 1, _MOST)
        one_of(ring, _RINGS, "ring")
        one_of(workqueue, _WORKQUEUES, "workqueue")
        together = flag(sm_coscheduling, "sm_coscheduling")
        least, most = factors(slowdown)
        self._put(
            (
                device,
                cores,
                as_time(launch_latency, "launch_latency", 0),
                as_time(launch_cpu, "launch_cpu", 0),
                as_time(graph_launch_cpu, "graph_launch_cpu", 0),
                as_time(kernel_gap, "kernel_gap", 0),
                as_time(wake_latency, "wake_latency", 0),
                as_time(context_switch, "context_switch", 0),
                as_time(timeslice, "timeslice"),
                ring,
                as_time(update_cost, "update_cost", 0),
                as_time(server_overhead, "server_overhead", 0),
                None
                if priority_levels is None
                else count(priority_levels, "priority_levels", 1, _MOST),
                (least / ONE, most / ONE),
                None if bandwidth is None else as_bandwidth(bandwidth, "bandwidth"),
                copy_engines_of(copy_engines),
                None if mig is None else _instances(mig, device),
                None if mps is None else _shares(mps, device),
                None if mps_partitions is None else static_partitions_of(mps_partitions, device),
                None
                if green_contexts is None
                else green_contexts_of(green_contexts, device, together=together),
                None if channels is None else count(channels, "channels", 0, _MOST),
                workqueue,
                together,
            )
        )

    @property
    def launch_latency(self) -> int:
        """Ticks from a launch to the start of its kernel on an idle GPU."""
        return self._ticks(self._launch_latency, "launch_latency")

    @property
    def launch_cpu(self) -> int:
        """CPU time in ticks of a call that launches a kernel or a copy."""
        return self._ticks(self._launch_cpu, "launch_cpu")

    @property
    def graph_launch_cpu(self) -> int:
        """CPU time in ticks of a call that launches a graph."""
        return self._ticks(self._graph_launch_cpu, "graph_launch_cpu")

    @property
    def kernel_gap(self) -> int:
        """Ticks from when a kernel is the first of its stream until the GPU can start it."""
        return self._ticks(self._kernel_gap, "kernel_gap")

    @property
    def wake_latency(self) -> int:
        """Ticks from the end of an operation until the thread that waits for it is ready."""
        return self._ticks(self._wake_latency, "wake_latency")

    @property
    def context_switch(self) -> int:
        """Ticks that it takes to switch the GPU to another context."""
        return self._ticks(self._context_switch, "context_switch")

    @property
    def timeslice(self) -> int:
        """Length of a time slice in ticks."""
        if self._tick is not None and not isinstance(self._timeslice, int):
            return in_ticks(self._timeslice, None, self._tick, "timeslice")  # with the reason
        return self._ticks(self._timeslice, "timeslice")

    @property
    def update_cost(self) -> int:
        """Ticks that an update of the run list takes."""
        return self._ticks(self._update_cost, "update_cost")

    @property
    def server_overhead(self) -> int:
        """Overhead in ticks that a GPU server adds to every request."""
        return self._ticks(self._server_overhead, "server_overhead")

    @property
    def sms(self) -> int | None:
        """Number of SMs of the GPU; None without a GPU."""
        return None if self.gpu is None else self.gpu.sms

    @property
    def bandwidth(self) -> int | None:
        """Bandwidth of the GPU's memory in bytes per second; None if unknown."""
        if self._bandwidth is not None or self.gpu is None:
            return self._bandwidth
        return bandwidth_of_gpu(self.gpu.name)

    @property
    def copy_engines(self) -> CopyEngines:
        """Number of copy engines, or the direction of each; None if unknown."""
        if self._copy_engines is not None or self.gpu is None:
            return self._copy_engines
        return self.gpu.copy_engines

    def at(self, tick: str) -> Platform:
        """Return the platform with its times in ticks of the given length (``workload.tick``).

        Raises ValueError for a time that is not a whole number of ticks. For ``timeslice``, which
        few methods need, the error is raised only when the attribute is read.
        """
        return self._at(tick_of(tick))

    def replace(self, **changes: Unpack[_Changes]) -> Platform:
        """Return a copy with some arguments changed; numbers are ticks as before.

        >>> gs.Platform("Xavier").replace(cpus=8).cpus
        8
        """
        made = Platform(**{**self._given(), **changes})  # type: ignore[arg-type]
        return made if self._tick is None else made._at(self._tick)

    def _converted(self, key: str, value: Any, tick: TickLength) -> object:
        if key == "_timeslice":
            try:
                return super()._converted(key, value, tick)
            except ValueError:  # kept, and refused when it is read
                time = self._timeslice
                if isinstance(time, int) and self._tick is not None:
                    ns = time * self._tick
                    return Duration(Fraction(ns), time_with_unit(time, self._tick))
                return time
        return super()._converted(key, value, tick)

    @classmethod
    def _unsaid(cls, name: str) -> object:
        usual: dict[str, object] = {
            **{"launch_latency": 0, "launch_cpu": 0, "graph_launch_cpu": 0, "kernel_gap": 0},
            **{"wake_latency": 0, "context_switch": 0, "update_cost": 0, "server_overhead": 0},
            **{"timeslice": as_time("2ms", name), "ring": "fifo", "slowdown": (1.1, 1.4)},
            **{"workqueue": "shared", "sm_coscheduling": True},
        }
        return usual.get(name)

    def _argument(self, key: str) -> str | None:
        if key == "gpu" and self.gpu is not None and self.gpu.name in GPU.presets():
            if self.gpu == GPU.preset(self.gpu.name):
                return repr(self.gpu.name)
        return super()._argument(key)

    def _repr_html_(self) -> str:
        rows = []
        for key in self._KEYS:
            name = key.removeprefix("_")
            if key == "gpu" and self.gpu is not None:
                text = self.gpu.name or f"{self.gpu.sms} SMs"
            elif key == "mig" and self.mig is not None:
                text = ", ".join(self.mig)
            elif key == "mps" and self.mps is not None:
                text = ", ".join(f"{process} {share_text(share)}" for process, share in self.mps)
            elif key == "mps_partitions" and self.mps_partitions is not None:
                text = parts_text(self.mps_partitions)
            elif key == "green_contexts" and self.green_contexts is not None:
                text = parts_text(self.green_contexts)
            else:
                text = self._argument(key) or shown(getattr(self, key))
            rows.append(
                f"<tr><th>{name.replace('_', ' ')}</th><td>{escape(clip(text, 400))}</td></tr>"
            )
        return f"<table>{''.join(rows)}</table>"


ON_PLATFORM = frozenset(inspect.signature(Platform).parameters)
"""Names of the arguments; one of a way of sharing the GPU that has such a name replaces it."""


def _instances(mig: Sequence[str], gpu: GPU | None) -> tuple[str, ...]:
    """Names of profiles whose instances fit the GPU together."""
    if gpu is None:
        raise ValueError(f"mig: got {shown(mig)} without a GPU, expected a platform with one")
    try:
        found = tuple(one.profile.name for one in gpu.mig_instances(mig))
    except (ValueError, TypeError) as error:
        at, _, text = str(error).partition(": ")
        place = at.removeprefix("profiles") if at.startswith("profiles") else ""
        raise type(error)(f"mig{place}: {text}") from None
    if not found:
        raise ValueError("mig: got no profiles, expected at least one, or None for any")
    return found


def _shares(mps: Any, gpu: GPU | None) -> tuple[tuple[str, Share], ...]:
    """Processes and their shares, by name."""
    rows = _rows(mps, "mps", "process", "a share")
    if not rows:
        raise ValueError("mps: got no processes, expected at least one, or None")
    found: list[tuple[str, Share]] = []
    for process, share in rows:
        name = label(process, "mps")
        if name in dict(found):
            raise ValueError(f"mps: got {shown(name)} twice, expected each process once")
        found.append((name, share_of(share, f"mps[{shown(name)}]")))
        most = found[-1][1]
        if gpu is not None and not has_shares(gpu.cc) and most != 100:
            has = ".".join(map(str, gpu.cc or ()))
            raise ValueError(
                f"mps[{shown(name)}]: got {share_text(most)}, expected no share; the SMs of "
                "clients can be limited from compute capability 7.0 on, and "
                f"{named(gpu.name) or 'the GPU'} has {has}"
            )
        if gpu is not None and isinstance(most, SMs) and most.count > gpu.sms:
            raise ValueError(
                f"mps[{shown(name)}]: got {share_text(most)}, expected at most the {gpu.sms} of "
                "the GPU"
            )
    return tuple(sorted(found, key=lambda pair: pair[0]))


def unknown_clients(tasks: Collection[Task], platform: Platform, *, static: bool = False) -> str:
    """Sentence on a process with SMs under MPS that no task belongs to; "" if there is none.

    Those of shares, or with ``static`` those of partitions. Without processes in the workload, each
    task is a process of its name.
    """
    given = [process for process, _ in platform.mps or ()]
    if static:
        given = [name for names, _ in platform.mps_partitions or () for name in names]
    of_each = process_of_each(tasks)
    known = [of for of in dict.fromkeys(of_each.values()) if of is not None]
    alone = list(of_each) == list(of_each.values())
    return _unknown(given, known, "tasks, each a process of its own" if alone else "processes")


def process_of_each(tasks: Collection[Task]) -> dict[str, str | None]:
    """The process of each task, by name; without processes, each task is one of its own.

    Those of the tasks with kernels decide, if there are any.
    """
    users = [task for task in tasks if task.kernels] or tasks
    alone = all(task.process is None for task in users)
    return {task.name: task.name if alone else task.process for task in tasks}


def unknown_tasks(tasks: Collection[Task], platform: Platform) -> str:
    """Sentence on a task of a green context that the workload lacks; "" if there is none."""
    given = [name for names, _ in platform.green_contexts or () for name in names]
    return _unknown(given, [task.name for task in tasks], "tasks")


def _unknown(given: list[str], known: list[str], what: str) -> str:
    for name in given:
        if name not in known:
            names = clip(", ".join(known), 300) or "none"
            return f"got {shown(name)}, expected one of the workload's {what}: {names}"
    return ""
