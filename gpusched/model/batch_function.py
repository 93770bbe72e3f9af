"""Batch times as a function of the batch, for sets whose table would be too large."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import (
    Int64Array,
    frozen,
    instance,
    int_array,
    integer,
    seed_key,
    set_number,
)
from gpusched._support.registry import enumeration, limit
from gpusched._support.results import Saved
from gpusched._support.text import shown
from gpusched.model.batch_table import BatchTable, Seed, Slowdown
from gpusched.model.batches import MAX_TASKS, ONE, factors, mask_of, members, set_text
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    from gpusched.model.gpu import GPU

MAX_FUNCTION_TASKS: int = limit("pbs.function_tasks")

_COLUMNS = ("blocks", "threads", "regs", "smem")


@dataclass(frozen=True, eq=False, repr=False)
class BatchFunction(Saved):
    """Completion times of the batches of 1 to 64 tasks, computed on demand.

    [RTNS24], sections 2.3, 4.2 and 6.1. A `BatchTable` has 2**n entries and is limited to 24 tasks.
    A batch function computes the same model without a table: a single task takes its ``wcet``; a
    batch of two or more takes the longest ``wcet`` of its members times the slowdown factor of the
    batch, rounded up. Eligibility is decided by placement (`from_gpu`) or by utilization
    (`from_utilization`).

    >>> tasks = gs.KernelTasks(period=[4, 6, 12], wcet=[1, 2, 3])
    >>> times = gs.BatchFunction.from_utilization(tasks, slowdown=1.5)
    >>> times.completion([0b001, 0b011, 0b111]).tolist()
    [1, 3, 5]
    >>> times.table() == gs.BatchTable.from_utilization(tasks, slowdown=1.5)
    True

    The factor of a batch depends only on the seed and the batch. Factors that are drawn therefore
    differ from those of a `BatchTable` of the same seed, which draws them in the order of the
    batches; ``table()`` makes a table with the factors of the function.

    Attributes
    ----------
    wcet, period
        Execution times and periods in ticks, read-only int64 ``(n,)``.
    shapes, limits, sm_order
        Blocks, threads, registers and shared memory of each kernel, int64 ``(n, 4)``; limits of the
        GPU; order of its SMs. None if eligibility is decided by utilization.
    slowdown
        Smallest and largest factor, in billionths.
    key, first
        Random stream of the factors: four words derived from the seed, and the index of the set.
    """

    _KIND: ClassVar[str] = "BatchFunction"

    wcet: Int64Array
    period: Int64Array
    shapes: Int64Array | None
    limits: Int64Array | None
    sm_order: Int64Array | None
    slowdown: tuple[int, int]
    key: tuple[int, ...]
    first: int = 0

    is_stack: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("wcet", "period", "shapes", "limits", "sm_order"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, frozen(int_array(value, name)))
        if self.wcet.ndim != 1:
            raise ValueError(f"wcet: got shape {self.wcet.shape}, expected one time per task")
        if self.n > MAX_FUNCTION_TASKS:
            raise ValueError(f"tasks: got {self.n} tasks, expected at most {MAX_FUNCTION_TASKS}")
        least, most = int_array(self.slowdown, "slowdown").tolist()
        object.__setattr__(self, "slowdown", (least, most))
        words = [integer(word, "key") for word in self.key]
        if len(words) != 4 or not all(0 <= word < 2**64 for word in words):
            raise ValueError(f"key: got {shown(self.key)}, expected four words of 64 bits")
        object.__setattr__(self, "key", tuple(words))
        object.__setattr__(self, "first", set_number(self.first))
        self.demand()  # refuses the rest

    # Making functions

    @classmethod
    def from_gpu(
        cls,
        tasks: KernelTasks,
        gpu: GPU | str,
        slowdown: Slowdown = (1.7, 1.9),
        seed: Seed = None,
        first: int = 0,
    ) -> BatchFunction:
        """Make the function of tasks that share a GPU, by placing their blocks on SMs.

        The model is that of `BatchTable.from_gpu`. For each batch, all orders of submission are
        tried for up to six kernels, and several sorted orders beyond that. A batch that a table
        leaves undecided is therefore undecided here too, and a few others may be. The number of
        kernels that the GPU runs at once (``GPU.resident_grids``) is not counted.

        >>> tasks = gs.KernelTasks(period=[9] * 40, wcet=[1] * 40, blocks=4, threads=256)
        >>> times = gs.BatchFunction.from_gpu(tasks, "pbs2024", slowdown=None)
        >>> times.completion([3, 2**40 - 1]).tolist()
        [1, 0]

        Parameters
        ----------
        tasks
            One task set; ``blocks``, ``threads``, ``regs``, ``smem`` and ``wcet`` are used.
        gpu, slowdown, seed
            As in `BatchTable.from_gpu`.
        first
            Index of the set in the random stream of the seed.

        Raises
        ------
        ValueError
            The tasks are a stack or more than 64, a block does not fit an SM, or a factor is
            below 1.
        OverflowError
            A time is 2**60 - 1 ticks or more.
        """
        from gpusched.model.gpu import as_gpu

        device = as_gpu(gpu)
        _check_tasks(tasks)
        shapes = np.stack([getattr(tasks, name) for name in _COLUMNS], axis=1)
        return cls._of(tasks, shapes, device._limits, device.sm_order, slowdown, seed, first)

    @classmethod
    def from_utilization(
        cls, tasks: KernelTasks, slowdown: Slowdown = None, seed: Seed = None, first: int = 0
    ) -> BatchFunction:
        """Make the function of tasks that may share the GPU if their utilizations add up to 1.

        The model is that of `BatchTable.from_utilization`; parameters and errors are those of
        `from_gpu`.

        Raises
        ------
        OverflowError
            In addition, if the hyperperiod exceeds 2**60 - 2 ticks.
        """
        _check_tasks(tasks)
        return cls._of(tasks, None, None, None, slowdown, seed, first)

    @classmethod
    def _of(
        cls,
        tasks: KernelTasks,
        shapes: Any,
        limits: Any,
        sm_order: Any,
        slowdown: Slowdown,
        seed: Seed,
        first: int,
    ) -> BatchFunction:
        key = tuple(int(word) for word in seed_key(seed))
        pair = factors(slowdown)
        return cls(tasks.wcet, tasks.period, shapes, limits, sm_order, pair, key, first)

    # Batches

    @property
    def n(self) -> int:
        """Number of tasks."""
        return len(self.wcet)

    @property
    def _source(self) -> tuple[Any, ...]:
        """The function as the core takes it."""
        key = np.array(self.key, np.uint64)
        gpu = (self.shapes, self.limits, self.sm_order)
        return (self.period, self.wcet, *gpu, key, self.first, *self.slowdown)

    def completion(self, batches: npt.ArrayLike, *, stop: Any = None) -> Int64Array:
        """Completion times of batches in ticks; 0 for batches not known to be eligible.

        Parameters
        ----------
        batches
            Bit masks of the batches, of any shape.
        stop
            Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
            sets the byte to 1.

        Returns
        -------
        An int64 array of the same shape.
        """
        return np.maximum(self._times(batches, stop), 0)

    def undecided(self, batches: npt.ArrayLike, *, stop: Any = None) -> Int64Array:
        """Times of batches whose eligibility is unknown, in ticks; 0 for all others.

        Parameters and result are those of `completion`.
        """
        return np.maximum(-self._times(batches, stop), 0)

    def _times(self, batches: Any, stop: Any) -> Int64Array:
        masks = as_masks(batches, self.n, "batches")
        times = _core.pbs_function_times(self._source, masks.ravel(), stop=stop)
        return times.reshape(masks.shape)

    def batch_mask(self, members: Iterable[int]) -> int:
        """Bit mask of a set of tasks: ``batch_mask([0, 2])`` is 5."""
        return mask_of(members, self.n)

    def members(self, mask: int) -> tuple[int, ...]:
        """Tasks of a batch, by increasing index."""
        return members(int(as_masks([mask], self.n, "mask")[0]))

    def submission_order(self, mask: int) -> tuple[int, ...]:
        """Tasks of an eligible batch in an order of submission that makes it eligible.

        Raises ValueError if the batch is not eligible.
        """
        batch = int(as_masks([mask], self.n, "mask")[0])
        if self.completion([batch])[0] == 0:
            raise ValueError(f"mask: got batch {set_text(batch)}, expected an eligible one")
        return tuple(_core.pbs_function_order(self._source, batch).tolist())

    def demand(self) -> tuple[Int64Array, Int64Array, npt.NDArray[np.bool_]]:
        """Resource demands that limit batches of two or more tasks: ``need``, ``room``, ``alone``.

        No eligible batch of two or more contains a task marked in ``alone`` (bool ``(n,)``), and
        in each row of ``need`` (int64 ``(rows, n)``) the entries of its tasks add up to at most
        ``room`` (int64 ``(rows,)``). The rows are work per hyperperiod, or warps, block slots,
        registers and shared memory of all SMs.
        """
        return _core.pbs_function_demand(self._source)

    def least(self, mask: int) -> int:
        """Lower bound on the times of all eligible batches that contain these tasks; 0: no batch.

        It is the ``wcet`` of a single task, otherwise the longest one times the smallest factor.
        """
        batch = int(as_masks([mask], self.n, "mask")[0])
        need, room, alone = self.demand()
        of = list(members(batch))
        if len(of) < 2:
            return int(self.wcet[of].max(initial=0))
        if alone[of].any() or any(
            sum(row[of].tolist()) > most for row, most in zip(need, room, strict=True)
        ):
            return 0
        return -(-int(self.wcet[of].max()) * self.slowdown[0] // ONE)

    # Tables

    def table(self, tasks: Iterable[int] | None = None, *, stop: Any = None) -> BatchTable:
        """Make the table of all batches of some of the tasks, renumbered; at most 24 tasks.

        Parameters
        ----------
        tasks
            Indices in ascending order; None: all tasks.
        stop
            As in `completion`.
        """
        return self._made(tasks, False, stop)

    def least_table(self, tasks: Iterable[int] | None = None, *, stop: Any = None) -> BatchTable:
        """Make the table of `least` for the batches of some of the tasks, renumbered; at most 24.

        Whatever the other tasks do, batches take at least these times. If the tasks cannot be
        scheduled with them, even with inserted idle time, there is no schedule of all tasks
        (``gs.pbs.InfeasibleSubset``).
        """
        return self._made(tasks, True, stop)

    def _made(self, tasks: Any, least: bool, stop: Any) -> BatchTable:
        made = self._table(tasks, least, stop, 0.0)
        assert made is not None  # as there is no budget
        return made

    def _table(self, tasks: Any, least: bool, stop: Any, seconds: float) -> BatchTable | None:
        """A table; None when a budget of seconds, unless that is 0, was spent."""
        of = np.arange(self.n) if tasks is None else int_array(list(tasks), "tasks")
        if of.size > MAX_TASKS:
            raise ValueError(
                f"tasks: got {of.size} tasks, expected at most {MAX_TASKS} of them in a table"
            )
        arrays = _core.pbs_function_table(self._source, of, least=least, stop=stop, seconds=seconds)
        return None if arrays is None else BatchTable(*arrays)

    def _table_bytes(self) -> int:
        """Memory of the table of all tasks."""
        return (16 if self.shapes is None else 16 + self.n) << self.n

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BatchFunction):
            return NotImplemented
        mine, others = ([getattr(x, f.name) for f in fields(self)] for x in (self, other))
        return all(
            (a is None) == (b is None) and (a is None or np.array_equal(a, b))
            for a, b in zip(mine, others, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        by = "utilization" if self.shapes is None else "placement"
        least, most = (f"{factor / ONE:.10g}" for factor in self.slowdown)
        slow = f"slowdown {least}" if least == most else f"slowdown {least} to {most}"
        return f"<BatchFunction: {self.n} tasks, eligible by {by}, {slow}>"


def as_masks(batches: Any, n: int, name: str) -> npt.NDArray[np.uint64]:
    """Bit masks of sets of n tasks, n up to 64, as a new array of uint64.

    Raises ValueError for a mask with other tasks, and TypeError for entries that are not integers.
    """
    given = np.asarray(batches)
    if given.dtype.kind == "u":
        masks = given.astype(np.uint64)
    elif given.dtype.kind == "O":
        whole = [integer(mask, name) for mask in given.ravel().tolist()]
        masks = np.array([m if 0 <= m < 2**64 else 2**64 - 1 for m in whole], np.uint64)
        masks = masks.reshape(given.shape)
        _refuse(masks, given, np.array([not 0 <= m < 1 << n for m in whole], bool), n, name)
    else:
        numbers = int_array(batches, name)
        masks = numbers.astype(np.uint64)
        _refuse(masks, numbers, (numbers < 0).ravel(), n, name)
    if n < 64:
        _refuse(masks, masks, (masks >> np.uint64(n) != 0).ravel(), n, name)
    return masks


def _refuse(masks: Any, given: Any, bad: npt.NDArray[np.bool_], n: int, name: str) -> None:
    if bad.any():
        at = int(np.argmax(bad))
        got = given.ravel()[at]
        raise ValueError(f"{name}[{at}]: got {got}, expected a set of {n} tasks")


def _check_tasks(tasks: KernelTasks) -> None:
    instance(tasks, KernelTasks, "tasks")
    if tasks.is_stack:
        raise ValueError("tasks: got a stack, expected one task set")
    if tasks.n > MAX_FUNCTION_TASKS:
        raise ValueError(f"tasks: got {tasks.n} tasks, expected at most {MAX_FUNCTION_TASKS}")


_NEVER: int = limit("model.never")
REPLAY_RULES = enumeration("model.replay_rule")
"""Rules that a replayed schedule may violate, in the order of the core's numbers."""

