"""Claims of [RTNS24], section 6.2: figure 5, times of the search and sizes of the graph."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.claim_pictures import figure_svg
from benchmarks.papers.rtns24.gpusched_shared import graph_of
from benchmarks.papers.rtns24.gpusched_states import example_sets
from gpusched._support.arguments import spawn
from gpusched.experiments.gpusched_figures import UTILIZATIONS, draw_sets, draw_tables
from gpusched.experiments.gpusched_search_figures import count_paths, gpusched_fig5

__all__ = ["GRAPH_SIZE_CLAIMS"]


def _times(size: Size) -> Finding:
    table = gpusched_fig5("a", size.count(15, 50), workers=1, progress=False)
    medians = {
        name: float(np.median(table.where(method=name)["seconds"]))
        for name in ("interval", "graph")
    }
    text = f"Median time of a set: {medians['interval'] * 1e6:.0f} us with the interval engine, "
    text += f"{medians['graph'] * 1e6:.0f} us with the graph."
    holds = 0.1 < medians["graph"] < 10
    return found(holds, text, medians, figure_svg(table.plot))


def _spread(slowdown: str, count: int) -> dict[float, float]:
    """Interquartile range of the graph's vertices by utilization, deterministic unlike times."""
    from gpusched import pbs

    spread = {}
    for index, utilization in enumerate(UTILIZATIONS):
        key = spawn(spawn(1), index)
        tasks = draw_sets(5, utilization, count, 0, key)
        table = draw_tables(tasks, slowdown, 0, key)
        sizes = [
            pbs.graph.search(tasks[i], table[i], first_only=False, budget={"states": 100_000}).times
            for i in range(count)
        ]
        low, high = np.quantile(sizes, (0.25, 0.75))
        spread[utilization] = float(high - low)
    return spread


def _variability(size: Size) -> Finding:
    spread = _spread("large", size.count(8, 50))
    rows = [spread[u] for u in UTILIZATIONS]
    middle = max(rows[1:-1])
    holds = rows[0] < middle / 4 and rows[-1] < middle / 4
    text = "Interquartile range of the times of vertices by utilization: "
    text += ", ".join(f"{u:g}: {row:.0f}" for u, row in spread.items())
    return found(holds, text + ".", {f"{u:g}": row for u, row in spread.items()})


def _other_scenarios(size: Size) -> Finding:
    values: dict[str, object] = {}
    peaks = {}
    for name in ("small", "large", "mixed"):
        spread = _spread(name, size.count(6, 50))
        values[name] = list(spread.values())
        peaks[name] = max(spread.values())
    holds = max(peaks.values()) < 10 * min(peaks.values())
    text = ", ".join(f"{name} {peak:.0f}" for name, peak in peaks.items())
    text = f"Largest interquartile range of the times of vertices: {text}."
    return found(holds, text, values, reading=True)


def _growth(size: Size) -> Finding:
    from gpusched import pbs

    table = gpusched_fig5(
        "b",
        size.count(2, 20),
        workers=1,
        progress=False,
        variant="paper",
        tasks=range(2, size.count(7, 13)),
        budget=pbs.Budget(seconds=0.5),
    )
    sizes = {}
    for n in range(2, 7):
        count = size.count(4, 20)
        tasks = draw_sets(n, 1.0, count, 0, spawn(8))
        tables = draw_tables(tasks, "large", 0, spawn(8))
        sums = [sum(count_paths(tasks[i], tables[i], 14, True)) for i in range(count)]
        sizes[n] = sum(sums) / count
    ratios = [sizes[n + 1] / sizes[n] for n in range(2, 6)]
    graph = table.where(work="graph")["seconds"]
    text = "Orders of batches of up to 14 jobs, in the mean for 2 to 6 tasks: "
    text += (
        f"{', '.join(f'{mean:.2g}' for mean in sizes.values())}. Mean time of the listing for 2 "
    )
    text += f"to {len(graph) + 1} tasks, cut off at 0.5 s: "
    text += f"{', '.join(f'{t * 1e3:.2g}' for t in graph)} ms."
    values = {str(n): mean for n, mean in sizes.items()}
    return found(min(ratios) > 2, text, values, figure_svg(table.plot))


