"""Claims of [RTNS10], section 4.2: the Container Method, and both methods compared."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from benchmarks.papers.rtns10.elliott_example import example, inequalities
from gpusched import analysis, generate, simulate, ways
from gpusched.model.host_tasks import HostTasks

__all__ = ["CONTAINER_CLAIMS"]

SRM = ("gs.analysis.srm",)
CONTAINER = ("gs.analysis.container",)
RUN = ("gs.simulate.host",)


def figure_3(size: Size) -> Finding:
    hosts = example()
    load = (hosts.cpu_time + hosts.gpu_time(1)) / hosts.period
    inner, whole = float(load[2:].sum()), float(load.sum())
    text = f"bandwidths: container G {inner:.4f} (5/6), root H {whole:.4f} (7/6)"
    answer = analysis.container(hosts, 4)
    holds = bool(answer.accepted) and np.allclose([inner, whole], [5 / 6, 7 / 6])
    return found(bool(holds), text, {"G": inner, "H": whole}, figure_svg(lambda: answer.plot()))


def box_bounds(size: Size) -> Finding:
    sets = generate.elliott("medium", count=size.count(60, 2000), seed=7, empty=False)
    answer = analysis.container(sets, 4, whole_budget=True)
    worst, runs = 0.0, 0
    for k in np.flatnonzero(answer.accepted & answer.bounded.any(axis=-1)).tolist():
        hosts, one = sets[k], answer[k]
        if not one.bounded.all():
            continue
        run = simulate.host(hosts, 4, "container", until=10**9, intervals=False)
        worst = max(worst, float((run.worst / one.response).max()))
        runs += 1
    text = f"responses of {runs} simulated sets are at most {worst:.0%} of their bounds"
    return found(runs > 0 and worst <= 1, text, {"sets": runs, "largest share": worst})


def fifo_inside(size: Size) -> Finding:
    """GPU segments in a container, one at a time and in the order of their releases."""
    run = simulate.host(example(), 4, ways.Container(mode="busy"), until=300)
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


def figure_4(size: Size) -> Finding:
    run = simulate.host(example(), 4, ways.Container(mode="busy", server_period=30), until=30)
    lock = simulate.host(example(), 4, ways.Srm(lock="fmlp"), until=30)
    last, other = int(run.end.max()), int(lock.end.max())
    text = f"the last job ends at {last}, and at {other} with the lock"
    return found(last == 25 > other, text, {"last": last, "lock": other}, figure_svg(run.plot))


def work_conserving(size: Size) -> Finding:
    """A container that serves other jobs during kernels against one that idles."""
    last, late = {}, {}
    sets = generate.elliott("medium", count=size.count(60, 2000), seed=7, empty=False)
    fits = np.flatnonzero(analysis.container(sets, 4).accepted).tolist()
    for mode in ("suspend", "busy"):
        way = ways.Container(mode=mode)
        run = simulate.host(example(), 4, way.replace(server_period=30), until=30)
        last[mode] = int(run.end.max())
        behind = []
        for k in fits:
            one = simulate.host(sets[k], 4, way, until=10**9, intervals=False)
            behind.append(float((np.maximum(one.end - one.deadline, 0)).mean()) / 1e3)
        late[mode] = float(np.mean(behind))
    text = (
        f"example: the last job ends at {last['suspend']} and, with a container that idles, at "
        f"{last['busy']}; mean tardiness in {len(fits)} random sets {late['suspend']:.1f} and "
        f"{late['busy']:.1f} us"
    )
    holds = last["suspend"] < last["busy"] and late["suspend"] < late["busy"]
    return found(holds, text, {"last": list(last.values()), "late us": list(late.values())})


def equation_7(size: Size) -> Finding:
    """Random sets of GPU-using tasks, of which many overload the GPU."""
    chance = np.random.default_rng(5)
    most, accepted, over = 0.0, 0, 0
    count = size.count(400, 10_000)
    for _ in range(count):
        n = int(chance.integers(2, 13))
        period, section = chance.integers(50, 300, n), chance.integers(2, 40, n)
        hosts = HostTasks.from_gpu_times(
            period, cpu=1 + section // 5, gpu=section - section // 5, section=section
        )
        load = float((section / period).sum())
        over += load > 1
        for lock in ("fmlp", "omlp"):
            if analysis.srm(hosts, 4, lock=lock).accepted:
                accepted += 1
                most = max(most, load)
    text = (
        f"of {count} sets, {over} of which have sections above 1, {accepted} are accepted with one "
        f"or the other lock; their sections use at most {most:.2f} (with FMLP-Long it follows from "
        "(3): the sum of all sections is at most the shortest period)"
    )
    return found(most <= 1 and accepted > 0 and over > 0, text, {"most": most, "over": int(over)})


def both_methods(size: Size) -> Finding:
    hosts = example()
    answer = analysis.srm(hosts, 4, lock="fmlp")
    work, users = hosts.cpu_time + hosts.gpu_time(1), hosts.segments > 0
    lock = float((hosts.gpu_time(1) / hosts.period).sum())
    box = float((work / hosts.period)[users].sum())
    cpus = [float((w / hosts.period).sum()) for w in (work + answer.blocking, work)]
    runs = [
        simulate.host(example(), 4, ways.Srm(lock="fmlp"), until=30),
        simulate.host(example(), 4, ways.Container(mode="busy", server_period=30), until=30),
    ]
    last = [int(run.end.max()) for run in runs]
    text = (
        f"GPU: {lock:.2f} with the lock, {box:.2f} in the container; CPUs: {cpus[0]:.2f} and "
        f"{cpus[1]:.3f}; last job at {last[0]} and {last[1]}"
    )
    near = np.allclose([lock, box, *cpus], [0.67, 0.83, 3.83, 1.16], atol=0.0101)
    return found(bool(near) and last[0] < last[1], text, {"GPU": [lock, box], "CPUs": cpus})


CONTAINER_CLAIMS = (
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
        "Section 4.2", "work-conserving container",
        "A container that serves its other jobs while the GPU is in use lowers tardiness.",
        RUN, "agrees", "", work_conserving,
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
"""Claims of section 4.2, in the order of the text."""
