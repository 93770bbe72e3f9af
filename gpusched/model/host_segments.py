"""Columns of tasks with CPU and GPU segments: shapes, checks, sums, sets of different sizes.

The arrays have a row per task and, for a stack, an axis for the sets. If the sets of a stack differ
in size, there are as many rows as tasks in the largest set; ``sizes`` has the numbers of tasks, and
unused rows are 0 (``core``: -1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import (
    FloatArray,
    Int64Array,
    at_least,
    frozen,
    int_array,
    one_of,
    spread,
    task_names,
)
from gpusched.model.task_sets import TaskSet

__all__ = [
    "JOB_FIELDS",
    "LEAST",
    "MAX_SMS",
    "MODES",
    "ROW_FIELDS",
    "HostColumns",
    "blank_rows",
    "check_jobs",
    "check_kernels",
    "deadline_ranks",
    "fit",
    "fit_sizes",
    "fit_sm",
    "is_time_per_task",
    "rows_below",
    "same",
    "shape_of",
    "spread_segments",
    "sum_segments",
    "with_zeros",
]

BoolArray = npt.NDArray[np.bool_]

ROW_FIELDS = ("period", "deadline", "jitter", "priority", "offset", "core", "segments")
"""Fields with one number per task."""

GPU_FIELDS = ("copy_in", "kernel", "copy_out")
JOB_FIELDS = ("cpu", *GPU_FIELDS)
"""Fields about segments."""

LEAST = {"period": 1, "deadline": 1, "core": -1}
"""Smallest entries; 0 for other fields, except priorities, which may be any integer."""

_LATEST = np.iinfo(np.int64).max
_FEW_SEGMENTS = 8


def shape_of(arrays: dict[str, Int64Array], sets: BoolArray | None) -> tuple[int, ...]:
    """The shape of ``period`` and similar columns: that of the first one with the most axes."""
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
    if key in ROW_FIELDS:
        return 0
    return min(2 if key == "kernel" else 1, max(ndim - 1, 0))


def is_time_per_task(arrays: dict[str, Int64Array], shape: tuple[int, ...]) -> bool:
    """Whether ``cpu`` has a number for each task of a stack without GPU segments.

    An array of this shape could also be the CPU segments that are the same in all sets, ``(n, w +
    1)``; without GPU segments between them only the former makes sense.
    """
    alone = not arrays["segments"].any() and not any(arrays[key].any() for key in GPU_FIELDS)
    return alone and len(shape) == 2 and arrays["cpu"].shape == shape


def fit(array: Any, shape: tuple[int, ...], key: str) -> Any:
    """The array broadcast to a shape, contiguous."""
    try:
        return spread(array, shape)
    except ValueError:
        raise ValueError(f"{key}: got shape {array.shape}, expected {shape}") from None


def spread_segments(
    arrays: dict[str, Int64Array], shape: tuple[int, ...], is_task: BoolArray
) -> None:
    """Bring the segments into shape; refuse times beyond a task's last segment."""
    width, segments = arrays["cpu"].shape[-1] - 1, arrays["segments"]
    over = segments > width
    if over.any():
        at = _first(over)
        raise ValueError(
            f"segments{list(at)}: got {segments[at]}, expected at most {width}, as cpu has room "
            f"for {width + 1} CPU segments"
        )
    full_rows = bool((segments == width).all() and is_task.all())
    for key in JOB_FIELDS:
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
        try:
            full = spread(given, shape + tail).copy()
        except ValueError:
            wanted = f"{(*shape, width + 1 if key == 'cpu' else width)}"
            more = ", or that with an axis for 1, 2, ... SMs behind" if key == "kernel" else ""
            raise ValueError(
                f"{key}: got shape {arrays[key].shape}, expected {wanted}{more}"
            ) from None
        arrays[key] = full
        if full_rows:  # nothing is beyond a task's last segment
            continue
        used = full.any(axis=-1) if key == "kernel" else full != 0
        used &= is_task[..., None]
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


def check_kernels(kernel: Int64Array) -> None:
    """Refuse kernels that take longer on more SMs."""
    grows = kernel[..., 1:] > kernel[..., :-1]
    if grows.any():
        *where, k = _first(grows)
        before, at = (*where, k), (*where, k + 1)
        raise ValueError(
            f"kernel{list(at)}: got {kernel[at]} on {k + 2} SMs, expected at most the time on "
            f"{k + 1}, {kernel[before]}; monotone=True takes the largest from there on"
        )


