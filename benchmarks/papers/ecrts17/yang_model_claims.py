"""Claims of [ECRTS17], section IV: the task model and Example 2."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.ecrts17.yang_rule_claims import random_sets
from gpusched.experiments.yang_figures import yang_fig2

__all__ = ["CLAIMS"]

# The tasks of Example 2: C, T, g, b; C as a product of threads and time.
_EXAMPLE = ((1024, "3.8", 8, 1, 1024), (3584, "6", 16, 7, 512), (1024, "6", 17, 1, 1024),
            (2560, "11.2", 18, 5, 512))  # fmt: skip


def _model(size: Size) -> Finding:
    tasks = yang_fig2().run.tasks
    printed = [Fraction(time) * width for width, time, *_ in _EXAMPLE]
    times = [10 * c / (g * b) for c, (_, _, _, g, b) in zip(printed, _EXAMPLE, strict=True)]
    ours = tasks.block_time.tolist()
    deadlines = tasks.deadline.tolist() == tasks.period.tolist()
    return found(
        times == ours and deadlines,
        f"C / (g b) of the example's tasks is {[float(t) / 10 for t in times]}, their block times "
        f"in the package {[t / 10 for t in ours]}; deadlines are periods: {deadlines}.",
        {"block times": ours, "deadline is period": deadlines},
    )


def _sequential(size: Size) -> Finding:
    from gpusched import simulate

    sets = random_sets(size.count(100, 5000), 2)
    overlaps = wrong = jobs = 0
    for tasks in (sets[i] for i in range(len(sets))):
        run = simulate.fifo(tasks, 8, until=400, settle="no")
        jobs += len(run)
        for i in range(tasks.n):
            rows = np.flatnonzero(run.task == i)
            rows = rows[np.argsort(run.job[rows])]
            overlaps += int((run.start[rows[1:]] < run.end[rows[:-1]]).sum())
            wrong += int(run.worst[i] != (run.end - run.release)[rows].max())
    return found(
        overlaps == wrong == 0,
        f"Of {jobs} jobs of {len(sets)} random sets {overlaps} start before the previous job of "
        f"their task ends; {wrong} largest responses are not the maximum of end less release.",
        {"jobs": jobs, "overlaps": overlaps, "wrong": wrong},
    )


def _ties(size: Size) -> Finding:
    from gpusched import simulate
    from gpusched.analysis import fifo_bound

    sets = random_sets(size.count(400, 20000), 3)
    turned = sets.replace(
        period=sets.period[:, ::-1],
        deadline=sets.deadline[:, ::-1],
        block_time=sets.block_time[:, ::-1],
        wcet=sets.wcet[:, ::-1],
        blocks=sets.blocks[:, ::-1],
        threads=sets.threads[:, ::-1],
    )
    bound = fifo_bound(sets, 8)
    one = simulate.fifo_responses(sets, 8, until=600).worst
    other = simulate.fifo_responses(turned, 8, until=600).worst[:, ::-1]
    differ = int((one != other).any(axis=1).sum())
    over = int(
        ((np.maximum(one, other) * bound.denominator > bound.numerator) & bound.bounded).sum()
    )
    return found(
        differ > 0 and over == 0,
        f"With the tasks in the opposite order at ties, the responses of {differ} of {len(sets)} "
        f"sets change; {over} of {int(bound.bounded.sum())} bounds are exceeded.",
        {"sets": len(sets), "differ": differ, "exceeded": over},
    )


def _example_2(size: Size) -> Finding:
    from gpusched.analysis import fifo_limit
    from gpusched.model.kernel_tasks import KernelTasks

    printed = [Fraction(time) * width / t for width, time, t, _, _ in _EXAMPLE]
    tasks = yang_fig2().run.tasks
    assert isinstance(tasks, KernelTasks)
    limit = fifo_limit(tasks, 4096)
    total = float(limit.utilization)
    return found(
        float(printed[0]) == 486.4
        and abs(total - 3784.7) < 0.05
        and sum(printed) == limit.utilization,
        f"u1 = {float(printed[0])}, U = {total:.2f} of 4,096 threads.",
        {"u1": float(printed[0]), "U": total},
    )


def _simplifications(size: Size) -> Finding:
    from gpusched import simulate
    from gpusched.model.launches import Launches

    starts = {}
    for name, time, durations in (
        ("equal kernels", 0, [50, 50]),
        ("kernels of 30 and 70 ticks", 0, [30, 70]),
        ("equal kernels, CPU code until 200 between them", 200, [50, 50]),
    ):
        launches = Launches(
            [0, time, 10], [*durations, 100], stream=[0, 0, 1], blocks=4, threads=1024
        )
        starts[name] = simulate.hierarchy(launches, "TX1", channels=0).first.tolist()
    return found(
        len({tuple(first) for first in starts.values()}) == 3,
        "A task's two kernels, 100 ticks together, and a kernel of another stream start at "
        + "; ".join(f"{first} ({name})" for name, first in starts.items())
        + ".",
        dict(starts),
    )


CLAIMS = (
    Claim(
        "Section IV",
        "task model",
        "A job of C work in g blocks of b threads has blocks of C / g work, each of which ends "
        "within C / (g b); the deadline is the next release.",
        ("gs.KernelTasks",),
        "agrees",
        "",
        _model,
    ),
    Claim(
        "Section IV",
        "sequential tasks, response times",
        "Jobs of one task do not overlap; a response time is end less release, a task's the "
        "largest of its jobs.",
        ("gs.simulate.fifo",),
        "agrees",
        "",
        _sequential,
    ),
    Claim(
        "Section IV",
        "ties",
        "Jobs released together are ordered arbitrarily.",
        ("gs.analysis.fifo_bound", "gs.simulate.fifo_responses"),
        "agrees",
        "",
        _ties,
    ),
    Claim(
        "Example 2",
        "utilization",
        "The tasks of Example 1 have u1 = 486.4 and U = 3784.7 < 4096 = m: more than 1.0, since a "
        "task occupies many threads.",
        ("gs.analysis.fifo_limit",),
        "agrees",
        "",
        _example_2,
    ),
    Claim(
        "Section IV",
        "simplifications",
        "Real tasks mix CPU and GPU code and submit kernels that differ, which the model leaves "
        "out.",
        ("gs.simulate.hierarchy",),
        "agrees",
        "Schedules depend on both. Sequences of launches (gs.Launches) have them, gs.KernelTasks "
        "has not.",
        _simplifications,
    ),
)
