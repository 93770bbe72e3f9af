"""Tasks that compute on CPUs and on a GPU: what a job runs, how often, and by when."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import (
    FloatArray,
    Int64Array,
    at_least,
    frozen,
    int_array,
    one_of,
    task_names,
)
from gpusched._support.frozen import Frozen
from gpusched._support.text import clip
from gpusched.model.gpu_times import to_segments
from gpusched.model.host_lists import from_lists, is_ragged, jobs_to_rows, sm_sets

__all__ = ["MAX_SMS", "MODES", "HostTasks"]

MODES = ("suspend", "busy")
"""What a task does on its CPU while the GPU works for it: it suspends, or it keeps the CPU."""

MAX_SMS = 1024
"""An SM's index is below this."""

BoolArray = npt.NDArray[np.bool_]

_Columns = tuple[
    Int64Array, Int64Array, Int64Array, Int64Array,
    Int64Array, Int64Array, Int64Array, Int64Array,
]  # fmt: skip

_ROW = ("period", "deadline", "priority", "offset", "core", "segments")
_GPU = ("copy_in", "kernel", "copy_out")
_LEAST = {"period": 1, "deadline": 1, "core": -1}
_SHOWN_ROWS = 40


@dataclass(frozen=True, eq=False, repr=False)
class HostTasks(Frozen):
    """Sporadic tasks with CPU and GPU segments: one set of n tasks, or a stack of N such sets.

    A job runs CPU segment 0, GPU segment 0, CPU segment 1, ..., one after the other, and ends with
    a CPU segment; a CPU segment of length 0 is none. A GPU segment is a copy in (with whatever else
    the CPU does before the kernel), a kernel, and a copy out (the STGM paper, section III: mhd, e,
    mdh). How long a kernel takes depends on the number of SMs it has. Times are integer ticks.

    Parameters
    ----------
    period
        Least time between two releases of a task (T), shape ``(n,)`` or ``(N, n)``.
    cpu
        CPU segments, ``(n, w + 1)`` or ``(N, n, w + 1)``, where w is the most GPU segments of a
        task; ``(n,)`` for tasks without any.
    copy_in, copy_out
        Of each GPU segment, ``(n, w)`` or ``(N, n, w)``; ``(n,)`` or one number for all alike (0).
    kernel
        Its time on 1, 2, ..., K SMs, ``(n, w, K)`` or ``(N, n, w, K)``; on more than K as on K.
        Also ``(n, w)``, ``(n,)`` or one number, for kernels that do not depend on the SMs (0).
    deadline
        Relative deadline (D); the period unless given.
    priority
        Smaller is more urgent; deadline-monotonic, ties by index, unless given. Priorities may tie
        here; tests and simulations of fixed priorities refuse ties.
    offset
        Of the first release (0); the tests do not look at it, as releases are sporadic.
    core
        The core that each task is assigned to; -1 while it is not (the default).
    sm
        The SMs that each task's kernels use: bool ``(n, M)`` or ``(N, n, M)``, or lists of SM
        indices, one list per task (one for all is refused: that would let all of them share).
        None given: M = 0.
    segments
        The number of GPU segments of each task's jobs; w unless given. What the arrays hold beyond
        must be 0.
    monotone
        Whether a kernel time that grows with the number of SMs is replaced by the largest time with
        as many SMs or more, which is a safe over-approximation; it is refused otherwise.
    name
        One label per task; ``task 0``, ``task 1``, ... unless given.

    For one set, ``cpu``, ``copy_in``, ``kernel`` and ``copy_out`` may be lists of lists that differ
    in length; a task with k GPU segments then has k + 1 entries in ``cpu`` and k in the others::

        HostTasks([60, 80, 120], cpu=[[3, 2], [5, 2, 1], [10]],
                  copy_in=[[1], [2, 2], []], kernel=[[[6, 4]], [8, [9, 5]], []], copy_out=1)

    `from_segments` takes them in the order in which a job runs them.

    Raises
    ------
    ValueError
        Zero, negative, fractional or NaN entries, shapes that do not fit each other, kernels that
        take longer on more SMs, jobs that do nothing, SM indices that are none.
    OverflowError
        Entries beyond 64 bits.
    TypeError
        What is no number.
    """

    period: Int64Array
    deadline: Int64Array
    priority: Int64Array
    offset: Int64Array
    core: Int64Array
    segments: Int64Array
    cpu: Int64Array
    copy_in: Int64Array
    kernel: Int64Array
    copy_out: Int64Array
    sm: BoolArray
    name: tuple[str, ...]

    def __init__(
        self,
        period: Any,
        cpu: Any,
        copy_in: Any = 0,
        kernel: Any = 0,
        copy_out: Any = 0,
        *,
        deadline: Any = None,
        priority: Any = None,
        offset: Any = 0,
        core: Any = -1,
        sm: Any = None,
        segments: Any = None,
        monotone: bool = False,
        name: Sequence[str] | None = None,
    ) -> None:
        jobs = {"cpu": cpu, "copy_in": copy_in, "kernel": kernel, "copy_out": copy_out}
        if any(is_ragged(value) for value in jobs.values()):
            if segments is not None:
                raise ValueError("segments: follows from lists of different lengths; give arrays")
            jobs, segments = from_lists(jobs)
        row = {
            "period": period,
            "deadline": period if deadline is None else deadline,
            "priority": 0 if priority is None else priority,
            "offset": offset,
            "core": core,
            "segments": 0 if segments is None else segments,
        }
        arrays = {key: int_array(value, key) for key, value in (row | jobs).items()}
        sets = sm_sets(sm, MAX_SMS)
        shape = _shape(arrays, sets)
        for key, array in arrays.items():
            if key != "priority":
                at_least(array, _LEAST.get(key, 0), key)
        if arrays["cpu"].ndim > 1 and arrays["cpu"].shape[-1] == 0:
            raise ValueError("cpu: the lists of segments are empty")
        if arrays["cpu"].ndim < 2:
            arrays["cpu"] = arrays["cpu"][..., None]
        if segments is None:
            arrays["segments"] = np.asarray(arrays["cpu"].shape[-1] - 1, np.int64)
        _fit(arrays["cpu"], shape + arrays["cpu"].shape[-1:], "cpu")
        for key in _ROW:
            arrays[key] = _fit(arrays[key], shape, key).copy()
        _segments(arrays, shape)
        if monotone:
            largest = np.maximum.accumulate(arrays["kernel"][..., ::-1], axis=-1)[..., ::-1]
            arrays["kernel"] = np.ascontiguousarray(largest)
        _check_kernels(arrays["kernel"])
        _check_jobs(arrays)
        if priority is None:
            arrays["priority"] = _ranks(arrays["deadline"])
        for f in fields(self):
            if f.name in arrays:
                object.__setattr__(self, f.name, frozen(arrays[f.name]))
        object.__setattr__(self, "sm", frozen(_fit_sm(sets, shape)))
        object.__setattr__(self, "name", task_names(name, shape[-1]))

    @classmethod
    def from_segments(cls, period: Any, jobs: Iterable[Any], **options: Any) -> HostTasks:
        """One set of tasks whose jobs are listed as they run.

        Each job is a list of CPU segments, which are numbers, and GPU segments, which are triples
        ``(copy_in, kernel, copy_out)`` whose kernel is a number or a list of its times on 1, 2, ...
        SMs::

            HostTasks.from_segments([60, 80, 120], [[3, (1, 6, 1), 2],
                                                    [5, (2, [8, 5], 1), (2, 9, 1)], [10]])

        ``options`` are the other parameters of ``HostTasks``. Raises what that raises, ValueError
        for an empty list and for two CPU segments in a row, and TypeError for what is neither a
        number nor a triple.
        """
        cpu, *gpu = jobs_to_rows(jobs)
        periods = int_array(period, "period")
        if periods.ndim and periods.shape[-1] != len(cpu):
            raise ValueError(f"jobs: has {len(cpu)} entries for {periods.shape[-1]} tasks")
        return cls(period, cpu, *gpu, **options)

    @classmethod
    def from_gpu_times(
        cls, period: Any, cpu: Any, gpu: Any = 0, section: Any = None, **options: Any
    ) -> HostTasks:
        """Tasks that use the GPU once per job or never, as Elliott and Anderson 2010 has them.

        ``cpu`` is a job's CPU time with its copies (e), ``gpu`` its kernel (s; 0 for a task that
        does not use the GPU) and ``section`` its critical section, the kernel with the copies (cs;
        the kernel alone unless given): arrays of shape ``(n,)`` or ``(N, n)``, or one number for
        all. The copies, cs - s, become the segment's copy in::

            HostTasks.from_gpu_times([30, 30, 30], cpu=[5, 3, 3], gpu=[0, 2, 2], section=[0, 4, 4])

        ``options`` are the other parameters of ``HostTasks``. Raises what that raises, and
        ValueError for a critical section shorter than its kernel or longer than the job.
        """
        return cls(period, **to_segments(period, cpu, gpu, section), **options)

    # Sizes and parts

    @property
    def n(self) -> int:
        """Tasks in a set."""
        return int(self.period.shape[-1])

    @property
    def width(self) -> int:
        """The most GPU segments that there is room for (w)."""
        return int(self.copy_in.shape[-1])

    @property
    def columns(self) -> int:
        """For how many SMs kernel times are given (K)."""
        return int(self.kernel.shape[-1])

    @property
    def sms(self) -> int:
        """How many SMs ``sm`` speaks of (M)."""
        return int(self.sm.shape[-1])

    @property
    def is_stack(self) -> bool:
        """Whether this is a stack of sets."""
        return self.period.ndim == 2

    @property
    def is_placed(self) -> bool:
        """Whether every task has a core, and every task with GPU segments an SM."""
        return bool((self.core >= 0).all() and (self.sm.any(axis=-1) | (self.segments == 0)).all())

    def __len__(self) -> int:
        """Sets in a stack, tasks in a single set."""
        return int(self.period.shape[0])

    def __getitem__(self, index: int | slice | npt.NDArray[Any]) -> HostTasks:
        """Set ``index`` of a stack, or a part of the stack (a slice, or an array of sets)."""
        if not self.is_stack:
            raise TypeError("this is one task set; only a stack of sets can be indexed")
        parts = {f.name: getattr(self, f.name)[index] for f in fields(self) if f.name != "name"}
        return self._replaced(**{key: np.ascontiguousarray(part) for key, part in parts.items()})

    def with_placement(self, core: Any = None, sm: Any = None) -> HostTasks:
        """A copy with other cores, other SMs, or both; see the parameters of ``HostTasks``."""
        shape = self.period.shape
        changed: dict[str, Any] = {}
        if core is not None:
            cores = int_array(core, "core")
            at_least(cores, -1, "core")
            changed["core"] = _fit(cores, shape, "core").copy()
        if sm is not None:
            changed["sm"] = _fit_sm(sm_sets(sm, MAX_SMS), shape)
        return self._replaced(**changed)

    @classmethod
    def _of(cls, **arrays: Any) -> HostTasks:
        """Of arrays that are as they have to be: nobody checks or copies them."""
        shape = arrays["period"].shape
        rest = {
            "deadline": arrays["period"],
            "offset": np.zeros(shape, np.int64),
            "core": np.full(shape, -1, np.int64),
            "sm": np.zeros((*shape, 0), np.bool_),
            "name": task_names(None, shape[-1]),
        }
        other = object.__new__(cls)
        for key, value in (rest | arrays).items():
            object.__setattr__(other, key, frozen(value) if key != "name" else value)
        return other

    def _replaced(self, **changed: Any) -> HostTasks:
        """A copy with other arrays, which nobody checks or copies."""
        other = object.__new__(HostTasks)
        for f in fields(self):
            value = changed.get(f.name, getattr(self, f.name))
            if isinstance(value, np.ndarray):
                frozen(value)
            object.__setattr__(other, f.name, value)
        return other

    # What jobs take

    @property
    def cpu_segments(self) -> Int64Array:
        """CPU segments of a job that are not empty (theta of the STGM paper), per task."""
        count: Int64Array = (self.cpu > 0).sum(axis=-1, dtype=np.int64)
        return count

    @property
    def cpu_time(self) -> Int64Array:
        """Sum of a job's CPU segments (C), shape of ``period``."""
        total: Int64Array = self.cpu.sum(axis=-1)
        return total

    @property
    def copy_time(self) -> Int64Array:
        """Sum of a job's copies, in and out (G^m), shape of ``period``."""
        total: Int64Array = self.copy_in.sum(axis=-1) + self.copy_out.sum(axis=-1)
        return total

    def kernel_time(self, sms: Any = None) -> Int64Array:
        """Time of each kernel, shape ``(n, w)`` or ``(N, n, w)``.

        ``sms``: on how many SMs, one number or one per task; the number that each task has in
        ``sm`` unless given. Raises ValueError for less than one SM.
        """
        if sms is None:
            count = self.sm.sum(axis=-1)
            bad = (count == 0) & (self.segments > 0)
            if bad.any():
                at = tuple(int(i) for i in np.argwhere(bad)[0])
                raise ValueError(f"sm{list(at)}: the task has no SM; give sms=, or place it")
            count = np.maximum(count, 1)
        else:
            count = int_array(sms, "sms")
            at_least(count, 1, "sms")
        column = _fit(np.minimum(count, self.columns), self.period.shape, "sms") - 1
        at_column = np.broadcast_to(column[..., None, None], (*self.copy_in.shape, 1))
        times: Int64Array = np.take_along_axis(self.kernel, at_column, axis=-1)[..., 0]
        return times

    def gpu_time(self, sms: Any = None) -> Int64Array:
        """Sum of a job's GPU segments, copies and kernels (G), shape of ``period``.

        ``sms`` as in `kernel_time`.
        """
        total: Int64Array = self.copy_time + self.kernel_time(sms).sum(axis=-1)
        return total

    def utilization(self, mode: str = "suspend", sms: Any = None) -> FloatArray:
        """What share of a core each task needs, shape of ``period`` (the STGM paper, section III).

        (C + G^m) / T for tasks that suspend during kernels, (C + G) / T for tasks that keep their
        CPU; ``sms`` as in `kernel_time`, looked at in mode "busy" only.
        """
        one_of(mode, MODES, "mode")
        gpu = self.copy_time if mode == "suspend" else self.gpu_time(sms)
        share: FloatArray = (self.cpu_time + gpu) / self.period
        return share

    @property
    def hyperperiod(self) -> Any:
        """Least common multiple of the periods: an int, or a list of ints for a stack."""
        values = [math.lcm(*row) for row in np.atleast_2d(self.period).tolist()]
        return values if self.is_stack else values[0]

    def _columns(self) -> _Columns:
        """The arrays as the core takes them, with an axis for the sets in any case."""
        rows = (self.period, self.deadline, self.priority, self.segments)
        jobs = (self.cpu, self.copy_in, self.kernel, self.copy_out)
        if self.is_stack:
            return (*rows, *jobs)
        a, b, c, d = (array[None] for array in rows)
        e, f, g, h = (array[None] for array in jobs)
        return (a, b, c, d, e, f, g, h)

    # As any object

    def __reduce__(self) -> Any:
        return (_unpickle, ({f.name: getattr(self, f.name) for f in fields(self)},))

    def to_frame(self) -> Any:
        """A pandas table with one row per task (and set); times are sums over a job.

        The kernels' time is that on one SM (``kernel``) and on as many as there are times for
        (``kernel_least``).
        """
        import pandas as pd

        sets, n = np.atleast_2d(self.period).shape
        columns: dict[str, Any] = {}
        if self.is_stack:
            columns["set"] = np.repeat(np.arange(sets), n)
        columns["task"] = np.tile(np.arange(n), sets)
        columns["name"] = np.tile(np.array(self.name, dtype=object), sets)
        for key in _ROW:
            columns[key] = getattr(self, key).ravel()
        columns["cpu"] = self.cpu_time.ravel()
        columns["copy_in"] = self.copy_in.sum(axis=-1).ravel()
        columns["kernel"] = self.kernel[..., 0].sum(axis=-1).ravel()
        columns["kernel_least"] = self.kernel[..., -1].sum(axis=-1).ravel()
        columns["copy_out"] = self.copy_out.sum(axis=-1).ravel()
        columns["sms"] = self.sm.sum(axis=-1).ravel()
        return pd.DataFrame(columns)

    def _job(self, i: int) -> list[Any]:
        """Task i's job as `from_segments` takes it."""
        job: list[Any] = []
        for j in range(int(self.segments[i]) + 1):
            if self.cpu[i, j] > 0:
                job.append(int(self.cpu[i, j]))
            if j < self.segments[i]:
                times = self.kernel[i, j].tolist()
                while len(times) > 1 and times[-1] == times[-2]:
                    times.pop()
                kernel = times if len(times) > 1 else times[0]
                job.append((int(self.copy_in[i, j]), kernel, int(self.copy_out[i, j])))
        return job

    def __repr__(self) -> str:
        if self.is_stack:
            return f"<HostTasks: {len(self)} sets of {self.n} tasks>"
        shown = f"HostTasks.from_segments({clip(str(self.period[:20].tolist()), 80)}, "
        jobs = ", ".join(str(self._job(i)) for i in range(min(self.n, 20)))
        more = ""
        if (self.deadline != self.period).any():
            more += f", deadline={self.deadline.tolist()}"
        if (self.core >= 0).any():
            more += f", core={self.core.tolist()}"
        if self.sms:
            more += f", sm={[np.flatnonzero(row).tolist() for row in self.sm]}"
        if len(shown) + len(jobs) < 160 and len(more) < 160 and self.n <= 20:
            return f"{shown}[{jobs}]{more})"
        segments = int(self.segments.sum())
        return f"<HostTasks: {self.n} tasks, {segments} GPU segments>"

    def _repr_html_(self) -> str:
        if self.is_stack:
            return f"<p>HostTasks: {len(self)} sets of {self.n} tasks</p>"
        from html import escape

        placed = bool((self.core >= 0).any() or self.sms)
        keys = ["period", "deadline", "priority", "job", *(["core", "SMs"] if placed else [])]
        head = "".join(f"<th>{key}</th>" for key in keys)
        rows = "".join(
            f"<tr><th>{escape(self.name[i][:60])}</th>"
            + "".join(f"<td>{escape(self._cell(i, key))}</td>" for key in keys)
            + "</tr>"
            for i in range(min(self.n, _SHOWN_ROWS))
        )
        return f"<table><tr><th></th>{head}</tr>{rows}</table>"

    def _cell(self, i: int, key: str) -> str:
        if key == "job":
            return clip(", ".join(str(part) for part in self._job(i)), 80)
        if key == "SMs":
            return clip(", ".join(map(str, np.flatnonzero(self.sm[i]))), 40)
        value = int(getattr(self, key)[i])
        return "" if key == "core" and value < 0 else str(value)


