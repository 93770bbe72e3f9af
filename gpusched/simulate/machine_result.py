"""Results of simulations of whole machines: jobs, operations, and what ran on the CPUs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration
from gpusched._support.results import Frozen, Saved
from gpusched._support.tabular import Coded
from gpusched._support.text import plural
from gpusched.simulate import run_results
from gpusched.simulate.run_results import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACTIVITIES = enumeration("simulate.machine_activity")
"""Activities of threads on CPUs, by the core's numbers; see ``CpuIntervals``."""

OPERATIONS = ("kernel", "copy in", "copy out", "DLA")
"""Kinds of operations; see ``Operations``."""


@dataclass(frozen=True, eq=False, repr=False)
class MachineJobs(Table):
    """Jobs in the order of their releases: read-only int64 arrays, (jobs,).

    >>> work = [gs.CPU(2), gs.CopyIn(1), gs.Kernel(4, blocks=1, threads=32)]
    >>> w = gs.Workload([gs.Task("a", 20, work, process="p"), gs.Task("b", 40, work, process="q")])
    >>> machine = gs.Platform("RTX 3080", cpus=1, timeslice=2)
    >>> run = gs.observe(w, machine, "time_slices", until=20).detail
    >>> run.jobs.task.tolist(), run.jobs.end.tolist()
    ([0, 1], [9, 11])

    Attributes
    ----------
    task, number
        Index of the task, and number of its job, from 0.
    arrival, release
        Times in ticks; they differ by the jitter. Deadlines and responses count from the arrival.
        A job of a task that others release has the arrival of the job of its source, and its
        deadline and response count from the release.
    start, end
        When its thread first ran, and when it ended; -1 if it did not.
    """

    _KIND: ClassVar[str] = "MachineJobs"
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("start", "end")

    task: Int64Array
    number: Int64Array
    arrival: Int64Array
    release: Int64Array
    start: Int64Array
    end: Int64Array


@dataclass(frozen=True, eq=False, repr=False)
class Operations(Table):
    """Kernels and copies on engines, in the order of their calls: read-only int64 arrays.

    Times are in ticks, -1 for what did not happen.

    >>> work = [gs.CPU(2), gs.CopyIn(1), gs.Kernel(4, blocks=1, threads=32)]
    >>> w = gs.Workload([gs.Task("a", 20, work, process="p"), gs.Task("b", 40, work, process="q")])
    >>> machine = gs.Platform("RTX 3080", cpus=1, timeslice=2)
    >>> run = gs.observe(w, machine, "time_slices", until=20).detail
    >>> run.operations.called.tolist(), run.operations.end.tolist()
    ([2, 2, 4, 4], [3, 9, 5, 11])

    Attributes
    ----------
    task, job
        Index of the task, and number of its job.
    item
        Number of the segment in the job, repetitions counted.
    called
        When the thread called it.
    arrived
        When it was at the end of its stream: the launch latency later.
    head
        When all operations before it in its stream had ended.
    joined
        When it was in the queue of its engine, or of the block scheduler.
    first, dispatched
        When its first block, and its last one, had started (of a copy: the copy).
    end
        When it had ended.
    what
        Index into ``OPERATIONS``: "kernel", "copy in", "copy out" or "DLA".
    """

    _KIND: ClassVar[str] = "Operations"
    _OPTIONAL: ClassVar[tuple[str, ...]] = (
        "arrived", "head", "joined", "first", "dispatched", "end",
    )  # fmt: skip

    task: Int64Array
    job: Int64Array
    item: Int64Array
    called: Int64Array
    arrived: Int64Array
    head: Int64Array
    joined: Int64Array
    first: Int64Array
    dispatched: Int64Array
    end: Int64Array
    what: Int64Array

    def _table(self) -> dict[str, Any]:
        return super()._table() | {"what": Coded(self.what.astype(np.int8), OPERATIONS)}


@dataclass(frozen=True, eq=False, repr=False)
class BlockIntervals(Table):
    """Blocks on SMs, in the order of their starts: read-only int64 arrays, (blocks,).

    >>> work = [gs.Kernel(block_time=4, blocks=2, threads=1024, regs=64)]
    >>> w = gs.Workload([gs.Task("a", 20, work)])
    >>> run = gs.observe(w, gs.Platform("RTX 3080"), "streams", until=20).detail
    >>> run.blocks.sm.tolist(), run.blocks.end.tolist()
    ([0, 2], [4, 4])

    Attributes
    ----------
    operation
        Row of ``operations``.
    block
        Number of the block in its grid.
    sm
        Its SM; those of several GPU instances are numbered one after the other.
    start, end
        Times in ticks; ``end`` is -1 for a block that has not ended. A block of a context that the
        GPU leaves is frozen in between.
    """

    _KIND: ClassVar[str] = "BlockIntervals"
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("end",)

    operation: Int64Array
    block: Int64Array
    sm: Int64Array
    start: Int64Array
    end: Int64Array