def check_jobs(arrays: dict[str, Int64Array], is_task: BoolArray) -> None:
    """Refuse jobs without work, and times whose sum would overflow."""
    parts = (arrays["cpu"], arrays["copy_in"], arrays["kernel"][..., 0], arrays["copy_out"])
    work = np.asarray(sum(part.sum(axis=-1, dtype=np.float64) for part in parts))
    idle = is_task & (work == 0)  # no time is negative
    if idle.any():
        raise ValueError(f"cpu{list(_first(idle))}: got a job of no time, expected some work")
    long = np.asarray(np.cumsum(work, axis=-1) >= 2.0**60)
    if long.any():
        at = list(_first(long))
        raise OverflowError(f"cpu{at}: got jobs of 2**60 ticks or more in all, expected less")


def check_jitter(arrays: dict[str, Int64Array], is_task: BoolArray) -> None:
    """Refuse releases that may be as late as the deadline."""
    late = is_task & (arrays["jitter"] >= arrays["deadline"])
    if late.any():
        at = _first(late)
        raise ValueError(
            f"jitter{list(at)}: got {arrays['jitter'][at]}, expected less than the deadline of "
            f"{arrays['deadline'][at]}"
        )


def deadline_ranks(deadline: Int64Array, is_task: BoolArray | None = None) -> Int64Array:
    """Deadline-monotonic priorities, ties by index; 0 in unused rows."""
    keys = deadline if is_task is None else np.where(is_task, deadline, _LATEST)
    order = np.argsort(keys, axis=-1, kind="stable")
    found: Int64Array = np.argsort(order, axis=-1).astype(np.int64, copy=False)
    if is_task is not None:
        found[~is_task] = 0
    return found


def fit_sm(sets: BoolArray | None, shape: tuple[int, ...]) -> BoolArray:
    """The sets of SMs of every task, a copy; without SMs for None."""
    if sets is None:
        return np.zeros((*shape, 0), np.bool_)
    if sets.shape[-2] != shape[-1]:  # also one row for all: sets are given task by task
        raise ValueError(
            f"sm: got {sets.shape[-2]} {'row' if sets.shape[-2] == 1 else 'rows'}, expected "
            f"{shape[-1]}, one per task"
        )
    fitted: BoolArray = fit(sets, (*shape, sets.shape[-1]), "sm").copy()
    return fitted


# Sets of different sizes


def fit_sizes(sizes: npt.ArrayLike | None, shape: tuple[int, ...]) -> Int64Array:
    """Number of tasks of each set, shape ``(N,)``, or ``()`` for a single set."""
    *lead, n = shape
    if sizes is None:
        return np.full(lead, n, np.int64)
    given = int_array(sizes, "sizes")
    if given.shape != tuple(lead):
        raise ValueError(f"sizes: got shape {given.shape}, expected {tuple(lead)}, one per set")
    bad = (given < 1) | (given > n)
    if bad.any():
        at = _first(bad)
        where = list(at) if at else ""
        raise ValueError(f"sizes{where}: got {given[at]}, expected 1 to {n} tasks")
    if given.size and given.max() < n:
        raise ValueError(
            f"sizes: got at most {given.max()}, expected {n} of the largest set, as the other "
            "arrays have"
        )
    return given.copy()


def rows_below(sizes: Int64Array, n: int) -> BoolArray:
    """Whether each of n rows is a task of its set: bool ``(n,)`` or ``(N, n)``."""
    below: BoolArray = np.arange(n) < np.asarray(sizes)[..., None]
    return below


def blank_rows(arrays: dict[str, npt.NDArray[Any]], is_task: BoolArray) -> None:
    """Put 0 (core: -1) into unused rows; arrays without a row for each task are not changed."""
    beyond = ~is_task
    if not beyond.any():
        return
    for key, array in arrays.items():
        if array.shape[: array.ndim - _tail(key, array.ndim)] == is_task.shape:
            array[beyond] = -1 if key == "core" else 0


def same(value: int, shape: tuple[int, ...]) -> Int64Array:
    """A read-only array of one repeated number without memory; a fast ``np.broadcast_to``."""
    return np.ndarray(shape, np.int64, np.int64(value).tobytes(), strides=(0,) * len(shape))


def with_zeros(array: npt.NDArray[Any], axis: int, more: int) -> npt.NDArray[Any]:
    """The array with ``more`` zeros at the end of an axis."""
    if more <= 0:
        return array
    return np.pad(array, [(0, more if i == axis else 0) for i in range(array.ndim)])


def sum_segments(values: Int64Array) -> Int64Array:
    """Sum over the last axis; column by column where it is short, which is faster."""
    width = values.shape[-1]
    if not 1 <= width <= _FEW_SEGMENTS:
        whole: Int64Array = values.sum(axis=-1)
        return whole
    total: Int64Array = values[..., 0].copy()
    for j in range(1, width):
        total += values[..., j]
    return total