def _ready_jobs(size: Size) -> Finding:
    vertices = beyond = most = 0
    for one in example_sets(size.count(100, 1000)):
        graph = graph_of(one).graph
        assert graph is not None
        ready = graph.ready.sum(axis=1)
        vertices += len(graph)
        beyond += int((ready > len(one.period)).sum())
        most = max(most, int(ready.max()))
    text = f"{vertices} vertices of sets of 2 or 3 tasks: at most {most} ready jobs; {beyond} "
    text += "vertices with more ready jobs than tasks."
    return found(beyond == 0, text, {"vertices": vertices, "most": most, "beyond": beyond})


def _limit(size: Size) -> Finding:
    from gpusched import pbs

    count = size.count(6, 50)
    ended, exact = {}, {}
    for n in (5, 6, 7, 8):
        tasks = draw_sets(n, 1.0, count, 0, spawn(5))
        tables = draw_tables(tasks, "large", 0, spawn(5))
        ended[n] = sum(
            pbs.graph.search(
                tasks[i], tables[i], "paper", first_only=False, budget={"states": 20_000}
            ).reason
            == "complete"
            for i in range(count)
        )
    for n in (8, 10):
        tasks = draw_sets(n, 1.0, count, 0, spawn(5))
        answer = pbs.search(tasks, draw_tables(tasks, "large", 0, spawn(5)))
        exact[n] = int(count - answer.undecided.sum())
    text = f"Of {count} sets each, the listing ends within 20,000 states for "
    text += ", ".join(f"{k} of {n} tasks" for n, k in ended.items())
    text += "; gs.pbs.search decides " + " and ".join(f"{k} of {n} tasks" for n, k in exact.items())
    holds = ended[5] > max(count / 2, ended[6]) and ended[6] > 0
    holds &= max(ended[7], ended[8]) <= count / 5
    values = {str(n): k for n, k in ended.items()} | {f"search_{n}": k for n, k in exact.items()}
    return found(holds, f"{text}.", values, reading=True)


def _vertices(size: Size) -> Finding:
    count = size.count(10, 50)
    table = gpusched_fig5("c", count, workers=1, progress=False, variant="paper", orders=True)
    merged, unmerged = (table.where(merging=merging) for merging in (True, False))
    total = float(merged["vertices"].sum())
    largest = float(unmerged["vertices_max"][-1])
    sound = gpusched_fig5("c", count, workers=1, progress=False, merge=True)
    batches = gpusched_fig5("c", count, workers=1, progress=False, merge=False)
    # The order of magnitude: with few sets the largest is smaller.
    holds = 10**1.5 <= total <= 10**3.5 and largest >= size.count(10**5, 10**6)
    text = (
        f"The listing merges to {total:.0f} vertices of up to 14 jobs in the mean of {count} sets, "
    )
    text += (
        f"and has up to {largest:.2g} vertices of 14 jobs without merging, one for each order of "
    )
    text += f"submission. The repaired graph has {float(sound['vertices'].sum()):.0f}, and up to "
    text += (
        f"{float(batches['vertices_max'][-1]):.2g} without merging, one for each batch. Share of "
    )
    text += f"sets of the listing that are cut at 20,000 vertices: {float(merged['cut'][0]):.0%}."
    values = {
        "merged": total,
        "unmerged_largest": largest,
        "unmerged_mean": float(unmerged["vertices"][-1]),
        "sound_merged": float(sound["vertices"].sum()),
        "batches_largest": float(batches["vertices_max"][-1]),
        "cut": float(merged["cut"][0]),
    }
    return found(holds, text, values, figure_svg(table.plot), reading=True)


