"""Schedules of the Parallel Batch Scheduler: frames of batches, and their validation.

[RTNS24], sections 2.4 and 4.1: a frame runs one batch, that is a set of tasks whose oldest pending
jobs are submitted together. The next frame may start when the last of these jobs has ended.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import (
    MAX_BYTES,
    Int64Array,
    NoArray,
    at_least,
    flag,
    frozen,
    instance,
    int_array,
    integer64,
    position,
)
from gpusched._support.tabular import Tabular, frame_of
from gpusched._support.text import shown
from gpusched.model.batch_function import REPLAY_RULES, BatchFunction, as_masks, replay
from gpusched.model.batch_table import BatchTable
from gpusched.model.batches import members, names_of
from gpusched.model.jobs import Jobs, KernelRuns
from gpusched.model.kernel_chains import (
    BATCH_TASKS,
    BatchTasks,
    KernelChains,
    precedence_of,
    rows_of,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_RULES = {
    "overlap": "starts before the frame before it has ended",
    "ineligible": "runs a batch that is empty, or not eligible (not allowed by the table)",
    "length": "does not last as long as its batch takes by the table",
    "not ready": "runs a task that has no pending job, or a kernel before its turn",
    "miss": "misses a deadline",
    "idle": "starts although the GPU idled before it while work was ready",
    "unfinished": "is the end, and jobs of the hyperperiod are left",
    "cycle": "is where the cycle should close, in the state in which it began",
}


class ScheduleError(ValueError):
    """A schedule violates a rule; ``rule``, ``frame``, ``task`` (or None) and ``time`` say where.

    ``rule`` is one of "overlap", "ineligible", "length", "not ready", "miss", "idle",
    "unfinished" and "cycle".

    >>> tasks = gs.KernelTasks([4], wcet=[1])
    >>> table = gs.BatchTable.from_dict(1, {(0,): 1})
    >>> try:
    ...     gs.Schedule([0], [2], [1], tasks, table).validate()
    ... except gs.ScheduleError as error:
    ...     print(error)
    frame 0 does not last as long as its batch takes by the table, at 2
    """

    def __init__(self, rule: str, frame: int, task: int | None, time: int, message: str) -> None:
        super().__init__(rule, frame, task, time, message)
        self.rule = rule
        self.frame = frame
        self.task = task
        self.time = time

    def __str__(self) -> str:
        return str(self.args[4])


@dataclass(frozen=True, eq=False, repr=False)
class Schedule(NoArray, Tabular):
    """A sequence of frames, each of which runs one batch of jobs ([RTNS24], section 2.4).

    For chains, a frame runs at most one kernel of each task: the next kernel of its oldest
    unfinished job.

    >>> tasks = gs.KernelTasks(period=[4, 8], wcet=[1, 2])
    >>> plan = gs.Schedule(start=[0, 4], end=[3, 5], batch=[3, 1], tasks=tasks)
    >>> plan.members(0), plan.makespan
    ((0, 1), 5)

    Parameters
    ----------
    start, end
        Start and end of each frame in ticks; read-only int64 arrays.
    batch
        Tasks of each frame as a bit mask (bit i: task i); read-only uint32 array, uint64 for more
        than 32 tasks. The frame runs the oldest job of each of these tasks that was not executed
        yet. For chains, the bits are kernels: bit j is row j of ``tasks.rows``.
    tasks
        The task set: `KernelTasks`, `KernelChains` or a `KernelGraph`.
    table
        The batch table or function that the schedule was made with; `validate` and the submission
        orders use it.
    idling
        Whether the schedule may leave the GPU idle while work is ready (PBS itself may not).
    cycle
        (start, length) of the part that repeats indefinitely, for a schedule that repeats; None
        for a schedule of the jobs of one hyperperiod.
    tick
        Length of a tick in ns, which a program needs to play the schedule; None where it is not
        known.
    overhead
        Ticks of the length of each frame that are kept for its dispatch.

    Raises
    ------
    ValueError
        Arrays differ in length, the tasks are a stack, a start is negative, an end is before its
        start, a batch has tasks that the set does not have, or the table has another size.
    TypeError
        An argument has the wrong type.
    OverflowError
        A number does not fit 64 bits.
    """

    _INSTEAD = ".start, .end, .batch, or .to_frame()"

    start: Int64Array
    end: Int64Array
    batch: npt.NDArray[np.uint32] | npt.NDArray[np.uint64]
    tasks: BatchTasks
    table: BatchTable | BatchFunction | None
    idling: bool
    cycle: tuple[int, int] | None
    tick: int | None
    overhead: int

    def __init__(
        self,
        start: npt.ArrayLike,
        end: npt.ArrayLike,
        batch: npt.ArrayLike,
        tasks: BatchTasks,
        table: BatchTable | BatchFunction | None = None,
        idling: bool = False,
        cycle: tuple[int, int] | None = None,
        tick: int | None = None,
        overhead: int = 0,
    ) -> None:
        instance(tasks, BATCH_TASKS, "tasks")
        if table is not None and not isinstance(table, BatchFunction):
            instance(table, BatchTable, "table", "or None")
        if tasks.is_stack:
            raise ValueError("tasks: got a stack, expected one task set")
        if table is not None and table.is_stack:
            raise ValueError("table: got a stack, expected one table")
        count = rows_of(tasks).n
        unit = "kernels" if isinstance(tasks, KernelChains) else "tasks"
        if table is not None and table.n != count:
            raise ValueError(f"table: got one of {table.n} {unit}, expected {count} as in the set")
        columns: dict[str, npt.NDArray[Any]] = {
            name: int_array(value, name) for name, value in {"start": start, "end": end}.items()
        }
        wide = count > 32
        columns["batch"] = as_masks(batch, 64, "batch") if wide else int_array(batch, "batch")
        for name, column in columns.items():
            if column.ndim != 1:
                raise ValueError(f"{name}: got {column.ndim} dimensions, expected 1")
            if len(column) != (frames := len(columns["start"])):
                raise ValueError(
                    f"{name}: got {len(column)} entries, expected {frames} as of start"
                )
            at_least(column, 0, name)
        starts, ends, batches = columns.values()
        if (bad := np.flatnonzero(ends < starts)).size:
            frame = int(bad[0])
            raise ValueError(
                f"end[{frame}]: got {ends[frame]}, expected at least the start, {starts[frame]}"
            )
        if (bad := np.flatnonzero(_beyond(batches, count))).size:
            frame = int(bad[0])
            raise ValueError(
                f"batch[{frame}]: got {batches[frame]}, expected a bit mask of {count} {unit}"
            )
        masks = batches.astype(np.uint64 if wide else np.uint32)
        for name, array in (("start", starts), ("end", ends), ("batch", masks)):
            object.__setattr__(self, name, frozen(array))
        object.__setattr__(self, "tasks", tasks)
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "idling", flag(idling, "idling"))
        if cycle is not None:
            pair = int_array(cycle, "cycle")
            if pair.shape != (2,) or pair[0] < 0 or pair[1] < 1:
                got = shown(cycle)
                raise ValueError(f"cycle: got {got}, expected (start, length) from (0, 1) on")
            cycle = int(pair[0]), int(pair[1])
        object.__setattr__(self, "cycle", cycle)
        for name, number, least in (("tick", tick, 1), ("overhead", overhead, 0)):
            if number is not None and integer64(number, name) < least:
                raise ValueError(f"{name}: got {shown(number)}, expected at least {least}")
        object.__setattr__(self, "tick", None if tick is None else integer64(tick, "tick"))
        object.__setattr__(self, "overhead", integer64(overhead, "overhead"))

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.start)

    def __eq__(self, other: object) -> bool:
        """Equal frames, tasks, ticks and, of the tables, times and orders of the used batches."""
        if not isinstance(other, Schedule):
            return NotImplemented
        return (
            np.array_equal(self.start, other.start)
            and np.array_equal(self.end, other.end)
            and np.array_equal(self.batch, other.batch)
            and self.idling == other.idling
            and self.cycle == other.cycle
            and (self.tick, self.overhead) == (other.tick, other.overhead)
            and self.tasks == other.tasks
            and self._used() == other._used()
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (Schedule, tuple(getattr(self, field.name) for field in fields(self)))

    # Frames

    def members(self, frame: int) -> tuple[int, ...]:
        """Tasks of a frame, in the order in which their kernels must be submitted."""
        rows = self._order(int(self.batch[position(frame, len(self), "frame")]))
        if not isinstance(self.tasks, KernelChains):
            return rows
        return tuple(int(self.tasks.places[0][row]) for row in rows)

    def submitted(self, frame: int) -> tuple[str, ...]:
        """Names of the tasks (kernels of chains) of a frame, in the order of `members`."""
        names = rows_of(self.tasks).name
        rows = self._order(int(self.batch[position(frame, len(self), "frame")]))
        return tuple(names[row] for row in rows)

    @property
    def makespan(self) -> int:
        """End of the last frame; 0 without frames."""
        return int(self.end.max(initial=0))

    @property
    def horizon(self) -> int:
        """End of the time interval that the schedule covers.

        This is the hyperperiod if the schedule executes all of its jobs; the makespan if that is
        later (deadlines longer than periods) or if jobs are left (a schedule that ends at a missed
        deadline); and the end of the first cycle for a schedule that repeats.
        """
        if self.cycle is not None:
            return sum(self.cycle)
        return max(self.makespan, self.tasks.hyperperiod) if self._complete() else self.makespan

    @property
    def idle(self) -> int:
        """Ticks in [0, horizon) in which no batch runs."""
        return self.horizon - int((self.end - self.start).sum())

    @property
    def utilization(self) -> float:
        """Share of [0, horizon) in which a batch runs."""
        return 1.0 - self.idle / self.horizon if self.horizon else 0.0

    def jobs(self) -> Jobs:
        """Executed jobs, ordered by start, and within a frame by task index.

        A job is assumed to end at the end of its frame, which is what the batch table guarantees.
        For chains, jobs whose kernels all ran, from the start of the first kernel to the end of
        the last.
        """
        runs = self.runs()
        if not isinstance(self.tasks, KernelChains):
            return Jobs(*(getattr(runs, name) for name in Jobs.COLUMNS))
        last = np.flatnonzero(runs.kernel == self.tasks.kernels[runs.task] - 1)
        first = np.flatnonzero(runs.kernel == 0)
        keys = zip(runs.task[first].tolist(), runs.job[first].tolist(), strict=True)
        began = dict(zip(keys, runs.start[first].tolist(), strict=True))
        keys = zip(runs.task[last].tolist(), runs.job[last].tolist(), strict=True)
        start: Int64Array = np.array([began.get(key, -1) for key in keys], np.int64)
        ended = {name: getattr(runs, name)[last] for name in Jobs.COLUMNS} | {"start": start}
        order = np.lexsort((ended["task"], start))
        return Jobs(**{name: column[order] for name, column in ended.items()})

    def runs(self) -> KernelRuns:
        """Executed kernels with their jobs, ordered by start; one per job without chains.

        >>> chains = gs.KernelChains(period=[8], block_time=[[2, 1]])
        >>> plan = gs.Schedule(start=[0, 2], end=[2, 3], batch=[1, 2], tasks=chains)
        >>> plan.runs().kernel.tolist(), plan.jobs().end.tolist()
        ([0, 1], [3])
        """
        rows = rows_of(self.tasks)
        # executed[f, i]: frame f runs row i
        bit = np.uint64(1) << np.arange(rows.n, dtype=np.uint64)
        executed = self.batch[:, None] & bit != 0
        frame, row = np.nonzero(executed)
        job = np.cumsum(executed, axis=0, dtype=np.int64)[frame, row] - 1
        release = rows.offset[row] + job * rows.period[row]
        task, kernel = row.astype(np.int64), np.zeros(len(row), np.int64)
        if isinstance(self.tasks, KernelChains):
            task, kernel = (of_row[row] for of_row in self.tasks.places)
        return KernelRuns(
            task=task,
            job=job,
            release=release,
            deadline=release + rows.deadline[row],
            start=self.start[frame],
            end=self.end[frame],
            kernel=kernel,
        )

    def late_jobs(self) -> Jobs:
        """Jobs that miss their deadlines: they end late, or still wait at their deadline.

        Of each task, only the oldest waiting job is listed (start and end -1). Jobs that are
        released in the hyperperiod and have a deadline up to the makespan are considered. Sorted by
        deadline; empty for a valid schedule.
        """
        done = self.jobs()
        late = np.flatnonzero(done.late)
        columns = [getattr(done, f.name)[late].tolist() for f in fields(Jobs)]
        counts = np.bincount(done.task, minlength=self.tasks.n).tolist()
        for task, count in enumerate(counts):
            release = int(self.tasks.offset[task]) + count * int(self.tasks.period[task])
            deadline = release + int(self.tasks.deadline[task])
            counts_too = self.cycle is not None or release < self.tasks.hyperperiod
            if counts_too and deadline <= self.makespan:
                row = (task, count, release, deadline, -1, -1)
                for column, value in zip(columns, row, strict=True):
                    column.append(value)
        order = sorted(range(len(columns[0])), key=lambda i: (columns[3][i], columns[0][i]))
        return Jobs(*(np.array([c[i] for i in order], dtype=np.int64) for c in columns))

    def in_finer_ticks(self, count: int) -> Schedule:
        """The same frames in ticks of which ``count`` make one; the tasks are those of this one."""
        cycle = None if self.cycle is None else (self.cycle[0] * count, self.cycle[1] * count)
        start, end = self.start * count, self.end * count
        return Schedule(start, end, self.batch, self.tasks, None, self.idling, cycle)

    def with_times(self, tasks: BatchTasks, table: BatchTable) -> Schedule:
        """The same frames with other times, in their order.

        A frame begins when it did or, if that is later, once the frame before it has ended and all
        of its jobs are released. `validate` tells whether the schedule is valid.

        >>> tasks = gs.KernelTasks([8, 8], wcet=[1, 2])
        >>> plan = gs.Schedule(start=[0, 4], end=[2, 5], batch=[2, 1], tasks=tasks)
        >>> slow = gs.BatchTable.from_dict(2, {(0,): 1, (1,): 5})
        >>> plan.with_times(tasks, slow).start.tolist()
        [0, 5]

        Parameters
        ----------
        tasks
            The tasks; as many, and for chains with as many kernels, as those of this schedule.
        table
            The table of the times; a batch that it does not allow takes no time.

        Raises
        ------
        ValueError
            As for `Schedule`.
        """
        instance(table, BatchTable, "table")
        if rows_of(tasks).n != (rows := rows_of(self.tasks).n):
            raise ValueError(f"tasks: got {rows_of(tasks).n}, expected {rows} as of the schedule")
        runs = Schedule(self.start, self.end, self.batch, tasks).runs()
        earliest = self.start.copy()
        np.maximum.at(earliest, np.searchsorted(self.start, runs.start), runs.release)
        took = table.completion[self.batch]
        before = np.cumsum(took) - took
        start = np.maximum.accumulate(earliest - before) + before
        return Schedule(start, start + took, self.batch, tasks, table, True, self.cycle)

    def validate(self) -> Schedule:
        """Replay the schedule against its tasks and table, and return it if it is valid.

        Raises `ScheduleError` with the first rule that is violated, and ValueError without a table.
        The rules: frames do not overlap; they run eligible batches of pending jobs (for chains, the
        next kernel of each) for as long as the table says; no deadline is missed, also not by
        waiting jobs; the GPU is never idle while work is ready (unless ``idling``); every job of
        the hyperperiod is executed, or, with a ``cycle``, the schedule ends in the state in which
        its cycle began, so that it can be repeated.
        """
        from gpusched import _core

        if self.table is None:
            raise ValueError("table: got None, expected a table to validate the schedule with")
        rows = rows_of(self.tasks)
        if isinstance(self.table, BatchFunction):
            if self.cycle is not None:
                raise ValueError(f"cycle: got {self.cycle}, expected None with a BatchFunction")
            frames = (self.start, self.end, self.batch)
            rule, frame, row, time = replay(rows, self.table, *frames, self.idling)
        else:
            cycle_from, cycle_length = self.cycle or (0, 0)
            rule, frame, row, time = _core.schedule_replay(
                rows.period[None, :],
                rows.deadline[None, :],
                rows.offset[None, :],
                np.atleast_2d(self.table.completion),
                self.start,
                self.end,
                self.batch.astype(np.int64),
                idling=self.idling,
                cycle_from=cycle_from,
                cycle_length=cycle_length,
                precedence=precedence_of(self.tasks),
            )
        if not (name := REPLAY_RULES[rule]):
            return self
        who = "" if row < 0 else f" ({rows.name[row]})"
        task = None if row < 0 else row
        if isinstance(self.tasks, KernelChains) and row >= 0:
            task = int(self.tasks.places[0][row])
        raise ScheduleError(
            name, frame, task, time, f"frame {frame} {_RULES[name]}{who}, at {time}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per frame.

        The columns are ``start`` and ``end``, and as tuples the indices, ``tasks``, and the
        ``names`` of the tasks of the batch, in order. For chains also ``kernels``: for each of
        these tasks, the job and the kernel, from 0.

        >>> tasks = gs.KernelTasks([6, 6], [2, 3], name=["camera", "lidar"])
        >>> table = gs.BatchTable.from_dict(2, {(0,): 2, (1,): 3, (0, 1): 4})
        >>> gs.pbs.search(tasks, table).schedule.to_frame().values.tolist()
        [[0, 2, (0,), ('camera',)], [2, 5, (1,), ('lidar',)]]
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        columns: dict[str, Any] = {
            "start": self.start,
            "end": self.end,
            "tasks": [self.members(frame) for frame in range(len(self))],
        }
        columns["names"] = [names_of(tasks, self.tasks.name) for tasks in columns["tasks"]]
        if isinstance(self.tasks, KernelChains):
            runs = self.runs()
            at = zip(runs.start.tolist(), runs.task.tolist(), strict=True)
            ran = zip(runs.job.tolist(), runs.kernel.tolist(), strict=True)
            found = dict(zip(at, ran, strict=True))
            starts = self.start.tolist()
            columns["kernels"] = [
                tuple(found[start, task] for task in tasks)
                for start, tasks in zip(starts, columns["tasks"], strict=True)
            ]
        return columns

    def __repr__(self) -> str:
        return (
            f"<Schedule: {len(self)} frames of {self.tasks.n} tasks, "
            f"busy {self.utilization:.1%} of {self.horizon} ticks>"
        )

    # Pictures

    def plot(
        self, ax: Axes | None = None, *, unit: str | None = None, until: int | None = None
    ) -> Axes:
        """Draw the schedule with Matplotlib and return the axes.

        There is one row per task, with its numbered jobs; grey stripes are the frames. Upward
        arrows are releases and downward arrows deadlines; a red cross is a missed deadline.

        Parameters
        ----------
        ax
            Axes to draw on. Default: those of a new figure.
        unit
            Unit of a tick: None, "ns", "us", "ms" or "s".
        until
            Time in ticks up to which to draw. Default: the end of the first 60 frames.
        """
        from gpusched._draw import timeline_axes
        from gpusched.model import schedule_timeline

        drawn: Axes = timeline_axes.plot(schedule_timeline.picture(self, unit, until), ax)
        return drawn

    def to_svg(self, *, unit: str | None = None, until: int | None = None) -> str:
        """Return the picture of `plot` as an SVG document, made without Matplotlib."""
        from gpusched._draw import svg
        from gpusched.model import schedule_timeline

        return svg.svg(schedule_timeline.picture(self, unit, until))

    def _repr_svg_(self) -> str:
        return self.to_svg()

    # Files

    def with_tick(self, tick: str | int, overhead: int = 0) -> Schedule:
        """The same schedule with the length of its tick, for files that programs play.

        >>> tasks = gs.KernelTasks([4], wcet=[1])
        >>> gs.Schedule([0], [1], [1], tasks).with_tick("ms").tick
        1000000

        Parameters
        ----------
        tick
            A unit, a time with a unit, or a number of ns.
        overhead
            Ticks of the length of each frame that are kept for its dispatch.
        """
        from gpusched.model.workload.time_units import tick_of

        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        length = tick_of(tick) if isinstance(tick, str) else integer64(tick, "tick")
        return Schedule(**columns | {"tick": length, "overhead": overhead})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file that `load` reads back as an equal schedule.

        The file contains the frames and tasks, and of the table only the single tasks and the
        batches that the schedule uses, with their submission orders. A schedule with a ``tick``
        (see `with_tick`) is written in version 3 of the format, for which
        ``gpusched/model/schedule.schema.json`` is the schema and which programs play with the
        runtime library: it has the tick, and the jobs that a batch may lack without taking longer.
        That of a `KernelGraph` needs a tick and is written in version 4, which has what tasks need.
        An existing file is replaced only when the new one is complete. Raises OSError if it cannot
        be written.
        """
        from gpusched.model.schedule_file import write

        write(self, path)

    def save_header(self, path: str | os.PathLike[str], name: str = "plan") -> None:
        """Write a C header with the schedule as a constant ``gs_rt_plan_t`` of that name.

        A program that includes it and ``gpusched/rt.h`` plays the schedule without reading a file.
        The schedule must have a ``tick`` and must not have a ``cycle``. An existing file is
        replaced only when the new one is complete. Raises OSError if it cannot be written, and
        ValueError for a name that is no identifier of C.
        """
        from gpusched.model.schedule_file import write_header

        write_header(self, path, name)

    @staticmethod
    def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Schedule:
        """Read a file written by `save`, of at most ``max_bytes`` bytes (default: 4 GiB).

        The table of the result contains only the batches that the schedule uses. Raises OSError if
        the file cannot be read or is not a regular file, and ValueError, with the file and the
        field, if it was not written by `save`.
        """
        from gpusched.model.schedule_file import read

        return read(path, Schedule, max_bytes)

    def to_chrome_trace(self, path: str | os.PathLike[str], *, tick: int = 1) -> None:
        """Write the schedule for Perfetto (ui.perfetto.dev) and chrome://tracing.

        The process "GPU" has a lane for the frames, a lane per task for its jobs (with release,
        deadline and response as arguments), and a counter of the running kernels. ``tick`` is the
        length of a tick in ns. The file is written completely or not at all; it is compressed if
        its name ends in .gz. Raises OSError, and ValueError for a ``tick`` below 1.
        """
        from gpusched._draw import chrome_trace
        from gpusched.model import schedule_timeline

        chrome_trace.write_timeline(schedule_timeline.trace(self), path, tick)

    # What these share

    def _order(self, mask: int) -> tuple[int, ...]:
        if self.table is not None and self._time(mask) > 0:
            return tuple(int(i) for i in self.table.submission_order(mask))
        return members(mask)

    def _time(self, mask: int) -> int:
        """Completion time of a batch by the table, 0 when it is not eligible."""
        if isinstance(self.table, BatchFunction):
            return int(self.table.completion([mask])[0])
        return 0 if self.table is None else int(self.table.completion[mask])

    def _complete(self) -> bool:
        rows = rows_of(self.tasks)
        counts = [
            np.count_nonzero(self.batch & self.batch.dtype.type(1 << row)) for row in range(rows.n)
        ]
        hyperperiod = rows.hyperperiod
        jobs = zip(counts, rows.offset.tolist(), rows.period.tolist(), strict=True)
        return all(done >= -(-(hyperperiod - offset) // period) for done, offset, period in jobs)

    def _used(self) -> list[tuple[int, tuple[int, ...], int]]:
        """Of the used batches and the single rows: mask, submission order, completion time."""
        if self.table is None:
            return []
        masks = {int(mask) for mask in self.batch} | {1 << i for i in range(rows_of(self.tasks).n)}
        return [(m, self._order(m), self._time(m)) for m in sorted(masks)]


def _beyond(batches: npt.NDArray[Any], n: int) -> npt.NDArray[np.bool_]:
    """Whether masks have tasks that a set of n does not have."""
    most = min(n, 64)
    if most == 64:
        return np.zeros(batches.shape, np.bool_)
    return np.asarray(batches >> batches.dtype.type(min(most, 63)) != 0)
