"""Sporadic tasks with CPU and GPU segments: execution times, periods, cores, SMs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import (
    FloatArray,
    Int64Array,
    at_least,
    flag,
    frozen,
    int_array,
    one_of,
    task_names,
)
from gpusched._support.text import clip
from gpusched.model.frames import Table
from gpusched.model.host_lists import from_lists, is_ragged, jobs_to_rows, sm_sets, to_segments
from gpusched.model.task_sets import TaskSet, unless_derived

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MAX_SMS", "MODES", "HostTasks"]

MODES = ("suspend", "busy")
"""Modes of a task during its kernels: it suspends, or it keeps the CPU busy."""

MAX_SMS = 1024
"""Largest number of SMs; their indices are below it."""

BoolArray = npt.NDArray[np.bool_]

Times = npt.ArrayLike | Sequence[Any]
"""Numbers of segments: an array, or lists of lists that differ in length."""

SMSets = npt.NDArray[np.bool_] | Sequence[Any]
"""Sets of SMs: bool flags, or lists of SM indices."""

_Columns = tuple[
    Int64Array, Int64Array, Int64Array, Int64Array,
    Int64Array, Int64Array, Int64Array, Int64Array,
]  # fmt: skip

_ROW = ("period", "deadline", "priority", "offset", "core", "segments")
_GPU = ("copy_in", "kernel", "copy_out")
_JOB = ("cpu", *_GPU)
_LEAST = {"period": 1, "deadline": 1, "core": -1}
_SHOWN_ROWS = 40


class _Options(TypedDict, total=False):
    """The keyword arguments of `HostTasks` that say nothing of segments."""

    deadline: npt.ArrayLike | None
    priority: npt.ArrayLike | None
    offset: npt.ArrayLike
    core: npt.ArrayLike
    sm: SMSets | None
    monotone: bool
    name: Sequence[str] | None


class _Changes(_Options, total=False):
    """The arguments of `HostTasks`."""

    period: npt.ArrayLike
    cpu: Times
    copy_in: Times
    kernel: Times
    copy_out: Times
    segments: npt.ArrayLike | None


@dataclass(frozen=True, eq=False, repr=False)
class HostTasks(TaskSet):
    """Sporadic tasks with CPU and GPU segments: one set of n tasks, or a stack of N such sets.

    A job runs CPU segment 0, GPU segment 0, CPU segment 1, ..., one after the other, and ends with
    a CPU segment; a CPU segment of length 0 is skipped. A GPU segment is a copy in (with whatever
    else the CPU does before the kernel), a kernel, and a copy out ([RTCSA19], section III: mhd, e,
    mdh). The time of a kernel depends on its number of SMs. Times are integer ticks; the unit is
    the caller's.

    >>> hosts = gs.HostTasks([60, 80, 120], cpu=[[3, 2], [5, 2, 1], [10]],
    ...     copy_in=[[1], [2, 2], []], kernel=[[[6, 4]], [8, [9, 5]], []], copy_out=1)
    >>> hosts.cpu_time.tolist(), hosts.gpu_time(sms=2).tolist()
    ([5, 8, 10], [6, 19, 0])
    >>> hosts[:2].replace(period=[50, 40]).priority.tolist()
    [1, 0]

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
        Relative deadline (D); derived from the period (equal to it) unless given.
    priority
        Smaller is more urgent; derived from the deadlines (deadline-monotonic, ties by index)
        unless given. Priorities may tie here; tests and simulations of fixed priorities refuse
        ties.
    offset
        Time of the first release (0); the tests ignore it, as releases are sporadic.
    core
        The core that each task is assigned to; -1 for a task without one (the default).
    sm
        The SMs that each task's kernels use: bool ``(n, M)`` or ``(N, n, M)``, or lists of SM
        indices, one list per task (one for all is refused: that would let all of them share).
        None: M = 0.
    segments
        The number of GPU segments of each task's jobs; derived from the lists' lengths, or w,
        unless given. The arrays must be 0 beyond.
    monotone
        Whether a kernel time that grows with the number of SMs is replaced by the largest time with
        as many SMs or more, which is a safe over-approximation; it is refused otherwise.
    name
        One label per task; ``task 0``, ``task 1``, ... unless given.

    For one set, ``cpu``, ``copy_in``, ``kernel`` and ``copy_out`` may be lists of lists that differ
    in length; a task with k GPU segments then has k + 1 entries in ``cpu`` and k in the others.
    `from_segments` takes them in the order in which a job runs them.

    Raises
    ------
    ValueError
        Zero, negative, fractional or NaN entries, shapes that do not fit each other, kernels that
        take longer on more SMs, jobs without any work, SM indices out of range.
    OverflowError
        Entries that do not fit 64 bits; jobs whose times add up to 2**60 ticks.
    TypeError
        Entries that are not numbers.
    """

    _KIND: ClassVar[str] = "HostTasks"
    _ARRAYS: ClassVar[tuple[str, ...]] = (*_ROW, *_JOB, "sm")

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
    _derived: Mapping[str, Any] = field(repr=False)

    def __init__(
        self,
        period: npt.ArrayLike,
        cpu: Times,
        copy_in: Times = 0,
        kernel: Times = 0,
        copy_out: Times = 0,
        *,
        deadline: npt.ArrayLike | None = None,
        priority: npt.ArrayLike | None = None,
        offset: npt.ArrayLike = 0,
        core: npt.ArrayLike = -1,
        sm: SMSets | None = None,
        segments: npt.ArrayLike | None = None,
        monotone: bool = False,
        name: Sequence[str] | None = None,
        _derived: Mapping[str, Any] | None = None,  # passed by dataclasses.replace
    ) -> None:
        deadline = unless_derived(deadline, "deadline", _derived)
        priority = unless_derived(priority, "priority", _derived)
        name = unless_derived(name, "name", _derived)
        sources = {"deadline": deadline, "priority": priority, "segments": segments, "name": name}
        derived = [key for key, given in sources.items() if given is None]
        if _derived and segments is _derived.get("segments"):
            derived.append("segments")
        jobs: dict[str, Any] = {
            "cpu": cpu,
            "copy_in": copy_in,
            "kernel": kernel,
            "copy_out": copy_out,
        }
        if any(is_ragged(value) for value in jobs.values()):
            if segments is not None:
                raise ValueError(
                    "segments: got numbers, expected None, as they follow from the lists of cpu; "
                    "to change them in a set, see its method replace"
                )
            jobs, segments = from_lists(jobs)
        row: dict[str, Any] = {
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
            raise ValueError("cpu: got empty lists, expected at least one CPU segment")
        if arrays["cpu"].ndim < 2:
            arrays["cpu"] = arrays["cpu"][..., None]
        if segments is None:
            arrays["segments"] = np.asarray(arrays["cpu"].shape[-1] - 1, np.int64)
        _fit(arrays["cpu"], shape + arrays["cpu"].shape[-1:], "cpu")
        for key in _ROW:
            arrays[key] = _fit(arrays[key], shape, key).copy()
        _segments(arrays, shape)
        if flag(monotone, "monotone"):
            largest = np.maximum.accumulate(arrays["kernel"][..., ::-1], axis=-1)[..., ::-1]
            arrays["kernel"] = np.ascontiguousarray(largest)
        _check_kernels(arrays["kernel"])
        _check_jobs(arrays)
        if priority is None:
            arrays["priority"] = _ranks(arrays["deadline"])
        for key, array in arrays.items():
            object.__setattr__(self, key, frozen(array))
        object.__setattr__(self, "sm", frozen(_fit_sm(sets, shape)))
        object.__setattr__(self, "name", task_names(name, shape[-1]))
        self._remember(derived)

    @classmethod
    def from_segments(
        cls, period: npt.ArrayLike, jobs: Iterable[Iterable[Any]], **options: Unpack[_Options]
    ) -> HostTasks:
        """Make one set of tasks from jobs, each a list of segments in the order of execution.

        Parameters
        ----------
        period
            As in the class.
        jobs
            One list per task of CPU segments, which are numbers, and GPU segments, which are
            triples ``(copy_in, kernel, copy_out)`` whose kernel is a number or a list of its times
            on 1, 2, ... SMs.
        options
            The other parameters of `HostTasks`.

        Raises
        ------
        ValueError
            An empty list, two CPU segments in a row, and what the class refuses.
        TypeError
            A segment that is neither a number nor a triple.

        >>> gs.HostTasks.from_segments([60, 80], [[3, (1, [6, 4], 1), 2], [5, (2, 9, 1)]]).segments
        array([1, 1])
        """
        cpu, *gpu = jobs_to_rows(jobs)
        periods = int_array(period, "period")
        if periods.ndim and periods.shape[-1] != len(cpu):
            raise ValueError(
                f"jobs: got {len(cpu)} entries, expected {periods.shape[-1]} as period"
            )
        return cls(period, cpu, *gpu, **options)

    @classmethod
    def from_gpu_times(
        cls,
        period: npt.ArrayLike,
        cpu: npt.ArrayLike,
        gpu: npt.ArrayLike = 0,
        section: npt.ArrayLike | None = None,
        **options: Unpack[_Options],
    ) -> HostTasks:
        """Make tasks that use the GPU once per job or never, as in [RTNS10].

        Parameters
        ----------
        period
            As in the class.
        cpu
            A job's CPU time with its copies (e): shape ``(n,)`` or ``(N, n)``, or one number.
        gpu
            Its kernel (s), 0 for a task that does not use the GPU; shapes as of ``cpu``.
        section
            Its critical section (cs): the kernel with the copies, the kernel alone unless given.
            The copies, cs - s, become the segment's copy in.
        options
            The other parameters of `HostTasks`.

        Raises
        ------
        ValueError
            A critical section shorter than its kernel or longer than the job, and what the class
            refuses.

        >>> hosts = gs.HostTasks.from_gpu_times([30, 30], cpu=[5, 3], gpu=[0, 2], section=[0, 4])
        >>> hosts.copy_in.tolist(), hosts.kernel_time(sms=1).tolist()
        ([[0], [2]], [[0], [2]])
        """
        return cls(period, **to_segments(period, cpu, gpu, section), **options)

    def replace(self, **changes: Unpack[_Changes]) -> HostTasks:
        """Make a set with other fields; what had been derived from them is derived anew.

        Parameters
        ----------
        changes
            Arguments as of `HostTasks`. None lets ``deadline``, ``priority``, ``segments`` or
            ``name`` be derived although they were given before.

        Returns
        -------
        HostTasks
            Fields that were given before, and are not among the changes, are kept. So are the
            numbers of GPU segments where ``cpu`` keeps its number of columns; otherwise, and where
            lists differ in length, they follow from ``cpu``.

        Raises what the class raises.

        >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1)], [5, (2, 9, 1)]])
        >>> hosts.replace(deadline=[60, 50]).priority.tolist()
        [1, 0]
        """
        kept = self._given()
        if "segments" not in kept:
            kept["segments"] = self.segments
        lists = [changes.get(key) for key in _JOB if key in changes]
        if any(is_ragged(value) for value in lists):
            if not self.is_stack:
                kept |= {key: self._lists(key) for key in _JOB}
            else:
                raise ValueError("cpu: got lists of different lengths, expected arrays for a stack")
            del kept["segments"]
        elif "segments" in self._derived and "cpu" in changes:
            if np.shape(changes["cpu"])[-1:] != self.cpu.shape[-1:] or np.ndim(changes["cpu"]) < 2:
                del kept["segments"]
        made = HostTasks(**{**kept, **changes})
        if "segments" not in changes and "segments" in self._derived:
            made._remember({*made._derived, "segments"})
        return made

    def _lists(self, key: str) -> list[list[Any]]:
        """A field of the segments as lists that are as long as each task needs."""
        more = 1 if key == "cpu" else 0
        rows = zip(getattr(self, key).tolist(), self.segments.tolist(), strict=True)
        return [row[: count + more] for row, count in rows]

    # Sizes

    @property
    def width(self) -> int:
        """Number of GPU segments that the arrays have room for (w)."""
        return int(self.copy_in.shape[-1])

    @property
    def columns(self) -> int:
        """Number of SMs for which kernel times are given (K)."""
        return int(self.kernel.shape[-1])

    @property
    def sms(self) -> int:
        """Number of SMs in ``sm`` (M)."""
        return int(self.sm.shape[-1])

    @property
    def is_placed(self) -> bool:
        """Whether every task has a core, and every task with GPU segments an SM."""
        return bool((self.core >= 0).all() and (self.sm.any(axis=-1) | (self.segments == 0)).all())

    # Sets of other arrays

    def with_placement(
        self, core: npt.ArrayLike | None = None, sm: SMSets | None = None
    ) -> HostTasks:
        """Make a set with other cores, other SMs, or both; see the parameters of the class.

        >>> gs.HostTasks([10, 20], cpu=[3, 4]).with_placement(core=[0, 1]).core.tolist()
        [0, 1]
        """
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
    def _of(cls, *, derived: Iterable[str] = (), **arrays: Any) -> HostTasks:
        """A set of arrays that are known to be right; they are not copied."""
        shape = arrays["period"].shape
        rest = {
            "deadline": arrays["period"],
            "offset": np.zeros(shape, np.int64),
            "core": np.full(shape, -1, np.int64),
            "sm": np.zeros((*shape, 0), np.bool_),
        }
        usual = [key for key in ("deadline", "name") if key not in arrays]
        name = arrays.pop("name", None) or task_names(None, shape[-1])
        return cls._made(rest | arrays, name, {*usual, *derived})

    def _replaced(self, **changed: Any) -> HostTasks:
        """A set with some other arrays, which are known to be right; they are not copied."""
        arrays = {key: changed.get(key, getattr(self, key)) for key in self._ARRAYS}
        return self._made(arrays, self.name, [key for key in self._derived if key not in changed])

    @classmethod
    def _derive(
        cls, arrays: dict[str, npt.NDArray[Any]], name: tuple[str, ...], derived: Iterable[str]
    ) -> Self:
        if "priority" in derived:
            arrays["priority"] = _ranks(arrays["deadline"])
        return cls._made(arrays, name, derived)

    @classmethod
    def _alike(cls, parts: Sequence[Self]) -> list[dict[str, npt.NDArray[Any]]]:
        """The arrays with room for the same numbers of segments and SMs."""
        width = max(part.width for part in parts)
        columns = max(part.columns for part in parts)
        sms = max(part.sms for part in parts)
        found = []
        for arrays, part in zip(super()._alike(parts), parts, strict=True):
            for key in _JOB:
                axis = part.period.ndim
                arrays[key] = _padded(arrays[key], axis, width - part.width)
            last = arrays["kernel"][..., -1:]
            more = np.repeat(last, columns - part.columns, axis=-1)
            arrays["kernel"] = np.concatenate([arrays["kernel"], more], axis=-1)
            arrays["sm"] = _padded(arrays["sm"], part.period.ndim, sms - part.sms)
            found.append(arrays)
        return found

    # What jobs take

    @property
    def cpu_segments(self) -> Int64Array:
        """CPU segments of a job that are not empty (theta in [RTCSA19]), per task."""
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

    def kernel_time(self, sms: npt.ArrayLike | None = None) -> Int64Array:
        """Time of each kernel, shape ``(n, w)`` or ``(N, n, w)``.

        ``sms`` is the number of SMs, one for all or one per task; that of each task in ``sm``
        unless given. Raises ValueError for less than one SM.
        """
        if sms is None:
            count = self.sm.sum(axis=-1)
            bad = (count == 0) & (self.segments > 0)
            if bad.any():
                at = tuple(int(i) for i in np.argwhere(bad)[0])
                raise ValueError(
                    f"sm{list(at)}: got no SM, expected one; give sms=, or place the task"
                )
            count = np.maximum(count, 1)
        else:
            count = int_array(sms, "sms")
            at_least(count, 1, "sms")
        column = _fit(np.minimum(count, self.columns), self.period.shape, "sms") - 1
        at_column = np.broadcast_to(column[..., None, None], (*self.copy_in.shape, 1))
        times: Int64Array = np.take_along_axis(self.kernel, at_column, axis=-1)[..., 0]
        return times

    def gpu_time(self, sms: npt.ArrayLike | None = None) -> Int64Array:
        """Sum of a job's GPU segments, copies and kernels (G), shape of ``period``.

        ``sms`` as in `kernel_time`.
        """
        total: Int64Array = self.copy_time + self.kernel_time(sms).sum(axis=-1)
        return total

    def utilization(
        self,
        mode: str = "suspend",
        sms: npt.ArrayLike | None = None,
    ) -> FloatArray:
        """Share of a core that each task needs, shape of ``period`` ([RTCSA19], section III).

        (C + G^m) / T for tasks that suspend during kernels, (C + G) / T for tasks that keep their
        CPU (``mode`` "busy"); ``sms`` as in `kernel_time`, used in mode "busy" only.
        """
        one_of(mode, MODES, "mode")
        gpu = self.copy_time if mode == "suspend" else self.gpu_time(sms)
        share: FloatArray = (self.cpu_time + gpu) / self.period
        return share

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

    def to_frame(self) -> pd.DataFrame:
        """Make a pandas table with one row per segment pair, of every task and set.

        Row ``segment`` of a task has its CPU segment of that number and the GPU segment after it,
        so that a task with k GPU segments has k + 1 rows; its last row, which ends the job, has
        missing values for the GPU segment. The columns are ``set`` (of a stack), ``task``,
        ``name``, ``segment``; ``cpu``, ``copy_in``, ``kernel_1`` to ``kernel_K`` (the kernel's time
        on 1 to K SMs), ``copy_out``; and, the same in all rows of a task, ``period``, ``deadline``,
        ``priority``, ``offset``, ``core`` (missing where there is none), ``sm`` (a tuple of SM
        indices), ``sms`` (M) and ``width`` (w).

        >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1)], [5]])
        >>> hosts.to_frame()[["task", "cpu", "kernel_1", "period"]].values.tolist()
        [[0, 3, 6, 60], [0, 0, <NA>, 60], [1, 5, <NA>, 80]]
        """
        import pandas as pd

        count = np.atleast_2d(self.segments).ravel() + 1  # rows of each task of each set
        tasks = np.repeat(np.arange(len(count)), count)
        segment = np.arange(len(tasks)) - np.repeat(np.cumsum(count) - count, count)
        last = segment == count[tasks] - 1
        columns: dict[str, Any] = {}
        if self.is_stack:
            columns["set"] = tasks // self.n
        columns["task"] = tasks % self.n
        columns["name"] = np.array(self.name, dtype=object)[tasks % self.n]
        columns["segment"] = segment
        size = (len(count), self.width)
        columns["cpu"] = self.cpu.reshape(len(count), self.width + 1)[tasks, segment]
        at = np.minimum(segment, max(self.width - 1, 0))
        kernel = self.kernel.reshape(*size, self.columns)
        gpu = {"copy_in": self.copy_in.reshape(size)}
        gpu |= {f"kernel_{k + 1}": kernel[..., k] for k in range(self.columns)}
        gpu["copy_out"] = self.copy_out.reshape(size)
        for key, array in gpu.items():
            values = array[tasks, at] if self.width else np.zeros(len(tasks), np.int64)
            columns[key] = pd.arrays.IntegerArray(values, last)
        for key in _ROW[:-2]:
            columns[key] = getattr(self, key).ravel()[tasks]
        core = self.core.ravel()[tasks]
        columns["core"] = pd.arrays.IntegerArray(core, core < 0)
        flags = self.sm.reshape(len(count), self.sms)
        sets = [tuple(np.flatnonzero(row).tolist()) for row in flags]
        columns["sm"] = pd.Series([sets[i] for i in tasks.tolist()], dtype=object)
        columns["sms"] = self.sms
        columns["width"] = self.width
        return pd.DataFrame(columns)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> HostTasks:
        """Make tasks of a pandas table such as `to_frame` makes.

        Parameters
        ----------
        frame
            One row per segment pair. Needed are ``task``, ``segment``, ``cpu`` and ``period``; the
            others are as in the class unless given. With the column ``set`` the result is a stack.

        Returns
        -------
        HostTasks
            ``from_frame(hosts.to_frame()) == hosts`` for all but empty stacks. Every column counts
            as given: leave ``priority`` out, say, to have it derived.

        Raises
        ------
        ValueError
            Missing values, segments that are not numbered from 0, unknown columns, rows of a task
            that contradict each other, and what the class raises.
        TypeError
            An object that is not a pandas table.
        """
        known = [*_ROW[1:-1], "copy_in", "copy_out", "sm", "sms", "width", "set", "name"]
        kernels = sorted(
            (key for key in map(str, getattr(frame, "columns", ())) if _kernel_sms(key)),
            key=_kernel_sms,
        )
        if [_kernel_sms(key) for key in kernels] != list(range(1, len(kernels) + 1)):
            raise ValueError(f"frame: got {', '.join(kernels)}, expected kernel_1, kernel_2, ...")
        needed = ["task", "segment", "cpu", "period"]
        table = Table(frame, needed, [*known, *kernels], ["set", "task", "segment"])
        segment = np.array(table.whole("segment"))
        first = np.flatnonzero(segment == 0)
        count = np.diff(np.append(first, table.length))
        expected = np.arange(table.length) - np.repeat(first, count) if len(first) else segment + 1
        if not np.array_equal(segment, expected):
            row = int(np.argmax(segment != expected)) if len(first) and first[0] == 0 else 0
            raise ValueError(
                f"frame: segment[{row}]: got {segment[row]}, expected the segments of each task, "
                "numbered from 0"
            )
        tasks = np.repeat(np.arange(len(first)), count)
        rows = table.first(first.tolist(), tasks.tolist(), [*_ROW[:-1], *known[-5:], "task"])
        stack = rows.groups()
        shape = stack or (rows.length,)
        most = int(count.max()) - 1
        width = max(rows.whole("width")) if "width" in rows else most
        sms = max(rows.whole("sms")) if "sms" in rows else 0
        sets = rows.entries("sm")
        for row, item in enumerate(sets):
            if not isinstance(item, (tuple, list, range, type(None))):
                raise ValueError(f"frame: sm[{row}]: got {item!r:.60}, expected a tuple of indices")
        chosen = sm_sets([item or () for item in sets], MAX_SMS)
        assert chosen is not None
        values: dict[str, Any] = {"sm": _padded(chosen, 1, sms - chosen.shape[1])}
        for key in _ROW[:-1]:
            if key in rows:
                values[key] = np.array(rows.whole(key, -1 if key == "core" else None), np.int64)
        values["segments"] = count - 1
        width = max(width, most)
        room: dict[str, tuple[int, ...]] = {
            "cpu": (width + 1,),
            "copy_in": (width,),
            "kernel": (width, max(len(kernels), 1)),
            "copy_out": (width,),
        }
        inside = segment < (count - 1)[tasks]
        for key, size in room.items():
            array = values[key] = np.zeros((len(first), *size), np.int64)
            if key == "cpu":
                array[tasks, segment] = table.whole("cpu")
                continue
            for k, column in enumerate(kernels if key == "kernel" else [key]):
                if column in table:
                    entries = _only(table, column, inside)
                    where = (tasks[inside], segment[inside])
                    array[(*where, k) if key == "kernel" else where] = entries
        reshaped = {key: v.reshape(*shape, *v.shape[1:]) for key, v in values.items()}
        return cls(**reshaped, name=rows.constant("name", shape[-1]))

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
        placed = bool((self.core >= 0).any() or self.sms)
        keys = ["period", "deadline", "priority", "job", *(["core", "SMs"] if placed else [])]
        head = "".join(f"<th>{key}</th>" for key in keys)
        rows = "".join(
            f"<tr><th>{escape(self.name[i][:60])}</th>"
            + "".join(f"<td>{escape(self._cell(i, key))}</td>" for key in keys)
            + "</tr>"
            for i in range(min(self.n, _SHOWN_ROWS))
        )
        note = f"<p>and {self.n - _SHOWN_ROWS} more tasks</p>" if self.n > _SHOWN_ROWS else ""
        return f"<table><tr><th></th>{head}</tr>{rows}</table>{note}"

    def _cell(self, i: int, key: str) -> str:
        if key == "job":
            return clip(", ".join(str(part) for part in self._job(i)), 80)
        if key == "SMs":
            return clip(", ".join(map(str, np.flatnonzero(self.sm[i]))), 40)
        value = int(getattr(self, key)[i])
        return "" if key == "core" and value < 0 else str(value)


# Shapes


def _shape(arrays: dict[str, Int64Array], sets: BoolArray | None) -> tuple[int, ...]:
    """The shape of ``period`` and its like: that of the first with the most axes."""
    leads: dict[str, tuple[int, ...]] = {}
    for key, array in arrays.items():
        tail = _tail(key, array.ndim)
        leads[key] = array.shape[: array.ndim - tail]
        if len(leads[key]) > 2:
            raise ValueError(f"{key}: got {array.ndim} dimensions, expected at most {2 + tail}")
    if sets is not None:
        leads["sm"] = sets.shape[:-1]
    shape: tuple[int, ...] = max(leads.values(), key=len)  # the first of the longest
    if len(shape) == 0:
        raise ValueError("period: got one number, expected a sequence with one entry per task")
    if shape[-1] == 0:
        raise ValueError("period: got no entries, expected at least one task")
    return shape


def _tail(key: str, ndim: int) -> int:
    """Number of an array's last axes that are about segments, not about sets and tasks."""
    if key in _ROW:
        return 0
    return min(2 if key == "kernel" else 1, max(ndim - 1, 0))


