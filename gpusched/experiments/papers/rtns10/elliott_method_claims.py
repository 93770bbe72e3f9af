"""Claims of [RTNS10], sections 1 to 4: measurements, task model, and the two methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched import analysis, generate, simulate
from gpusched.experiments.papers.claim import Claim, Finding, Size, found
from gpusched.experiments.papers.claim_pictures import figure_svg
from gpusched.model.host_tasks import HostTasks

__all__ = ["METHOD_CLAIMS"]

SRM = ("gs.analysis.srm",)
CONTAINER = ("gs.analysis.container",)
RUN = ("gs.simulate.host",)


def example() -> HostTasks:
    """The paper's example: two CPU-only tasks and five GPU-using ones."""
    return HostTasks.from_gpu_times(
        30, cpu=[5, 5, 3, 3, 3, 3, 3], gpu=[0, 0, 2, 2, 2, 2, 2], section=[0, 0, 4, 4, 4, 4, 4]
    )


def orders_of_magnitude(size: Size) -> Finding:
    matrices = [5.88, 22.87, 50.92, 1.61, 58.17, 141.64]  # ms: eigenvalues and convolutions
    bodies = 210.0  # us
    inside = [10 <= value <= 200 for value in matrices]
    text = (
        f"of the {len(matrices)} times for large matrices {sum(inside)} are between 10 and 200 ms "
        f"(the others {[v for v, ok in zip(matrices, inside, strict=True) if not ok]} ms); the "
        f"n-body simulation takes {bodies:g} us"
    )
    return found(all(inside) and 10 <= bodies <= 100, text, {"ms": matrices, "n-body us": bodies})


def phases(size: Size) -> Finding:
    task = HostTasks.from_segments([100], [[3, (2, 5, 1), 4]])
    run = simulate.host(task, 1, "gedf", "fmlp", until=100)
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
        run = simulate.host(hosts, 3, "gedf", until=3000)
        worst = max(worst, float((run.worst / answer.response).max()))
    text = (
        f"{bounded} of {count} sets with a utilization near 3 on 3 CPUs have bounds; responses are "
        f"at most {worst:.0%} of them"
    )
    return found(bounded == count and worst <= 1, text, {"largest share": worst})


def lock_example(size: Size) -> Finding:
    answer = analysis.srm(example(), 4, lock="fmlp")
    total = 2 * 5 / 30 + 5 * 21 / 30
    blocking = answer.blocking.tolist()
    holds = bool(answer.accepted) and blocking == [0, 0, 16, 16, 16, 16, 16]
    text = f"blocking {blocking[2]}, demand {3 + 2 + blocking[2]} of 30, utilization {total:.2f}"
    return found(
        holds and round(total, 2) == 3.83, text, {"blocking": blocking, "utilization": total}
    )


def one_at_a_time(size: Size) -> Finding:
    """Critical sections under both locks, from the copy in to the copy out."""
    overlaps = {}
    for lock in ("fmlp", "omlp"):
        run = simulate.host(example(), 4, "gedf", lock, until=300)
        log = run.intervals
        assert log is not None
        inside = (log.what >= 2) & (log.what <= 4)
        order = np.argsort(log.start[inside], kind="stable")
        start, end = log.start[inside][order], log.end[inside][order]
        overlaps[lock] = bool((start[1:] < end[:-1]).any())
    text = f"critical sections overlap: {overlaps}"
    return found(not any(overlaps.values()), text, dict(overlaps))


def equation_1(size: Size) -> Finding:
    sets = generate.elliott(count=size.count(50, 1000), seed=2, empty=False)
    same = True
    for hosts in sets:
        section = hosts.gpu_time(1)
        wanted = np.where(hosts.segments > 0, section.sum() - section, 0)
        answer = analysis.srm(hosts, 4, lock="fmlp")
        same &= bool((answer.blocking == wanted).all())
    text = f"the sums of the other critical sections, in {len(sets)} random sets: {same}"
    return found(same, text, {"same": same})


def equation_2(size: Size) -> Finding:
    rows = {}
    for m in (2, 3, 4):
        hosts = HostTasks.from_gpu_times([1000] * (2 * m), cpu=0, gpu=10)
        names = ("sound", "paper", "paper, once")
        bounds = [
            int(analysis.srm(hosts, m, lock="omlp", variant=v).blocking[0])  # type: ignore[arg-type]
            for v in names
        ]
        # m jobs of low priority fill the queue; m - 1 more urgent ones and J follow.
        late = HostTasks.from_gpu_times(
            [1000] * (2 * m), cpu=0, gpu=10, offset=[0] * m + [1] * m,
            deadline=[900] * m + [100] * (m - 1) + [200],
        )  # fmt: skip
        run = simulate.host(late, m, "gedf", "omlp", until=900)
        seen = int(run.response[run.task == 2 * m - 1][0]) - 10
        rows[m] = [seen, *bounds]
    text = "; ".join(
        f"m = {m}: a request waits {seen}, Eq. (2) {twice} ({once} with one request per task), "
        f"sound {sound}"
        for m, (seen, sound, twice, once) in rows.items()
    )
    kept = all(seen <= twice for seen, _, twice, _ in rows.values())
    return found(kept, text, {str(m): row for m, row in rows.items()})


