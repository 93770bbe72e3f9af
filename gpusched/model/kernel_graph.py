"""Periodic kernels of which some wait for others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gpusched._support.arguments import Int64Array, instance, integer
from gpusched._support.results import Frozen, Saved
from gpusched._support.text import plural, shown
from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["KernelGraph"]

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
