"""Claims of [RTNS10], section 5.2: Figure 5 and its observations."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from gpusched import analysis, generate
from gpusched.analysis.global_edf import SRM_VARIANTS, SrmVariant
from gpusched.experiments.elliott_counts import LETTERS, ElliottStudy
from gpusched.experiments.elliott_study import elliott_fig5
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


def last_missing(size: Size) -> dict[str, float]:
    """Upper end of the highest bin without sets by panel; 0 where all bins have sets."""
    table = study(size)
    ends = {}
    for letter, row in zip(LETTERS, table.sets - table.without, strict=True):
        empty = np.flatnonzero(row == 0)
        ends[letter] = round(4 * (int(empty[-1]) + 1) / len(row), 2) if empty.size else 0.0
    return ends


def no_points_below(size: Size) -> Finding:
    ends = last_missing(size)
    text = "no sets up to a utilization of " + ", ".join(
        f"({p}) {end:g}" for p, end in ends.items()
    )
    return found(max(ends.values()) > 0, text, dict(ends))


def no_points_above(size: Size) -> Finding:
    ends = last_missing(size)
    above = sorted(p for p, end in ends.items() if end > 2)
    text = (
        f"the highest bin without sets ends at {max(ends.values()):g} of 4; panels with one above "
        f"2: {', '.join(above) or 'none'}"
    )
    return found(max(ends.values()) >= 3.5, text, {"ends": list(ends.values()), "above 2": above})


def both_at_8(size: Size) -> Finding:
    lists = {name: ahead(size, name, 8) for name in ("SRM", "Container")}
    text = "ahead at c = 8: " + "; ".join(f"{k} in {', '.join(v)}" for k, v in lists.items())
    return found(all(len(v) == 9 for v in lists.values()), text, dict(lists))


def contradiction(size: Size) -> Finding:
    """Observations 3, in panel (a), and 5 against the CPUs alone at a speed-up of eight."""
    users, gpu, epsilon = 0.35, 0.25, 0.05  # middle of the shares of panel (a)
    factor = 1 + users * (8 * gpu - gpu - epsilon)
    mean = 4 / factor
    table = study(size)
    x, y, _, _ = table.curve(table.scenarios[0], "CPUs, c = 8")
    at = float(np.interp(2.0, x, y))
    single = 0.5 * (1 + 8 * gpu - gpu - epsilon)
    box, cpus = (max(shares(size)[p, name] for p in "ghi") for name in ("Container", "CPUs, c = 8"))
    text = (
        f"(a): on CPUs the work of a set grows by {factor:.3f} at c = 8, so all CPUs are used at "
        f"{mean:.2f}; {at:.1%} of the sets with a utilization of 2.0 are schedulable there, where "
        f"SRM schedules half. (g) to (i): a GPU-using task takes at least {single:.2f} of a CPU, "
        f"so the CPUs schedule {cpus:.1%} of the sets, Container {box:.1%}: it is not ahead"
    )
    values = {"CPUs used at": mean, "CPUs at 2.0": at, "heavy task": single, "heavy": [box, cpus]}
    return found(not (mean > 2 and at > 0.5) and box > cpus, text, values)


def either_at_8(size: Size) -> Finding:
    panels = ahead(size, "SRM or Container", 8)
    text = f"the better method is ahead at c = 8 in {', '.join(panels)}"
    return found(len(panels) == 9, text, {"panels": panels}, reading=True)


def four(size: Size) -> Finding:
    lists = {n: ahead(size, n, 4) for n in ("SRM", "Container", "SRM or Container")}
    text = "ahead at c = 4: " + "; ".join(f"{k} in {', '.join(v)}" for k, v in lists.items())
    holds = {"b", "c", "e", "f"} <= set(lists["SRM or Container"])
    return found(holds, text, dict(lists), reading=True)


def observation(number: int, reading: bool = False) -> Callable[[Size], Finding]:
    def check(size: Size) -> Finding:
        holds, numbers = observed(size, number)
        return found(all(holds), numbers, {"numbers": numbers}, reading=reading)

    return check


def similar_curves(size: Size) -> Finding:
    holds, numbers = observed(size, 4)
    zeros = {p: shares(size)[p, "Container"] for p in "ghi"}
    text = f"half-way points in (a) to (f): {numbers}; sets that Container schedules with heavy "
    text += "tasks: " + ", ".join(f"({p}) {share:.1%}" for p, share in zeros.items())
    return found(all(holds), text, {"numbers": numbers, **zeros}, reading=True)


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


def more_cpu_time(size: Size) -> Finding:
    """The sums of Inequalities (5) and (7)."""
    sets = generate.elliott("light", gpu=0.25, count=size.count(500, 10_000), seed=1, empty=False)
    period, users = np.maximum(sets.period, 1), sets.segments > 0
    fifth = (np.where(users, sets.cpu_time + sets.gpu_time(1), 0) / period).sum(axis=-1)
    seventh = (sets.gpu_time(1) / period).sum(axis=-1)
    ratio = float((seventh / fifth).mean())
    text = (
        f"light tasks with 25 % on the GPU: the sum of (5) is the larger one in "
        f"{int((fifth > seventh).sum())} of {len(sets)} sets; that of (7) is {ratio:.0%} of it"
    )
    return found(bool((fifth > seventh).all()), text, {"ratio": ratio})


def fewer_users(size: Size) -> Finding:
    means = []
    for word in ("light", "medium", "heavy"):
        sets = generate.elliott(word, gpu=0.25, count=size.count(300, 10_000), seed=1, empty=False)
        means.append(round(float((sets.segments > 0).sum(axis=-1).mean()), 2))
    text = f"GPU-using tasks of a set on average, light, medium, heavy: {means}"
    return found(means[0] > means[1] > means[2], text, {"means": means})


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


def above_half(size: Size) -> Finding:
    """A GPU-using task and a CPU-only task with utilizations of 0.6."""
    hosts = HostTasks.from_gpu_times(100, cpu=[30, 15, 60], gpu=[30, 15, 0], section=[35, 18, 0])
    accepted = bool(analysis.container(hosts, 4).accepted)
    text = f"GPU-using tasks of 0.6 and 0.3 and a CPU-only task of 0.6: accepted {accepted}"
    return found(not accepted, text, {"accepted": accepted})


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
    lists = {f"{n}, {c}": ahead(size, n, c) for c in (2, 4, 8, 16) for n in ("SRM", "Container")}
    text = "panels with more sets than the CPUs alone, by method and speed-up: " + "; ".join(
        f"{name}: {', '.join(panels) or 'none'}" for name, panels in lists.items()
    )
    holds = min(len(ahead(size, name, 8)) for name in ("SRM", "Container")) >= 5
    return found(holds, text, dict(lists), reading=True)


STUDY_CLAIMS = (
    Claim(
        "Figure 5", "nine panels",
        "Schedulability over the utilization: rows by task utilization, columns by GPU share, 30 "
        "to 40 % of the tasks on the GPU.",
        STUDY, "agrees in this reading",
        "with periods of 15 to 60 ms, which the figure does not state. The check is that the "
        "curves of both methods fall; the figure prints no numbers, and those of the text are in "
        "the observations",
        figure_5,
    ),
    Claim(
        "Section 5.2, footnote 7", "missing points at low utilizations",
        "Some graphs lack points at low utilizations, where no sets could be generated.",
        STUDY, "agrees", "", no_points_below,
    ),
    Claim(
        "Section 5.2, footnote 7", "missing points at high utilizations",
        "Some graphs lack points at high utilizations, where no sets could be generated.",
        STUDY, "differs",
        "the generator finds sets in all bins above 2.1; between 2 and 2.1 they are rare with "
        "heavy tasks. The number of sets that the paper drew for a point is not given",
        no_points_above,
    ),
    Claim(
        "Section 5.2, Observation 1", "both methods ahead at c = 8",
        "SRM and Container both outperform the CPUs in all cases for c >= 8.",
        STUDY, "differs",
        "SRM is behind with light tasks and Container with heavy ones, as observations 3 and 5 say",
        both_at_8,
    ),
    Claim(
        "Section 5.2, Observation 1", "consistent with observations 3 and 5",
        "Observation 1 together with 3 and 5: both methods ahead in all cases, half of SRM's sets "
        "in (a) schedulable at 2.0, and no heavy set in a container.",
        STUDY, "differs",
        "the three cannot hold together: where SRM schedules half of the sets the CPUs schedule "
        "nearly all, and a method that schedules no set is ahead of none",
        contradiction,
    ),
    Claim(
        "Section 5.2, Observation 1", "the better method at c = 8",
        "A GPU that is eight times as fast pays in all cases.",
        STUDY, "agrees in this reading",
        "of SRM and Container the better one of each case", either_at_8,
    ),
    Claim(
        "Section 5.2, Observation 1", "a speed-up of four",
        "c = 4 suffices in (b), (c), (e), (f).", STUDY, "agrees in this reading",
        "of SRM and Container the better one; SRM alone is ahead in (f) only", four,
    ),
    Claim(
        "Section 5.2, Observation 2", "Container often ahead of SRM",
        "Container schedules more sets than SRM in (a), (b), (c), (e), (f).",
        STUDY, "agrees", "", observation(2),
    ),
    Claim(
        "Section 5.2, Observation 2", "six critical sections",
        "Under SRM a task is charged with up to six critical sections.",
        ("gs.analysis.srm",), "agrees", "", six_sections,
    ),
    Claim(
        "Section 5.2, Observation 2", "Inequality (4) after (3)",
        "Sets that meet Inequality (3) often violate (4), the more so the higher the utilization.",
        ("gs.analysis.srm",), "agrees", "", second_condition,
    ),
    Claim(
        "Section 5.2, Observation 2", "CPU time in Inequality (5)",
        "The container's condition on the GPU counts more CPU time than that of SRM, (7).",
        ("gs.generate.elliott",), "agrees", "", more_cpu_time,
    ),
    Claim(
        "Section 5.2, Observation 3", "fewer GPU-using tasks",
        "With heavier tasks a set has fewer tasks, and fewer of them use the GPU.",
        ("gs.generate.elliott",), "agrees", "", fewer_users,
    ),
    Claim(
        "Section 5.2, Observation 3", "SRM gains with utilization",
        "About half of the sets are schedulable at 2.0, 3.0 and 3.5 in (a), (d), (g).",
        STUDY, "agrees in this reading",
        "half-way points to within 0.25; for (a) see the next claim",
        observation(3, reading=True),
    ),
    Claim(
        "Section 5.2, Observation 3", "half-way point of (a)",
        "About half of the sets are schedulable at 2.0 in (a).",
        STUDY, "agrees in this reading",
        "Eq. (2) where one request of each other task counts (variant 'paper, once' of "
        "gs.analysis.srm); with two requests (variant 'paper') and in the corrected form half is "
        "reached near 1.8",
        half_way,
    ),
    Claim(
        "Section 5.2, Observation 4", "Container hardly affected",
        "The Container curves of all nine panels are very similar: neither GPU share nor task "
        "utilization matters much.",
        STUDY, "agrees in this reading",
        "of panels (a) to (f); in (g) to (i) Container schedules nothing, as observation 5 says",
        similar_curves,
    ),
    Claim(
        "Section 5.2, Observation 4", "constant bandwidth",
        "e falls as s grows, so the bandwidth of the container stays the same.",
        ("gs.generate.elliott", "gs.analysis.container"), "agrees", "", constant_bandwidth,
    ),
    Claim(
        "Section 5.2, Observation 5", "utilizations above 0.5",
        "Container cannot schedule sets with tasks of a utilization above 0.5.",
        ("gs.analysis.container",), "differs",
        "taken literally: one such task beside small ones fits into the container, and CPU-only "
        "tasks are outside it; the text shows it for sets of heavy tasks alone, see the next claim",
        above_half,
    ),
    Claim(
        "Section 5.2, Observation 5", "no heavy tasks in a container",
        "Container schedules no set of heavy tasks.",
        STUDY, "agrees in this reading",
        "of the sets with GPU-using tasks",
        observation(5, reading=True),
    ),
    Claim(
        "Section 5.2, Observation 5", "two tasks of one half",
        "A heavy set fits only with two GPU-using tasks of utilization 0.5.",
        ("gs.analysis.container",), "agrees", "", two_halves,
    ),
    Claim(
        "Section 5.2, Observation 6", "Container for light and medium tasks",
        "Container is best suited for light and medium tasks, and competitive in (d).",
        STUDY, "agrees", "", observation(6),
    ),
    Claim(
        "Section 8", "more work than CPUs alone",
        "Both methods schedule more than the CPUs alone in common cases.",
        STUDY, "agrees in this reading", "common cases: six of nine panels each at c = 8",
        common_cases,
    ),
)  # fmt: skip
"""Claims of section 5.2 in the order of the text, and that of the conclusion about it."""
