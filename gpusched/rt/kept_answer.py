"""Verdict on whether a recorded run kept the guarantee of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._support.arguments import Int64Array, instance, integer64
from gpusched._support.results import Frozen
from gpusched._support.tabular import Tabular, frame_of, optional
from gpusched._support.text import clip, plural, shown
from gpusched.comparison.path_runs import PathRun
from gpusched.comparison.workload_answer import WorkloadAnswer
from gpusched.io.run_log import RunLog
from gpusched.model.schedule import Schedule
from gpusched.rt.expectations import expectations
from gpusched.rt.kept_paths import path_findings, path_runs
from gpusched.rt.kept_rules import Finding, findings, ns, worst

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Kept", "kept"]


@dataclass(frozen=True, eq=False, repr=False)
class Kept(Tabular, Frozen):
    """Comparison of a log of jobs with an answer or a schedule; see ``gs.kept``.

    >>> plan = gs.Schedule([0], [2], [1], gs.KernelTasks([4], wcet=[2], name=["a"])).with_tick("ms")
    >>> log = gs.io.RunLog(["a"], [0, 1_500_000], ["release", "complete"], 0, 0)
    >>> gs.kept(plan, log)
    <Kept: kept (schedule; 1 job of 1 task)>

    Attributes
    ----------
    label
        The way of the answer, or "schedule".
    name
        Names of the n tasks.
    jobs, response, bound
        Shape ``(n,)``: number of jobs that completed, the longest response among them and the bound
        of the answer, in ns; -1 where there is none.
    exceeded
        Bounds that were exceeded, each a `Finding`.
    broken
        Conditions that were broken, each a `Finding`.
    paths, path_bound
        Times in ns of each path of the workload, a ``PathRun``, in which a job reads at its start,
        and the bounds of the answer, ``(paths,)``; -1 where there is none.
    conditions
        Conditions under which the answer's bounds hold. A log shows some of them, not all.
    lost
        Number of events that the log does not have; the verdict is about the others.
    tolerance
        Time in ns that was allowed on top of every limit; of a path, once for each of its tasks.
    """

    label: str
    name: tuple[str, ...]
    jobs: Int64Array
    response: Int64Array
    bound: Int64Array
    paths: tuple[PathRun, ...]
    path_bound: Int64Array
    exceeded: tuple[Finding, ...]
    broken: tuple[Finding, ...]
    conditions: tuple[str, ...]
    lost: int
    tolerance: int

    @property
    def kept(self) -> bool:
        """Whether no bound was exceeded and no condition was broken in this log."""
        return not self.exceeded and not self.broken

    @property
    def verdict(self) -> str:
        """ "kept", "condition broken", or "bound exceeded": no condition that a log shows broke."""
        return "condition broken" if self.broken else "bound exceeded" if self.exceeded else "kept"

    def why(self, task: str | None = None) -> str:
        """Explain the verdict, for one task or path or for all, with the evidence.

        Raises KeyError for a task that does not exist.
        """
        through = [run.path.name for run in self.paths]
        if task is not None and task not in (*self.name, *through):
            raise KeyError(f"task: got {shown(task)}, expected one of the tasks")
        found = [f for f in (*self.broken, *self.exceeded) if task is None or f.task == task]
        if found:
            said = "; ".join(map(str, found)) + "."
            if self.broken or not self.conditions:
                return said
            return f"{said} The bounds hold on condition that {'; that '.join(self.conditions)}."
        if task is None:
            total = plural(int(self.jobs.sum()), "job")
            bounded = int((self.path_bound >= 0).sum())
            more = f" and {plural(bounded, 'path')}" if bounded else ""
            allowed = f", with a tolerance of {ns(self.tolerance)}" if self.tolerance else ""
            return f"{total}{more} kept their bounds, and no condition was broken{allowed}."
        if task not in self.name:
            k = through.index(task)
            limit = int(self.path_bound[k])
            side = "." if limit < 0 else f", for a bound of {ns(limit)}."
            return self.paths[k].why().removesuffix(".") + side
        i = self.name.index(task)
        if self.bound[i] < 0 or self.response[i] < 0:
            return f"{clip(task, 60)}: {plural(int(self.jobs[i]), 'job')}; nothing was broken."
        return (
            f"{clip(task, 60)}: response at most {ns(int(self.response[i]))} in "
            f"{plural(int(self.jobs[i]), 'job')}, for a bound of {ns(int(self.bound[i]))}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per task.

        The columns are ``task``, ``jobs``, ``response``, ``bound``, ``slack`` (all in ns, NA where
        there is none), and ``findings``, the number of bounds and conditions of the task that were
        exceeded or broken.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        known = (self.response >= 0) & (self.bound >= 0)
        count = [
            sum(f.count for f in (*self.broken, *self.exceeded) if f.task == name)
            for name in self.name
        ]
        return {
            "task": np.array(self.name, object),
            "jobs": self.jobs,
            "response": optional(self.response),
            "bound": optional(self.bound),
            "slack": optional(self.bound - self.response, known),
            "findings": np.array(count, np.int64),
        }

    def __repr__(self) -> str:
        total = plural(int(self.jobs.sum()), "job")
        return f"<Kept: {self.verdict} ({self.label}; {total} of {plural(len(self.name), 'task')})>"

    def __str__(self) -> str:
        lost = f" {plural(self.lost, 'event')} of the log were lost." if self.lost else ""
        return f"{self.label}: {self.verdict}. {self.why()}{lost}"


def kept(answer: WorkloadAnswer | Schedule, log: RunLog, *, tolerance: int = 0) -> Kept:
    """Compare the log of a run with the bounds and conditions of an answer.

    Compared are, as far as the log has the events: responses with their bounds; distances and
    jitter of releases, CPU times, least times and GPU segments with the workload; releases by other
    tasks with the ends of these; latencies and ages of paths with their bounds; for locks and
    servers, that one job at a time holds the GPU and that requests are granted in the order of the
    protocol, with urgencies that rank the tasks as the answer does; for schedules, that batches run
    whole, in the planned order, as soon as they can, and no longer than planned, and that jobs are
    ready in time.

    >>> kernel = gs.Kernel("2ms", blocks=8, threads=256)
    >>> w = gs.Workload([gs.Task("camera", "10ms", [kernel])], tick="us")
    >>> answer = gs.analyze(w, gs.Platform("Xavier", cpus=1), "mpcp")
    >>> log = gs.io.RunLog(["camera"], [0, 1_900_000], ["release", "complete"], 0, 0)
    >>> gs.kept(answer, log).verdict
    'kept'
    >>> late = gs.io.RunLog(["camera"], [0, 5_000_000], ["release", "complete"], 0, 0)
    >>> print(gs.kept(answer, late))
    mpcp: bound exceeded. camera, job 0: response 5ms, the bound is 2ms.

    Parameters
    ----------
    answer
        Answer of ``gs.analyze``, or a schedule with the length of its tick (`Schedule.tick`).
    log
        Log with the same names of tasks; see ``gs.io.read_run_log``.
    tolerance
        Time in ns that is allowed on top of every limit, for what the model leaves out; of a path,
        once for each of its tasks.

    Returns
    -------
    Kept
        The verdict with its evidence, and the longest response of each task.

    Raises
    ------
    ValueError
        The log has a task that the answer does not have, or numbers of jobs far apart, the
        schedule's tick is unknown, or ``tolerance`` is negative.
    TypeError
        An argument has the wrong type.
    """
    instance(log, RunLog, "log")
    allowed = integer64(tolerance, "tolerance")
    if allowed < 0:
        raise ValueError(f"tolerance: got {allowed}, expected at least 0")
    expected = expectations(answer)
    for row, name in enumerate(log.name):
        if name not in expected.facts:
            raise ValueError(f"log.name[{row}]: got {shown(name)}, expected a task of the answer")
    found, times = findings(log, expected, allowed)
    runs = path_runs(log, expected, times)
    found += path_findings(expected, times, runs, allowed)
    limits = [-1 if path.bound is None else path.bound for path in expected.paths]
    names = tuple(expected.facts)
    longest, count = dict.fromkeys(names, -1), dict.fromkeys(names, 0)
    for key, end in times.complete.items():
        if key in times.release:
            count[key[0]] += 1
            longest[key[0]] = max(longest[key[0]], end - times.release[key])
    bounds = [facts.bound for facts in expected.facts.values()]
    return Kept(
        label=expected.label,
        name=names,
        jobs=np.array([count[name] for name in names], np.int64),
        response=np.array([longest[name] for name in names], np.int64),
        bound=np.array([-1 if bound is None else bound for bound in bounds], np.int64),
        paths=runs,
        path_bound=np.array(limits, np.int64),
        exceeded=worst([finding for finding in found if finding.is_bound]),
        broken=worst([finding for finding in found if not finding.is_bound]),
        conditions=expected.conditions,
        lost=log.lost,
        tolerance=allowed,
    )