@dataclass(frozen=True, eq=False, repr=False)
class CpuIntervals(Table):
    """Intervals in which threads had CPUs: read-only int64 arrays, (intervals,).

    >>> work = [gs.CPU(2), gs.CopyIn(1), gs.Kernel(4, blocks=1, threads=32)]
    >>> w = gs.Workload([gs.Task("a", 20, work, process="p"), gs.Task("b", 40, work, process="q")])
    >>> machine = gs.Platform("RTX 3080", cpus=1, timeslice=2)
    >>> run = gs.observe(w, machine, "time_slices", until=20).detail
    >>> run.cpu.task.tolist(), run.cpu.start.tolist(), run.cpu.end.tolist()
    ([0, 1], [0, 2], [2, 4])

    Attributes
    ----------
    cpu
        The CPU; the number of CPUs stands for one of a GPU server alone.
    task, job
        Index of the task, and number of its job; the number of tasks stands for a GPU server, which
        has job -1 between two sections.
    item
        Number of the segment in the job, repetitions counted; -1 between two segments.
    what
        Index into ``ACTIVITIES``: "work", "spin" (it keeps its CPU while it waits), or "update"
        (of GCAPS, or the overhead of a GPU server).
    start, end
        Times in ticks.
    """

    _KIND: ClassVar[str] = "CpuIntervals"
    _OPTIONAL: ClassVar[tuple[str, ...]] = ("job", "item")

    cpu: Int64Array
    task: Int64Array
    job: Int64Array
    item: Int64Array
    what: Int64Array
    start: Int64Array
    end: Int64Array

    def _table(self) -> dict[str, Any]:
        return super()._table() | {"what": Coded(self.what.astype(np.int8), ACTIVITIES)}


@dataclass(frozen=True, eq=False, repr=False)
class ContextTurns(Table):
    """Intervals in which a GPU with several contexts had one: read-only int64 arrays, (intervals,).

    >>> work = [gs.CPU(2), gs.CopyIn(1), gs.Kernel(4, blocks=1, threads=32)]
    >>> w = gs.Workload([gs.Task("a", 20, work, process="p"), gs.Task("b", 40, work, process="q")])
    >>> machine = gs.Platform("RTX 3080", cpus=1, timeslice=2)
    >>> run = gs.observe(w, machine, "time_slices", until=20).detail
    >>> run.turns.task.tolist(), run.turns.start.tolist(), run.turns.end.tolist()
    ([0, 1, 0, 1], [3, 5, 7, 9], [5, 7, 9, 11])

    Attributes
    ----------
    task
        Index of the first task of the context.
    switches
        1 while the GPU switches to it, else 0.
    start, end
        Times in ticks.
    """

    _KIND: ClassVar[str] = "ContextTurns"

    task: Int64Array
    switches: Int64Array
    start: Int64Array
    end: Int64Array