# Shapes


def _shape(arrays: dict[str, Int64Array], sets: BoolArray | None) -> tuple[int, ...]:
    """Of ``period`` and its like: the first that has most axes says it."""
    leads: dict[str, tuple[int, ...]] = {}
    for key, array in arrays.items():
        tail = _tail(key, array.ndim)
        leads[key] = array.shape[: array.ndim - tail]
        if len(leads[key]) > 2:
            raise ValueError(f"{key}: must have at most {2 + tail} dimensions, has {array.ndim}")
    if sets is not None:
        leads["sm"] = sets.shape[:-1]
    shape: tuple[int, ...] = max(leads.values(), key=len)  # the first of the longest
    if len(shape) == 0:
        raise ValueError("period: must be a sequence with one entry per task")
    if shape[-1] == 0:
        raise ValueError("period: a task set needs at least one task")
    return shape


def _tail(key: str, ndim: int) -> int:
    """How many of an array's axes are about a task's segments, not about which task."""
    if key in _ROW:
        return 0
    return min(2 if key == "kernel" else 1, max(ndim - 1, 0))


def _fit(array: Any, shape: tuple[int, ...], key: str) -> Any:
    try:
        return np.ascontiguousarray(np.broadcast_to(array, shape))
    except ValueError:
        raise ValueError(f"{key}: shape {array.shape} does not fit {shape}") from None


