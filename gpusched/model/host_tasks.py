"""Sporadic tasks with CPU and GPU segments: execution times, periods, cores, SMs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, at_least, flag, frozen, int_array, task_names
from gpusched._support.tabular import frame_of
from gpusched.model.host_lists import (
    differ_in_length,
    from_lists,
    jobs_to_rows,
    sm_sets,
    to_segments,
)
from gpusched.model.host_segments import (
    JOB_FIELDS,
    LEAST,
    MAX_SMS,
    MODES,
    ROW_FIELDS,
    HostColumns,
    blank_rows,
    check_jitter,
    check_jobs,
    check_kernels,
    deadline_ranks,
    fit,
    fit_sizes,
    fit_sm,
    is_time_per_task,
    rows_below,
    shape_of,
    spread_segments,
)
from gpusched.model.task_sets import unless_derived

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MAX_SMS", "MODES", "HostTasks", "container_period"]

Times = npt.ArrayLike | Sequence[Any]
"""Times per segment: an array, or nested lists of different lengths."""

SMSets = npt.NDArray[np.bool_] | Sequence[Any]
"""Sets of SMs: an array of bools, or lists of SM indices."""


class _Options(TypedDict, total=False):
    """The keyword arguments of `HostTasks` that say nothing of segments."""

    deadline: npt.ArrayLike | None
    jitter: npt.ArrayLike
    priority: npt.ArrayLike | None
    offset: npt.ArrayLike
    core: npt.ArrayLike
    sm: SMSets | None
    sizes: npt.ArrayLike | None
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
class HostTasks(HostColumns):
    """Sporadic tasks with CPU and GPU segments: one set of n tasks, or a stack of N sets.

    A job runs CPU segment 0, GPU segment 0, CPU segment 1, ..., in this order, and ends with a CPU
    segment; a CPU segment of length 0 is skipped. A GPU segment consists of a copy in (with all
    other CPU work before the kernel), a kernel, and a copy out ([RTCSA19], section III: mhd, e,
    mdh). The time of a kernel depends on its number of SMs. Times are integers in ticks of a unit
    that the caller chooses.

    >>> hosts = gs.HostTasks([60, 80, 120], cpu=[[3, 2], [5, 2, 1], [10]],
    ...     copy_in=[[1], [2, 2], []], kernel=[[[6, 4]], [8, [9, 5]], []], copy_out=1)
    >>> hosts.cpu_time.tolist(), hosts.gpu_time(sms=2).tolist()
    ([5, 8, 10], [6, 19, 0])
    >>> hosts[:2].replace(period=[50, 40]).priority.tolist()
    [1, 0]

    Parameters
    ----------
    period
        Minimum time between two releases of a task (T), shape ``(n,)`` or ``(N, n)``.
    cpu
        Times of the CPU segments, shape ``(n, w + 1)`` or ``(N, n, w + 1)``, where w is the largest
        number of GPU segments of a task; ``(n,)`` or, for a stack, ``(N, n)`` for tasks without GPU
        segments.
    copy_in, copy_out
        Copy times of each GPU segment, shape ``(n, w)`` or ``(N, n, w)``; ``(n,)`` or one number
        applies to all segments. Default: 0.
    kernel
        Kernel times of each GPU segment on 1, 2, ..., K SMs, shape ``(n, w, K)`` or
        ``(N, n, w, K)``; on more than K SMs the time on K applies. Kernels whose time does not
        depend on the SMs may be given with shape ``(n, w)``, ``(n,)`` or as one number (default:
        0). Methods that choose numbers of SMs refuse a set that has only such times, because times
        on all SMs would be mistaken for times on one SM; for a kernel that is as fast on one SM as
        on more, give ``[9, 9]``. Beside kernels with lists, one number is the time on any number of
        SMs.
    deadline
        Relative deadline (D), from the arrival of a job. Default: the period.
    jitter
        Most time from the arrival of a job to its release (J), less than the deadline; ``period``
        is then the minimum time between two arrivals. Default: 0. What has no release jitter in its
        model refuses other values.
    priority
        Priority; a smaller number is a higher priority. Default: deadline-monotonic, ties broken
        by index. Equal priorities are accepted here, but refused by tests and simulations of fixed
        priorities.
    offset
        Time of the first release. Default: 0. Tests ignore it, because they assume sporadic
        releases.
    core
        Core that each task is assigned to; -1 (the default) for a task without a core.
    sm
        SMs that the kernels of each task use: bools of shape ``(n, M)`` or ``(N, n, M)``, or one
        list of SM indices per task. A single list for all tasks is refused, because it would make
        all tasks share these SMs. None: no SMs are assigned (M = 0).
    segments
        Number of GPU segments of each task's jobs; array entries beyond it must be 0. Default: the
        lengths of the lists, or w.
    sizes
        Number of tasks of each set of a stack, shape ``(N,)``, if the sets differ in size. Each set
        then has n rows, where n is the size of the largest set. Rows beyond the tasks of a set are
        ignored and stored as 0 (``core``: -1). None: all sets have n tasks. The attribute is always
        an array, of shape ``()`` for a single set.
    monotone
        True: a kernel time that increases with the number of SMs is replaced by the largest time
        on that number of SMs or more, which is a safe over-approximation. False (default): it is
        refused.
    name
        One label per task. Default: ``task 0``, ``task 1``, ...

    For a single set, ``cpu``, ``copy_in``, ``kernel`` and ``copy_out`` may be nested lists of
    different lengths; a task with k GPU segments has k + 1 entries in ``cpu`` and k in the others.
    `from_segments` takes the segments in the order in which a job runs them.

    ``gs.generate.elliott`` and `stack` make stacks of sets of different sizes. ``hosts[i]`` has
    only the tasks of set i. Sums over the tasks of a set are correct without a mask because unused
    rows are 0; `is_task` tells which rows are tasks.

    >>> both = gs.HostTasks.stack([hosts, hosts[:2]])
    >>> both.sizes.tolist(), both.period.tolist(), both[1].n
    ([3, 2], [[60, 80, 120], [60, 80, 0]], 2)

    Raises
    ------
    ValueError
        An entry is zero where it must be positive, negative, fractional or NaN; shapes do not
        match; a kernel takes longer on more SMs; a job has no work; an SM index is out of range.
    OverflowError
        An entry does not fit 64 bits, or the times of a job add up to 2**60 ticks or more.
    TypeError
        An entry is not a number.
    """

    _KIND: ClassVar[str] = "HostTasks"

    def __init__(
        self,
        period: npt.ArrayLike,
        cpu: Times,
        copy_in: Times = 0,
        kernel: Times = 0,
        copy_out: Times = 0,
        *,
        deadline: npt.ArrayLike | None = None,
        jitter: npt.ArrayLike = 0,
        priority: npt.ArrayLike | None = None,
        offset: npt.ArrayLike = 0,
        core: npt.ArrayLike = -1,
        sm: SMSets | None = None,
        segments: npt.ArrayLike | None = None,
        sizes: npt.ArrayLike | None = None,
        monotone: bool = False,
        name: Sequence[str] | None = None,
        _derived: Mapping[str, Any] | None = None,  # passed by dataclasses.replace
    ) -> None:
        deadline = unless_derived(deadline, "deadline", _derived)
        priority = unless_derived(priority, "priority", _derived)
        name = unless_derived(name, "name", _derived)
        sizes = unless_derived(sizes, "sizes", _derived)
        sources = {"deadline": deadline, "priority": priority, "segments": segments, "name": name}
        old = _derived or {}
        derived = [key for key, given in sources.items() if given is None or given is old.get(key)]
        row: dict[str, Any] = {
            "deadline": deadline,
            "jitter": jitter,
            "priority": priority,
            "offset": offset,
            "core": core,
            "segments": segments,
        }
        found = None
        if sizes is None and monotone is False:
            found = _core.host_set(period, cpu, copy_in, kernel, copy_out, **row)
        if found is not None and sm is not None:
            chosen = sm_sets(sm, MAX_SMS)
            fits = chosen is not None and chosen.ndim == 2  # else there is a stack
            found = found | {"sm": frozen(fit_sm(chosen, found["period"].shape))} if fits else None
        if found is None:
            jobs = {"cpu": cpu, "copy_in": copy_in, "kernel": kernel, "copy_out": copy_out}
            found = _checked({"period": period, **row}, jobs, sm, sizes, flag(monotone, "monotone"))
        vars(self).update(found)
        object.__setattr__(self, "name", task_names(name, self.n))
        self._remember(derived)

    @classmethod
    def from_segments(
        cls, period: npt.ArrayLike, jobs: Iterable[Iterable[Any]], **options: Unpack[_Options]
    ) -> HostTasks:
        """Make one task set from jobs, each given as a list of segments in order of execution.

        Parameters
        ----------
        period
            As in the class.
        jobs
            One list of segments per task. A CPU segment is a number. A GPU segment is a triple
            ``(copy_in, kernel, copy_out)``, whose kernel is a number or a list of its times on
            1, 2, ... SMs.
        options
            The other parameters of `HostTasks`, as keywords.

        Raises
        ------
        ValueError
            A list is empty, two CPU segments follow each other, or the class refuses the values.
        TypeError
            A segment is neither a number nor a triple.

        >>> gs.HostTasks.from_segments([60, 80], [[3, (1, [6, 4], 1), 2], [5, (2, 9, 1)]]).segments
        array([1, 1])
        """
        found = _core.host_segments(jobs)
        cpu, *gpu = jobs_to_rows(jobs) if found is None else found[:-1]
        periods = int_array(period, "period")
        if periods.ndim and periods.shape[-1] != len(cpu):
            raise ValueError(
                f"jobs: got {len(cpu)} entries, expected {periods.shape[-1]} as period"
            )
        if found is None:
            return cls(period, cpu, *gpu, **options)
        segments = found[-1]
        return cls(
            periods, cpu, *gpu, segments=segments, _derived={"segments": segments}, **options
        )

    @classmethod
    def from_gpu_times(
        cls,
        period: npt.ArrayLike,
        cpu: npt.ArrayLike,
        gpu: npt.ArrayLike = 0,
        section: npt.ArrayLike | None = None,
        **options: Unpack[_Options],
    ) -> HostTasks:
        """Make tasks whose jobs use the GPU at most once, as in [RTNS10].

        Parameters
        ----------
        period
            As in the class.
        cpu
            CPU time of a job including its copies (e): shape ``(n,)`` or ``(N, n)``, or one number.
        gpu
            Kernel time of a job (s), 0 for a task that does not use the GPU; shapes as for ``cpu``.
        section
            Length of the critical section (cs): the kernel and its copies. Default: the kernel
            alone. The copies, cs - s, become the copy in of the GPU segment.
        options
            The other parameters of `HostTasks`, as keywords.

        Raises
        ------
        ValueError
            A critical section is shorter than its kernel or longer than the job, or the class
            refuses the values.

        >>> hosts = gs.HostTasks.from_gpu_times([30, 30], cpu=[5, 3], gpu=[0, 2], section=[0, 4])
        >>> hosts.copy_in.tolist(), hosts.kernel_time(sms=1).tolist()
        ([[0], [2]], [[0], [2]])
        """
        return cls(period, **to_segments(period, cpu, gpu, section), **options)

    def replace(self, **changes: Unpack[_Changes]) -> HostTasks:
        """Return a copy with some fields changed; fields derived from them are derived anew.

        Parameters
        ----------
        changes
            Arguments of `HostTasks`. With None, ``deadline``, ``priority``, ``segments`` or
            ``name`` are derived even if they were given before.

        Returns
        -------
        HostTasks
            Fields that were given before and are not changed are kept. The numbers of GPU segments
            are kept if ``cpu`` keeps its number of columns; otherwise, and if lists differ in
            length, they are derived from ``cpu``.

        Raises the errors of the class.

        >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1)], [5, (2, 9, 1)]])
        >>> hosts.replace(deadline=[60, 50]).priority.tolist()
        [1, 0]
        """
        kept = self._given()
        if "segments" not in kept:
            kept["segments"] = self.segments
        lists = [changes.get(key) for key in JOB_FIELDS if key in changes]
        if any(differ_in_length(value) for value in lists):
            if not self.is_stack:
                kept |= {key: self._lists(key) for key in JOB_FIELDS}
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

    # Sets of other arrays

    def with_placement(
        self, core: npt.ArrayLike | None = None, sm: SMSets | None = None
    ) -> HostTasks:
        """Return a copy with other cores, other SMs, or both; see the parameters of the class.

        >>> gs.HostTasks([10, 20], cpu=[3, 4]).with_placement(core=[0, 1]).core.tolist()
        [0, 1]
        """
        shape = self.period.shape
        changed: dict[str, Any] = {}
        if core is not None:
            cores = int_array(core, "core")
            at_least(cores, -1, "core")
            changed["core"] = fit(cores, shape, "core").copy()
        if sm is not None:
            changed["sm"] = fit_sm(sm_sets(sm, MAX_SMS), shape)
        blank_rows(changed, self.is_task)
        return self._replaced(**changed)

    # As any object

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per pair of CPU and GPU segment.

        Row ``segment`` of a task has the CPU segment of that number and the GPU segment after it,
        so a task with k GPU segments has k + 1 rows; the GPU segment is missing in the last row.
        The columns are ``set`` (for a stack), ``task``, ``name``, ``segment``; ``cpu``,
        ``copy_in``, ``kernel_1`` to ``kernel_K`` (the kernel's time on 1 to K SMs), ``copy_out``;
        and, equal in all rows of a task, ``period``, ``deadline``, ``jitter``, ``priority``,
        ``offset``, ``core`` (missing if unassigned), ``sm`` (a tuple of SM indices), ``sms`` (M)
        and ``width`` (w).

        >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1)], [5]])
        >>> hosts.to_frame()[["task", "cpu", "kernel_1", "period"]].values.tolist()
        [[0, 3, 6, 60], [0, 0, <NA>, 60], [1, 5, <NA>, 80]]
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        from gpusched.model.host_frames import table_of

        return table_of(self)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> HostTasks:
        """Make tasks from a pandas table like that of `to_frame`.

        Parameters
        ----------
        frame
            One row per pair of CPU and GPU segment. The columns ``task``, ``segment``, ``cpu`` and
            ``period`` are required; the others have the defaults of the class. With a column
            ``set``, the result is a stack.

        Returns
        -------
        HostTasks
            ``from_frame(hosts.to_frame()) == hosts``, except for empty stacks. The values of every
            column count as given; to have priorities derived, for example, leave out ``priority``.

        Raises
        ------
        ValueError
            Values are missing, segments are not numbered from 0, columns are unknown, rows of a
            task contradict each other, or the class refuses the values.
        TypeError
            The object is not a pandas table.
        """
        from gpusched.model.host_frames import fields_of

        return cls(**fields_of(frame))

    def __repr__(self) -> str:
        from gpusched.model.host_frames import text_of

        return text_of(self)

    def _repr_html_(self) -> str:
        from gpusched.model.host_frames import html_of

        return html_of(self)


def _checked(
    row: Mapping[str, Any], jobs: dict[str, Any], sm: Any, sizes: Any, monotone: bool
) -> dict[str, npt.NDArray[Any]]:
    """The read-only columns of any set or stack; the errors of `HostTasks`."""
    priority, segments = row["priority"], row["segments"]
    if any(differ_in_length(value) for value in jobs.values()):
        if segments is not None:
            raise ValueError(
                "segments: got numbers, expected None, as they follow from the lists of cpu; "
                "to change them in a set, see its method replace"
            )
        jobs, segments = from_lists(jobs)
    given = {
        **row,
        "deadline": row["period"] if row["deadline"] is None else row["deadline"],
        "priority": 0 if priority is None else priority,
        "segments": 0 if segments is None else segments,
    }
    arrays = {key: int_array(value, key) for key, value in (given | jobs).items()}
    sets = sm_sets(sm, MAX_SMS)
    shape = shape_of(arrays, sets)
    counts = fit_sizes(sizes, shape)
    is_task = rows_below(counts, shape[-1])
    if not is_task.all():
        blank_rows(arrays, is_task)
        for key in ("period", "deadline"):
            if arrays[key].shape == shape:
                arrays[key][~is_task] = 1  # passes for a time until all rows are blanked
    for key, array in arrays.items():
        if key != "priority":
            at_least(array, LEAST.get(key, 0), key)
    if arrays["cpu"].ndim > 1 and arrays["cpu"].shape[-1] == 0:
        raise ValueError("cpu: got empty lists, expected at least one CPU segment")
    if arrays["cpu"].ndim < 2 or is_time_per_task(arrays, shape):
        arrays["cpu"] = arrays["cpu"][..., None]
    if segments is None:
        arrays["segments"] = np.asarray(arrays["cpu"].shape[-1] - 1, np.int64)
    fit(arrays["cpu"], shape + arrays["cpu"].shape[-1:], "cpu")
    for key in ROW_FIELDS:
        arrays[key] = fit(arrays[key], shape, key).copy()
    spread_segments(arrays, shape, is_task)
    chosen = fit_sm(sets, shape)
    blank_rows(arrays | {"sm": chosen}, is_task)
    if monotone:
        largest = np.maximum.accumulate(arrays["kernel"][..., ::-1], axis=-1)[..., ::-1]
        arrays["kernel"] = np.ascontiguousarray(largest)
    check_kernels(arrays["kernel"])
    check_jobs(arrays, is_task)
    check_jitter(arrays, is_task)
    if priority is None:
        arrays["priority"] = deadline_ranks(arrays["deadline"], is_task)
    return {
        key: frozen(values) for key, values in (arrays | {"sm": chosen, "sizes": counts}).items()
    }


def container_period(hosts: HostTasks) -> Int64Array:
    """Default period of a container's server: the shortest period of tasks that use the GPU."""
    inside = hosts.segments > 0
    counted = np.where(inside.any(axis=-1, keepdims=True), inside, hosts.is_task)
    found: Int64Array = np.where(counted, hosts.period, np.iinfo(np.int64).max).min(axis=-1)
    return found
