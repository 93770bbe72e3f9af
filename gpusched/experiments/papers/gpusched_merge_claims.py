"""Claims of [RTNS24], section 3.5: merging, splitting, completeness."""

from __future__ import annotations

from collections.abc import Callable

from gpusched.experiments.papers.claim import Claim, Finding, Size, found
from gpusched.experiments.papers.gpusched_shared import (
    LOST,
    SPLIT,
    in_one_reading,
    listing,
    state_pairs,
)
from gpusched.experiments.papers.gpusched_states import SmallSet, example_sets
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["MERGE_CLAIMS"]

_COPIED = SmallSet((10, 4, 8), (10, 4, 6), (0, 4, 1, 4, 4, 0, 4, 4))
_MOVED = SmallSet((6, 10), (6, 9), (0, 3, 6, 6))
_FIGURE_3 = (5, 4, 6, 5)  # execution times of J3, J4, J5, J6
_ARRIVES = (6, 6, 17, 18)


def _witness(one: SmallSet, wrong: bool, **options: object) -> Callable[[Size], Finding]:
    def check(size: Size) -> Finding:
        said, truth = listing(one, **options)
        text = f"T = {one.period}, D = {one.deadline}, times by bit mask {one.completion[1:]}: the "
        text += f"listing answers {said}, the exact search {truth}."
        return found(said == truth, text, {"listing": bool(said), "exact": bool(truth)})

    check.__name__ = f"_listing_says_{wrong}"
    return check


def _zero_delta(size: Size) -> Finding:
    from gpusched import pbs

    merged = kept = 0
    for one in example_sets(size.count(60, 600)):
        tasks = KernelTasks(period=one.period, deadline=one.deadline, wcet=1)
        graph = pbs.graph.search(
            tasks, BatchTable(completion=one.completion), first_only=False, graph=True
        )
        assert graph.graph is not None
        merged += graph.merged
        points = graph.graph.time
        kept += sum(
            len(set(points[a:b].tolist())) < b - a
            for a, b in zip(graph.graph.first[:-1], graph.graph.first[1:], strict=True)
        )
    text = f"{merged} frames end in a vertex that exists; {kept} vertices hold a time twice."
    return found(kept == 0 and merged > 0, text, {"merged": merged, "repeated": kept})


def _equal_ends(size: Size) -> Finding:
    compared = wrong = 0
    for one, a, b in state_pairs(size.count(250, 2000)):
        for first, second in zip(one.frames(a), one.frames(b), strict=True):
            states = first[1], second[1]
            if not any(map(one.ready, states)) and not one.arrivals(states[0][0], states[1][0]):
                compared += 1
                wrong += one.started(states[0])[0] != one.started(states[1])[0] and any(
                    k < m for k, m in zip(states[0][1], one.jobs, strict=True)
                )
    text = f"{compared} pairs of states without ready jobs, one dominated: {wrong} go on at "
    text += "different times."
    return found(wrong == 0 and compared > 0, text, {"compared": compared, "wrong": wrong})


def _not_feasible(size: Size) -> Finding:
    from gpusched import pbs

    tasks = KernelTasks(period=SPLIT.period, deadline=SPLIT.deadline, wcet=1)
    table = BatchTable(completion=SPLIT.completion)
    said = pbs.graph.search(tasks, table, variant="paper")
    truth = pbs.search(tasks, table).schedulable
    gaps = (said.start[1:] - said.end[:-1]).tolist()
    text = (
        f"T = (8, 6), D = (8, 5), times 3, 4, 4: the listing answers {said.schedulable} with idle "
    )
    text += f"times {gaps} between frames; a schedule of PBS exists: {truth}."
    return found(said.schedulable == truth, text, {"gaps": gaps, "exact": bool(truth)})


def _figure_3(size: Size) -> Finding:
    from gpusched import pbs

    tasks = KernelTasks(
        period=[100] * 4,
        offset=[max(7, a) for a in _ARRIVES],
        wcet=list(_FIGURE_3),
        name=["J3", "J4", "J5", "J6"],
    )
    rows = [[_FIGURE_3[i] for i in range(4) if mask >> i & 1] for mask in range(16)]
    table = BatchTable(completion=[max(row, default=0) for row in rows])
    answer = pbs.graph.search(tasks, table, first_only=False, graph=True)
    assert answer.graph is not None
    v3, v4, v5 = 7 + 5, 7 + 4, 7 + max(5, 4)
    v7 = v8 = 7 + 5 + 4
    split = v8 + 3
    v9, v11, v12, v14 = 17 + 6, split + 6, split + max(6, 5), split + 5
    computed = {
        "v3": v3,
        "v4": v4,
        "v5": v5,
        "v7": v7,
        "v8": v8,
        "v8 + delta": split,
        "v9": v9,
        "v12": v12,
        "v13": v9 + 5,
        "v14": v14,
        "v15": v14 + 6,
        "v11 - v9": v11 - v9,
    }
    printed = {
        "v3": 12,
        "v4": 11,
        "v5": 15,
        "v7": 16,
        "v8": 16,
        "v8 + delta": 18,
        "v9": 23,
        "v12": 25,
        "v13": 28,
        "v14": 24,
        "v15": 30,
        "v11 - v9": 2,
    }
    times = set(answer.graph.time.tolist())
    missing = {v3, v4, v7, v9} - times
    other = [
        f"{name} {value} (text: {printed[name]})"
        for name, value in computed.items()
        if value != printed[name]
    ]
    text = f"With batches as long as their longest job {len(computed) - len(other)} of "
    text += f"{len(computed)} numbers of the text follow, not {', '.join(other)}."
    values = {**computed, "not_in_the_graph": len(missing)}
    return found(not other and not missing, text, values, answer.graph._repr_svg_())