def _fit(array: Any, shape: tuple[int, ...], key: str) -> Any:
    try:
        return np.ascontiguousarray(np.broadcast_to(array, shape))
    except ValueError:
        raise ValueError(f"{key}: got shape {array.shape}, expected {shape}") from None


def _segments(arrays: dict[str, Int64Array], shape: tuple[int, ...]) -> None:
    """Bring the segments into shape; refuse times beyond a task's last segment."""
    width, segments = arrays["cpu"].shape[-1] - 1, arrays["segments"]
    over = segments > width
    if over.any():
        at = _first(over)
        raise ValueError(
            f"segments{list(at)}: got {segments[at]}, expected at most {width}, as cpu has room "
            f"for {width + 1} CPU segments"
        )
    for key in ("cpu", *_GPU):
        given = arrays[key]
        explicit = given.ndim > 0
        if key != "cpu" and width == 0 and given.any():
            raise ValueError(
                f"{key}: got GPU segments, expected none, as cpu has room for one CPU segment only"
            )
        if given.ndim == 1:
            given = given[:, None]  # one number per task
        tail: tuple[int, ...] = (width + 1,) if key == "cpu" else (width,)
        if key == "kernel":
            if given.ndim <= 2:
                given = given[..., None]  # for any number of SMs
            if given.shape[-1] == 0:
                raise ValueError("kernel: got no entries, expected one for at least one SM")
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
                f"{key}{list(at)}: got more, expected 0, as the task has {segments[at[:-1]]} GPU "
                "segments"
            )
        full[beyond] = 0
        arrays[key] = full


