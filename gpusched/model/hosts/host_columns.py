"""Columns of sets of tasks with CPU and GPU segments, and quantities derived from them.

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
    int_array,
    one_of,
    task_names,
)
from gpusched.model.hosts.host_arrays import (
    JOB_FIELDS,
    ROW_FIELDS,
    BoolArray,
    blank_rows,
    deadline_ranks,
    fit,
    rows_below,
    same,
    sum_segments,
    with_zeros,
)
from gpusched.model.task_sets import TaskSet

__all__ = ["MAX_SMS", "MODES", "BoolArray", "HostColumns"]

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
        return rows_below(self.sizes, self.n)

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
            "offset": same(0, shape),
            "core": same(-1, shape),
            "sm": np.zeros((*shape, 0), np.bool_),
        }
        usual = [key for key in ("deadline", "name") if key not in arrays]
        name = arrays.pop("name", None) or task_names(None, shape[-1])
        return cls._made(rest | arrays, name, {*usual, *derived})

    def _replaced(self, **changed: Any) -> Self:
        """A set with some other arrays, which are known to be right; they are not copied."""
        arrays = self._arrays() | changed
        return self._made(arrays, self.name, [key for key in self._derived if key not in changed])

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
        super()._remember([*given, "sizes"] if (self.sizes == self.n).all() else given)

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
        """The arrays as the core takes them, with an axis for the sets in any case; at their end
        ``sizes`` where the sets differ in size."""
        rows = (self.period, self.deadline, self.priority, self.segments)
        jobs = (self.cpu, self.copy_in, self.kernel, self.copy_out)
        if not self.is_stack:
            return tuple(array[None] for array in (*rows, *jobs))
        return (*rows, *jobs, *([self.sizes] if self.is_ragged else []))

    def _sizes(self) -> Int64Array | None:
        """The last of `_columns`, for calls that take other arrays: None where all are alike."""
        return self.sizes if self.is_ragged else None