def _figure_3_end(size: Size) -> Finding:
    ends = {
        "J5 and J6 together from 19": 19 + max(6, 5),
        "J6 then J5 from 19": 19 + 5 + 6,
        "J5 from 17, then J6": 17 + 6 + 5,
    }
    holds = min(ends, key=ends.__getitem__).startswith("J5 and J6") and min(ends.values()) == 25
    text = ", ".join(f"{name}: {end}" for name, end in ends.items())
    return found(holds, f"Ends of the last frame: {text}.", ends)


_GRAPH = ("gs.pbs.graph.search",)
_BOTH = ("gs.pbs.graph.search", "gs.pbs.search")


def _optimal(size: Size) -> Finding:
    from gpusched import pbs

    count, differ, yes = size.count(150, 3000), 0, 0
    for one in example_sets(count):
        tasks = KernelTasks(period=one.period, deadline=one.deadline, wcet=1)
        said = pbs.graph.search(tasks, BatchTable(completion=one.completion)).schedulable
        truth = any(state[1] == one.jobs for state in one.reached())
        differ += said != truth
        yes += truth
    text = f"{count} sets, {yes} with a schedule: {differ} answers of the repaired graph differ "
    return found(differ == 0, f"{text}from an enumeration.", {"sets": count, "differ": differ})


MERGE_CLAIMS = (
    Claim(
        "Section 3.5",
        "equal times",
        "With a delta of 0 two vertices are equivalent, and one of them can be dropped.",
        _GRAPH,
        "agrees",
        "",
        _zero_delta,
    ),
    Claim(
        "Algorithm 2",
        "merging",
        "One delta per merged vertex is enough to find all its successors again.",
        _BOTH,
        "differs",
        "The list of the merged vertex, and what lines 32 and 33 discard, is lost.",
        _witness(LOST, False),
    ),
    Claim(
        "Algorithm 3",
        "splitting, line 6",
        "The deltas of the split vertex are those of the vertex that it is split from.",
        _BOTH,
        "differs",
        "They count from its earlier time, so that the copies describe times no schedule reaches.",
        _witness(_COPIED, True),
    ),
    Claim(
        "Algorithm 4",
        "fast-forward",
        "Idle time of a vertex is skipped by moving its time to the next arrival.",
        _BOTH,
        "differs",
        "A merge that comes later adds its delta to the moved time (with order='lifo').",
        _witness(_MOVED, False, order="lifo"),
    ),
    Claim(
        "Section 3.5",
        "idle time of dominated vertices",
        "All vertices that one without ready jobs dominates wait for the same arrival, so that all "
        "deltas become 0.",
        _GRAPH,
        "agrees",
        "",
        _equal_ends,
    ),
    Claim(
        "Lemma 3.11",
        "all successors are dominated",
        "For every successor of a dominated vertex the graph has one that dominates it.",
        _BOTH,
        "differs",
        "Merging drops deltas, so that some of these successors are missing: a schedule is lost.",
        _witness(LOST, False),
    ),
    Claim(
        "Section 3.5",
        "schedules of S are feasible",
        "Every vertex of S gives a table that meets all deadlines under PBS.",
        _BOTH,
        "differs",
        "A path through a split vertex idles although work is ready, which PBS may not, and nobody "
        "checked the deadlines meanwhile.",
        _not_feasible,
    ),
    Claim(
        "Figure 3",
        "merging and splitting",
        "Example 3.12: v3 ends at 12, v4 at 11, v5 and v6 at 15, v7 and v8 at 16, the split at 18 "
        "or 19, v9 at 23, v12 at 25, v13 at 28, v14 at 24, v15 at 30; v11 is 2 after v9.",
        _GRAPH,
        "differs",
        "J3 and J4 together from 7 end at 12, or at 16 in turn, and 16 + 3 is 19; neither changes "
        "the rest.",
        _figure_3,
    ),
    Claim(
        "Example 3.12",
        "the shortest schedule",
        "J5 and J6 in parallel after the split end first, at 25; this vertex dominates all others.",
        _GRAPH,
        "agrees",
        "",
        _figure_3_end,
    ),
    Claim(
        "Theorem 3.13",
        "completeness",
        "If GPUSched finds nothing, PBS has no schedule.",
        _BOTH,
        "differs",
        "The listing loses schedules, see Lemma 3.11; it holds for variant='sound' and "
        "gs.pbs.search.",
        _witness(LOST, False),
    ),
    Claim(
        "Section 3.5",
        "optimality for PBS",
        "GPUSched is optimal for PBS: it examines every schedule.",
        _BOTH,
        "agrees in this reading",
        "True of the repaired graph, which agrees with an enumeration of all states.",
        lambda size: in_one_reading(_optimal(size)),
    ),
)
