"""Tasks whose kernels run in batches: chains of kernels, kernels of which some wait for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import (
    Int64Array,
    at_least,
    frozen,
    instance,
    int_array,
    integer,
    spread,
    task_names,
)
from gpusched._support.results import Frozen, Saved
from gpusched._support.tabular import frame_of
from gpusched._support.text import TICKS, clip, escape, plural, shown
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.task_sets import Column, TaskSet, padded, refuse_gaps, unless_derived

if TYPE_CHECKING:
    import pandas as pd


_OF_TASK = ("period", "deadline", "offset", "priority")
_OF_KERNEL = ("block_time", "blocks", "threads", "latency", "regs", "smem")
_LEAST = {"offset": 0, "latency": 0, "regs": 0, "smem": 0}
_ROWS = 40


class _Changes(TypedDict, total=False):
    """The arguments of `KernelChains`."""

    period: npt.ArrayLike
    block_time: Column
    blocks: Column
    threads: Column
    latency: Column
    regs: Column
    smem: Column
    deadline: npt.ArrayLike | None
    offset: npt.ArrayLike
    priority: npt.ArrayLike
    name: Sequence[str] | None


@dataclass(frozen=True, eq=False, repr=False)
class KernelChains(TaskSet):
    """Tasks whose jobs run several kernels in sequence: one set of n tasks, or a stack of N sets.

    Each task has its own stream. Arrays are read-only int64; times are integers in ticks of a unit
    that the caller chooses. For batches (``gs.pbs``) every kernel is a row of its own, see `rows`.

    >>> chains = gs.KernelChains(
    ...     period=[60, 100], block_time=[[4, 2, 4], [10]], blocks=[[8, 1, 8], [4]], threads=256,
    ...     latency=1, priority=[0, 1], name=["detector", "logger"])
    >>> chains.kernels.tolist(), chains.blocks.tolist()
    ([3, 1], [[8, 1, 8], [4, 0, 0]])

    Parameters
    ----------
    period
        Minimum number of ticks between two releases, shape ``(n,)`` or ``(N, n)``.
    block_time
        Maximum execution time of a block of each kernel. All columns of kernels are given as one
        sequence per task, with an entry for each of its kernels in the order in which they run; for
        a stack, as an array ``(N, n, q)`` with 0 beyond the kernels of a task. ``block_time``
        determines how many kernels a task has. In the other columns, a single number applies to
        all kernels, and a number in place of a task's sequence to all kernels of that task.
    blocks, threads
        Grid size in blocks, and threads per block. Default: 1.
    latency
        Maximum number of ticks from the release of the job (first kernel) or the end of the
        previous kernel until the kernel joins its queue. Default: 0.
    regs, smem
        Registers per thread, and bytes of shared memory per block. Default: 0.
    deadline
        Relative deadline. Default: the period.
    offset
        Time of the first release. Default: 0.
    priority
        Priority of the task's stream; a smaller number is a higher priority, and streams may have
        equal priorities. Default: 0.
    name
        One label per task. Default: ``task 0``, ``task 1``, ...

    Attributes
    ----------
    block_time, blocks, threads, latency, regs, smem
        Shape ``(n, q)`` or ``(N, n, q)``, where q is the largest number of kernels of a task; 0
        beyond the kernels of a task.

    Raises
    ------
    ValueError
        An entry is zero where it must be positive, negative or fractional; a task has no kernel;
        columns have different lengths.
    OverflowError
        An entry does not fit 64 bits.
    TypeError
        An entry is not a number.
    """

    _KIND: ClassVar[str] = "KernelChains"
    _ARRAYS: ClassVar[tuple[str, ...]] = (*_OF_TASK, *_OF_KERNEL)
    _OF_KERNEL: ClassVar[tuple[str, ...]] = _OF_KERNEL

    period: Int64Array
    block_time: Int64Array
    blocks: Int64Array
    threads: Int64Array
    latency: Int64Array
    regs: Int64Array
    smem: Int64Array
    deadline: Int64Array
    offset: Int64Array
    priority: Int64Array
    name: tuple[str, ...]
    _derived: Mapping[str, Any] = field(repr=False)

    def __init__(
        self,
        period: npt.ArrayLike,
        block_time: Column,
        blocks: Column = 1,
        threads: Column = 1,
        latency: Column = 0,
        *,
        regs: Column = 0,
        smem: Column = 0,
        deadline: npt.ArrayLike | None = None,
        offset: npt.ArrayLike = 0,
        priority: npt.ArrayLike = 0,
        name: Sequence[str] | None = None,
        _derived: Mapping[str, Any] | None = None,  # passed by dataclasses.replace
    ) -> None:
        deadline = unless_derived(deadline, "deadline", _derived)
        name = unless_derived(name, "name", _derived)
        times = int_array(period, "period")
        if times.ndim not in (1, 2) or times.shape[-1] == 0:
            raise ValueError(
                f"period: got shape {times.shape}, expected one entry per task, at least one"
            )
        given = {"period": times, "deadline": times, "offset": offset, "priority": priority}
        if deadline is not None:
            given["deadline"] = deadline
        for key in _OF_TASK:
            array = int_array(given[key], key)
            if key != "priority":
                at_least(array, _LEAST.get(key, 1), key)
            try:
                array = spread(array, times.shape)
            except ValueError:
                raise ValueError(
                    f"{key}: got shape {array.shape}, expected {times.shape} as of period"
                ) from None
            object.__setattr__(self, key, frozen(array))
        columns = {"block_time": block_time, "blocks": blocks, "threads": threads}
        columns |= {"latency": latency, "regs": regs, "smem": smem}
        has: npt.NDArray[np.bool_] | None = None
        for key in _OF_KERNEL:
            array = padded(columns[key], key, times.shape, has, ("block_time", "kernel"))
            if has is None:
                has = array > 0
                refuse_gaps(array, has, ("block_time", "kernel"))
            at_least(np.where(has, array, 1), _LEAST.get(key, 1), key)
            object.__setattr__(self, key, frozen(np.where(has, array, 0)))
        object.__setattr__(self, "name", task_names(name, times.shape[-1]))
        self._remember(
            [*(["deadline"] if deadline is None else []), *(["name"] if name is None else [])]
        )

    @classmethod
    def from_tasks(cls, tasks: KernelTasks, *, latency: npt.ArrayLike = 0) -> KernelChains:
        """Make chains of one kernel each from a set of kernel tasks.

        Parameters
        ----------
        tasks
            One set, or a stack. The block times are those of ``block_time``.
        latency
            Latency in ticks: one number for all tasks, or one per task.

        >>> tasks = gs.KernelTasks(period=[4, 6], block_time=[1, 2], blocks=3)
        >>> gs.KernelChains.from_tasks(tasks).kernels.tolist()
        [1, 1]
        """
        if not isinstance(tasks, KernelTasks):
            raise TypeError(f"tasks: got {type(tasks).__name__}, expected KernelTasks")
        late = np.broadcast_to(int_array(latency, "latency"), tasks.period.shape)
        return cls(
            tasks.period,
            tasks.block_time[..., None],
            tasks.blocks[..., None],
            tasks.threads[..., None],
            late[..., None],
            regs=tasks.regs[..., None],
            smem=tasks.smem[..., None],
            deadline=tasks.deadline,
            offset=tasks.offset,
            priority=tasks.priority,
            name=tasks.name,
        )

    def replace(self, **changes: Unpack[_Changes]) -> KernelChains:
        """Return a copy with some fields changed; fields derived from them are derived anew.

        >>> chains = gs.KernelChains(period=[60], block_time=[[4, 2]])
        >>> chains.replace(period=[50]).deadline.tolist()
        [50]
        """
        return KernelChains(**{**self._given(), **changes})

    @property
    def kernels(self) -> Int64Array:
        """Number of kernels of each task's jobs, int64 ``(n,)`` or ``(N, n)``."""
        counts: Int64Array = (self.block_time > 0).sum(axis=-1).astype(np.int64)
        return counts

    @property
    def work(self) -> Int64Array:
        """Thread-ticks of each task's jobs, int64 ``(n,)`` or ``(N, n)``."""
        work: Int64Array = (self.blocks * self.threads * self.block_time).sum(axis=-1)
        return work

    @property
    def rows(self) -> KernelTasks:
        """Return the kernels as tasks: row j is bit j of the batches of ``gs.pbs``.

        The kernels of a task are consecutive rows, in the order in which they run, and are named
        after the task. ``wcet`` is the latency plus the ``block_time`` of a kernel. The precedence
        between the kernels of a task is not represented. All sets of a stack must have the same
        number of kernels (else ValueError).

        >>> chains = gs.KernelChains([60, 100], [[4, 2], [10]], latency=1, name=["lane", "map"])
        >>> chains.rows.name, chains.rows.period.tolist(), chains.rows.wcet.tolist()
        (('lane[0]', 'lane[1]', 'map'), [60, 60, 100], [5, 3, 11])
        """
        has = self.block_time > 0
        counts = np.atleast_1d(has.sum(axis=(-2, -1)))
        if len(bad := np.flatnonzero(counts != counts[:1])):
            raise ValueError(
                f"block_time: got {counts[bad[0]]} kernels in set {bad[0]}, expected {counts[0]} "
                "as in set 0; batches are of as many kernels in each set of a stack"
            )
        at = np.nonzero(has)
        shape = (*self.period.shape[:-1], int(counts[0]) if len(counts) else 0)
        of_task = {key: getattr(self, key)[at[:-1]].reshape(shape) for key in _OF_TASK}
        of_kernel = {key: getattr(self, key)[has].reshape(shape) for key in _OF_KERNEL}
        wcet = of_kernel["block_time"] + of_kernel.pop("latency")
        return KernelTasks(**of_task, **of_kernel, wcet=wcet, name=self._row_names())

    @property
    def places(self) -> tuple[Int64Array, Int64Array]:
        """Task of each row of ``rows``, and kernel within the task, from 0: int64 ``(m,)`` each.

        For a single set.

        >>> chains = gs.KernelChains(period=[60, 100], block_time=[[4, 2], [10]])
        >>> [places.tolist() for places in chains.places]
        [[0, 0, 1], [0, 1, 0]]
        """
        if self.is_stack:
            raise TypeError("chains: got a stack, expected one set, such as chains[i]")
        task, kernel = np.nonzero(self.block_time > 0)
        return frozen(task.astype(np.int64)), frozen(kernel.astype(np.int64))

    def _row_names(self) -> list[str]:
        kernels = np.atleast_2d(self.kernels)
        if (kernels != kernels[:1]).any():
            return [f"kernel {j}" for j in range(int(kernels[0].sum()))]
        return [
            name if count == 1 else f"{name}[{j}]"
            for name, count in zip(self.name, kernels[0].tolist(), strict=True)
            for j in range(count)
        ]

    def _chained(self) -> Int64Array:
        """Per set the mask of the rows that another kernel of the same job follows."""
        has = (self.block_time if self.is_stack else self.block_time[None]) > 0
        at = np.nonzero(has)
        m = len(at[0]) // max(len(has), 1)
        task = at[1].reshape(len(has), m)
        follows = task[:, 1:] == task[:, :-1]
        bits = np.int64(1) << np.arange(max(m - 1, 0))
        return np.asarray((follows * bits).sum(axis=1), np.int64)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per kernel of every task.

        The columns are ``set`` (for a stack), ``task``, ``name``, ``kernel`` and the fields.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        has = self.block_time > 0
        at = np.nonzero(has)
        columns: dict[str, Any] = {"set": at[0]} if self.is_stack else {}
        columns["task"] = at[-2]
        columns["name"] = np.array(self.name, dtype=object)[at[-2]]
        columns["kernel"] = at[-1]
        for key in _OF_TASK:
            columns[key] = getattr(self, key)[at[:-1]]
        for key in _OF_KERNEL:
            columns[key] = getattr(self, key)[has]
        return columns

    @classmethod
    def _alike(cls, parts: Sequence[KernelChains]) -> list[dict[str, npt.NDArray[Any]]]:
        """The arrays of sets, with as many columns of kernels as the longest chain."""
        most = max(part.block_time.shape[-1] for part in parts)

        def widened(key: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            if key not in _OF_KERNEL:
                return array
            more = [(0, 0)] * (array.ndim - 1) + [(0, most - array.shape[-1])]
            return np.pad(array, more)

        return [
            {key: widened(key, array) for key, array in part._arrays().items()} for part in parts
        ]

    def __repr__(self) -> str:
        if self.is_stack:
            return f"<KernelChains: {plural(len(self), 'set')} of {plural(self.n, 'task')}>"
        counts = self.kernels
        return f"<KernelChains: {plural(self.n, 'task')}, {plural(int(counts.sum()), 'kernel')}>"

    def _repr_html_(self) -> str:
        if self.is_stack:
            return f"<p>KernelChains: {plural(len(self), 'set')} of {plural(self.n, 'task')}</p>"
        keys = ("period", "deadline", "priority", "kernels", "work")
        head = "".join(f"<th>{key}</th>" for key in keys)
        columns = [getattr(self, key).tolist() for key in keys]
        rows = "".join(
            f"<tr><th>{escape(clip(self.name[i], 60))}</th>"
            + "".join(f"<td>{column[i]:,}</td>" for column in columns)
            + "</tr>"
            for i in range(min(self.n, _ROWS))
        )
        note = f"<p>and {self.n - _ROWS} more tasks</p>" if self.n > _ROWS else ""
        return f"<table>{TICKS}<tr><th></th>{head}</tr>{rows}</table>{note}"


Needs = Sequence[int | str | Sequence[int | str]]


@dataclass(frozen=True, eq=False, repr=False)
class KernelGraph(Frozen, Saved):
    """Periodic kernels that need others: job j of a task waits for job j of each task it needs.

    A task and those that it needs have the same period and offset, so that their jobs arrive
    together; its deadline counts from that arrival, too. Jobs of different numbers do not wait for
    each other: with deadlines beyond the periods, the next arrival may be worked on before the jobs
    of this one have ended. For one set; batches (``gs.pbs``) are of its ``rows``.

    >>> rows = gs.KernelTasks([10] * 4, [2, 3, 3, 2], deadline=8, name=["in", "a", "b", "out"])
    >>> graph = gs.KernelGraph(rows, needs=[[], "in", "in", ["a", "b"]])
    >>> graph.needs
    ((), (0,), (0,), (1, 2))
    >>> table = gs.BatchTable.from_dict(rows, {(0,): 2, (1,): 3, (2,): 3, (3,): 2, (1, 2): 4})
    >>> gs.pbs.search(graph, table).schedule.batch.tolist()
    [1, 6, 8]

    Parameters
    ----------
    rows
        The tasks: one set of `KernelTasks`.
    needs
        What each task needs: an index or name, or a sequence of these, which may be empty.

    Raises
    ------
    ValueError
        The tasks are a stack; ``needs`` has another length, names a task that does not exist, has a
        cycle, or a task has another period or offset, or a shorter deadline, than one it needs.
    TypeError
        The rows are not `KernelTasks`, or an entry is neither an index nor a name.
    """

    _KIND: ClassVar[str] = "KernelGraph"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (KernelTasks,)
    _WHOLE: ClassVar[bool] = True

    rows: KernelTasks
    needs: tuple[tuple[int, ...], ...]

    def __init__(self, rows: KernelTasks, needs: Needs) -> None:
        instance(rows, KernelTasks, "rows")
        if rows.is_stack:
            raise ValueError("rows: got a stack, expected one set of tasks")
        if isinstance(needs, str) or not isinstance(needs, Sequence):
            raise TypeError(f"needs: got {shown(needs)}, expected an entry for each task")
        if len(needs) != rows.n:
            raise ValueError(f"needs: got {len(needs)} entries, expected {rows.n} as of rows")
        found = tuple(_tasks(rows, needs[i], i) for i in range(rows.n))
        for i, before in enumerate(found):
            for p in before:
                _check_pair(rows, i, p)
        left = set(range(rows.n))
        while ready := [i for i in left if not left.intersection(found[i])]:
            left.difference_update(ready)
        if left:
            raise ValueError(f"needs[{min(left)}]: got a cycle, expected tasks that end before it")
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "needs", found)

    def _precedence(self) -> Int64Array:
        """The masks of the tasks that each task needs, (1, n)."""
        masks = [[sum(1 << p for p in before) for before in self.needs]]
        return np.array(masks, np.int64)

    @property
    def n(self) -> int:
        """Number of tasks."""
        return self.rows.n

    @property
    def is_stack(self) -> bool:
        """False: this is one set."""
        return False

    @property
    def name(self) -> tuple[str, ...]:
        """Names of the tasks."""
        return self.rows.name

    @property
    def period(self) -> Int64Array:
        """Periods in ticks, int64 ``(n,)``."""
        return self.rows.period

    @property
    def deadline(self) -> Int64Array:
        """Deadlines in ticks from the arrivals, int64 ``(n,)``."""
        return self.rows.deadline

    @property
    def offset(self) -> Int64Array:
        """Times of the first arrivals in ticks, int64 ``(n,)``."""
        return self.rows.offset

    @property
    def hyperperiod(self) -> int:
        """Least common multiple of the periods."""
        return int(self.rows.hyperperiod)

    def __len__(self) -> int:
        """Number of tasks."""
        return self.rows.n

    def __repr__(self) -> str:
        links = sum(map(len, self.needs))
        return f"<KernelGraph: {plural(self.n, 'task')}, {plural(links, 'link')}>"