def _check_kernels(kernel: Int64Array) -> None:
    grows = kernel[..., 1:] > kernel[..., :-1]
    if grows.any():
        *where, k = _first(grows)
        before, at = (*where, k), (*where, k + 1)
        raise ValueError(
            f"kernel{list(at)}: got {kernel[at]} on {k + 2} SMs, expected at most the time on "
            f"{k + 1}, {kernel[before]}; monotone=True takes the largest from there on"
        )


def _check_jobs(arrays: dict[str, Int64Array]) -> None:
    """Refuse jobs without work, and times whose sum would overflow."""
    parts = (arrays["cpu"], arrays["copy_in"], arrays["kernel"][..., 0], arrays["copy_out"])
    idle = ~np.logical_or.reduce([part.any(axis=-1) for part in parts])
    if idle.any():
        raise ValueError(f"cpu{list(_first(idle))}: got a job of no time, expected some work")
    total = np.cumsum(sum(part.sum(axis=-1, dtype=np.float64) for part in parts), axis=-1)
    long = np.asarray(total >= 2.0**60)
    if long.any():
        at = list(_first(long))
        raise OverflowError(f"cpu{at}: got jobs of 2**60 ticks or more in all, expected less")


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
            f"sm: got {sets.shape[-2]} {'row' if sets.shape[-2] == 1 else 'rows'}, expected "
            f"{shape[-1]}, one per task"
        )
    fitted: BoolArray = _fit(sets, (*shape, sets.shape[-1]), "sm").copy()
    return fitted


