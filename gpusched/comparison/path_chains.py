"""The chain of jobs behind the largest time of a path in a simulated run, for its pictures."""

from __future__ import annotations

from collections.abc import Mapping

from gpusched._support.text import clip
from gpusched.comparison.path_runs import PathRun, TaskJobs, strides
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.simulate.machine_timeline import Chain, Stage

__all__ = ["worst_chain"]


def worst_chain(run: PathRun, workload: Workload, jobs: Mapping[str, TaskJobs]) -> Chain:
    """The chain, in the ticks of the jobs.

    Raises ValueError if no output of the run is based on a sample of the path.
    """
    path, name = run.path, clip(run.path.name, 60)
    if run.largest is None:
        raise ValueError(f"path: got {name}, expected one with an output in the run")
    chain, steps = run.worst(), strides(workload, path)
    stages: list[Stage] = []
    for task, number in chain.items():
        of = jobs[task]
        released = of.release[number] if stages or workload[task].after else of.arrival[number]
        ready = max(int(released), stages[-1].end if stages else 0)
        reads = bool(stages) and path.tasks[len(stages) - 1] not in workload[task].after
        stages.append(Stage(workload.index(task), number, ready, int(of.end[number]), reads))
    since, end, before, after = stages[0].start, stages[-1].end, "", ""
    if path.kind == "reaction":
        first = jobs[path.tasks[0]]
        begin = first.release if workload[path.tasks[0]].after else first.arrival
        since = int(begin[stages[0].job - steps[0]])
        before = f"an event too late for {clip(path.tasks[0], 60)} #{stages[0].job - steps[0]}"
    elif path.kind == "held age":
        following = stages[-1].job + steps[-1]
        end = int(jobs[path.tasks[-1]].end[following])
        after = f"held until {clip(path.tasks[-1], 60)} #{following} ends"
    due = "" if path.deadline is None else f" of {time_with_unit(path.deadline, run.tick)}"
    took = time_with_unit(run.largest, run.tick)
    return Chain(
        name=clip(path.name, 60),
        text=f"{clip(path.name, 40)}: {path.kind} {took}{due}",
        since=since,
        end=end,
        stages=tuple(stages),
        before=before,
        after=after,
    )