def _tasks(rows: KernelTasks, entry: Any, i: int) -> tuple[int, ...]:
    """The indices of the tasks in one entry of ``needs``, in rising order."""
    several = isinstance(entry, Sequence) and not isinstance(entry, str)
    found = set()
    for one in entry if several else [entry]:
        if isinstance(one, str):
            if rows.name.count(one) != 1:
                raise ValueError(f"needs[{i}]: got {one!r:.60}, expected the name of one task")
            found.add(rows.name.index(one))
            continue
        if not 0 <= (p := integer(one, f"needs[{i}]")) < rows.n:
            raise ValueError(f"needs[{i}]: got {shown(p)}, expected a task below {rows.n}")
        found.add(p)
    return tuple(sorted(found))


def _check_pair(rows: KernelTasks, i: int, p: int) -> None:
    """Refuse that task i needs task p."""
    for key in ("period", "offset"):
        own, other = (int(getattr(rows, key)[at]) for at in (i, p))
        if own != other:
            raise ValueError(
                f"needs[{i}]: got a task with {key} {other}, expected {own} as of the task itself"
            )
    if rows.deadline[p] > rows.deadline[i]:
        raise ValueError(
            f"needs[{i}]: got a task with deadline {rows.deadline[p]}, expected at most "
            f"{rows.deadline[i]} as of the task itself, which starts after it"
        )


BatchTasks = KernelTasks | KernelChains | KernelGraph
BATCH_TASKS = (KernelTasks, KernelChains, KernelGraph)


def rows_of(tasks: BatchTasks) -> KernelTasks:
    """Rows of batches: the tasks themselves, or the kernels of chains."""
    return tasks if isinstance(tasks, KernelTasks) else tasks.rows


def precedence_of(tasks: BatchTasks) -> Int64Array | None:
    """The precedence between the rows as the core takes it: of chains a mask per set, (N, 1), of
    a graph the masks of the rows that each row needs, (1, n); None for tasks."""
    if isinstance(tasks, KernelTasks):
        return None
    return tasks._chained()[:, None] if isinstance(tasks, KernelChains) else tasks._precedence()
