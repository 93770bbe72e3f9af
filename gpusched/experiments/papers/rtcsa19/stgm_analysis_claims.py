"""Claims of [RTCSA19], sections II to IV-B: model, schedules, equations and lemmas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpusched import analysis, generate, simulate
from gpusched.experiments.papers.claim import Claim, Finding, Size, found
from gpusched.experiments.papers.claim_pictures import figure_svg
from gpusched.experiments.papers.rtcsa19.stgm_counterexamples import (
    equation_9,
    equation_11,
    lemma_2,
    lemma_3,
)
from gpusched.model.gpu import GPU
from gpusched.model.host_tasks import HostTasks
from gpusched.model.placement import place

__all__ = ["ANALYSIS_CLAIMS"]

STGM = ("gs.analysis.stgm",)
SHOWN = ("gs.analysis.stgm", "gs.simulate.host")


def example() -> HostTasks:
    """Four tasks on two cores, with all kinds of waiting."""
    jobs: list[list[Any]] = [
        [3, (1, 6, 1), 2],
        [5, (2, 8, 1), 1],
        [10],
        [6, (2, 10, 2), 2, (1, 4, 1), 1],
    ]
    sets: list[list[int]] = [[0], [0, 1], [], [1]]
    return HostTasks.from_segments([60, 80, 120, 160], jobs, core=[0, 1, 0, 1], sm=sets)


def printed_terms(name: str, mode: Any = "suspend") -> list[int]:
    terms: list[int] = analysis.stgm(example(), mode=mode, variant="paper").terms[name].tolist()
    return terms


def terms_are(name: str, wanted: Sequence[int], by_hand: Sequence[int], text: str) -> Finding:
    """Compare printed terms of the example with sums made here from the equation."""
    terms = printed_terms(name)
    values = {"terms": terms, "by hand": list(by_hand)}
    return found(terms == list(wanted) == list(by_hand), f"{text}: {terms} for four tasks", values)


def structure(size: Size) -> Finding:
    gpu = GPU.preset("gtx970")
    engines = [GPU.preset(name).copy_engines for name in ("gtx970", "xavier")]
    text = f"a GTX 970 has {gpu.sms} SMs and {engines[0]} copy engines, a Xavier {engines[1]}"
    filled = place(gpu, blocks=[16], threads=[1024], placement="most_room")
    values = {"sms": gpu.sms, "engines": engines}
    picture = figure_svg(filled.plot)
    return found(gpu.sms > 1 and min(engines) >= 1, text, values, picture)


def blocks(size: Size) -> Finding:
    gpu = GPU.preset("gtx970")
    few = place(gpu, blocks=[4], threads=[256], placement="most_room")
    many = place(gpu, blocks=[40], threads=[256], placement="most_room")
    used = len(set(few.sm.tolist()))
    most = int(np.bincount(many.sm).max())
    text = f"4 blocks occupy {used} of {gpu.sms} SMs; of 40 blocks up to {most} are on one SM"
    return found(used < gpu.sms and most > 1, text, {"used": used, "most": most})


def shrinking(size: Size) -> Finding:
    sets = generate.stgm(12, size.count(50, 1000), 1)
    grows = bool((np.diff(sets.kernel, axis=-1) > 0).any())
    try:
        HostTasks.from_segments([60], [[(1, [4, 6], 1)]])
    except ValueError as error:
        text = f"no kernel of {len(sets)} random sets grows with its SMs; one that does: {error}"
        return found(not grows, text, {"sets": len(sets)})
    return found(False, "kernels that grow with their SMs are accepted", {"sets": len(sets)})


def utilizations(size: Size) -> Finding:
    hosts = example()
    busy, suspend = (hosts.utilization(mode, sms=2) for mode in ("busy", "suspend"))
    wanted_busy = (hosts.cpu_time + hosts.gpu_time(2)) / hosts.period
    wanted = (hosts.cpu_time + hosts.copy_time) / hosts.period
    holds = np.allclose([float(u) for u in busy], wanted_busy) and np.allclose(
        [float(u) for u in suspend], wanted
    )
    shown = [round(float(u), 4) for u in suspend]
    return found(bool(holds), f"suspending, the example's utilizations are {shown}", {"u": shown})


def segments(size: Size) -> Finding:
    task = HostTasks.from_segments([100], [[(1, 4, 2), (3, 5, 1)]], core=0, sm=[[0]])
    run = simulate.host(task, 1, protocol="stgm", until=100)
    assert run.intervals is not None
    order = run.intervals.to_frame().sort_values("start")["what"].tolist()
    text = "a job of two consecutive GPU segments: " + ", ".join(order)
    return found(order == ["copy in", "kernel", "copy out"] * 2, text, {"order": order})


def at_once(size: Size) -> Finding:
    """Kernels on disjoint and on shared SMs, and the boost during a copy."""
    jobs: list[list[Any]] = [[(1, 10, 1)], [(1, 10, 1)]]
    finish = []
    for sets in ([[0], [1]], [[0], [0]]):
        pair = HostTasks.from_segments([100, 100], jobs, core=[0, 1], sm=sets)
        run = simulate.host(pair, 2, protocol="stgm", until=100)
        finish.append(run.finish.tolist())
    text = f"jobs of 12 end at {finish[0]} with SMs of their own and at {finish[1]} with one SM"
    return found(
        finish[0] == [12, 13] and finish[1] == [12, 22],
        text,
        {"apart": finish[0], "one": finish[1]},
    )


def boosted(size: Size) -> Finding:
    pair = HostTasks.from_segments(
        [100, 100], [[5], [(4, 1, 4)]], offset=[1, 0], core=0, sm=[[], [0]], priority=[0, 1]
    )
    run = simulate.host(pair, 1, protocol="stgm", until=100)
    log = run.intervals
    assert log is not None
    own = log.task == 0
    starts = log.start[own & (log.what == 1)].tolist()
    finish = int(run.finish[run.task == 0][0])
    text = f"the more urgent task is released at 1 and ends at {finish}, after both copies of 4"
    return found(finish == 1 + 5 + 8 - 1, text, {"finish": finish, "starts": starts})


def hand_equation_1(size: Size) -> Finding:
    """The recurrence, iterated here, with the blocking terms of the printed test."""
    hosts = example()
    printed = analysis.stgm(hosts, variant="paper")
    blocking = np.sum([printed.terms[k] for k in ("copy", "kernel", "lower")], axis=0).tolist()
    cost = (hosts.cpu_time + hosts.gpu_time(2)).tolist()
    demand = (hosts.cpu_time + hosts.copy_time).tolist()
    period, core, rank = (a.tolist() for a in (hosts.period, hosts.core, hosts.priority))
    response = [0] * hosts.n
    for i in sorted(range(hosts.n), key=lambda k: rank[k]):
        above = [h for h in range(hosts.n) if core[h] == core[i] and rank[h] < rank[i]]
        own = cost[i] + blocking[i]
        w, last = own, -1
        while w != last:
            last = w
            jobs = [-(-(w + response[h] - demand[h]) // period[h]) for h in above]
            w = own + sum(n * demand[h] for n, h in zip(jobs, above, strict=True))
        response[i] = w
    same = response == printed.response.tolist() == [29, 43, 17, 75]
    text = f"iterated by hand {response}, package {printed.response.tolist()}"
    return found(same, text, {"response": response}, reading=True)


def sums(mode: Any) -> Finding:
    printed = analysis.stgm(example(), mode=mode, variant="paper")
    parts = [printed.terms[name] for name in ("own", "copy", "kernel", "lower", "higher")]
    total = np.sum(parts, axis=0).tolist()
    text = f"own time, three kinds of blocking and more urgent tasks add up to {total}"
    return found(total == printed.response.tolist(), text, {"sum": total})


def figure_2_tasks() -> HostTasks:
    return HostTasks.from_segments(
        [1000] * 3,
        [[2, (4, 6, 2), 4], [(4, 12, 2)], [2, (2, 13, 4), 2]],
        core=[0, 1, 0], sm=[[0], [0], [1]], priority=[0, 1, 2],
        name=["tau_i", "tau_k", "tau_l"],
    )  # fmt: skip


def figure_2(size: Size) -> Finding:
    run = simulate.host(figure_2_tasks(), 2, protocol="stgm", until=1000)
    names = ("wait for copy engine", "wait for SMs", "wait for core")
    spent = run.spent()
    waits = [int(spent[name][0]) for name in names]
    text = (
        f"tau_i waits {waits[0]} for the copy engine (tau_k copies), {waits[1]} for its SM "
        f"(tau_k's kernel) and {waits[2]} for its core (tau_l's boosted copy out)"
    )
    return found(waits == [2, 8, 4], text, {"waits": waits}, figure_svg(run.plot))


def lemma_1(size: Size) -> Finding:
    """The longest wait for the copy engine in random systems, against Eq. (3)."""
    sets = generate.stgm(8, size.count(20, 400), 3, cpus=2, sms=2, utilization=(0.02, 0.1))
    placed = analysis.stgm_allocate(sets, 2, 2)
    worst, runs = 0.0, 0
    for k in np.flatnonzero(placed.accepted).tolist():
        hosts = placed.hosts[k]
        longest = np.maximum(hosts.copy_in, hosts.copy_out).max(axis=-1)
        bound = 2 * hosts.segments * (longest.sum() - longest)
        run = simulate.host(hosts, 2, protocol="stgm", until=int(hosts.period.max()) * 4)
        log = run.intervals
        assert log is not None
        rows = log.what == 8
        waited = np.zeros(len(run.task))
        key = {(int(t), int(j)): r for r, (t, j) in enumerate(zip(run.task, run.job, strict=True))}
        for t, j, length in zip(
            log.task[rows], log.job[rows], (log.end - log.start)[rows], strict=True
        ):
            waited[key[int(t), int(j)]] += length
        limit = bound[run.task]
        some = limit > 0
        worst = max(worst, float((waited[some] / limit[some]).max(initial=0)))
        runs += 1
    text = f"in {runs} simulated systems a job waits for copies at most {worst:.0%} of Eq. (4)"
    return found(0 < worst <= 1, text, {"systems": runs, "largest share": worst})


def equation_4(size: Size) -> Finding:
    by_hand = [2 * 1 * (2 + 2), 2 * 1 * (1 + 2), 0, 2 * 2 * (1 + 2)]
    return terms_are("copy", [8, 6, 0, 12], by_hand, "waiting for copies")


def equation_6(size: Size) -> Finding:
    by_hand = [8, 6 + 10, 0, 2 * 8]
    return terms_are("kernel", [8, 16, 0, 16], by_hand, "waiting for kernels")


def equation_8(size: Size) -> Finding:
    by_hand = [0, 2 * 2, 0, 0]
    found_here = terms_are("lower", [0, 4, 0, 0], by_hand, "priority inversion")
    reading = "agrees in this reading" if found_here.verdict == "agrees" else "differs"
    return Finding(found_here.computed, reading, found_here.values)  # type: ignore[arg-type]


def alone(size: Size) -> Finding:
    apart = example().with_placement(core=[0, 1, 0, 1], sm=[[0], [1], [], [2]])
    waits = [analysis.stgm(apart, variant=v).terms["kernel"].tolist() for v in ("paper", "sound")]
    text = f"with SMs of their own tasks wait {waits[0]} (printed) and {waits[1]} for kernels"
    return found(waits == [[0] * 4] * 2, text, {"waits": waits[0]})


def equation_12(size: Size) -> Finding:
    """Once per job: in random busy systems no response exceeds the corrected bound."""
    printed = printed_terms("lower", "busy")
    sets = generate.stgm(8, size.count(20, 400), 5, cpus=2, sms=2, utilization=(0.02, 0.15))
    placed = analysis.stgm_allocate(sets, 2, 2, mode="busy")
    worst, runs = 0.0, 0
    for k in np.flatnonzero(placed.accepted).tolist():
        hosts = placed.hosts[k]
        until = int(hosts.period.max()) * 4
        run = simulate.host(hosts, 2, protocol="stgm", mode="busy", until=until)
        worst = max(worst, float((run.worst / placed[k].response).max()))
        runs += 1
    text = (
        f"printed {printed} for four tasks; in {runs} simulated systems responses are at most "
        f"{worst:.0%} of bounds that count it once per job"
    )
    return found(printed == [0, 14, 0, 0] and 0 < worst <= 1, text, {"largest share": worst})


ANALYSIS_CLAIMS = (
    Claim(
        "Figure 1", "structure of a GPU",
        "A GPU has several SMs, and copy engines, which all of them share.",
        ("gs.GPU",), "agrees", "", structure,
    ),
    Claim(
        "Section II-A", "blocks on SMs",
        "Few blocks leave SMs unused, and an SM may hold several blocks.",
        ("gs.place",), "agrees", "", blocks,
    ),
    Claim(
        "Section III", "kernel times",
        "G(k) does not grow with the number of SMs; measured times can be rounded up to that.",
        ("gs.HostTasks", "gs.generate.stgm"), "agrees", "", shrinking,
    ),
    Claim(
        "Section III", "GPU segments",
        "A segment is a copy in, a kernel and a copy out, so it uses the copy engine up to twice; "
        "GPU segments may follow each other.",
        ("gs.HostTasks", "gs.simulate.host"), "agrees", "", segments,
    ),
    Claim(
        "Section III", "utilization",
        "U is (C + G) / T for a task that spins, (C + G^m) / T for one that suspends.",
        ("gs.HostTasks",), "agrees", "", utilizations,
    ),
    Claim(
        "Section IV-A", "spatial management",
        "Blocks that find themselves on a foreign SM end at once; the rest of the grid runs on the "
        "SMs of the task.",
        (), "needs hardware", "it is a change of a kernel's code, observed on a device",
    ),
    Claim(
        "Section IV-A", "temporal management",
        "A kernel with SMs of its own starts after its copy; with a shared SM it waits for the "
        "kernels launched before.",
        ("gs.simulate.host",), "agrees", "", at_once,
    ),
    Claim(
        "Section IV-A", "priority boosting",
        "No CPU segment of another task on the core preempts a task in its GPU segment.",
        ("gs.simulate.host",), "agrees", "", boosted,
    ),
    Claim(
        "Equation (1)", "response when suspending",
        "W = C + G + B + sum over more urgent tasks of the core of "
        "ceil((W + W_h - (C_h + G^m_h)) / T_h) (C_h + G^m_h).",
        STGM, "agrees in this reading",
        "the jitter W_h - (C_h + G^m_h) bounds a suspension only if h meets its deadline, which "
        "the text does not require; and B must be a bound (see Equations (5) and (7))",
        hand_equation_1,
    ),
    Claim(
        "Equation (2)", "kinds of blocking when suspending",
        "B is the sum of the waits for copies, for kernels and for boosted tasks.",
        STGM, "agrees", "", lambda size: sums("suspend"),
    ),
    Claim(
        "Figure 2", "three kinds of blocking",
        "A task waits for a copy and a kernel of a task on another core, and before its last CPU "
        "segment for a boosted copy of a less urgent task on its own core.",
        ("gs.simulate.host",), "agrees", "", figure_2,
    ),
    Claim(
        "Lemma 1", "wait for copies, Equation (3)",
        "One copy waits for at most the longest copy of each other task.",
        SHOWN, "agrees", "", lemma_1,
    ),
    Claim(
        "Equation (4)", "copies of a job",
        "Two copies per GPU segment: B^m is the sum of 2 B^m_j.", STGM, "agrees", "", equation_4,
    ),
    Claim(
        "Lemma 2", "wait for kernels, Equation (5)",
        "A kernel waits for at most the longest kernel of each task that shares an SM with it.",
        SHOWN, "differs",
        "waiting is transitive: a task that shares an SM with the first may itself wait, for one "
        "that does not; the corrected test takes the longest chain",
        lemma_2,
    ),
    Claim(
        "Lemma 2", "SMs of its own",
        "A task that shares no SM does not wait for kernels.", STGM, "agrees", "", alone,
    ),
    Claim(
        "Equation (6)", "kernels of a job",
        "B^e is the sum of B^e_j over the GPU segments.", STGM, "agrees", "", equation_6,
    ),
    Claim(
        "Lemma 3", "priority inversion, Equation (7)",
        "Before a CPU segment each less urgent GPU-using task of the core runs at most its longest "
        "single copy.",
        SHOWN, "differs",
        "both copies of a segment, in and out, can delay the same CPU segment",
        lemma_3,
    ),
    Claim(
        "Equation (8)", "inversion of a job",
        "B^l is the sum of B^l_j over the theta CPU segments.", STGM, "agrees in this reading",
        "as arithmetic; less urgent tasks begin segments only where the task is not ready, so "
        "eta + 1 intervals are certain whatever the order of the segments, and the term must be "
        "that of both copies",
        equation_8,
    ),
    Claim(
        "Equation (9)", "response when spinning",
        "W = C + G + B + sum over more urgent tasks of the core of ceil(W / T_h) "
        "(C_h + G_h + B_i).",
        SHOWN, "differs",
        "a more urgent task occupies the core while it spins, which is its own blocking and not "
        "that of the task under analysis",
        equation_9,
    ),
    Claim(
        "Equation (10)", "kinds of blocking when spinning",
        "B is the sum of the same three kinds.", STGM, "agrees", "", lambda size: sums("busy"),
    ),
    Claim(
        "Equation (11)", "priority inversion when spinning",
        "Less urgent GPU-using tasks of the core delay a job by the sum of their longest GPU "
        "segments.",
        SHOWN, "differs",
        "such a task also spins for the copy engine and for SMs; and at most one of them is in a "
        "GPU segment, so the sum is more than needed",
        equation_11,
    ),
    Claim(
        "Equation (12)", "inversion once per job",
        "A job that spins is delayed by less urgent tasks only before it starts.",
        SHOWN, "agrees", "", equation_12,
    ),
)  # fmt: skip
"""Claims up to section IV-B, in the order of the text."""