def _segments(arrays: dict[str, Int64Array], shape: tuple[int, ...]) -> None:
    """Brings what jobs run into shape; nothing is left beyond a task's last segment."""
    width, segments = arrays["cpu"].shape[-1] - 1, arrays["segments"]
    over = segments > width
    if over.any():
        at = _first(over)
        raise ValueError(
            f"segments{list(at)} = {segments[at]}: must not exceed {width}, as cpu has room for "
            f"{width + 1} CPU segments"
        )
    for key in ("cpu", *_GPU):
        given = arrays[key]
        explicit = given.ndim > 0
        if key != "cpu" and width == 0 and given.any():
            raise ValueError(
                f"{key}: there are no GPU segments, as cpu has room for one CPU segment only"
            )
        if given.ndim == 1:
            given = given[:, None]  # one number per task
        tail: tuple[int, ...] = (width + 1,) if key == "cpu" else (width,)
        if key == "kernel":
            if given.ndim <= 2:
                given = given[..., None]  # for any number of SMs
            if given.shape[-1] == 0:
                raise ValueError("kernel: must have an entry for at least one SM")
            tail += (given.shape[-1],)
        full = _fit(given, shape + tail, key).copy()
        used = full.any(axis=-1) if key == "kernel" else full != 0
        count = segments + 1 if key == "cpu" else segments
        beyond = np.arange(tail[0]) >= count[..., None]
        if explicit and given.shape[given.ndim - len(tail)] == 1:  # for all of a task's segments
            left = beyond & used & (count == 0)[..., None]
        else:
            left = beyond & used & explicit
        if left.any():
            at = _first(left)
            raise ValueError(
                f"{key}{list(at)}: must be 0, as the task has {segments[at[:-1]]} GPU segments"
            )
        full[beyond] = 0
        arrays[key] = full


