"""Playback of schedules and policies on a device; jobs, lateness and dispatch overhead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gpusched._support.arguments import Int64Array, frozen, integer, one_of
from gpusched._support.registry import enumeration, limit
from gpusched._support.tabular import Tabular, frame_of, optional
from gpusched._support.text import shown
from gpusched.cuda.device import Device, Operation, whole
from gpusched.cuda.driver import job_offsets
from gpusched.model.batches import members, names_of
from gpusched.model.jobs import Jobs
from gpusched.model.kernel_chains import rows_of
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.schedule import Schedule
from gpusched.pbs.policy import Policy

if TYPE_CHECKING:
    import pandas as pd

STRATEGIES = enumeration("pbs.dispatch")
WAITS = enumeration("cuda.wait")
NEVER = limit("model.never")
_PLANNED = ("planned", "due")


@dataclass(frozen=True)
class Overhead:
    """Overhead of the dispatcher, in ns.

    Attributes
    ----------
    each
        Sum of both parts, one entry per frame whose blocks are known. It does not depend on the
        offset between the clocks of host and device.
    to_first
        Time from the dispatch of a frame to the start of its first block.
    from_last
        Time from the end of its last block to the next dispatch, or to the return of the wait if
        the next frame was not due yet.
    uncertainty
        Uncertainty of ``to_first`` and ``from_last``.
    """

    each: Int64Array
    to_first: Int64Array
    from_last: Int64Array
    uncertainty: int

    def quantile(self, share: float) -> float:
        """Quantile of ``each`` (0.5 is the median); NaN without frames."""
        return float(np.quantile(self.each, share)) if len(self.each) else float("nan")

    def __repr__(self) -> str:
        return (
            f"<Overhead: median {self.quantile(0.5) / 1e3:.1f} µs, 99th percentile "
            f"{self.quantile(0.99) / 1e3:.1f} µs of {len(self.each)} frames>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Played(Tabular):
    """Record of the playback of F frames with J jobs; times in ns after tick 0.

    Attributes
    ----------
    planned
        Planned start of each frame in the schedule, ``(F,)``; -1 with a policy.
    due
        Earliest dispatch of each frame by the strategy, ``(F,)``: its planned start, the last
        release of its jobs, or the time until which the policy waited; negative: immediately.
    dispatch, submitted, done
        Host time before the first launch, after the last one, and at the return of the wait;
        ``(F,)``.
    batch
        Tasks of each frame as a bit mask, ``(F,)``.
    task, job, frame
        Task, number and frame of each job in the order of submission, ``(J,)``.
    start, end
        Start of the first and end of the last block of each job, converted to the host's clock,
        ``(J,)``; -1 for graphs, whose blocks are not recorded.
    unsafe
        Number of frames for which the policy had no safe batch, so that the most urgent job ran
        alone.
    clock_offset
        Lower and upper bound of host time minus device time at the middle of the playback, with
        clock drift removed. The upper bound was used, so that no end is earlier than the actual
        one.
    """

    tasks: KernelTasks
    strategy: str
    tick: int
    cycles: int
    planned: Int64Array
    due: Int64Array
    dispatch: Int64Array
    submitted: Int64Array
    done: Int64Array
    batch: Int64Array
    task: Int64Array
    job: Int64Array
    frame: Int64Array
    start: Int64Array
    end: Int64Array
    unsafe: int
    clock_offset: tuple[int, int]

    def __post_init__(self) -> None:
        for f in fields(self):
            if isinstance(value := getattr(self, f.name), np.ndarray):
                frozen(value)

    def __repr__(self) -> str:
        return (
            f"<Played: {len(self.dispatch)} frames, {len(self.task)} jobs, {self.late_count} late, "
            f"{self.strategy}>"
        )

    def jobs(self) -> Jobs:
        """All jobs in ns, ordered by task and number.

        Start and end are -1 for a job that was not executed. The job of a graph starts and
        ends with its frame.
        """
        own = [
            -(-(self.tasks.hyperperiod - offset) // period)
            for offset, period in zip(
                self.tasks.offset.tolist(), self.tasks.period.tolist(), strict=True
            )
        ]
        task = np.repeat(np.arange(self.tasks.n), [count * self.cycles for count in own])
        job = np.concatenate([np.arange(count * self.cycles) for count in own])
        first = np.concatenate([[0], np.cumsum([count * self.cycles for count in own])])
        start, end = np.full(len(task), -1, np.int64), np.full(len(task), -1, np.int64)
        at = first[self.task] + self.job
        known = self.end >= 0
        start[at] = np.where(known, self.start, self.dispatch[self.frame])
        end[at] = np.where(known, self.end, self.done[self.frame])
        cycle, within = np.divmod(job, np.array(own)[task])
        release = cycle * self.tasks.hyperperiod + self.tasks.offset[task]
        release = (release + within * self.tasks.period[task]) * self.tick
        deadline = release + self.tasks.deadline[task] * self.tick
        return Jobs(task.astype(np.int64), job, release, deadline, start, end)

    @property
    def late_count(self) -> int:
        """Number of jobs that ended late or were not executed."""
        return int(np.count_nonzero(self.jobs().late))

    @property
    def lateness(self) -> Int64Array:
        """Dispatch of each frame minus its planned start, in ns; empty with a policy."""
        if self.strategy == "policy":
            return np.zeros(0, np.int64)
        return self.dispatch - self.planned

    def overhead(self) -> Overhead:
        """Overhead of dispatching; see ``Overhead``."""
        frames = len(self.dispatch)
        first, last = np.full(frames, NEVER), np.full(frames, -1)
        np.minimum.at(first, self.frame, np.where(self.end >= 0, self.start, -1))
        np.maximum.at(last, self.frame, self.end)
        known = (first >= 0) & (last >= 0) & (first != NEVER)
        after = self.done.copy()  # replaced by the next dispatch where it was due
        if frames > 1:
            after[:-1] = np.where(self.due[1:] <= self.done[:-1], self.dispatch[1:], after[:-1])
        return Overhead(
            each=frozen((after - self.dispatch - (last - first))[known]),
            to_first=frozen((first - self.dispatch)[known]),
            from_last=frozen((after - last)[known]),
            uncertainty=self.clock_offset[1] - self.clock_offset[0],
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per frame, times in ns.

        The columns are ``planned`` (NA with a policy), ``due`` (NA: immediately), ``dispatch``,
        ``submitted``, ``done``, and as tuples the indices, ``tasks``, and the ``names`` of the
        tasks of the batch.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        columns: dict[str, Any] = {name: optional(getattr(self, name)) for name in _PLANNED}
        columns |= {name: getattr(self, name) for name in ("dispatch", "submitted", "done")}
        columns["tasks"] = [members(mask) for mask in self.batch.tolist()]
        columns["names"] = [names_of(tasks, self.tasks.name) for tasks in columns["tasks"]]
        return columns


def operations(
    device: Device,
    tasks: KernelTasks,
    *,
    tick: int = 1,
    timed: bool = False,
    footprint: Any = 0,
    graphs: Mapping[int, int] | None = None,
) -> list[Operation]:
    """Operations of the tasks: spin kernels of their shapes and ``block_time``, or their graphs.

    The parameters are those of ``gpusched.cuda.measure``.
    """
    if tasks.is_stack:
        raise ValueError(f"tasks: got a stack of {len(tasks)} sets, expected one task set")
    given = np.asarray(footprint)
    if given.dtype.kind not in "iu" or given.shape not in ((), (tasks.n,)):
        raise ValueError(
            f"footprint: got {shown(footprint)}, expected bytes, one whole number or one per task"
        )
    sizes = np.broadcast_to(given, (tasks.n,)).tolist()
    for i in graphs or {}:
        if not 0 <= integer(i, "graphs") < tasks.n:
            raise ValueError(f"graphs: got task {i}, expected 0 to {tasks.n - 1}")
    made = []
    for i in range(tasks.n):
        if graphs is not None and i in graphs:
            handle = integer(graphs[i], f"graphs[{i}]")
            if handle <= 0:
                raise ValueError(f"graphs[{i}]: got {handle}, expected the handle of a graph")
            made.append(Operation(stream=i, kind="graph", graph=handle, name=tasks.name[i]))
            continue
        ns = int(tasks.block_time[i]) * tick
        shape = Operation(
            stream=i,
            blocks=int(tasks.blocks[i]),
            threads=int(tasks.threads[i]),
            regs=int(tasks.regs[i]),
            smem=int(tasks.smem[i]),
            bytes=sizes[i],
            name=tasks.name[i],
        )
        if timed:
            made.append(replace(shape, ns=ns))
        else:
            made.append(replace(shape, iterations=device.iterations(shape, ns)))
    return made


def play(
    plan: Schedule | Policy,
    device: Device,
    strategy: str | None,
    tick: int,
    cycles: int,
    kernels: Sequence[Operation],
    wait: Literal["context", "streams", "poll"],
    awake: int,
    lead: int,
    realtime: int,
    lock_memory: bool,
    stop: Any,
) -> Played:
    """See ``gpusched.cuda.play``."""
    following = isinstance(plan, Policy)
    chosen = strategy if strategy is not None else "policy" if following else "table"
    one_of(chosen, STRATEGIES, "strategy")
    one_of(wait, WAITS, "wait")
    if (chosen == "policy") != following:
        raise ValueError(
            f"strategy: got {chosen!r}, expected "
            + ("'policy' for a Policy" if following else "'table' or 'reclaim' for a Schedule")
        )
    tasks = rows_of(plan.tasks)
    if len(kernels) != tasks.n:
        raise ValueError(
            f"kernels: got {len(kernels)} operations, expected {tasks.n}, one per task"
        )
    for i, op in enumerate(kernels):
        if op.kind not in ("kernel", "graph") or (op.kind == "graph") != (op.graph != 0):
            raise ValueError(
                f"kernels[{i}]: got kind {op.kind!r}, expected a kernel, or a graph with a handle"
            )
    if isinstance(plan, Policy):
        start: Int64Array = np.zeros(0, np.int64)
        batch = start
        order = None if plan.table.order is None else plan.table.order.astype(np.int64)
        if cycles > 1 and not plan.repeats:
            raise ValueError(f"cycles: got {cycles}, expected 1 for this policy of one hyperperiod")
    else:
        start, batch = plan.start, plan.batch.astype(np.int64)
        order = np.full((len(plan), tasks.n), -1, np.int64)
        for f, mask in enumerate(batch.tolist()):
            members = plan._order(mask)
            order[f, : len(members)] = members
        if plan.cycle is not None or (cycles > 1 and (plan.end > tasks.hyperperiod).any()):
            raise ValueError("plan: got a schedule beyond one hyperperiod, expected one within it")

    def column(key: str) -> Int64Array:
        return whole([getattr(op, key) for op in kernels], key)

    variant = [0 if op.kind == "graph" else device.variant(op.regs) for op in kernels]
    answer = device._handle.play(
        tasks.period,
        tasks.deadline,
        tasks.offset,
        column("graph"),
        np.array(variant, np.int64),
        column("blocks"),
        column("threads"),
        smem=column("smem"),
        ns=column("ns"),
        iterations=column("iterations"),
        bytes=column("bytes"),
        start=start,
        batch=batch,
        order=order,
        policy=plan._handle if isinstance(plan, Policy) else None,
        strategy=STRATEGIES.index(chosen),
        tick=tick,
        cycles=cycles,
        wait=WAITS.index(wait),
        awake=awake,
        lead=lead,
        realtime=realtime,
        lock_memory=lock_memory,
        stop=stop,
    )
    planned, due, dispatch, submitted, done, batches, task, job, frame, first, last = answer[:11]
    unsafe, origin = answer[11:]
    known = last >= 0
    shift, clock_offset = job_offsets(dispatch[frame], first, last, done[frame], known)
    return Played(
        tasks=tasks,
        strategy=chosen,
        tick=tick,
        cycles=cycles,
        planned=np.where(planned == NEVER, -1, planned - origin),
        due=np.where(due == 0, -1, due - origin),
        dispatch=dispatch - origin,
        submitted=submitted - origin,
        done=done - origin,
        batch=batches,
        task=task,
        job=job,
        frame=frame,
        start=np.where(known, first + shift - origin, -1),
        end=np.where(known, last + shift - origin, -1),
        unsafe=unsafe,
        clock_offset=clock_offset,
    )
