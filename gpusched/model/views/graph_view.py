"""Batches of tasks that release each other: what each of them needs, and when it is due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.text import named
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_chains import KernelGraph
from gpusched.model.views.derived_view import BatchView, View
from gpusched.model.workload.links import Path, groups_of
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.workloads import Workload

ARRIVALS = "deadlines of tasks that others release count from the arrivals of their sources"
"""Assumption of batches of such tasks, by which some of them are due earlier than they are."""


@dataclass(frozen=True, eq=False)
class GraphBatchView(View[KernelGraph]):
    """Kernels that need others, and the completion times of their batches.

    ``around``: of each row, the ticks from the arrival of the source to that of the row and from
    the end of the row to that of the job, int64 ``(n,)``.
    """

    table: BatchTable
    around: Int64Array


def arriving(workload: Workload) -> Workload:
    """The tasks as if each arrived with its source."""
    offset = {
        task.name: group[0].offset for group in groups_of(workload.tasks).values() for task in group
    }
    tasks = [task._unlinked().replace(offset=offset[task.name]) for task in workload]
    return workload.replace(tasks=tasks, paths=())


def graph_view(workload: Workload, view: BatchView, text: Callable[[int], str]) -> GraphBatchView:
    """The batches of a workload from those of its tasks as they arrive.

    A batch may have a job of a task that others release once the batches of these have ended. So
    nothing may come before the GPU work of the one, nor behind that of the others; ValueError
    else. A task is due with what it releases at the latest, and the last one of a path from the
    arrival of its source with the path.
    """
    rows = view.tasks
    place = {name: i for i, name in enumerate(rows.name)}
    offset, due = rows.offset.copy(), rows.deadline.copy()
    around = np.array([workload[name].deadline for name in rows.name], np.int64) - due
    for group in groups_of(workload.tasks).values():
        if len(group) == 1:
            continue
        _check_group(group, place)
        first = place[group[0].name]
        before = int(rows.offset[first]) - group[0].offset
        for task in group[1:]:
            i = place[task.name]
            if early := int(rows.offset[i]) - group[0].offset:
                raise ValueError(
                    f"{named(task.name)}: got {text(early)} of work before its GPU work, expected "
                    "none after another task; batches follow each other"
                )
            offset[i] = rows.offset[first]
            due[i] -= before
            around[i] += before
        behind = {name for task in group for name in task.after}
        for task in group:
            i = place[task.name]
            if task.name in behind and (late := int(around[i]) - before):
                raise ValueError(
                    f"{named(task.name)}: got {text(late)} of work behind its GPU work, expected "
                    "none before another task; batches follow each other"
                )
            for path in workload.paths:
                if _is_due(path, task, group[0], workload):
                    assert path.deadline is not None
                    due[i] = min(due[i], path.deadline - around[i])
        for task in reversed(group):
            for name in task.after:
                due[place[name]] = min(due[place[name]], due[place[task.name]])
        for task in group:
            if due[place[task.name]] < 1:
                raise ValueError(
                    f"{named(task.name)}: got no time for its GPU work by its deadline, by those "
                    "of the tasks that it releases and of its paths, expected later ones"
                )
    needs = [[place[name] for name in workload[name].after] for name in rows.name]
    graph = KernelGraph(rows.replace(offset=offset, deadline=due), needs)
    return GraphBatchView(graph, (*view.assumptions, ARRIVALS), view.table, around)


def _check_group(group: list[Task], place: dict[str, int]) -> None:
    for task in group:
        if task.name not in place:
            raise ValueError(
                f"{named(task.name)}: got no GPU work, expected some of each task that releases "
                "another or that others release; batches follow each other"
            )
        if task.every > 1:
            raise ValueError(
                f"{named(task.name)}: got every={task.every}, expected 1; a batch has jobs of the "
                "same number"
            )


def _is_due(path: Path, task: Task, source: Task, workload: Workload) -> bool:
    """Whether a task has to end by the deadline of a path, from the arrival of its source."""
    if path.deadline is None or path.kind != "latency" or path.tasks[-1] != task.name:
        return False
    links = zip(path.tasks, path.tasks[1:], strict=False)
    return all(before in workload[name].after for before, name in links)
