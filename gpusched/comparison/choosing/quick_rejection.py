"""Rejection of cores and priorities by the response-time test alone, without a whole analysis."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from gpusched.analysis.placed_tests import run_test
from gpusched.comparison.analyses import Request, placed_view, with_platform
from gpusched.comparison.choosing.open_values import OpenValue, Value
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.margins import grown
from gpusched.comparison.released_tasks import (
    Links,
    links_of,
    takes_tasks_apart,
    tested_with_links,
)
from gpusched.model.host_tasks import HostTasks
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import Way

__all__ = ["QuickRejection", "have_cores"]

_COLUMNS = {"cores": "core", "priorities": "priority"}
_KEPT = 4  # factors whose tasks are kept


class QuickRejection:
    """Test of a program with chosen cores and priorities, whose tasks are derived once per factor.

    Host tasks depend on cores and priorities in two columns alone. Of a way with one test of tasks
    with cores, no analysis accepts a choice that this test rejects.
    """

    def __init__(
        self,
        program: tuple[Workload, Platform],
        way: Way,
        request: Request,
        opens: Sequence[OpenValue],
    ) -> None:
        self._program, self._request = program, request
        options = dict(request.options)
        if way.modes:
            options.setdefault("mode", way.modes[0])
        self._way = way.replace(**options)
        self._columns = [_COLUMNS.get(one.name) for one in opens]
        self._kept: dict[Fraction | None, tuple[HostTasks, Links | None, Way] | None] = {}
        self._applies = (
            way.family == "lock" and None not in self._columns and have_cores(program[0], opens)
        )

    def rejects(self, point: Sequence[Value], factor: Fraction | None) -> bool:
        """Whether the test rejects a choice for times that grow by a factor.

        False where only an analysis can tell.
        """
        if not self._applies:
            return False
        if factor not in self._kept:
            if len(self._kept) == _KEPT:
                self._kept.clear()
            self._kept[factor] = self._tasks(factor)
        if (found := self._kept[factor]) is None:
            return False
        hosts, links, way = found
        chosen = {
            str(column): np.array(value, np.int64)
            for column, value in zip(self._columns, point, strict=True)
        }
        cpus, stop = self._program[1].cpus, self._request.stop
        try:
            verdict, _ = tested_with_links(
                hosts._replaced(**chosen),
                links,
                lambda tasks, apart: run_test(tasks, way, cpus, stop=stop, apart=apart),
                apart=takes_tasks_apart(way),
            )
        except (ValueError, OverflowError):
            return False
        return not verdict.accepted

    def _tasks(self, factor: Fraction | None) -> tuple[HostTasks, Links | None, Way] | None:
        """The tasks, their links, and the way with its costs; None where there are none."""
        workload, platform = self._program
        try:
            if factor is not None:
                workload = grown(workload, "all", factor)
            models = DerivedModels(workload, platform)
            hosts = placed_view(models, self._way).tasks
            return hosts, links_of(models.workload, hosts), with_platform(self._way, models)
        except (ValueError, OverflowError):
            return None


def have_cores(workload: Workload, opens: Sequence[OpenValue]) -> bool:
    """Whether each choice has a core for each task, so that tests choose none."""
    return any(one.name == "cores" for one in opens) or all(
        task.core is not None for task in workload
    )
