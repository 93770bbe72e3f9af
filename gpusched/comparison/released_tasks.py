"""Tests of tasks on cores where tasks release each other, by the jitter of their releases.

Job j of a task that others release belongs to one arrival of their source. It is released at least
A after it, when all that it waits for have taken their least times, and at most J later: so it is a
job of a task with release jitter J whose arrivals are those of the source plus A. The tests bound
responses from these arrivals, X. A task ends by A + X, from which the jitters of those behind it
follow; the least solution is reached from below, as bounds grow with jitters. (The proof is that of
``csrc/analysis/holistic/triggered_tasks.c``: at the first instant at which a claim fails, all
others have been kept.)

Where every task ends before the next arrival of its source, tasks of which one goes back to the
other are never pending together, and some tests need not count one for the other
(``csrc/analysis/common/apart.h``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched.analysis.verdict import Verdict
from gpusched.model.host_tasks import HostTasks
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import Way

RELEASED = (
    "a task that others release counts as one with release jitter, from the earliest to the latest "
    "end of theirs"
)
"""Assumption of bounds with links."""

_MOST_ROUNDS = 1000  # of the fixed point; more: no bound


@dataclass(frozen=True)
class Links:
    """Tasks that release each other, by their rows, those before others first.

    ``before``: per task the rows of those whose ends release it. ``least``: its earliest release
    after the arrival of its source, in ticks. ``source``: the row of that. ``apart``: uint8 ``(n,
    n)``, 1 where one of two tasks goes back to the other.
    """

    order: Sequence[int]
    before: Sequence[Sequence[int]]
    least: Int64Array
    source: Int64Array
    apart: npt.NDArray[np.uint8]


@dataclass(frozen=True)
class ReleasedTasks:
    """Earliest releases and latest ends of tasks from the arrivals of their sources, in ticks.

    ``end`` is -1 without a bound.
    """

    earliest: Int64Array
    end: Int64Array


def links_of(workload: Workload, hosts: HostTasks) -> Links | None:
    """The links between the tasks of a workload; None if each is timed."""
    tasks = [workload[name] for name in hosts.name]
    if not any(task.after for task in tasks):
        return None
    row = {task.name: i for i, task in enumerate(tasks)}
    before = [[row[name] for name in task.after] for task in tasks]
    order: list[int] = []
    while len(order) < len(tasks):  # a workload has no cycle of such tasks
        order += [i for i, rows in enumerate(before) if i not in order and set(rows) <= set(order)]
    work = hosts.cpu_time + hosts.gpu_time(sms=hosts.columns)
    best = np.minimum([task.best for task in tasks], work)
    least = np.zeros(len(tasks), np.int64)
    source = np.arange(len(tasks))
    back = np.zeros((len(tasks), len(tasks)), np.bool_)
    for i in order:
        least[i] = max((least[p] + best[p] for p in before[i]), default=0)
        for p in before[i]:
            source[i] = source[p]
            back[i] |= back[p]
            back[i, p] = True
    return Links(order, before, least, source, (back | back.T).astype(np.uint8))


def takes_tasks_apart(way: Way) -> bool:
    """Whether the test of a way knows tasks that are never pending together."""
    sound = way.given.get("variant", "sound") == "sound"
    return (
        sound
        and way.name in ("mpcp", "fmlp_plus", "gpu_server", "stgm")
        and way.given.get("mode") != "spin"
    )


def with_periods(hosts: HostTasks, links: Links | None) -> HostTasks:
    """The tasks with periods for deadlines where others release them.

    Their deadlines count from their releases; a job has to end before the next one arrives.
    """
    if links is None:
        return hosts
    released = np.array([bool(rows) for rows in links.before])
    return hosts._replaced(deadline=np.where(released, hosts.period, hosts.deadline))


ReleasedTest = Callable[[HostTasks, "npt.NDArray[np.uint8] | None"], Verdict]
"""A test of tasks, and of which two are never pending together; None: any may be."""


def tested_with_links(
    hosts: HostTasks, links: Links | None, test: ReleasedTest, *, apart: bool
) -> tuple[Verdict, ReleasedTasks | None]:
    """The verdict of a test for tasks that release each other, for a set or a stack.

    Responses count from the releases, as deadlines do. The second result is None for a stack.
    ``apart``: whether the test takes tasks that are never pending together. Where they are not
    shown to be apart, or the set is not accepted so, any may be pending together.
    """
    if links is None:
        return test(hosts, None), None
    if not apart:
        return _tested(hosts, links, test, None)
    found = _tested(hosts, links, test, links.apart)
    if np.all(found[0].accepted):
        return found
    plain, released = _tested(hosts, links, test, None)
    if hosts.is_stack:
        either = np.asarray(plain.accepted) | np.asarray(found[0].accepted)
        plain = replace(plain, accepted=either)
    return plain, released


def _tested(
    hosts: HostTasks, links: Links, test: ReleasedTest, apart: npt.NDArray[np.uint8] | None
) -> tuple[Verdict, ReleasedTasks | None]:
    model = with_periods(hosts, links)
    jitter = np.array(model.jitter)
    failed = np.zeros(jitter.shape[:-1], np.bool_)
    for _ in range(_MOST_ROUNDS):
        verdict = test(model._replaced(jitter=jitter.copy()), apart)
        accepted = np.asarray(verdict.accepted) & ~failed
        needed = _jitters(links, np.array(verdict._computed), jitter)
        grows = accepted & (needed > jitter).any(axis=-1)
        late = grows & (needed >= model.period).any(axis=-1)
        failed = failed | late
        grows = grows & ~late
        if not grows.any():
            break
        jitter = np.where(grows[..., None], np.maximum(needed, jitter), jitter)
    failed = failed | grows
    if apart is not None:
        end = links.least + np.array(verdict._computed)
        failed = failed | (end > hosts.period[..., links.source]).any(axis=-1)
    return _from_releases(verdict, hosts, links, jitter, failed)


def _jitters(links: Links, response: Int64Array, jitter: Int64Array) -> Int64Array:
    """The jitters that follow from responses."""
    needed = jitter.copy()
    for i, rows in enumerate(links.before):
        if rows:
            latest = (links.least[rows] + response[..., rows]).max(axis=-1)
            needed[..., i] = latest - links.least[i]
    return needed


def _from_releases(
    verdict: Verdict, hosts: HostTasks, links: Links, jitter: Int64Array, failed: np.ndarray
) -> tuple[Verdict, ReleasedTasks | None]:
    """The verdict with responses from releases, for the tasks as they are."""
    accepted = np.asarray(verdict.accepted) & ~failed
    released = np.array([bool(rows) for rows in links.before])
    known = np.array(verdict._computed)
    own = np.where(released & (known >= 0), known - jitter, known)
    accepted &= ~((own > hosts.deadline) & hosts.is_task).any(axis=-1)
    terms = dict(verdict.terms)
    counted = released & accepted[..., None]  # of others, it tells why
    terms["release"] = np.where(counted, 0, terms["release"])
    first = int(np.argmax(released))
    blamed = np.where(~accepted & (np.asarray(verdict._failed) < 0), first, verdict._failed)
    one = not hosts.is_stack
    found = replace(
        verdict,
        hosts=hosts,
        accepted=bool(accepted) if one else accepted,
        terms=terms,
        _computed=own,
        _failed=int(blamed) if one else blamed,
    )
    end = np.where(accepted[..., None] & (known >= 0), links.least + known, -1)
    return found, ReleasedTasks(links.least, end) if one else None
