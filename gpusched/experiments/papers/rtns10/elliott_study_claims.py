"""Claims of [RTNS10], section 5.2: Figure 5 and its observations."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from gpusched import analysis, generate
from gpusched.analysis.global_edf import SRM_VARIANTS, SrmVariant
from gpusched.experiments.elliott_scenarios import LETTERS
from gpusched.experiments.elliott_study import elliott_fig5
from gpusched.experiments.elliott_table import ElliottStudy
from gpusched.experiments.papers.claim import Claim, Finding, Size, found
from gpusched.experiments.papers.claim_pictures import figure_svg
from gpusched.model.host_tasks import HostTasks

__all__ = ["STUDY_CLAIMS"]

STUDY = ("gs.experiments.elliott_fig5",)


@functools.cache
def study(size: Size, variant: SrmVariant = "sound") -> ElliottStudy:
    found_study = elliott_fig5(
        None, size.count(40_000, 1_000_000), 2, variant=variant,
        workers=size.workers, progress=False, store=size.store(f"elliott_fig5-{variant}"),
    )  # fmt: skip
    assert isinstance(found_study, ElliottStudy)
    return found_study


@functools.cache
def shares(size: Size) -> dict[tuple[str, str], float]:
    """Share of schedulable sets by panel and curve."""
    table = study(size).answer()
    return {
        (letter, name): float(table[name][row])
        for row, letter in enumerate(LETTERS)
        for name in study(size).curves
    }


def ahead(size: Size, name: str, c: int) -> list[str]:
    """Panels in which a method schedules more sets than the CPUs alone at a speed-up of c."""
    table = shares(size)
    return [p for p in LETTERS if table[p, name] > table[p, f"CPUs, c = {c}"]]


def observed(size: Size, number: int, variant: SrmVariant = "sound") -> tuple[list[bool], str]:
    rows = study(size, variant).observations().where(observation=number)
    return rows["holds"].tolist(), "; ".join(rows["numbers"].tolist())


def figure_5(size: Size) -> Finding:
    table = study(size)
    falls = []
    for number in table.scenarios[:6]:  # heavy sets are few in most bins
        for name in ("SRM", "Container"):
            _, y, low, high = table.curve(number, name)
            wide = high - low < 0.1  # bins with enough sets
            falls.append(bool((np.diff(y[wide]) < 0.05).all()))
    total = int(table.sets.sum())
    text = (
        f"{total} sets in nine panels; {sum(falls)} of 12 curves of both methods in (a) to (f) fall"
    )
    return found(all(falls), text, {"sets": total}, figure_svg(table.plot), reading=True)


def missing_points(size: Size) -> Finding:
    table = study(size)
    bins = {
        letter: [int((row[: len(row) // 2] == 0).sum()), int((row[len(row) // 2 :] == 0).sum())]
        for letter, row in zip(LETTERS, table.sets - table.without, strict=True)
    }
    text = "bins without sets, lower and upper half: " + ", ".join(
        f"({letter}) {low} and {high}" for letter, (low, high) in bins.items()
    )
    return found(max(low for low, _ in bins.values()) > 0, text, bins)


def both_at_8(size: Size) -> Finding:
    lists = {name: ahead(size, name, 8) for name in ("SRM", "Container")}
    text = "ahead at c = 8: " + "; ".join(f"{k} in {', '.join(v)}" for k, v in lists.items())
    return found(all(len(v) == 9 for v in lists.values()), text, dict(lists))


def contradiction(size: Size) -> Finding:
    """Observation 3 in panel (a), against the CPUs alone at a speed-up of eight."""
    users, gpu, epsilon = 0.35, 0.25, 0.05  # middle of the shares of panel (a)
    factor = 1 + users * (8 * gpu - gpu - epsilon)
    mean = 4 / factor
    table = study(size)
    x, y, _, _ = table.curve(table.scenarios[0], "CPUs, c = 8")
    at = float(np.interp(2.0, x, y))
    single = 0.5 * (1 + 8 * gpu - gpu - epsilon)
    heavy = [shares(size)[p, name] for p in "ghi" for name in ("Container", "CPUs, c = 8")]
    text = (
        f"(a): on CPUs the work of a set grows by {factor:.3f} at c = 8, so all CPUs are used at "
        f"{mean:.2f}; {at:.1%} of the sets with a utilization of 2.0 are schedulable there, where "
        f"SRM schedules half. (g): a GPU-using task takes at least {single:.2f} of a CPU, so "
        f"neither schedules a set (at most {max(heavy):.1%}), and none is ahead"
    )
    values = {"CPUs used at": mean, "CPUs at 2.0": at, "heavy task": single, "heavy": heavy}
    return found(not (mean > 2 and at > 0.5), text, values)


def either_at_8(size: Size) -> Finding:
    panels = ahead(size, "SRM or Container", 8)
    text = f"the better method is ahead at c = 8 in {', '.join(panels)}"
    return found(len(panels) == 9, text, {"panels": panels}, reading=True)


def four(size: Size) -> Finding:
    lists = {n: ahead(size, n, 4) for n in ("SRM", "Container", "SRM or Container")}
    text = "ahead at c = 4: " + "; ".join(f"{k} in {', '.join(v)}" for k, v in lists.items())
    return found({"b", "c", "e", "f"} <= set(lists["SRM or Container"]), text, dict(lists))


def observation(number: int) -> Callable[[Size], Finding]:
    def check(size: Size) -> Finding:
        holds, numbers = observed(size, number)
        return found(all(holds), numbers, {"numbers": numbers})

    return check


def six_sections(size: Size) -> Finding:
    sets = generate.elliott("light", count=size.count(200, 10_000), seed=1, empty=False)
    most = 0.0
    for k, hosts in enumerate(sets):
        longest = int(hosts.gpu_time(1).max())
        answer = analysis.srm(sets[k], 4, lock="omlp", variant="paper")
        most = max(most, float(answer.blocking.max() / longest))
    text = f"with Eq. (2) a task waits for up to {most:.2f} longest critical sections (m = 4)"
    return found(5 < most <= 6, text, {"most": most})


def second_condition(size: Size) -> Finding:
    """Sets that meet Inequality (3), and of these the share that violates (4)."""
    sets = generate.elliott("light", gpu=0.25, count=size.count(1500, 50_000), seed=1, empty=False)
    answer = analysis.srm(sets, 4, lock="fmlp")
    work = sets.cpu_time + sets.gpu_time(1)
    period = np.maximum(sets.period, 1)
    third = (work + answer.blocking <= sets.period).all(axis=-1)
    fourth = ((work + answer.blocking) / period).sum(axis=-1) <= 4
    load = (work / period).sum(axis=-1)
    shares = []
    for low, high in ((0, 1.5), (1.5, 2.5), (2.5, 4)):
        these = third & (load >= low) & (load < high)
        shares.append(round(float((~fourth[these]).mean()), 3) if these.any() else 1.0)
    text = "share violating (4) of those that meet (3), by utilization to 1.5, 2.5, 4: "
    text += ", ".join(f"{share:.1%}" for share in shares)
    return found(shares == sorted(shares) and shares[1] > 0.1, text, {"shares": shares})


def half_way(size: Size) -> Finding:
    numbers: dict[str, object] = {v: observed(size, 3, v)[1] for v in SRM_VARIANTS}
    table = study(size, "paper, once")
    rows = table.where(scenario=table.scenarios[0], curve="SRM")
    enough = rows["high"][(rows["schedulable"] >= 0.5) & (rows["sets"] >= 100)]
    last = float(enough.max())
    text = (
        f"(a): half of the sets are schedulable in all bins up to {last:.1f} with one request of "
        "each task in Eq. (2); half-way points: "
        + "; ".join(f"{name}: {text}" for name, text in numbers.items())
    )
    return found(abs(last - 2.0) < 1e-9, text, {"last": last, **numbers}, reading=True)


def constant_bandwidth(size: Size) -> Finding:
    widths = []
    for gpu in (0.25, 0.5, 0.75):
        hosts = generate.elliott("light", gpu=gpu, share=(0.3, 0.31), seed=4, first=2, empty=False)
        users = hosts.segments > 0
        load = (hosts.cpu_time + hosts.gpu_time(1)) / hosts.period
        widths.append(round(float(load[users].sum()), 4))
    text = f"bandwidth of the container with 25, 50 and 75 % on the GPU: {widths}"
    return found(max(widths) - min(widths) < 1e-3, text, {"widths": widths})


def two_halves(size: Size) -> Finding:
    periods = [100, 100, 100]
    tasks = []
    for share in (50, 51):
        hosts = HostTasks.from_gpu_times(
            periods, cpu=[share - 20, share - 20, 40], gpu=[20, 20, 0], section=[25, 25, 0]
        )
        tasks.append(bool(analysis.container(hosts, 4).accepted))
    text = f"two GPU-using tasks of utilization 0.5: {tasks[0]}; of 0.51: {tasks[1]}"
    return found(tasks == [True, False], text, {"accepted": tasks})


def common_cases(size: Size) -> Finding:
    counts = {c: len(ahead(size, "SRM or Container", c)) for c in (2, 4, 8, 16)}
    text = "panels of nine with more sets than the CPUs alone, by speed-up: " + ", ".join(
        f"{c}: {n}" for c, n in counts.items()
    )
    return found(counts[4] >= 5 and counts[8] == 9, text, {str(c): n for c, n in counts.items()})


STUDY_CLAIMS = (
    Claim(
        "Figure 5", "nine panels",
        "Schedulability over the utilization: rows by task utilization, columns by GPU share, 30 "
        "to 40 % of the tasks on the GPU.",
        STUDY, "agrees in this reading",
        "with periods of 15 to 60 ms, which the figure does not state; the printed curves have no "
        "numbers to compare with beyond those of the observations",
        figure_5,
    ),
    Claim(
        "Section 5.2", "missing points",
        "Some curves lack points at low and high utilizations, where no sets could be generated.",
        STUDY, "agrees", "", missing_points,
    ),
    Claim(
        "Observation 1", "both methods ahead at c = 8",
        "SRM and Container both outperform the CPUs in all cases for c >= 8.",
        STUDY, "differs",
        "SRM is behind with light tasks and Container with heavy ones, as observations 3 and 5 say",
        both_at_8,
    ),
    Claim(
        "Observation 1", "consistent with observations 3 and 5",
        "Both methods ahead in all cases, half of SRM's sets in (a) schedulable at 2.0, and no "
        "heavy set in a container.",
        STUDY, "differs",
        "the three cannot hold together: where SRM schedules half of the sets the CPUs schedule "
        "nearly all, and a method that schedules no set is ahead of none",
        contradiction,
    ),
    Claim(
        "Observation 1", "the better method at c = 8",
        "A GPU that is eight times as fast pays in all cases.",
        STUDY, "agrees in this reading",
        "of SRM and Container the better one of each case", either_at_8,
    ),
    Claim(
        "Observation 1", "a speed-up of four",
        "c = 4 suffices in (b), (c), (e), (f).", STUDY, "agrees", "", four,
    ),
    Claim(
        "Observation 2", "Container often ahead of SRM",
        "Container schedules more sets than SRM in (a), (b), (c), (e), (f).",
        STUDY, "agrees", "", observation(2),
    ),
    Claim(
        "Observation 2", "six critical sections",
        "Under SRM a task is charged with up to six critical sections.",
        ("gs.analysis.srm",), "agrees", "", six_sections,
    ),
    Claim(
        "Observation 2", "Inequality (4) after (3)",
        "Sets that meet Inequality (3) often violate (4), the more so the higher the utilization.",
        ("gs.analysis.srm",), "agrees", "", second_condition,
    ),
    Claim(
        "Observation 3", "SRM gains with utilization",
        "About half of the sets are schedulable at 2.0, 3.0 and 3.5 in (a), (d), (g).",
        STUDY, "agrees", "", observation(3),
    ),
    Claim(
        "Observation 3", "half-way point of (a)",
        "About half of the sets are schedulable at 2.0 in (a).",
        STUDY, "agrees in this reading",
        "Eq. (2) with one request of each task, the variant 'paper, once'; with two requests and "
        "in the corrected form half is reached near 1.8",
        half_way,
    ),
    Claim(
        "Observation 4", "Container hardly affected",
        "Container depends little on GPU share and task utilization (light and medium tasks).",
        STUDY, "agrees", "", observation(4),
    ),
    Claim(
        "Observation 4", "constant bandwidth",
        "e falls as s grows, so the bandwidth of the container stays the same.",
        ("gs.generate.elliott", "gs.analysis.container"), "agrees", "", constant_bandwidth,
    ),
    Claim(
        "Observation 5", "no heavy tasks in a container",
        "Container schedules no set of heavy tasks.",
        STUDY, "agrees in this reading",
        "of the sets with GPU-using tasks",
        lambda size: Finding(
            observed(size, 5)[1],
            "agrees in this reading" if all(observed(size, 5)[0]) else "differs",
        ),
    ),
    Claim(
        "Observation 5", "two tasks of one half",
        "A heavy set fits only with two GPU-using tasks of utilization 0.5.",
        ("gs.analysis.container",), "agrees", "", two_halves,
    ),
    Claim(
        "Observation 6", "Container for light and medium tasks",
        "Container is best suited for light and medium tasks, and competitive in (d).",
        STUDY, "agrees", "", observation(6),
    ),
    Claim(
        "Section 8", "more work than CPUs alone",
        "Both methods schedule more than the CPUs alone in common cases.",
        STUDY, "agrees", "", common_cases,
    ),
)  # fmt: skip
"""Claims of section 5.2 in the order of the text, and that of the conclusion about it."""
