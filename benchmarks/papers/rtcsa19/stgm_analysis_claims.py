"""Claims of [RTCSA19], section IV-B: equations, lemmas and their schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from benchmarks.papers.rtcsa19.stgm_example import example, listed
from gpusched import analysis, generate, simulate, ways
from gpusched.model.host_tasks import HostTasks

__all__ = ["ANALYSIS_CLAIMS"]

STGM = ("gs.analysis.stgm",)
SHOWN = ("gs.analysis.stgm", "gs.simulate.host")
WAITS = 8  # kind of the intervals in which a task waits for the copy engine


def printed_terms(name: str, mode: Any = "suspend") -> list[int]:
    terms: list[int] = analysis.stgm(example(), mode=mode, variant="paper").terms[name].tolist()
    return terms


def terms_are(name: str, wanted: Sequence[int], by_hand: Sequence[int], text: str) -> Finding:
    """Compare printed terms of the example with sums made here from the equation."""
    terms = printed_terms(name)
    values = {"terms": terms, "by hand": list(by_hand)}
    return found(
        terms == list(wanted) == list(by_hand), f"{text}: {listed(terms)} for four tasks", values
    )


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
    text = (
        f"for four tasks, iterated by hand {listed(response)}, package "
        f"{listed(printed.response.tolist())}"
    )
    return found(same, text, {"response": response}, reading=True)


def sums(mode: Any) -> Finding:
    printed = analysis.stgm(example(), mode=mode, variant="paper")
    parts = [printed.terms[name] for name in ("own", "copy", "kernel", "lower", "higher")]
    total = np.sum(parts, axis=0).tolist()
    text = f"own time, three kinds of blocking and more urgent tasks add up to {listed(total)}"
    return found(total == printed.response.tolist(), text, {"sum": total})


def figure_2_tasks() -> HostTasks:
    return HostTasks.from_segments(
        [1000] * 3,
        [[2, (4, 6, 2), 4], [(4, 12, 2)], [2, (2, 13, 4), 2]],
        core=[0, 1, 0], sm=[[0], [0], [1]], priority=[0, 1, 2],
        name=["tau_i", "tau_k", "tau_l"],
    )  # fmt: skip


def figure_2(size: Size) -> Finding:
    run = simulate.host(figure_2_tasks(), 2, "stgm", until=1000)
    names = ("wait for copy engine", "wait for SMs", "wait for core")
    spent = run.spent()
    waits = [int(spent[name][0]) for name in names]
    text = (
        f"tau_i waits {waits[0]} for the copy engine (tau_k copies), {waits[1]} for its SM "
        f"(tau_k's kernel) and {waits[2]} for its core (tau_l's boosted copy out)"
    )
    return found(waits == [2, 8, 4], text, {"waits": waits}, figure_svg(run.plot))


def met_copies() -> tuple[int, int]:
    """Longest wait of three tasks whose copies meet, and the sum of Equation (3)."""
    jobs: list[list[Any]] = [[(4, 1, 1)], [(5, 1, 1)], [(7, 1, 1)]]
    hosts = HostTasks.from_segments(
        [100] * 3, jobs, core=[0, 1, 2], sm=[[0], [1], [2]], priority=[2, 0, 1]
    )
    run = simulate.host(hosts, 3, "stgm", until=100)
    log = run.intervals
    assert log is not None
    rows = (log.what == WAITS) & (log.task == 0)
    return int((log.end - log.start)[rows].max()), 5 + 7


def lemma_1(size: Size) -> Finding:
    """The longest wait for the copy engine, in a system made for it and in random ones."""
    tight, limit = met_copies()
    sets = generate.stgm(8, size.count(20, 400), 3, cpus=2, sms=2, utilization=(0.02, 0.1))
    placed = analysis.stgm_allocate(sets, 2, 2)
    worst, runs = 0.0, 0
    for k in np.flatnonzero(placed.accepted).tolist():
        hosts = placed.hosts[k]
        longest = np.maximum(hosts.copy_in, hosts.copy_out).max(axis=-1)
        bound = longest.sum() - longest
        run = simulate.host(hosts, 2, "stgm", until=int(hosts.period.max()) * 4)
        log = run.intervals
        assert log is not None
        rows = log.what == WAITS
        waits = (log.end - log.start)[rows] / bound[log.task[rows]]
        worst = max(worst, float(waits.max(initial=0)))
        runs += 1
    text = (
        f"three copies that meet: the last waits {tight}, the sum of the others is {limit}; in "
        f"{runs} simulated systems a copy waits at most {worst:.0%} of Equation (3)"
    )
    values = {"tight": tight, "systems": runs, "largest share": worst}
    return found(tight == limit and 0 < worst <= 1, text, values)


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
    text = (
        f"with SMs of their own the waits of four tasks for kernels are {listed(waits[0])} as "
        f"printed, and {listed(waits[1])} in the corrected test"
    )
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
        run = simulate.host(hosts, 2, ways.Stgm(mode="busy"), until=until)
        worst = max(worst, float((run.worst / placed[k].response).max()))
        runs += 1
    text = (
        f"printed {listed(printed)} for four tasks; in {runs} simulated systems responses are at "
        f"most {worst:.0%} of bounds that count it once per job"
    )
    return found(printed == [0, 14, 0, 0] and 0 < worst <= 1, text, {"largest share": worst})


# Schedules in which a task takes longer than a printed bound --------------------------------------


def broken(hosts: HostTasks, task: int, mode: Any) -> Finding:
    """A schedule in which a task takes longer than the printed bound, not than the sound one."""
    cpus = int(hosts.core.max()) + 1
    printed = int(analysis.stgm(hosts, mode=mode, variant="paper").response[task])
    sound = int(analysis.stgm(hosts, mode=mode).response[task])
    run = simulate.host(hosts, cpus, ways.Stgm(mode=mode), until=1000)
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


ANALYSIS_CLAIMS = (
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
        "The sum is computed as printed. As a bound it must count both copies of a segment (Lemma "
        "3). The corrected test also puts eta + 1 for theta, as a less urgent task can begin a GPU "
        "segment before the job and at each of its eta suspensions, which are more than theta "
        "where GPU segments follow each other.",
        equation_8,
    ),
    Claim(
        "Equation (9)", "response when spinning",
        "W = C + G + B + sum over more urgent tasks of the core of ceil(W / T_h) "
        "(C_h + G_h + B_i).",
        SHOWN, "differs",
        "B_h is meant: a more urgent task occupies the core while it spins, which is its own "
        "blocking and not that of the task under analysis",
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
"""Claims of section IV-B, in the order of the text."""