def _six_tasks(size: Size) -> Finding:
    from gpusched import pbs

    count = size.count(8, 20)
    tasks = draw_sets(6, 1.0, count, 0, spawn(6))
    table = draw_tables(tasks, "large", 0, spawn(6))
    budget = {"states": 300_000}
    decided = {}
    for merge in (True, False):
        decided[merge] = sum(
            pbs.graph.search(
                tasks[i], table[i], merge=merge, budget=budget, first_only=False
            ).reason
            == "complete"
            for i in range(count)
        )
    text = f"Graphs of 6 tasks that end within {budget['states']:,} times, of {count}: "
    text += f"{decided[True]} with merging, {decided[False]} without."
    values = {"merging": decided[True], "not_merging": decided[False]}
    return found(decided[True] > decided[False], text, values, reading=True)


_FIG5 = ("gs.experiments.gpusched_fig5",)

GRAPH_SIZE_CLAIMS = (
    Claim(
        "Figure 5a",
        "running time",
        "Sets of 5 tasks with large slowdowns take about one second.",
        _FIG5,
        "differs",
        "The search here is faster by orders of magnitude, and so is the graph: vertices are found "
        "by an index, and one batch stands for all its orders.",
        _times,
    ),
    Claim(
        "Section 6.2",
        "variability of the running time",
        "Times vary much less for low and for high utilizations.",
        ("gs.pbs.graph.search",),
        "agrees",
        "Shown by the sizes of the graphs, which do not depend on the machine.",
        _variability,
    ),
    Claim(
        "Section 6.2",
        "other scenarios",
        "The distribution of times is similar with small and mixed slowdowns.",
        ("gs.pbs.graph.search",),
        "agrees in this reading",
        "The paper shows no numbers; compared is the largest spread of the sizes of the graphs, "
        "within a factor of ten.",
        _other_scenarios,
    ),
    Claim(
        "Figure 5b",
        "growth with the number of tasks",
        "At U = 1 the mean time rises steeply with the number of tasks: each order of each choice "
        "of ready jobs is tried.",
        _FIG5,
        "agrees",
        "Sizes of the unmerged graph are compared, times are shown.",
        _growth,
    ),
    Claim(
        "Section 6.2",
        "number of ready jobs",
        "There are at most as many ready jobs as tasks.",
        ("gs.pbs.graph.search",),
        "agrees",
        "With D <= T: a job that is still ready at the next arrival of its task is late.",
        _ready_jobs,
    ),
    Claim(
        "Section 6.2",
        "six tasks are enough",
        "Six tasks are enough for many applications, which run a few large kernels.",
        (),
        "cannot be decided from the text",
        "The applications are not named.",
    ),
    Claim(
        "Section 6.2",
        "six or seven tasks",
        "GPUSched cannot handle sets beyond 6 or 7 tasks.",
        ("gs.pbs.graph.search", "gs.pbs.search"),
        "agrees in this reading",
        "For the listing within 20,000 states. It is no limit of the problem: gs.pbs.search "
        "decides sets of 10 tasks.",
        _limit,
    ),
    Claim(
        "Figure 5c",
        "vertices with and without merging",
        "For 5 tasks at U = 1 there are 10^7 vertices after 14 jobs without merging, and about "
        "10^3 with merging.",
        _FIG5,
        "agrees in this reading",
        "The listing, with a vertex for each order of submission of a batch (variant='paper', "
        "orders=True), and the largest of 50 sets; 2 of 50 sets are cut at 20,000 vertices. With "
        "one vertex per batch and the repaired graph there are about 500,000 without merging and "
        "100 with.",
        _vertices,
    ),
    Claim(
        "Section 6.2",
        "six tasks thanks to merging",
        "Merging makes the analysis of 6 tasks possible.",
        ("gs.pbs.graph.search",),
        "agrees in this reading",
        "Merging lets more graphs of 6 tasks end within 300,000 times, by no means all; a vertex "
        "per batch, repaired graph.",
        _six_tasks,
    ),
    Claim(
        "Section 7",
        "submissions during a batch",
        "Waiting for the end of a batch wastes resources; submitting more during it would change "
        "its time and the model.",
        (),
        "cannot be decided from the text",
        "The times of such submissions are left to further work.",
    ),
)