def _first(bad: BoolArray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(bad)[0])


MODES = ("suspend", "busy")
"""Behaviour of a task during its kernels: it suspends, or it keeps the CPU busy."""

MAX_SMS = 1024
"""Maximum number of SMs; their indices are smaller."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class HostColumns(TaskSet):
    """Base of `HostTasks`: fields, sizes, sums, and construction from checked arrays."""

    _ARRAYS: ClassVar[tuple[str, ...]] = (*ROW_FIELDS, *JOB_FIELDS, "sm")
    _RAGGED: ClassVar[bool] = True

    period: Int64Array
    deadline: Int64Array
    jitter: Int64Array
    priority: Int64Array
    offset: Int64Array
    core: Int64Array
    segments: Int64Array
    cpu: Int64Array
    copy_in: Int64Array
    kernel: Int64Array
    copy_out: Int64Array
    sm: BoolArray
    sizes: Int64Array
    name: tuple[str, ...]
    _derived: Mapping[str, Any] = field(repr=False)

    # Numbers of segments, SMs and tasks

    @property
    def width(self) -> int:
        """Number of GPU segments per task in the arrays (w)."""
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
    def is_ragged(self) -> bool:
        """Whether this is a stack of sets that differ in size."""
        return "sizes" not in self._derived

    @property
    def is_task(self) -> BoolArray:
        """Whether each row is a task, in the shape of ``period``; False for unused rows."""
        return rows_below(self.sizes, self.n) if self.is_ragged else super().is_task

    @property
    def is_placed(self) -> bool:
        """Whether every task has a core, and every task with GPU segments has an SM."""
        nowhere = (self.core < 0) & self.is_task
        return not (nowhere.any() or (~self.sm.any(axis=-1) & (self.segments > 0)).any())

    @classmethod
    def _of(cls, *, derived: Iterable[str] = (), **arrays: Any) -> Self:
        """A set of arrays that are known to be right; they are not copied."""
        shape = arrays["period"].shape
        rest = {
            "deadline": arrays["period"],
            "jitter": same(0, shape),
            "offset": same(0, shape),
            "core": same(-1, shape),
            "sm": np.zeros((*shape, 0), np.bool_),
        }
        usual = [key for key in ("deadline", "name") if key not in arrays]
        name = arrays.pop("name", None) or task_names(None, shape[-1])
        return cls._made(rest | arrays, name, {*usual, *derived})

    def _replaced(self, **changed: Any) -> Self:
        """A set with some other arrays, which are known to be right; they are not copied.

        The numbers of tasks stay.
        """
        made = object.__new__(type(self))
        derived = {key: value for key, value in self._derived.items() if key not in changed}
        vars(made).update(vars(self), _derived=derived)
        vars(made).update((key, frozen(array)) for key, array in changed.items())
        return made

    @classmethod
    def _derive(
        cls, arrays: dict[str, npt.NDArray[Any]], name: tuple[str, ...], derived: Iterable[str]
    ) -> Self:
        if "priority" in derived:
            arrays["priority"] = deadline_ranks(arrays["deadline"])
        return cls._made(arrays, name, derived)

    @classmethod
    def _alike(cls, parts: Sequence[Self]) -> list[dict[str, npt.NDArray[Any]]]:
        """The arrays with room for the same numbers of segments and SMs."""
        width = max(part.width for part in parts)
        columns = max(part.columns for part in parts)
        sms = max(part.sms for part in parts)
        found = []
        for arrays, part in zip(super()._alike(parts), parts, strict=True):
            for key in JOB_FIELDS:
                axis = part.period.ndim
                arrays[key] = with_zeros(arrays[key], axis, width - part.width)
            last = arrays["kernel"][..., -1:]
            more = np.repeat(last, columns - part.columns, axis=-1)
            arrays["kernel"] = np.concatenate([arrays["kernel"], more], axis=-1)
            arrays["sm"] = with_zeros(arrays["sm"], part.period.ndim, sms - part.sms)
            found.append(arrays)
        return found

    # Sets of different sizes

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return super()._arrays() | {"sizes": self.sizes}

    @classmethod
    def _made(
        cls, arrays: Mapping[str, npt.NDArray[Any]], name: tuple[str, ...], derived: Iterable[str]
    ) -> Self:
        if "sizes" not in arrays:
            *lead, n = arrays["period"].shape
            arrays = {**arrays, "sizes": np.full(lead, n, np.int64)}
        return super()._made(arrays, name, derived)

    def _remember(self, derived: Iterable[str]) -> None:
        given = [key for key in derived if key != "sizes"]
        alike = self.sizes.ndim == 0 or (self.sizes == self.n).all()
        super()._remember([*given, "sizes"] if alike else given)

    def _sets(self, index: int | slice | Int64Array) -> Self:
        if not self.is_ragged:
            return super()._sets(index)
        sizes = np.asarray(self.sizes[index])
        n = int(sizes.max(initial=1))
        arrays = {
            key: np.ascontiguousarray(getattr(self, key)[index, :n])
            if isinstance(index, int)
            else np.ascontiguousarray(getattr(self, key)[index][:, :n])
            for key in self._ARRAYS
        }
        return self._made(arrays | {"sizes": sizes}, self.name[:n], self._derived)

    @classmethod
    def _stacked(cls, parts: Sequence[Self]) -> dict[str, npt.NDArray[Any]]:
        n = max(part.n for part in parts)
        if all(part.n == n for part in parts):
            return super()._stacked(parts)
        sizes = np.concatenate([np.atleast_1d(part.sizes) for part in parts])
        rows, is_task = rows_below(sizes, n), [part.is_task for part in parts]
        arrays: dict[str, npt.NDArray[Any]] = {"sizes": sizes}
        columns = cls._alike(parts)
        for key in cls._ARRAYS:
            flat = [each[key][own] for each, own in zip(columns, is_task, strict=True)]
            arrays[key] = np.zeros((*rows.shape, *flat[0].shape[1:]), flat[0].dtype)
            arrays[key][rows] = np.concatenate(flat)
        blank_rows(arrays, rows)
        return arrays

    # What jobs take

    @property
    def cpu_segments(self) -> Int64Array:
        """Number of non-empty CPU segments of each task's jobs (theta in [RTCSA19])."""
        count: Int64Array = (self.cpu > 0).sum(axis=-1, dtype=np.int64)
        return count

    @property
    def cpu_time(self) -> Int64Array:
        """Total time of a job's CPU segments (C), shape of ``period``."""
        return sum_segments(self.cpu)

    @property
    def copy_time(self) -> Int64Array:
        """Total time of a job's copies, in and out (G^m), shape of ``period``."""
        return sum_segments(self.copy_in) + sum_segments(self.copy_out)

    def kernel_time(self, sms: npt.ArrayLike | None = None) -> Int64Array:
        """Time of each kernel in ticks, shape ``(n, w)`` or ``(N, n, w)``.

        ``sms`` is the number of SMs, one for all tasks or one per task; by default, the number of
        SMs that ``sm`` assigns to each task. Raises ValueError for less than one SM.
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
        column = fit(np.minimum(count, self.columns), self.period.shape, "sms") - 1
        at_column = np.broadcast_to(column[..., None, None], (*self.copy_in.shape, 1))
        times: Int64Array = np.take_along_axis(self.kernel, at_column, axis=-1)[..., 0]
        return times

    def gpu_time(self, sms: npt.ArrayLike | None = None) -> Int64Array:
        """Total time of a job's GPU segments, copies and kernels (G), shape of ``period``.

        ``sms`` is as in `kernel_time`.
        """
        return self.copy_time + sum_segments(self.kernel_time(sms))

    def utilization(
        self,
        mode: str = "suspend",
        sms: npt.ArrayLike | None = None,
    ) -> FloatArray:
        """Utilization of a core by each task, shape of ``period`` ([RTCSA19], section III).

        (C + G^m) / T for tasks that suspend during kernels (``mode`` "suspend"), and (C + G) / T
        for tasks that keep their CPU busy ("busy"). ``sms`` is as in `kernel_time`; it matters in
        mode "busy" only.
        """
        one_of(mode, MODES, "mode")
        gpu = self.copy_time if mode == "suspend" else self.gpu_time(sms)
        share: FloatArray = (self.cpu_time + gpu) / np.maximum(self.period, 1)  # 0: no task
        return share

    def _columns(self) -> tuple[Int64Array, ...]:
        """The arrays as the core takes them, at their end ``sizes`` where the sets differ in
        size."""
        rows = (self.period, self.deadline, self.priority, self.segments, self.jitter)
        jobs = (self.cpu, self.copy_in, self.kernel, self.copy_out)
        return (*rows, *jobs, self.sizes) if self.is_ragged else (*rows, *jobs)

    def _sizes(self) -> Int64Array | None:
        """The last of `_columns`, for calls that take other arrays: None where all are alike."""
        return self.sizes if self.is_ragged else None
