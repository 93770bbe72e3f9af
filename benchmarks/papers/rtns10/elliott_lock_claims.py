"""Claims of [RTNS10], section 4.1: the Shared Resource Method, a lock around the GPU."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from benchmarks.papers.rtns10.elliott_example import example, inequalities
from gpusched import analysis, generate, simulate, ways
from gpusched.analysis.global_edf import SRM_VARIANTS
from gpusched.model.host_tasks import HostTasks
from gpusched.simulate.host_result import WHAT

__all__ = ["LOCK_CLAIMS"]

SRM = ("gs.analysis.srm",)
RUN = ("gs.simulate.host",)


def one_at_a_time(size: Size) -> Finding:
    """Critical sections under both locks, from the copy in to the copy out."""
    overlaps = {}
    for lock in ("fmlp", "omlp"):
        run = simulate.host(example(), 4, ways.Srm(lock=lock), until=300)
        log = run.intervals
        assert log is not None
        inside = (log.what >= 2) & (log.what <= 4)
        order = np.argsort(log.start[inside], kind="stable")
        start, end = log.start[inside][order], log.end[inside][order]
        overlaps[lock] = bool((start[1:] < end[:-1]).any())
    text = f"critical sections overlap: {overlaps}"
    return found(not any(overlaps.values()), text, dict(overlaps))


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
        run = simulate.host(late, m, ways.Srm(lock="omlp"), until=900)
        seen = int(run.response[run.task == 2 * m - 1][0]) - 10
        rows[m] = [seen, *bounds]
    text = "; ".join(
        f"m = {m}: a request waits {seen}, Eq. (2) {twice} ({once} with one request per task), "
        f"sound {sound}"
        for m, (seen, sound, twice, once) in rows.items()
    )
    kept = all(seen <= twice for seen, _, twice, _ in rows.values())
    return found(kept, text, {str(m): row for m, row in rows.items()})


def lock_example(size: Size) -> Finding:
    hosts = example()
    answer = analysis.srm(hosts, 4, lock="fmlp")
    demand = hosts.cpu_time + hosts.gpu_time(1) + answer.blocking
    total = float((demand / hosts.period).sum())
    blocking = answer.blocking.tolist()
    holds = bool(answer.accepted) and blocking == [0, 0, 16, 16, 16, 16, 16]
    holds &= int(demand[2]) == 21
    text = (
        f"blocking {blocking[2]}, demand {demand[2]} of {hosts.period[2]}, utilization {total:.2f}"
    )
    return found(
        holds and round(total, 2) == 3.83, text, {"blocking": blocking, "utilization": total}
    )


def best_suited(size: Size) -> Finding:
    """The example with FMLP-Long, and with the three forms of the bound of OMLP."""
    answers = {"FMLP-Long": analysis.srm(example(), 4, lock="fmlp")}
    for variant in SRM_VARIANTS:
        answers[f"OMLP, {variant}"] = analysis.srm(example(), 4, lock="omlp", variant=variant)
    rows = {n: [int(a.blocking.max()), bool(a.accepted)] for n, a in answers.items()}
    text = "; ".join(
        f"{name}: blocking {blocking}, {'accepted' if fits else 'not accepted'}"
        for name, (blocking, fits) in rows.items()
    )
    holds = rows["FMLP-Long"][1] and not rows["OMLP, paper"][1]
    return found(bool(holds), text, dict(rows), reading=True)


def omlp_queues(size: Size) -> Finding:
    """Order of kernels when m requests are followed by more urgent ones, the last most of all."""
    orders = {}
    m = 3
    late = HostTasks.from_gpu_times(
        [1000] * (2 * m), cpu=0, gpu=10, offset=range(2 * m), deadline=[900] * m + [500, 400, 300]
    )
    for lock in ("omlp", "fmlp"):
        run = simulate.host(late, m, ways.Srm(lock=lock), until=900)
        log = run.intervals
        assert log is not None
        kernels = log.what == WHAT.index("kernel")
        orders[lock] = log.task[kernels][np.argsort(log.start[kernels])].tolist()
    text = (
        f"requests of tasks 0 to {2 * m - 1} in this order on {m} CPUs, the last ones the more "
        f"urgent: OMLP serves {orders['omlp']}, FMLP-Long {orders['fmlp']}"
    )
    holds = orders["omlp"] == [0, 1, 2, 5, 4, 3] and orders["fmlp"] == [0, 1, 2, 3, 4, 5]
    return found(holds, text, dict(orders))


def figure_2(size: Size) -> Finding:
    run = simulate.host(example(), 4, ways.Srm(lock="fmlp"), until=30)
    log = run.intervals
    assert log is not None
    late = (log.core >= 0) & (log.end > 5)
    busy = [int(((log.start <= t) & (log.end > t))[late].sum()) for t in range(5, 21)]
    last = int(run.end.max())
    text = f"the last job ends at {last}; at most {max(busy)} CPU is busy from 5 on"
    return found(
        last == 21 and max(busy) == 1, text, {"last": last, "busy": busy}, figure_svg(run.plot)
    )


LOCK_CLAIMS = (
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
        "Section 4.1", "queues of OMLP",
        "A FIFO queue of at most m jobs, whose head holds the lock, and a queue by priority behind "
        "it.",
        RUN, "agrees", "", omlp_queues,
    ),
    Claim(
        "Equation (2)", "blocking with OMLP",
        "A request is blocked by at most the 2 (m - 1) longest critical sections of lower-priority "
        "jobs.",
        (*SRM, *RUN), "differs",
        "2 m - 1 can block it: m holders while it waits for a place in the FIFO queue, and m - 1 "
        "ahead of it there; the m - 1 ahead may have higher priorities, but suspended jobs count "
        "as executing, so the request is blocked as long as it is among the m most urgent. How "
        "many requests of one task count is not said: two (variant 'paper') or one (variant "
        "'paper, once')",
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
        "Section 4.1, example", "FMLP-Long best suited",
        "Of the two locks FMLP-Long is best suited for the example.",
        SRM, "agrees in this reading",
        "Eq. (2) where up to two requests of each other task count (variant 'paper'); where one "
        "counts (variant 'paper, once') and in the corrected form OMLP is as good",
        best_suited,
    ),
    Claim(
        "Figure 2", "schedule with a lock",
        "The last job ends at 21, and one CPU is in use from 5 on.", RUN, "agrees", "", figure_2,
    ),
)  # fmt: skip
"""Claims of section 4.1, in the order of the text."""
