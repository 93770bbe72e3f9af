"""Claims of [ECRTS17], sections V and VI: Theorem 1, and the question that it leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from gpusched.experiments.yang_figures import yang_bounds, yang_fig2, yang_fig3
from gpusched.model.fifo_model import ORDERS, Order

if TYPE_CHECKING:
    from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["CLAIMS"]

_SEQUENTIAL: tuple[Order, ...] = ("hardware", "release", "strict")
_RULES: tuple[Order, ...] = ("hardware",)


def _attacked() -> KernelTasks:
    """Two tasks of blocks of one thread on two threads, U = 1.26 (X1 in notebook 02)."""
    from gpusched.model.kernel_tasks import KernelTasks

    return KernelTasks(period=[110, 100], block_time=[20, 90], blocks=[2, 1], threads=1)


def _tails() -> KernelTasks:
    """Two tasks of blocks of one thread on four threads, U = 3.25 (notebook 02, X2)."""
    from gpusched.model.kernel_tasks import KernelTasks

    return KernelTasks(period=[3000, 100], block_time=[1000, 45], blocks=[3, 5], threads=1)


def _gang(size: Size) -> Finding:
    """A head that does not fit leaves threads idle."""
    from gpusched import simulate
    from gpusched.model.kernel_tasks import KernelTasks

    tasks = KernelTasks(period=100, block_time=[10, 10, 10], threads=[3, 2, 1], blocks=1)
    run = simulate.fifo(tasks, 4, until=1)
    return found(
        run.start.tolist() == [0, 10, 10],
        "On 4 threads, beside a block of 3, a block of 2 waits until "
        f"{int(run.start[1])} although a thread is free, and a block of 1 behind it, too.",
        {"start": run.start.tolist()},
    )


def _single_threads(size: Size) -> Finding:
    from gpusched import simulate
    from gpusched.analysis import fifo_bound, fifo_limit

    tasks, m = _attacked(), 2
    limit = fifo_limit(tasks, m)
    outcomes = {
        order: str(simulate.fifo_responses(tasks, m, order).outcome)
        for order in ORDERS
        if order in ("hardware", "overlap")
    }
    second = {order: str(simulate.fifo_responses(_tails(), 4, order).outcome) for order in ORDERS}
    ends = {"diverges": "grow without bound", "repeats": "are bounded, as the schedule repeats"}
    grow = ends[outcomes["hardware"]]
    tails = {ends[second[order]] for order in _SEQUENTIAL}
    overlap = {ends[outcomes["overlap"]], ends[second["overlap"]]}
    safe = bool(fifo_bound(tasks, m, order="overlap").bounded.all())
    diverges = [outcomes["hardware"], *(second[order] for order in _SEQUENTIAL)]
    return found(
        not any(outcome == "diverges" for outcome in diverges),
        f"Blocks of one thread: with U = {float(limit.utilization):.2f} of {m} threads responses "
        f"{grow} by rules R1 and R2; with U = 3.25 of 4 threads they {', '.join(sorted(tails))} in "
        "all three orders of sequential jobs. Where jobs of a task may overlap, they "
        f"{', '.join(sorted(overlap))}; bounded by analysis on two threads: {safe}.",
        {"two threads": outcomes, "four threads": second, "overlap bounded": safe},
    )


def _theorem_1(size: Size) -> Finding:
    table = yang_fig3([0.01, 0.001], [1024, 768], jobs=size.count(10, 100))
    outcomes = set(table["outcome"].tolist())
    near = float(table.where(b_max=1024, epsilon=0.001)["utilization"][0])
    return found(
        outcomes == {"diverges"},
        f"With b_max 1,024 and 768 on 4,096 threads, epsilon 0.01 and 0.001, in all four orders "
        f"of FIFO: {', '.join(sorted(outcomes))} over an infinite horizon; U = {near:.2f} for "
        "b_max = 1,024 (limit 3,073).",
        {"outcomes": sorted(outcomes), "U": near},
    )


def _construction(size: Size) -> Finding:
    rows = []
    for m, widest in ((4096, 1024), (4096, 768), (10, 4), (100, 7)):
        table = yang_fig3([0.1], [widest], threads=m, jobs=1, orders=["release"])
        k = m // widest * widest
        rows.append((float(table["utilization"][0]), 0.1 * k + m - widest + 1))
    worst = max(abs(one - other) for one, other in rows)
    return found(
        worst < 1e-9,
        "For (m, b_max) = (4096, 1024), (4096, 768), (10, 4), (100, 7) and epsilon = 0.1 the tasks "
        f"have U = {', '.join(f'{one:g}' for one, _ in rows)}, as in the proof.",
        {"U": [one for one, _ in rows], "printed": [other for _, other in rows]},
    )


def _full(size: Size) -> Finding:
    """Busy threads while the first task runs, and U less m - b_max + 1 for falling epsilon."""
    from gpusched import simulate
    from gpusched.analysis import fifo_limit
    from gpusched.model.kernel_tasks import KernelTasks

    m, ticks = 4096, 1000
    busy: list[int] = []
    excess: dict[int, list[float]] = {}
    for widest in (1024, 768):
        k = m // widest * widest
        excess[widest] = []
        for epsilon in (100, 10, 1):
            shapes = [(epsilon, k // widest, widest), (ticks, m - k, 1), (ticks, k - widest + 1, 1)]
            time, blocks, threads = zip(*(s for s in shapes if s[1] > 0), strict=True)
            tasks = KernelTasks(ticks, None, None, time, blocks, threads)
            waves = simulate.fifo(tasks, m, until=1).waves
            assert waves is not None
            now = (waves.start == 0) & (waves.end >= epsilon)
            busy.append(int((waves.blocks * tasks.threads[waves.task])[now].sum()))
            limit = fifo_limit(tasks, m)
            excess[widest].append(float(limit.utilization - limit.limit))
    falls = all(
        abs(more - epsilon * (m // widest * widest)) < 1e-9
        for widest, values in excess.items()
        for more, epsilon in zip(values, (0.1, 0.01, 0.001), strict=True)
    )
    return found(
        set(busy) == {m} and falls,
        f"For b_max 1,024 and 768, {min(busy)} of {m} threads are busy from 0 to epsilon. With "
        "epsilon 0.1, 0.01 and 0.001, U exceeds m - b_max + 1 by "
        f"{', '.join(f'{more:g}' for more in excess[1024])} and "
        f"{', '.join(f'{more:g}' for more in excess[768])}: epsilon k.",
        {"busy": busy, "excess": {str(widest): values for widest, values in excess.items()}},
    )


def _figure_3(size: Size) -> Finding:
    table = yang_fig3([0.05], [1024, 768], jobs=20)
    first = {
        widest: float(table.where(order="release", b_max=widest)["response"][0])
        for widest in (1024, 768)
    }
    return found(
        all(abs(response - 1.05) < 1e-9 for response in first.values()),
        f"The first job of the third task has the response time {first[1024]:g} = 1 + epsilon with "
        f"b_max = 1,024, {first[768]:g} with 768.",
        {str(widest): response for widest, response in first.items()},
        figure_svg(table.plot),
    )


def _growth(size: Size) -> Finding:
    jobs = size.count(20, 200)
    table = yang_fig3([0.01, 0.1], [1024, 768], jobs=jobs)
    error = {}
    for widest in (1024, 768):
        rows = table.where(b_max=widest)
        error[widest] = float(np.abs(rows["response"] - rows["printed"]).max())
    slower = table.where(b_max=768, epsilon=0.1, order="release")["response"]
    grows = bool(slower[-1] > slower[0])
    return found(
        max(error.values()) < 1e-9 and grows,
        f"Over {jobs} jobs the response of job j is 1 + epsilon j for b_max = 1,024 (largest "
        f"difference {error[1024]:.1g}). For b_max = 768, which does not divide 4,096, it falls "
        f"behind by up to {error[768]:.2f} periods and reaches {float(slower[-1]):.2f}.",
        {"largest difference": {str(k): v for k, v in error.items()}, "grows": grows},
        figure_svg(table.plot),
    )


def _above(size: Size) -> Finding:
    from gpusched import simulate
    from gpusched.analysis import fifo_limit
    from gpusched.model.kernel_tasks import KernelTasks

    tasks = yang_fig2().run.tasks
    assert isinstance(tasks, KernelTasks)
    limit = fifo_limit(tasks, 4096)
    outcomes = {order: str(simulate.fifo_responses(tasks, 4096, order).outcome) for order in ORDERS}
    return found(
        limit.limit == 3073 < limit.utilization and set(outcomes.values()) == {"repeats"},
        f"Example 2 has U = {float(limit.utilization):.1f}, above m - b_max + 1 = {limit.limit}. "
        "With periodic releases its schedule repeats in all four orders of FIFO, so its responses "
        "are bounded then.",
        {"U": float(limit.utilization), "limit": int(limit.limit), "outcomes": outcomes},
        reading=True,
    )


def _question(size: Size) -> Finding:
    from gpusched import simulate
    from gpusched.analysis import fifo_limit

    rows: dict[str, Any] = {}
    for name, tasks, m, orders in (
        ("two threads", _attacked(), 2, _RULES),
        ("four threads", _tails(), 4, _SEQUENTIAL),
    ):
        limit = fifo_limit(tasks, m)
        grows = [str(simulate.fifo_responses(tasks, m, order).outcome) for order in orders]
        rows[name] = {
            "U": float(limit.utilization),
            "limit": int(limit.limit),
            "within": bool(limit.within),
            "outcomes": grows,
        }
    refuted = all(r["within"] and set(r["outcomes"]) == {"diverges"} for r in rows.values())
    one, two = rows.values()
    return found(
        not refuted,
        f"Responses grow without bound at U = {one['U']:.2f} <= {one['limit']} (rules R1, R2) and "
        f"at U = {two['U']:.2f} <= {two['limit']} (all three orders of sequential jobs).",
        rows,
    )


def _overlap(size: Size) -> Finding:
    from gpusched import simulate
    from gpusched.analysis import fifo_bound, fifo_limit
    from gpusched.generate import fifo

    count = size.count(300, 20000)
    bounded = exceeded = sets = 0
    for share in (0.3, 0.6, 0.74):
        tasks = fifo(4, share, 4096, count=count, seed=5)
        within = np.asarray(fifo_limit(tasks, 4096).within)
        bound = fifo_bound(tasks, 4096, order="overlap")
        until = 8 * tasks.period.max(axis=1)
        worst = simulate.fifo_responses(tasks, 4096, "overlap", until).worst
        sets += int(np.sum(within))
        bounded += int((np.asarray(bound.bounded).all(axis=1) & within).sum())
        known = bound.bounded & (worst * bound.denominator.astype(object) > bound.numerator)
        exceeded += int(known.sum())
    return found(
        bounded == sets and exceeded == 0,
        f"Of {sets} random sets with U <= m - b_max + 1 {bounded} have bounds for every task by "
        f"the theorem on jobs that overlap (P in notebook 02); {exceeded} responses of simulations "
        "exceed theirs.",
        {"sets": sets, "bounded": bounded, "exceeded": exceeded},
        reading=True,
    )


def _bounds(size: Size) -> Finding:
    table = yang_bounds(
        (0.2, 0.4, 0.6, 0.8),
        count=size.count(12, 2000),
        seed=1,
        horizon=size.count(5, 20),
        workers=size.workers,
        progress=False,
        store=size.store("yang_bounds"),
    )
    shares = {
        order: [round(float(v), 3) for v in table.where(order=order)["bounded"]]
        for order in ("hardware", "release", "strict", "overlap")
    }
    violations = int(table["violations"].sum())
    level = float(table["saturation"].mean())
    return found(
        violations == 0 and shares["overlap"][:3] == [1, 1, 1],
        f"Tasks with a bound at U/m = 0.2, 0.4, 0.6, 0.8: hardware {shares['hardware']}, release "
        f"{shares['release']}, strict {shares['strict']}, overlap {shares['overlap']}; while a "
        f"block waits, at least {level:.2f} m threads are busy, on average over the sets; "
        f"{violations} responses above a bound.",
        {"shares": shares, "saturation": level, "violations": violations},
        figure_svg(table.plot),
        reading=True,
    )


CLAIMS = (
    Claim(
        "Section V",
        "blocks that do not fit",
        "A block waits while too few threads are free; so some threads are idle although kernels "
        "wait.",
        ("gs.simulate.fifo",),
        "agrees",
        "",
        _gang,
    ),
    Claim(
        "Section V",
        "blocks of one thread",
        "With b_max = 1 tasks are malleable, and responses are bounded without a restriction of "
        "the utilization (up to m).",
        ("gs.simulate.fifo_responses", "gs.analysis.fifo_bound"),
        "differs",
        "Jobs of a task run one after the other in the paper's model; then responses can grow "
        "without bound with b_max = 1 and U little above 1; notebook 02 proves it for both sets of "
        "tasks of the check (there X1 and X2). It is true where jobs of a task may overlap.",
        _single_threads,
    ),
    Claim(
        "Theorem 1",
        "unbounded responses",
        "Some task system with U >= m - b_max + 1 has unbounded response times.",
        ("gs.experiments.yang_fig3", "gs.simulate.fifo_responses"),
        "agrees",
        "",
        _theorem_1,
    ),
    Claim(
        "Theorem 1",
        "utilization in the proof",
        "With k = floor(m / b_max) b_max the three tasks have U = epsilon k + m - b_max + 1.",
        ("gs.experiments.yang_fig3",),
        "agrees",
        "",
        _construction,
    ),
    Claim(
        "Theorem 1",
        "all threads occupied, limit of the utilization",
        "The first two tasks occupy all threads in [0, epsilon); U tends to m - b_max + 1 as "
        "epsilon tends to 0.",
        ("gs.simulate.fifo", "gs.analysis.fifo_limit"),
        "agrees",
        "",
        _full,
    ),
    Claim(
        "Figure 3",
        "first job of the third task",
        "The third task's first job is blocked for epsilon and ends at 1 + epsilon.",
        ("gs.experiments.yang_fig3",),
        "agrees",
        "",
        _figure_3,
    ),
    Claim(
        "Theorem 1",
        "growth in the proof",
        "Job j of the third task has the response time 1 + epsilon j.",
        ("gs.experiments.yang_fig3",),
        "differs",
        "It is so where b_max divides m, but the proof allows any b_max (k has a floor). Otherwise "
        "only a part of the first task's blocks fits at time 1, and the responses grow more "
        "slowly, also without bound: the theorem holds.",
        _growth,
    ),
    Claim(
        "Section VI",
        "utilization above the limit",
        "Response times can be unbounded if the total utilization exceeds a certain limit.",
        ("gs.analysis.fifo_limit", "gs.simulate.fifo_responses"),
        "agrees in this reading",
        "they can be, and need not: Theorem 1 has such tasks, and the paper's Example 2, which is "
        "above the limit, too, has bounded responses with periodic releases",
        _above,
    ),
    Claim(
        "Section VI",
        "open question",
        "Conjecture that the authors attempt to prove: responses are bounded if U <= m - b_max + "
        "1.",
        ("gs.simulate.fifo_responses", "gs.analysis.fifo_limit"),
        "differs",
        "Counterexamples with proofs (X1 and X2 in notebook 02): while a job of one task ends, "
        "whose next job may not start before, jobs of the other task take the threads.",
        _question,
    ),
    Claim(
        "Section VI",
        "open question, jobs that overlap",
        "The same statement, for tasks whose jobs may run at the same time.",
        ("gs.analysis.fifo_bound",),
        "agrees in this reading",
        "jobs of one task may overlap (order='overlap'): then it suffices that U is at most the "
        "least number of busy threads while a block waits, which is never below m - b_max + 1 "
        "(Theorem P of notebook 02)",
        _overlap,
    ),
    Claim(
        "Abstract",
        "response-time bounds",
        "Response-time bounds for this model are sought.",
        ("gs.analysis.fifo_bound", "gs.experiments.yang_bounds"),
        "agrees in this reading",
        "bounds exist under further conditions, which are not met by all sets below the limit "
        "(notebook 02: Theorem P for jobs that overlap, V1 by rules R1 and R2, A where tails of "
        "kernels idle few threads, V2 for kernels of one block in order of release, V3 for the "
        "strict order)",
        _bounds,
    ),
)