def neither_lock(size: Size) -> Finding:
    sets = generate.elliott("light", "moderate", 0.25, count=size.count(2000, 100_000), seed=1)
    fmlp, omlp = (analysis.srm(sets, 4, lock=lock) for lock in ("fmlp", "omlp"))
    only = [int((a.accepted & ~b.accepted).sum()) for a, b in ((omlp, fmlp), (fmlp, omlp))]
    most = [int(a.blocking.max() // 1000) for a in (fmlp, omlp)]
    text = (
        f"of {len(sets)} sets OMLP alone schedules {only[0]} and FMLP alone {only[1]}; longest "
        f"blocking {most[1]} us and {most[0]} us"
    )
    return found(min(only) > 0 and most[1] < most[0], text, {"only": only, "blocking us": most})


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


def figure_2(size: Size) -> Finding:
    run = simulate.host(example(), 4, "gedf", "fmlp", until=30)
    log = run.intervals
    assert log is not None
    late = (log.core >= 0) & (log.end > 5)
    busy = [int(((log.start <= t) & (log.end > t))[late].sum()) for t in range(5, 21)]
    last = int(run.finish.max())
    text = f"the last job ends at {last}; at most {max(busy)} CPU is busy from 5 on"
    return found(
        last == 21 and max(busy) == 1, text, {"last": last, "busy": busy}, figure_svg(run.plot)
    )


def figure_3(size: Size) -> Finding:
    hosts = example()
    load = (hosts.cpu_time + hosts.gpu_time(1)) / hosts.period
    inner, whole = float(load[2:].sum()), float(load.sum())
    text = f"bandwidths: container G {inner:.4f} (5/6), root H {whole:.4f} (7/6)"
    answer = analysis.container(hosts, 4)
    holds = bool(answer.accepted) and np.allclose([inner, whole], [5 / 6, 7 / 6])
    return found(bool(holds), text, {"G": inner, "H": whole}, figure_svg(lambda: answer.plot()))


def figure_4(size: Size) -> Finding:
    run = simulate.host(example(), 4, "gedf", "container", mode="busy", until=30, server_period=30)
    lock = simulate.host(example(), 4, "gedf", "fmlp", until=30)
    last, other = int(run.finish.max()), int(lock.finish.max())
    text = f"the last job ends at {last}, and at {other} with the lock"
    return found(last == 25 > other, text, {"last": last, "lock": other}, figure_svg(run.plot))


def fifo_inside(size: Size) -> Finding:
    """GPU segments in a container, one at a time and in the order of their releases."""
    run = simulate.host(example(), 4, "gedf", "container", mode="busy", until=300)
    log = run.intervals
    assert log is not None
    kernels = log.what == 3
    start, end = log.start[kernels], log.end[kernels]
    order = np.argsort(start)
    overlap = bool((start[order][1:] < end[order][:-1]).any())
    waits = int(run.spent()["wait for GPU"].sum())
    text = f"kernels overlap: {overlap}; jobs wait for the GPU for {waits} in all"
    return found(not overlap and waits == 0, text, {"waits": waits})


def box_example(size: Size) -> Finding:
    answer = analysis.container(example(), 4)
    inner, whole = 5 * 5 / 30, 2 * 5 / 30 + 5 * 5 / 30
    load = (example().cpu_time + example().gpu_time(1)) / example().period
    same = np.allclose([load[2:].sum(), load.sum()], [inner, whole])
    text = f"container {inner:.3f} <= 1, utilization {whole:.3f} <= 4"
    near = abs(inner - 0.83) < 0.01 and abs(whole - 1.16) < 0.01
    return found(bool(same and answer.accepted) and near, text, {"G": inner, "all": whole})


def equation_7(size: Size) -> Finding:
    sets = generate.elliott(count=size.count(500, 10_000), seed=5, empty=False)
    accepted = analysis.srm(sets, 4).accepted
    load = (sets.gpu_time(1) / np.maximum(sets.period, 1)).sum(axis=-1)[accepted]
    text = f"critical sections use up to {load.max():.2f} in {accepted.sum()} accepted sets"
    return found(bool((load <= 1).all()), text, {"most": float(load.max())})


def both_methods(size: Size) -> Finding:
    lock, box = 5 * 4 / 30, 5 * 5 / 30
    cpus = [2 * 5 / 30 + 5 * 21 / 30, 2 * 5 / 30 + 5 * 5 / 30]
    runs = [
        simulate.host(example(), 4, "gedf", "fmlp", until=30),
        simulate.host(example(), 4, "gedf", "container", mode="busy", until=30, server_period=30),
    ]
    last = [int(run.finish.max()) for run in runs]
    text = (
        f"GPU: {lock:.2f} with the lock, {box:.2f} in the container; CPUs: {cpus[0]:.2f} and "
        f"{cpus[1]:.3f}; last job at {last[0]} and {last[1]}"
    )
    near = np.allclose([lock, box, *cpus], [0.67, 0.83, 3.83, 1.16], atol=0.0101)
    return found(bool(near) and last[0] < last[1], text, {"GPU": [lock, box], "CPUs": cpus})


def box_bounds(size: Size) -> Finding:
    sets = generate.elliott("medium", count=size.count(60, 2000), seed=7, empty=False)
    answer = analysis.container(sets, 4, whole_budget=True)
    worst, runs = 0.0, 0
    for k in np.flatnonzero(answer.accepted & answer.bounded.any(axis=-1)).tolist():
        hosts, one = sets[k], answer[k]
        if not one.bounded.all():
            continue
        run = simulate.host(hosts, 4, "gedf", "container", until=10**9, intervals=False)
        worst = max(worst, float((run.worst / one.response).max()))
        runs += 1
    text = f"responses of {runs} simulated sets are at most {worst:.0%} of their bounds"
    return found(runs > 0 and worst <= 1, text, {"sets": runs, "largest share": worst})


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
        "N-body simulations take 10 to 100 us on average, large matrix computations 10 to 200 ms.",
        ("gs.experiments.report",), "differs",
        "Table 1 of the same paper has an n-body simulation of 210 us and matrices of 1.61 and "
        "5.88 ms",
        orders_of_magnitude,
    ),
    Claim(
        "Section 2", "one kernel at a time, and a driver that spins",
        "Kernels are not preempted and do not run concurrently; the driver busy-waits under "
        "contention.",
        (), "needs hardware", "observations of a GTX-285 and of a driver of 2010",
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
    Claim(
        "Section 4.1", "one job at a time",
        "A semaphore from the second to the fourth phase lets the driver serve one job at a time.",
        RUN, "agrees", "", one_at_a_time,
    ),
    Claim(
        "Section 4.1", "neither lock is better for all sets",
        "Blocking is in O(n) with FMLP-Long and in O(m) with OMLP, and each schedules sets that "
        "the other does not.",
        SRM, "agrees", "", neither_lock,
    ),
    Claim(
        "Equation (1)", "blocking with FMLP-Long",
        "The sum of the critical sections of all other GPU-using tasks.",
        SRM, "agrees", "", equation_1,
    ),
    Claim(
        "Equation (2)", "blocking with OMLP",
        "A request is blocked by at most the 2 (m - 1) longest critical sections of other jobs.",
        (*SRM, *RUN), "differs",
        "2 m - 1 can block it: m holders while it waits for a place in the FIFO queue, and m - 1 "
        "ahead of it there. How many jobs of one task count is not said: two (`paper`) or one "
        "(`paper, once`)",
        equation_2,
    ),
    Claim(
        "Inequalities (3) and (4)", "test of the Shared Resource Method",
        "e + s + b <= p for every task, and the sum of (e + s + b) / p at most m.",
        SRM, "agrees", "", inequalities(analysis.srm, "SRM"),
    ),
    Claim(
        "Section 4.1, example", "example with a lock",
        "Blocking 16, 21 <= 30, utilization 3.83 <= 4: schedulable.",
        SRM, "agrees", "", lock_example,
    ),
    Claim(
        "Figure 2", "schedule with a lock",
        "The last job ends at 21, and one CPU is in use from 5 on.", RUN, "agrees", "", figure_2,
    ),
    Claim(
        "Figure 3", "containers of the example",
        "Container G has a bandwidth of 5/6, the root H of 7/6.",
        CONTAINER, "agrees", "", figure_3,
    ),
    Claim(
        "Section 4.2", "bounded tardiness in containers",
        "With window-constrained scheduling in every container tardiness is bounded without loss "
        "of utilization.",
        (*CONTAINER, *RUN), "agrees", "", box_bounds,
    ),
    Claim(
        "Section 4.2", "FIFO in the container",
        "FIFO without preemption removes all contention for the GPU.",
        RUN, "agrees", "", fifo_inside,
    ),
    Claim(
        "Inequalities (5) and (6)", "test of the Container Method",
        "w(G) <= 1, and w(G) with the CPU-only tasks at most m.",
        CONTAINER, "agrees in this reading",
        "a CPU-only task's utilization must also be at most 1, which the sets of the paper meet",
        inequalities(analysis.container, "Container"),
    ),
    Claim(
        "Section 4.2, example", "example in a container",
        "Container 0.83 <= 1, utilization 1.16 <= 4: schedulable.",
        CONTAINER, "agrees", "", box_example,
    ),
    Claim(
        "Figure 4", "schedule in a container",
        "The last job ends at 25: later than with the lock.", RUN, "agrees", "", figure_4,
    ),
    Claim(
        "Inequality (7)", "GPU utilization with a lock",
        "In schedulable sets the critical sections use the GPU for at most all of its time.",
        SRM, "agrees", "", equation_7,
    ),
    Claim(
        "Section 4.2", "both methods compared",
        "GPU utilizations 0.67 and 0.83, CPU utilizations 3.83 and 1.16; jobs complete later in "
        "the container.",
        (*SRM, *CONTAINER), "agrees", "", both_methods,
    ),
)  # fmt: skip
"""Claims of sections 1 to 4, in the order of the text."""
