"""Choice of cores for a test: worst fit first, then all other assignments or some of them.

One choice of cores that a test does not accept proves nothing about the others. Tests of tasks on
cores do not distinguish cores, so that assignments count once for all renumberings of the cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import FloatArray, Int64Array
from gpusched.analysis.verdict import Verdict
from gpusched.model.host_tasks import HostTasks

MOST_ASSIGNMENTS = 20_000
"""Number of assignments up to which all are tried; of more, only those of a few rules."""

_COUNTED = 10**9  # larger numbers of assignments are not told apart
_MOST_TASKS = 200  # of more, only worst fit is tried
_FIRST, _LARGEST = 32, 1024  # sets in a call of the test, which grow
_MOST_TIMES = 1 << 21  # in the arrays of a call

_WORST_FIT = "worst fit (each task to the least loaded core)"

StackTest = Callable[[HostTasks, "Int64Array | None"], Verdict]
"""A test of a stack of sets with cores, and with a core of the server for each set, or None."""


@dataclass(frozen=True)
class CoreChoice:
    """Cores of the tasks, and how they were chosen.

    Attributes
    ----------
    core, server
        The core of each task, int64 ``(n,)``, and that of the server; None without a server.
    accepted
        Whether the test accepts them. If not, they are those of worst fit.
    by_worst_fit
        Whether they are those of worst fit.
    tried, total
        Number of assignments among which the choice was made, and the number of all, without
        renumberings of the cores; ``total`` is None if it exceeds a billion.
    """

    core: Int64Array
    server: int | None
    accepted: bool
    by_worst_fit: bool
    tried: int
    total: int | None

    @property
    def sentence(self) -> str:
        """Sentence on the choice, as an assumption of the answer."""
        what = "tasks to cores" if self.server is None else "tasks and server to cores"
        total = "more than a billion" if self.total is None else f"{self.total:,}"
        whole = self.tried == self.total
        number = f"all {total}" if whole else f"{self.tried:,} of {total}"
        if not self.by_worst_fit:
            return (
                f"cores are chosen among {number} assignments of {what}; the test does not accept "
                f"those of {_WORST_FIT}"
            )
        said = f"cores are chosen by {_WORST_FIT}, tasks of high utilization first"
        if self.accepted or self.total == 1:
            return said
        number = f"the {total}" if whole else f"{self.tried:,} of {total}"
        return f"{said}; the test accepts none of {number} assignments of {what}"


def with_cores(
    hosts: HostTasks,
    cpus: int,
    test: StackTest,
    worst_fit: Verdict,
    *,
    most: int = MOST_ASSIGNMENTS,
) -> CoreChoice:
    """Choose cores with which a test accepts the tasks.

    The cores of ``worst_fit`` come first. If the test does not accept them, and there are at most
    ``most`` assignments, all are tried, in order of the largest load of a core (the time of CPU
    segments and copies per period), and among equals in lexicographic order of the cores. If there
    are more, those of a few other rules are tried: best fit and first fit, by load and by deadline,
    and worst fit with the tasks that use the GPU first. The first one that is accepted is returned.

    >>> hosts = gs.HostTasks([20, 30, 30, 20], cpu=[9, 12, 10, 11])
    >>> def test(stack, server):
    ...     return gs.analysis.mpcp(stack, 2)
    >>> choice = with_cores(hosts, 2, test, gs.analysis.partition(hosts, 2))
    >>> choice.core.tolist(), choice.accepted, choice.tried, choice.total
    ([0, 1, 1, 0], True, 8, 8)

    Parameters
    ----------
    hosts
        One set of tasks; their cores are ignored.
    cpus
        Number of cores.
    test
        The test of a stack with cores; its second argument is the core of the server of each set,
        int64 ``(N,)``, or None without a server.
    worst_fit
        The verdict of ``gs.analysis.partition``, whose cores are tried first; if it has a server,
        the core of the server is chosen as well.
    most
        Number of assignments up to which all are tried.
    """
    n, serves = hosts.n, worst_fit.server is not None
    total = count_of_assignments(n + serves, cpus)
    kept = np.append(worst_fit.hosts.core, [worst_fit.server] if serves else []).astype(np.int64)

    def choice(row: Int64Array, accepted: bool, tried: int, by_worst_fit: bool) -> CoreChoice:
        server = int(row[n]) if serves else None
        return CoreChoice(row[:n], server, accepted, by_worst_fit, tried, total)

    if _accepted(hosts, test, kept[None], serves)[0]:
        return choice(kept, True, 1, True)
    rows = _candidates(hosts, cpus, serves, total, most)
    rows = rows[(rows != _renumbered(kept[None])).any(axis=1)]
    tried = 1
    for part in _parts(hosts, rows):
        try:
            good = np.flatnonzero(_accepted(hosts, test, part, serves))
        except OverflowError:  # times that the sums of these cores cannot represent
            continue
        if len(good):
            return choice(part[good[0]], True, len(rows) + 1, False)
        tried += len(part)
    return choice(kept, False, tried, True)


def count_of_assignments(items: int, cpus: int) -> int | None:
    """Number of divisions into at most ``cpus`` groups; None if it exceeds a billion."""
    if cpus == 1 or items < 2:
        return 1
    if items > 31:  # of two groups alone
        return None
    groups = [1, *[0] * min(cpus, items)]  # so many divisions of 0 items into 0, 1, ... groups
    for _ in range(items):
        groups = [0, *(j * groups[j] + groups[j - 1] for j in range(1, len(groups)))]
    found = sum(groups)
    return found if found <= _COUNTED else None


def assignments(items: int, cpus: int) -> Int64Array:
    """All divisions of items into at most ``cpus`` groups: int64 ``(divisions, items)``.

    Groups are numbered in the order of their first items, and divisions are in lexicographic order.
    """
    rows = np.zeros((1, items), np.int64)
    used = np.ones(1, np.int64)
    for i in range(1, items):
        choices = np.minimum(used + 1, cpus)
        rows = np.repeat(rows, choices, axis=0)
        begin = np.repeat(np.cumsum(choices) - choices, choices)
        rows[:, i] = np.arange(len(rows)) - begin
        used = np.maximum(np.repeat(used, choices), rows[:, i] + 1)
    return rows


def _candidates(
    hosts: HostTasks, cpus: int, serves: bool, total: int | None, most: int
) -> Int64Array:
    """Assignments to be tried, with those of worst fit among them or not: ``(rows, items)``."""
    share = _shares(hosts, serves)
    if total is not None and total <= most:
        rows = assignments(len(share), cpus)
        loads = np.zeros((len(rows), min(cpus, len(share))))
        for i, load in enumerate(share.tolist()):
            loads[np.arange(len(rows)), rows[:, i]] += load
        return rows[np.argsort(np.round(loads.max(axis=1, initial=0), 9), kind="stable")]
    if len(share) > _MOST_TASKS:
        return np.zeros((0, len(share)), np.int64)
    return _renumbered(np.array(list(_by_rules(hosts, cpus, share)), np.int64))


def _shares(hosts: HostTasks, serves: bool) -> FloatArray:
    """Load of each task on its core, and of the server, which makes the copies of all."""
    copies = hosts.copy_time / hosts.period
    if not serves:
        return np.asarray(hosts.cpu_time / hosts.period + copies)
    return np.append(hosts.cpu_time / hosts.period, copies.sum())


def _by_rules(hosts: HostTasks, cpus: int, share: FloatArray) -> Iterator[list[int]]:
    n = hosts.n
    items = range(len(share))  # the server, if any, is the last one
    large = sorted(items, key=lambda i: -share[i])
    due = np.append(hosts.deadline, [0] * (len(share) - n))
    urgent = sorted(items, key=lambda i: int(due[i]))
    uses_gpu = np.append(hosts.segments > 0, [True] * (len(share) - n))
    for order in (large, urgent):
        for rule in ("first", "best"):
            yield _fitted(order, share, cpus, rule)
    yield _fitted(urgent, share, cpus, "worst")
    yield _fitted(sorted(large, key=lambda i: not uses_gpu[i]), share, cpus, "worst")
    yield _fitted(sorted(large, key=lambda i: bool(uses_gpu[i])), share, cpus, "worst")


def _fitted(order: Iterable[int], share: FloatArray, cpus: int, rule: str) -> list[int]:
    """Cores by first, best or worst fit; where nothing fits, the least loaded core."""
    loads = np.zeros(min(cpus, len(share)))
    found = [0] * len(share)
    for i in order:
        room = np.flatnonzero(loads + share[i] <= 1)
        core = int(loads.argmin())
        if len(room) and rule == "first":
            core = int(room[0])
        elif len(room) and rule == "best":
            core = int(room[loads[room].argmax()])
        found[i] = core
        loads[core] += share[i]
    return found


def _renumbered(rows: Int64Array) -> Int64Array:
    """Distinct assignments, in their order, with cores numbered by their first tasks."""
    found: dict[tuple[int, ...], None] = {}
    for row in rows.tolist():
        number: dict[int, int] = {}
        found[tuple(number.setdefault(core, len(number)) for core in row)] = None
    return np.array(list(found), np.int64).reshape(len(found), rows.shape[1])


def _parts(hosts: HostTasks, rows: Int64Array) -> Iterator[Int64Array]:
    """The assignments, few at first, then as many as fit into a call of the test."""
    times = max(1, hosts.n * (hosts.width * (hosts.columns + 2) + 8))
    largest = max(1, min(_LARGEST, _MOST_TIMES // times))
    begin, size = 0, min(_FIRST, largest)
    while begin < len(rows):
        yield rows[begin : begin + size]
        begin, size = begin + size, min(4 * size, largest)


def _accepted(
    hosts: HostTasks, test: StackTest, rows: Int64Array, serves: bool
) -> npt.NDArray[np.bool_]:
    stack = HostTasks.stack([hosts])[np.zeros(len(rows), np.int64)]
    cores = np.ascontiguousarray(rows[:, : hosts.n])
    server: Any = np.ascontiguousarray(rows[:, hosts.n]) if serves else None
    return np.asarray(test(stack.with_placement(core=cores), server).accepted, np.bool_)