@dataclass(frozen=True, eq=False, repr=False)
class MachineRun(Saved, Frozen):
    """A run of a whole machine: CPUs, copy engines and GPU under a way of sharing.

    `gs.observe` returns it as ``detail`` where what happens between CPUs, copies and kernels
    matters.

    >>> w = gs.Workload([
    ...     gs.Task("control", 10, [gs.CPU(6)], priority=0),
    ...     gs.Task("detector", 20, [gs.Kernel(4, blocks=1, threads=32)], priority=1),
    ... ], tick="us")
    >>> run = gs.observe(w, gs.Platform("RTX 3080", cpus=1), "streams", until=20)
    >>> run.worst.tolist(), run.detail.operations.called.tolist()
    ([6, 10], [6])

    Attributes
    ----------
    name
        Names of the tasks.
    deadline
        Of the tasks, in ticks from the arrival.
    cpus
        Number of CPUs.
    engines
        Number of copy engines; a single one serves both directions.
    jobs
        `MachineJobs`.
    sms, warps
        Number of SMs, those of several GPU instances together, and of warps of an SM; 0 where
        kernels are simulated without blocks: those of ways in which no two run at once, and those
        on an unknown GPU.
    instances
        For each task, the name of its GPU instance, such as "3g.40gb@0"; empty without instances.
    context
        For each task, the first task of its context; -1 without kernels.
    threads
        For each task, and each of its segments with repetitions, the threads of a block: int64
        ``(n, segments)``; 0 for what is no kernel, or has no shape.
    operations, blocks, cpu, turns
        `Operations`, `BlockIntervals`, `CpuIntervals` and `ContextTurns`; None for
        ``timeline=False``, ``blocks`` also without SMs.
    now
        Last instant of the simulation.
    reason
        The budget that was used up, "states" (jobs and blocks), "bytes" or "seconds"; otherwise
        None.
    sent
        Whether the jobs of each task are released by ends of others, so that their deadlines and
        responses count from the releases; None if those of no task are.
    """

    _KIND: ClassVar[str] = "MachineRun"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (
        MachineJobs,
        Operations,
        BlockIntervals,
        CpuIntervals,
        ContextTurns,
    )

    name: tuple[str, ...]
    deadline: Int64Array
    cpus: int
    engines: int
    sms: int
    warps: int
    instances: tuple[str, ...]
    context: Int64Array
    threads: Int64Array
    jobs: MachineJobs
    operations: Operations | None
    blocks: BlockIntervals | None
    cpu: CpuIntervals | None
    turns: ContextTurns | None
    now: int
    reason: str | None
    sent: npt.NDArray[np.bool_] | None = None

    @property
    def origin(self) -> Int64Array:
        """The instant from which deadlines and responses of jobs count: int64 ``(jobs,)``."""
        jobs = self.jobs
        if self.sent is None:
            return jobs.arrival
        return np.where(self.sent[jobs.task], jobs.release, jobs.arrival)

    def __len__(self) -> int:
        """Number of jobs."""
        return len(self.jobs)

    @property
    def late(self) -> npt.NDArray[np.bool_]:
        """Whether each job is known to have missed its deadline at ``now``."""
        jobs = self.jobs
        due = self.origin + self.deadline[jobs.task]
        found: npt.NDArray[np.bool_] = np.where(jobs.end < 0, self.now, jobs.end) > due
        return found

    @property
    def busy(self) -> dict[str, float]:
        """Shares of the time up to ``now`` in which CPUs, copy engines and SMs were in use.

        >>> work = [gs.CPU(2), gs.CopyIn(1), gs.Kernel(block_time=5, blocks=34, threads=1024)]
        >>> w = gs.Workload([gs.Task("a", 10, work)])
        >>> run = gs.observe(w, gs.Platform("RTX 3080", cpus=1), "streams", until=40).detail
        >>> {name: round(share, 2) for name, share in run.busy.items()}
        {'CPU 0': 0.21, 'copies': 0.11, 'kernels': 0.53, 'SMs': 0.26}

        "CPU 0" counts work, spinning and updates, "kernels" the time in which any kernel ran, and
        "SMs" the mean share of the SMs with blocks; the last one is missing where kernels are
        simulated without blocks. Time slices count in which a context had the GPU.

        Raises ValueError for a run without its logs.
        """
        from gpusched.simulate.machine_timeline import shares

        return shares(self)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        unit: str | None = None,
        since: int = 0,
        until: int | None = None,
    ) -> Axes:
        """Draw CPUs, copies and kernels over time, with Matplotlib.

        There is one lane per CPU in use, one for the copies of each engine, and one for the kernels
        of each task; with several contexts a last one for their turns, in the colours of their
        first tasks. Each bar has the colour of its task and the number of its job; kernels that
        wait in their queues and spinning are pale. Bars of jobs that miss their deadlines are
        hatched with red edges. Triangles are releases, in the lane of the kernels, or, of tasks
        without kernels, of a CPU.

        Parameters
        ----------
        ax
            Axes to draw on. Default: those of a new figure.
        unit
            Unit of a tick: None, "ns", "us", "ms" or "s".
        since, until
            Start and end of the drawn interval in ticks. Without ``until``, it ends at the 300th
            bar; with it, at most 3000 bars are drawn.

        Raises
        ------
        ValueError
            The run has no logs, or the drawn interval is empty.
        """
        from gpusched._draw import timeline_axes
        from gpusched.simulate import machine_timeline

        shown: Axes = timeline_axes.plot(machine_timeline.picture(self, unit, since, until), ax)
        return shown

    def to_svg(self, *, unit: str | None = None, since: int = 0, until: int | None = None) -> str:
        """Return the picture of `plot` as an SVG document, made without Matplotlib."""
        from gpusched._draw import svg
        from gpusched.simulate import machine_timeline

        return svg.svg(machine_timeline.picture(self, unit, since, until))

    def _repr_svg_(self) -> str | None:
        return None if self.operations is None else self.to_svg()

    def to_chrome_trace(self, path: str | os.PathLike[str], *, tick: int = 1) -> None:
        """Write the run for Perfetto (ui.perfetto.dev) and chrome://tracing.

        The process "jobs" has a lane per task, in which a job extends from its release to its end.
        The processes "CPUs" and "GPU" have a lane per CPU in use, per copy engine, and for the
        kernels of each task; there is one for each SM with blocks, with a counter of its warps.

        Parameters
        ----------
        path
            The file, replaced only when the new one is complete; compressed if it ends in .gz.
        tick
            Length of a tick in ns.

        Raises
        ------
        OSError
            The file cannot be written.
        TypeError, ValueError
            ``tick`` is not a positive integer.
        """
        from gpusched._draw import chrome_trace
        from gpusched.simulate import machine_timeline

        chrome_trace.write_timeline(machine_timeline.trace(self), path, tick)

    def _table(self) -> dict[str, Any]:
        return self.jobs._table()

    def __repr__(self) -> str:
        outcome = "done" if self.reason is None else "budget"
        return (
            f"<MachineRun: {plural(len(self), 'job')} of {plural(len(self.name), 'task')} on "
            f"{plural(self.cpus, 'CPU')}; {run_results.misses(self)}; "
            f"{run_results.ended(outcome, self.reason, self.now)}>"
        )

    def _repr_html_(self) -> str:
        return run_results.html_of(self)
