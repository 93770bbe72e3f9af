"""Workloads placed on cores and SMs: breakdown factors and priorities under one way of sharing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusched._support.text import clip
from gpusched.analysis.assignment_answer import Assignment
from gpusched.analysis.breakdown_answer import Breakdown
from gpusched.analysis.priority_assignment import assign_priorities
from gpusched.analysis.sensitivity import breakdown
from gpusched.analysis.verdict import Verdict
from gpusched.comparison.analyses import (
    Allocation,
    Request,
    analyzed,
    options_of,
    with_costs,
)
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.model.host_segments import deadline_ranks
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import Way, placed_way


@dataclass(frozen=True)
class PlacedWorkload:
    """Answer for a workload whose tasks all have a core, and the test of its host tasks.

    Attributes
    ----------
    answer
        The answer for the workload as it is.
    verdict
        The verdict for the derived host tasks; its ``hosts`` have cores and SMs.
    """

    answer: WorkloadAnswer
    verdict: Verdict

    def factor(self, scale: str | int, stop: Any = None) -> Breakdown:
        """The breakdown factor of the host tasks; see ``gs.analysis.breakdown``.

        Raises ValueError for a workload whose links or paths are not among the host tasks.
        """
        workload = self.answer.workload
        linked = next((task for task in workload if task.after), None)
        due = next((path for path in workload.paths if path.deadline is not None), None)
        if linked is not None or due is not None:
            got = "" if due is None else f"the path {clip(due.name, 60)}"
            got = got if linked is None else f"{clip(linked.name, 60)}, which other tasks release"
            raise ValueError(
                f"workload: got {got}, expected neither released tasks nor paths with deadlines; "
                "gs.margin (gpusched check --margin) counts them"
            )
        verdict = self.verdict
        platform = {"cpus": verdict.cpus, "sms": verdict.sms}
        return breakdown(verdict.hosts, verdict.way, scale, stop=stop, **platform)


def placed(
    workload: Workload,
    platform: Platform,
    way: Way | str,
    *,
    stop: Any = None,
    **options: Any,
) -> PlacedWorkload:
    """Test a workload under a way with a test of tasks with cores.

    Raises ValueError for another way, for a task that gets no core, and the errors of `analyze`.
    """
    way = placed_way(way, **options)
    models = DerivedModels(workload, with_costs(platform, way))
    answer = analyzed(models, way, Request(options_of(way), stop=stop, whole=False))
    verdict = answer.detail
    assert isinstance(verdict, Verdict)
    without = np.flatnonzero(verdict.hosts.core < 0)
    if len(without):
        name = clip(workload.names[without[0]], 60)
        raise ValueError(
            f"{name}: got no core from {way.name}, expected one for each task; {answer.why()}"
        )
    return PlacedWorkload(answer, verdict)


def assigned(
    workload: Workload,
    platform: Platform,
    way: Way | str,
    *,
    of: Any = "cpu",
    search: int = 10_000,
    stop: Any = None,
    **options: Any,
) -> tuple[Assignment, WorkloadAnswer]:
    """Choose priorities with which the test of a way accepts a workload.

    Cores and SMs are those that the way chooses for the priorities of the workload, or, if there
    are none, for deadline-monotonic priorities. ``search`` is the ``budget`` of
    ``gs.analysis.assign_priorities``, whose tests know no paths and take released tasks for others;
    the answer is that of `analyze` for the workload with the chosen CPU or GPU priorities; GPU
    priorities that it had are left out. Raises the errors of `placed` and
    ``assign_priorities``.
    """
    if of == "cpu" and all(task.priority is None for task in workload):
        ranks = deadline_ranks(np.array([task.deadline for task in workload], np.int64))
        workload = _with_priorities(workload, ranks)
    found = placed(workload, platform, way, stop=stop, **options)
    verdict = found.verdict
    chosen = assign_priorities(
        verdict.hosts,
        verdict.way.without("gpu_priority"),
        cpus=verdict.cpus,
        sms=verdict.sms,
        of=of,
        budget=search,
        stop=stop,
    )
    if of == "cpu":
        workload = _with_priorities(workload, chosen.hosts.priority)
    elif chosen.gpu_priority is not None:
        given_ranks = zip(workload, chosen.gpu_priority.tolist(), strict=True)
        workload = workload.replace(
            tasks=[task.replace(gpu_priority=rank) for task, rank in given_ranks]
        )
    return chosen, _answer(workload, found, way, options, stop)


def _answer(
    workload: Workload, found: PlacedWorkload, way: Way | str, options: dict[str, Any], stop: Any
) -> WorkloadAnswer:
    """The answer with other priorities on the cores, SMs and server of a placed workload."""
    way = placed_way(way, **options).without("gpu_priority")
    request = Request(
        options_of(way), stop=stop, whole=False, allocation=Allocation.of(found.verdict)
    )
    return analyzed(DerivedModels(workload, found.answer.platform), way, request)


def _with_priorities(workload: Workload, priority: Any) -> Workload:
    tasks = [
        task.replace(priority=int(number)) for task, number in zip(workload, priority, strict=True)
    ]
    return workload.replace(tasks=tasks)