_HOLDS, _OVERLAP, _INELIGIBLE, _LENGTH, _NOT_READY, _MISS, _IDLE, _UNFINISHED = map(
    REPLAY_RULES.index,
    ("", "overlap", "ineligible", "length", "not ready", "miss", "idle", "unfinished"),
)


def replay(
    tasks: KernelTasks,
    table: BatchFunction,
    start: Int64Array,
    end: Int64Array,
    batch: npt.NDArray[np.unsignedinteger[Any]],
    idling: bool,
) -> tuple[int, int, int, int]:
    """Replay frames of the jobs released in one hyperperiod.

    Returns
    -------
    rule, frame, task, time
        Numbered as in the core: an index into ``REPLAY_RULES``, task -1 if the rule concerns no
        single task.
    """
    masks = batch.astype(np.uint64)
    now = np.concatenate([[0], end[:-1]])[: len(end)]
    time = table.completion(masks)
    wrong = (start < now) | (masks == 0) | (time == 0) | (start >= _NEVER // 2)
    wrong |= end - start != time
    runs = [(masks >> np.uint64(i)) & np.uint64(1) == 1 for i in range(tasks.n)]
    releases = [_release(tasks, i, np.cumsum(run) - run) for i, run in enumerate(runs)]
    for i, run in enumerate(runs):
        release, due = releases[i], int(tasks.deadline[i])
        after = _release(tasks, i, np.cumsum(run))
        wrong |= run & ((release > start) | (end > release + due))
        wrong |= (after < _NEVER) & (after + due <= end)
        if not idling:
            wrong |= np.maximum(release, now) < start
    if wrong.any():
        frame = int(np.argmax(wrong))
        place = frame, int(now[frame]), int(start[frame]), int(end[frame])
        ready = [int(release[frame]) for release in releases]
        return _first_rule(tasks, place, int(masks[frame]), int(time[frame]), ready, idling)
    for i, run in enumerate(runs):
        done = int(np.count_nonzero(run))
        if done < _jobs(tasks, i):
            left = int(tasks.offset[i]) + done * int(tasks.period[i])
            return _UNFINISHED, len(start), i, left
    return _HOLDS, len(start), -1, int(end.max(initial=0))


def _jobs(tasks: KernelTasks, i: int) -> int:
    """Number of jobs of a task released in a hyperperiod."""
    span: int = tasks.hyperperiod - int(tasks.offset[i])
    return max(0, -(-span // int(tasks.period[i])))


def _release(tasks: KernelTasks, i: int, job: Int64Array) -> Int64Array:
    """Releases of jobs of a task; never of those beyond the hyperperiod."""
    jobs = _jobs(tasks, i)
    release = int(tasks.offset[i]) + np.minimum(job, jobs) * int(tasks.period[i])
    return np.where(job < jobs, release, _NEVER)


def _first_rule(
    tasks: KernelTasks,
    place: tuple[int, int, int, int],
    mask: int,
    time: int,
    ready: list[int],
    idling: bool,
) -> tuple[int, int, int, int]:
    """The first rule that a frame violates.

    ``place``: frame, end of the previous frame, start and end. ``time``: time of the batch, 0 if
    it is not eligible. ``ready``: release of each task's oldest job that was not executed.
    """
    frame, now, start, end = place
    if start < now:
        return _OVERLAP, frame, -1, start
    if mask == 0 or time == 0:
        return _INELIGIBLE, frame, -1, start
    if start >= _NEVER // 2 or end - start != time:
        return _LENGTH, frame, -1, end
    for i, release in enumerate(ready):
        due = release + int(tasks.deadline[i])
        if not idling and max(release, now) < start:
            return _IDLE, frame, i, max(release, now)
        if mask >> i & 1:
            if release > start:
                return _NOT_READY, frame, i, start
            if end > due:
                return _MISS, frame, i, due
            last = release + int(tasks.period[i]) >= tasks.hyperperiod
            due += int(tasks.period[i])
            waits = not last
        else:
            waits = release < _NEVER
        if waits and due <= end:
            return _MISS, frame, i, due
    raise AssertionError(f"frame {frame} breaks no rule")
