"""Claims of [RTNS10], section 5.1: scenarios and task sets."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from gpusched import analysis, generate
from gpusched.experiments.elliott_counts import SCENARIOS
from gpusched.generate.elliott_sets import PERIODS, UTILIZATIONS

__all__ = ["SET_CLAIMS"]

SETS = ("gs.generate.elliott", "gs.experiments.SCENARIOS")


def scenarios(size: Size) -> Finding:
    count = len(SCENARIOS)
    users = sorted({s.share for s in SCENARIOS})  # lower ends
    text = f"{count} scenarios; utilizations {UTILIZATIONS}, periods in ms {PERIODS}, "
    text += (
        f"shares of tasks from {users[0]:.0%} to {users[-1] + 0.1:.0%} in {len(users)} intervals"
    )
    holds = (
        count == 270
        and list(UTILIZATIONS.values()) == [(0.01, 0.1), (0.1, 0.4), (0.5, 0.9)]
        and list(PERIODS.values()) == [(3, 33), (15, 60), (50, 250)]
        and users == [k / 10 for k in range(10)]
        and {s.gpu for s in SCENARIOS} == {0.25, 0.5, 0.75}
    )
    return found(holds, text, {"scenarios": count, "shares": users}, reading=True)


def drawing(size: Size) -> Finding:
    sets = generate.elliott("light", "long", 0.25, (0.2, 0.25), size.count(400, 10_000), seed=2)
    work = sets.cpu_time + sets.gpu_time(1)
    load = work / np.maximum(sets.period, 1)
    mean = float(load.sum(axis=-1).mean())
    ends = [round(float(end(load[sets.is_task])), 3) for end in (np.min, np.max)]
    text = f"light tasks use {ends[0]} to {ends[1]}, sets {mean:.2f} on average (cap uniform to 4)"
    return found(ends == [0.01, 0.1] and abs(mean - 2) < 0.2, text, {"mean": mean, "ends": ends})


def sections(size: Size) -> Finding:
    """Critical sections and copies of the generator, as shares of a job on CPU and GPU."""
    sets = generate.elliott(count=size.count(100, 10_000), seed=1, empty=False)
    gpu = sets.segments > 0
    whole = (sets.cpu_time + sets.gpu_time(1))[gpu]
    section = sets.gpu_time(1)[gpu]
    share = float((section / whole).mean())
    copies = float((sets.copy_time[gpu] / whole).mean())
    text = f"critical sections are {share:.3f}, copies {copies:.3f} of a job with half on the GPU"
    return found(
        abs(share - 0.55) < 1e-3 and abs(copies - 0.05) < 1e-3, text,
        {"section": share, "copies": copies}, reading=True,
    )  # fmt: skip


def rejected(size: Size) -> Finding:
    sets = generate.elliott("light", share=(0.0, 0.1), count=size.count(300, 10_000), seed=1)
    users = (sets.segments > 0).sum(axis=-1)
    full = sets.gpu_time(1) / np.maximum(sets.period, 1)
    most = float(full.sum(axis=-1).max())
    load = (sets.cpu_time + sets.gpu_time(1)) / np.maximum(sets.period, 1)
    top = float(load.sum(axis=-1).max())
    text = (
        f"numbers of GPU-using tasks {sorted(set(users.tolist()))}; utilizations up to {top:.2f}, "
        f"of the GPU up to {most:.2f}"
    )
    return found(
        1 not in users.tolist() and top <= 4 and most <= 1, text, {"CPU": top, "GPU": most}
    )


def cpu_only(size: Size) -> Finding:
    sets = generate.elliott(count=size.count(200, 10_000), seed=1)
    agreed = 0
    for c in (2, 4, 8, 16):
        answer = analysis.cpu_only(sets, 4, c)
        kernel = sets.gpu_time(1) - sets.copy_time
        demand = sets.cpu_time + c * kernel
        load = (demand / np.maximum(sets.period, 1)).sum(axis=-1)
        fits = (demand <= sets.period).all(axis=-1) & (load <= 4)
        agreed += int((answer.accepted == fits).sum())
    text = f"{agreed} of {4 * len(sets)} verdicts are those of e + c s - epsilon"
    return found(agreed == 4 * len(sets), text, {"agreed": agreed})


SET_CLAIMS = (
    Claim(
        "Section 5.1", "scenarios",
        "Three intervals of utilizations and of periods, three GPU shares, ten shares of tasks in "
        "steps of 10 % from 0 to 100 %: 270 scenarios.",
        SETS, "agrees in this reading",
        "ten intervals 0-10, ..., 90-100 %, as in Figure 5; eleven values would give 297",
        scenarios,
    ),
    Claim(
        "Section 5.1", "drawing of a set",
        "A cap is uniform in (0, 4]; tasks, uniform in their intervals, are added until they "
        "exceed it, and the last is removed.",
        SETS, "agrees", "", drawing,
    ),
    Claim(
        "Section 5.1", "critical sections",
        "A critical section takes (x + epsilon) e, with epsilon 5 % of the task's execution.",
        SETS, "agrees in this reading",
        "e is the whole time of a job on CPU and GPU: only then does e fall by as much as s grows, "
        "as observation 4 says",
        sections,
    ),
    Claim(
        "Section 5.1", "discarded sets",
        "Sets with one GPU-using task, and sets that overload the CPUs or the GPU, are discarded.",
        SETS, "agrees", "", rejected,
    ),
    Claim(
        "Section 5.1", "CPU-only equivalents",
        "On CPUs a job takes e + c s - epsilon, for c of 2, 4, 8, 16.",
        ("gs.analysis.cpu_only",), "agrees", "", cpu_only,
    ),
)  # fmt: skip
"""Claims of section 5.1 in the order of the text."""
