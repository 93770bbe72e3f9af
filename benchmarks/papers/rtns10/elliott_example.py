"""The example of [RTNS10], section 4, and the check of a method's two inequalities."""

from __future__ import annotations

from typing import Any

from benchmarks.papers.claim import Finding, Size, found
from gpusched import generate
from gpusched.model.host_tasks import HostTasks

__all__ = ["example", "inequalities"]


def example() -> HostTasks:
    """The paper's example: two CPU-only tasks and five GPU-using ones."""
    return HostTasks.from_gpu_times(
        30, cpu=[5, 5, 3, 3, 3, 3, 3], gpu=[0, 0, 2, 2, 2, 2, 2], section=[0, 0, 4, 4, 4, 4, 4]
    )


def inequalities(test: Any, name: str) -> Any:
    """Verdicts against the sums of a method's two inequalities."""

    def check(size: Size) -> Finding:
        sets = generate.elliott(count=size.count(300, 10_000), seed=3)
        agreed = 0
        answer = test(sets, 4)
        for k, hosts in enumerate(sets):
            one = answer[k]
            gpu, work = hosts.segments > 0, hosts.cpu_time + hosts.gpu_time(1)
            if name == "SRM":
                demand = work + one.blocking
                fits = (demand <= hosts.period).all() and (demand / hosts.period).sum() <= 4
            else:
                load = work / hosts.period
                fits = load[gpu].sum() <= 1 and load.sum() <= 4
            agreed += bool(one.accepted) == bool(fits)
        text = f"{agreed} of {len(sets)} verdicts of {name} are those of its two inequalities"
        return found(agreed == len(sets), text, {"agreed": agreed}, reading=name != "SRM")

    return check
