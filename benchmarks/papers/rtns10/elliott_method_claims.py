"""Claims of [RTNS10], sections 1 to 3: measurements, constraints, task model."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from gpusched import analysis, simulate, ways
from gpusched.model.host_tasks import HostTasks

__all__ = ["METHOD_CLAIMS"]

RUN = ("gs.simulate.host",)


def orders_of_magnitude(size: Size) -> Finding:
    """The ranges of the text against the times of Table 1, all constants of the paper."""
    matrices = [[5.88, 22.87, 50.92], [1.61, 58.17, 141.64]]  # ms: eigenvalues, convolutions
    bodies = 210.0  # us
    largest = [max(times) for times in matrices]
    outside = [time for times in matrices for time in times if not 10 <= time <= 200]
    smallest = sorted(min(times) for times in matrices)
    text = (
        f"constants of Table 1, nothing is simulated: {6 - len(outside)} of 6 times for large "
        f"matrices are between 10 and 200 ms, the others are {outside} ms; the n-body simulation "
        f"takes {bodies:g} us"
    )
    holds = 10 <= min(largest) and max(largest) <= 200 and sorted(outside) == smallest
    holds &= round(np.log10(bodies)) in (1, 2)
    return found(
        holds, text, {"ms": [*matrices[0], *matrices[1]], "n-body us": bodies}, reading=True
    )


def phases(size: Size) -> Finding:
    task = HostTasks.from_segments([100], [[3, (2, 5, 1), 4]])
    run = simulate.host(task, 1, ways.Srm(lock="fmlp"), until=100)
    assert run.intervals is not None
    log = run.intervals.to_frame()
    order = log.sort_values("start")["what"].tolist()
    text = "phases of a job: " + ", ".join(order)
    wanted = ["cpu", "copy in", "kernel", "copy out", "cpu"]
    return found(order == wanted, text, {"phases": order}, figure_svg(run.plot))


def no_loss(size: Size) -> Finding:
    """Sets that use m CPUs fully have bounds, and simulated responses keep them."""
    chance = np.random.default_rng(1)
    worst = 0.0
    count = size.count(20, 1000)
    bounded = 0
    for _ in range(count):
        period = chance.integers(2, 7, 6) * 20
        share = chance.dirichlet(np.ones(6)) * 3
        if share.max() > 1:
            share = np.full(6, 0.5)
        hosts = HostTasks(period, np.maximum(1, (share * period).astype(int)))
        answer = analysis.gedf_tardiness(hosts, 3)
        bounded += bool(answer.bounded.all())
        run = simulate.host(hosts, 3, "srm", until=3000)
        worst = max(worst, float((run.worst / answer.response).max()))
    text = (
        f"{bounded} of {count} sets with a utilization near 3 on 3 CPUs have bounds; responses are "
        f"at most {worst:.0%} of them"
    )
    return found(bounded == count and worst <= 1, text, {"largest share": worst})


def one_queue(size: Size) -> Finding:
    """Running and waiting jobs of random sets on two CPUs, by deadline."""
    chance = np.random.default_rng(2)
    inverted, waits, migrations = 0, 0, 0
    for _ in range(size.count(10, 300)):
        period = chance.integers(4, 20, 4) * 5
        run = simulate.host(HostTasks(period, period // 3 + 2), 2, "srm", until=400)
        log = run.intervals
        assert log is not None
        due = {(t, j): d for t, j, d in zip(run.task, run.job, run.deadline, strict=True)}
        deadline = np.array([due[key] for key in zip(log.task, log.job, strict=True)])
        on, off = log.core >= 0, log.core < 0
        for start, end, own in zip(log.start[off], log.end[off], deadline[off], strict=True):
            beside = (log.start[on] < end) & (log.end[on] > start)
            inverted += int((deadline[on][beside] > own).sum())
            waits += 1
        used: dict[tuple[int, int], set[int]] = {}
        for t, j, core in zip(log.task[on], log.job[on], log.core[on], strict=True):
            used.setdefault((int(t), int(j)), set()).add(int(core))
        migrations += sum(len(cores) > 1 for cores in used.values())
    text = (
        f"{waits} waits, in {inverted} of them a job with a later deadline runs; {migrations} jobs "
        "run on two CPUs"
    )
    return found(inverted == 0 and min(waits, migrations) > 0, text, {"migrations": migrations})


METHOD_CLAIMS = (
    Claim(
        "Section 1", "speed of GPUs",
        "GPUs are commonly 4 to 20 times, in some domains up to 1,000 times as fast as CPUs.",
        (), "needs hardware", "measurements of other authors, of programs that are not given",
    ),
    Claim(
        "Table 1", "times of kernels",
        "Mean times on a GTX-285: eigenvalues 5.88 to 50.92 ms, convolution 1.61 to 141.64 ms, "
        "fluids 170 to 290 us, 1024 bodies 210 us.",
        (), "needs hardware", "measurements on a GPU of 2009",
    ),
    Claim(
        "Section 2", "ranges of kernel times",
        "N-body simulations take on the order of 10 to 100 us per iteration on average; large "
        "matrix computations can take 10 to 200 ms.",
        (), "agrees in this reading",
        "orders of magnitude: Table 1 has 210 us for 1,024 bodies, and 1.61 and 5.88 ms for the "
        "smallest matrices",
        orders_of_magnitude,
    ),
    Claim(
        "Section 2", "one kernel at a time, and a driver that spins",
        "Kernels are not preempted and do not run concurrently; the driver busy-waits under "
        "contention.",
        (), "needs hardware", "observations of a GTX-285 and of a driver of 2010",
    ),
    Claim(
        "Section 2", "memory and driver",
        "A GPU does not access main memory directly, and its driver is closed and varies between "
        "vendors, GPUs and versions, so that it must be treated as a black box.",
        (), "needs hardware", "properties of GPUs and drivers of 2010",
    ),
    Claim(
        "Section 2, footnote 2", "Fermi",
        "The Fermi architecture runs kernels of one context at the same time, to a limited extent.",
        (), "needs hardware", "a GPU of 2010",
    ),
    Claim(
        "Section 3", "one queue and migration",
        "Under global EDF jobs share one ready queue, the earliest deadlines run, and jobs migrate "
        "between CPUs.",
        RUN, "agrees", "", one_queue,
    ),
    Claim(
        "Section 3", "no utilization loss",
        "Under global EDF tardiness is bounded for every set that does not exceed the CPUs.",
        ("gs.analysis.gedf_tardiness", *RUN), "agrees", "", no_loss,
    ),
    Claim(
        "Figure 1", "phases of a job",
        "CPU, data to the GPU, kernel, results, and again CPU.", RUN, "agrees", "", phases,
    ),
)  # fmt: skip
"""Claims of sections 1 to 3, in the order of the text."""