def _check_kernels(kernel: Int64Array) -> None:
    grows = kernel[..., 1:] > kernel[..., :-1]
    if grows.any():
        *where, k = _first(grows)
        before, at = (*where, k), (*where, k + 1)
        raise ValueError(
            f"kernel{list(at)} = {kernel[at]}: takes longer on {k + 2} SMs than on {k + 1} "
            f"({kernel[before]}); monotone=True takes the largest from there on"
        )


def _check_jobs(arrays: dict[str, Int64Array]) -> None:
    """Jobs do something, and what they take can be added up."""
    parts = (arrays["cpu"], arrays["copy_in"], arrays["kernel"][..., 0], arrays["copy_out"])
    idle = ~np.logical_or.reduce([part.any(axis=-1) for part in parts])
    if idle.any():
        raise ValueError(f"cpu{list(_first(idle))}: the task's jobs have nothing to do")
    total = np.cumsum(sum(part.sum(axis=-1, dtype=np.float64) for part in parts), axis=-1)
    long = np.asarray(total >= 2.0**60)
    if long.any():
        at = list(_first(long))
        raise OverflowError(f"cpu{at}: the jobs of the set together overflow the clock")


def _ranks(deadline: Int64Array) -> Int64Array:
    """Deadline-monotonic priorities, ties by index."""
    order = np.argsort(deadline, axis=-1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(order.shape[-1])[(None,) * (order.ndim - 1)], axis=-1)
    return ranks.astype(np.int64, copy=False)


def _fit_sm(sets: BoolArray | None, shape: tuple[int, ...]) -> BoolArray:
    if sets is None:
        return np.zeros((*shape, 0), np.bool_)
    if sets.shape[-2] != shape[-1]:  # also one row for all: sets are given task by task
        raise ValueError(
            f"sm: has {sets.shape[-2]} {'row' if sets.shape[-2] == 1 else 'rows'} for "
            f"{shape[-1]} tasks"
        )
    fitted: BoolArray = _fit(sets, (*shape, sets.shape[-1]), "sm").copy()
    return fitted


def _first(bad: BoolArray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(bad)[0])


def _unpickle(values: dict[str, Any]) -> HostTasks:
    return HostTasks(**values)


def container_period(hosts: HostTasks) -> Int64Array:
    """The period of the container's server unless given: the shortest of the GPU-using tasks."""
    inside = hosts.segments > 0
    shortest = np.where(inside, hosts.period, np.iinfo(np.int64).max).min(axis=-1)
    found: Int64Array = np.where(inside.any(axis=-1), shortest, hosts.period.min(axis=-1))
    return found
