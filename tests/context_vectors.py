"""Task sets for the tests of sharing the GPU by contexts, with the numbers computed for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reference.host_tests import Task

import gpusched as gs


def tasks_of(*rows: tuple[int, int, list[int], list[tuple[int, int, int]]]) -> list[Task]:
    """Tasks in the order of their priorities: core, period, CPU segments, GPU segments."""
    return [Task(T, cpu, gpu, None, i, core) for i, (core, T, cpu, gpu) in enumerate(rows)]


def hosts_of(tasks: list[Task]) -> gs.HostTasks:
    """The same set for the package."""
    jobs: list[Any] = []
    for t in tasks:
        job: list[Any] = [t.cpu[0]]
        for (a, e, b), after in zip(t.gpu, t.cpu[1:], strict=True):
            job += [(a, e[0] if len(e) == 1 else e, b), after]
        jobs.append(job)
    return gs.HostTasks.from_segments(
        [t.T for t in tasks],
        jobs,
        deadline=[t.D for t in tasks],
        priority=[t.prio for t in tasks],
        core=[t.core for t in tasks],
    )


@dataclass
class Vector:
    """A set, the costs of an update (eps), a slice and a switch, and bounds by name of the test."""

    tasks: list[Task]
    eps: int
    L: int
    theta: int
    bounds: dict[str, list[int]]


VECTORS = {
    "V1": Vector(
        tasks_of(
            (0, 60, [3, 2], [(1, 6, 1)]),
            (1, 80, [5, 1], [(2, 8, 1)]),
            (0, 120, [10], []),
            (1, 160, [6, 2, 1], [(2, 10, 2), (1, 4, 1)]),
        ),
        *(1, 4, 1),
        {
            "gcaps suspend": [17, 36, 19, 99],
            "gcaps suspend paper": [17, 29, 20, 90],
            "gcaps suspend one_pass stall": [29, 55, 19, 99],
            "gcaps busy": [17, 39, 27, 113],
            "gcaps busy paper": [17, 29, 28, 71],
            "gcaps busy one_pass stall": [29, 68, 39, 136],
            "time_slices suspend": [35, 39, 17, 87],
            "time_slices suspend paper": [33, 37, 17, 87],
            "time_slices suspend free": [35, 39, 24, 100],
            "time_slices busy": [35, 39, 45, 68],
            "time_slices busy paper": [33, 37, 47, 147],
        },
    ),
    "V3": Vector(
        tasks_of((0, 100, [30], []), (0, 200, [1, 1], [(1, 2, 1)]), (1, 300, [1, 1], [(0, 4, 0)])),
        *(1, 4, 1),
        {
            "gcaps suspend": [31, 40, 47],
            "gcaps suspend free": [31, 70, 88],
            "gcaps suspend paper": [31, 40, 14],
            "gcaps busy": [31, 40, 50],
            "gcaps busy free": [31, 40, 90],
            "gcaps busy paper": [31, 40, 14],
            "time_slices suspend": [30, 42, 10],
            "time_slices suspend free": [30, 72, 10],
            "time_slices suspend paper": [30, 41, 11],
            "time_slices busy": [30, 42, 10],
            "time_slices busy free": [30, 42, 10],
            "time_slices busy paper": [30, 41, 11],
        },
    ),
    "V4": Vector(
        tasks_of(
            (0, 100, [1, 1], [(0, 4, 0)]),
            (1, 120, [2, 1], [(1, 3, 1)]),
            (2, 150, [1, 1, 1], [(0, 5, 0), (0, 2, 0)]),
            (0, 400, [3, 2], [(1, 4, 1)]),
        ),
        *(1, 1, 1),
        {
            "gcaps suspend": [12, 20, 34, 45],
            "gcaps suspend one_pass": [13, 20, 34, 45],
            "gcaps suspend paper": [10, 18, 28, 39],
            "gcaps suspend one_pass stall": [29, 32, 38, 45],
            "gcaps busy": [11, 23, 41, 55],
            "gcaps busy paper": [10, 18, 28, 39],
            "gcaps busy one_pass stall": [27, 38, 50, 61],
            "time_slices suspend": [32, 29, 39, 39],
            "time_slices suspend one_pass": [34, 29, 45, 39],
            "time_slices suspend paper": [30, 26, 52, 37],
            "time_slices busy": [32, 29, 39, 45],
            "time_slices busy one_pass": [34, 29, 45, 45],
            "time_slices busy paper": [30, 26, 52, 69],
        },
    ),
    "V5": Vector(
        tasks_of(
            (0, 100, [5], []),
            (0, 200, [1, 0], [(0, 2, 0)]),
            (0, 200, [1, 0], [(0, 2, 0)]),
            (0, 200, [1, 0], [(0, 2, 0)]),
            (1, 200, [1, 0], [(0, 2, 0)]),
        ),
        *(3, 2, 1),
        {
            "gcaps suspend": [14, 32, 38, 44, 55],
            "gcaps suspend one_pass": [14, 38, 44, 44, 55],
            "gcaps suspend paper": [8, 20, 29, 38, 39],
            "gcaps busy": [14, 26, 38, 50, 65],
            "gcaps busy paper": [8, 20, 29, 38, 39],
            "time_slices suspend": [5, 18, 19, 20, 13],
            "time_slices busy": [5, 18, 19, 20, 13],
            "time_slices busy one_pass": [5, 18, 22, 23, 13],
        },
    ),
    "V6": Vector(
        tasks_of((0, 100, [0, 0], [(5, 1, 5)]), (1, 100, [0, 0], [(0, 4, 0)])),
        *(0, 4, 0),
        {
            "gcaps suspend": [11, 15],
            "gcaps suspend paper": [11, 5],
            "gcaps busy": [11, 15],
            "gcaps busy paper": [11, 5],
            "time_slices suspend": [15, 5],
            "time_slices busy": [15, 5],
        },
    ),
    "V7": Vector(
        tasks_of((0, 100, [0, 0], [(0, 4, 0)]), (1, 100, [0, 0], [(0, 4, 0)])),
        *(0, 1, 1),
        {
            "gcaps suspend": [4, 8],
            "gcaps busy": [4, 8],
            "time_slices suspend": [16, 16],
            "time_slices suspend paper": [12, 12],
            "time_slices busy": [16, 16],
            "time_slices busy paper": [12, 12],
        },
    ),
    "V8": Vector(
        tasks_of((0, 20, [4], []), (0, 30, [2, 2], [(0, 3, 0)]), (0, 120, [2, 2], [(0, 50, 0)])),
        *(0, 8, 0),
        {
            "gcaps suspend": [4, 11, 106],
            "gcaps busy": [4, 11, 106],
            "time_slices suspend": [4, 19, 82],
            "time_slices busy": [4, 19, 106],
        },
    ),
}


def split_name(name: str) -> tuple[str, dict[str, Any]]:
    """The test of a key of `Vector.bounds` and its options for the package."""
    test, mode, *more = name.split()
    options: dict[str, Any] = {"mode": mode}
    if "paper" in more:
        options["variant"] = "paper"
    if "one_pass" in more:
        options["fixed_point"] = "one_pass"
    if "stall" in more:
        options["stall"] = True
    if "free" in more:
        options["order_free"] = True
    return test, options


def verdict(vector: Vector, name: str) -> Any:
    """The package's verdict of a test on a vector."""
    test, options = split_name(name)
    hosts = hosts_of(vector.tasks)
    if test == "gcaps":
        return gs.analysis.gcaps(hosts, update_cost=vector.eps, **options)
    return gs.analysis.time_slices(
        hosts, timeslice=vector.L, context_switch=vector.theta, **options
    )