def _first(bad: BoolArray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(bad)[0])


def _padded(array: npt.NDArray[Any], axis: int, more: int) -> npt.NDArray[Any]:
    """The array with ``more`` zeros at the end of an axis."""
    if more <= 0:
        return array
    return np.pad(array, [(0, more if i == axis else 0) for i in range(array.ndim)])


def _kernel_sms(column: str) -> int:
    """The number of SMs of a column ``kernel_1``, ``kernel_2``, ...; 0 for other columns."""
    number = column.removeprefix("kernel_")
    ours = number != column and number.isascii() and number.isdecimal() and len(number) < 5
    return int(number) if ours else 0


def _only(table: Table, column: str, inside: BoolArray) -> list[int]:
    """The whole numbers of the rows that have a GPU segment; missing in the others."""
    entries = table.entries(column)
    for row, there in enumerate(inside.tolist()):
        if not there and entries[row] is not None:
            raise ValueError(
                f"frame: {column}[{row}]: got {entries[row]!r:.60}, expected a missing value in "
                "the last row of a task"
            )
    return [value for value, there in zip(table.whole(column, 0), inside, strict=True) if there]


def container_period(hosts: HostTasks) -> Int64Array:
    """Usual period of a container's server: the shortest of the tasks that use the GPU."""
    inside = hosts.segments > 0
    shortest = np.where(inside, hosts.period, np.iinfo(np.int64).max).min(axis=-1)
    found: Int64Array = np.where(inside.any(axis=-1), shortest, hosts.period.min(axis=-1))
    return found
