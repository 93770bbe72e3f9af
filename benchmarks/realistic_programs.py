"""Realistic programs on which the ways of sharing the GPU are measured (`verdict_table`).

Program ``i`` depends on nothing but ``i``. All draws come from ``random.Random(i)`` in the order of
this list; all choices are uniform.

1. GPU: AGX Orin, Xavier, A100 or H100. CPUs: 2, 4 or 6. The slowdown is 1.4, all other costs are 0,
   and tasks have no cores, processes or priorities.
2. 4 to 10 tasks, and a load of the GPU of .3, .5 or .7 for all of them together.
3. For each task: a period of 10, 20, 25, 33, 40, 50, 66, 100 or 200 ms; a factor from .4 to 1.6.
   The task has the load times its factor, divided by the number of tasks. Its deadline is its
   period.
4. CPU work of 1 to 8 % of the period; with probability .7 a copy in of 50 to 600 us; the kernels;
   with probability .6 a copy out of 30 to 300 us; CPU work of 1 to 8 % of the period.
5. The number of kernels is one of 1, 1, 2, 3 and 5. They have the same time, the task's load times
   its period divided by their number, alone on the whole GPU; each has 8 to 240 blocks of 128, 256
   or 512 threads with 32, 48 or 64 registers each. Before each kernel but the first there is, with
   probability .1, CPU work of 1 to 8 % of the period.

Times are rounded to whole microseconds, the ticks.
"""

from __future__ import annotations

from random import Random

import gpusched as gs

GPUS = ("AGX Orin", "Xavier", "A100", "H100")
PERIODS_MS = (10, 20, 25, 33, 40, 50, 66, 100, 200)


def realistic_program(index: int) -> tuple[gs.Workload, gs.Platform]:
    """The workload and the platform of a program by its number, from 0."""
    random = Random(index)
    platform = gs.Platform(random.choice(GPUS), cpus=random.choice((2, 4, 6)), slowdown=1.4)
    count = random.randint(4, 10)
    load = random.choice((0.3, 0.5, 0.7))
    tasks = [_task(f"t{i}", load / count, random) for i in range(count)]
    return gs.Workload(tasks, tick="us"), platform


def _task(name: str, load: float, random: Random) -> gs.Task:
    period = 1000 * random.choice(PERIODS_MS)
    work = load * random.uniform(0.4, 1.6) * period

    def cpu() -> gs.CPU:
        return gs.CPU(round(period * random.uniform(0.01, 0.08)))

    segments: list[gs.Segment] = [cpu()]
    if random.random() < 0.7:
        segments.append(gs.CopyIn(random.randint(50, 600)))
    kernels = random.choice((1, 1, 2, 3, 5))
    for number in range(kernels):
        if number and random.random() < 0.1:
            segments.append(cpu())
        segments.append(
            gs.Kernel(
                max(1, round(work / kernels)),
                blocks=random.randint(8, 240),
                threads=random.choice((128, 256, 512)),
                regs=random.choice((32, 48, 64)),
            )
        )
    if random.random() < 0.6:
        segments.append(gs.CopyOut(random.randint(30, 300)))
    return gs.Task(name, period, [*segments, cpu()])
