"""Schedules in which a task of [RTCSA19] takes longer than a printed bound."""

from __future__ import annotations

from typing import Any

from gpusched import analysis, simulate
from gpusched.experiments.papers.claim import Finding, Size, found
from gpusched.experiments.papers.claim_pictures import figure_svg
from gpusched.model.host_tasks import HostTasks

__all__ = ["equation_9", "equation_11", "lemma_2", "lemma_3"]


def broken(hosts: HostTasks, task: int, mode: Any) -> Finding:
    """A schedule in which a task takes longer than the printed bound, not than the sound one."""
    cpus = int(hosts.core.max()) + 1
    printed = int(analysis.stgm(hosts, mode=mode, variant="paper").response[task])
    sound = int(analysis.stgm(hosts, mode=mode).response[task])
    run = simulate.host(hosts, cpus, protocol="stgm", mode=mode, until=1000)
    seen = int(run.response[run.task == task].max())
    text = f"printed bound {printed}, simulated response {seen}, corrected bound {sound}"
    values = {"printed": printed, "seen": seen, "sound": sound}
    return found(seen <= printed, text, values, figure_svg(run.plot))


def lemma_2(size: Size) -> Finding:
    jobs: list[list[Any]] = [[(1, 10, 1)], [(1, 5, 1)], [(1, 2, 1)]]
    sets = [[0], [0, 1], [1]]
    return broken(
        HostTasks.from_segments([1000] * 3, jobs, offset=[0, 1, 2], core=[0, 1, 2], sm=sets),
        *(2, "suspend"),
    )


def lemma_3(size: Size) -> Finding:
    jobs: list[list[Any]] = [[5], [1, (2, 1, 2), 1]]
    hosts = HostTasks.from_segments([1000, 1000], jobs, offset=[2, 0], core=0, sm=[[], [0]])
    return broken(hosts, 0, "suspend")


def equation_9(size: Size) -> Finding:
    jobs: list[list[Any]] = [[1, (1, 2, 1)], [4], [(1, 30, 1)]]
    hosts = HostTasks.from_segments(
        [1000] * 3, jobs, offset=[1, 1, 0], core=[0, 0, 1], sm=[[0], [], [0]]
    )
    return broken(hosts, 1, "busy")


def equation_11(size: Size) -> Finding:
    jobs: list[list[Any]] = [[3], [(1, 2, 1)], [(1, 30, 1)]]
    hosts = HostTasks.from_segments(
        [1000] * 3, jobs, offset=[3, 1, 0], core=[0, 0, 1], sm=[[], [0], [0]]
    )
    return broken(hosts, 0, "busy")
