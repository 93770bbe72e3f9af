"""Claims of [RTNS24], section 3.5: merging, splitting, completeness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.rtns24.gpusched_shared import (
    LOST,
    SPLIT,
    graph_of,
    listing,
    named,
    set_text,
    state_pairs,
)
from benchmarks.papers.rtns24.gpusched_states import SmallSet, example_sets
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_tasks import KernelTasks

if TYPE_CHECKING:
    from gpusched.pbs.graph import Graph

__all__ = ["MERGE_CLAIMS"]

_COPIED = SmallSet((10, 4, 8), (10, 4, 6), (0, 4, 1, 4, 4, 0, 4, 4))
_MOVED = SmallSet((6, 10), (6, 9), (0, 3, 6, 6))
_FIGURE_3 = (5, 4, 6, 5)  # execution times of J3, J4, J5, J6
_ARRIVES = (6, 6, 17, 18)
_LONGEST = [max((_FIGURE_3[i] for i in range(4) if mask >> i & 1), default=0) for mask in range(16)]
_PRINTED_3 = (3, 12, 11, 15, 16, 16, 17, 18, 19, 23, 23, 2, 25, 28, 24, 30)


def _witness(one: SmallSet, wrong: bool, **options: object) -> Callable[[Size], Finding]:
    def check(size: Size) -> Finding:
        said, truth = listing(one, **options)
        text = f"{set_text(one)}: the listing answers {said}, the exact search {truth}."
        return found(said == truth, text, {"listing": said, "exact": truth})

    check.__name__ = f"_listing_says_{wrong}"
    return check


def _zero_delta(size: Size) -> Finding:
    merged = kept = 0
    for one in example_sets(size.count(60, 600)):
        answer = graph_of(one)
        graph = answer.graph
        assert graph is not None
        merged += answer.merged
        kept += sum(
            len(set(graph.times(v).tolist())) < len(graph.times(v)) for v in range(len(graph))
        )
    text = f"{merged} frames end in a vertex that exists; {kept} vertices hold a time twice."
    return found(kept == 0 and merged > 0, text, {"merged": merged, "repeated": kept})


def _equal_ends(size: Size) -> Finding:
    compared = wrong = beyond = 0
    for one, a, b in state_pairs(size.count(250, 2000)):
        releases = [k * t for t, m in zip(one.period, one.jobs, strict=True) for k in range(1, m)]
        for first, second in zip(one.frames(a), one.frames(b), strict=True):
            (time, _), (later, _) = states = first[1], second[1]
            if any(map(one.ready, states)) or one.arrivals(time, later):
                continue
            early, late = (min((r for r in releases if r > t), default=None) for t in (time, later))
            compared += early is not None
            wrong += early != late
            beyond += early is not None and later - time > early - time
    text = f"{compared} pairs of states without ready jobs, one dominated: {wrong} wait for "
    text += f"different releases, for {beyond} delta exceeds the idle time."
    values = {"compared": compared, "wrong": wrong, "beyond": beyond}
    return found(wrong == beyond == 0 < compared, text, values)


def _split_edges(size: Size) -> Iterator[tuple[SmallSet, Graph, int, int]]:
    """Source and target of each split in the listing's graphs of random sets."""
    for one in example_sets(size.count(400, 4000)):
        graph = graph_of(one, "paper").graph
        assert graph is not None
        for e in np.flatnonzero(graph.batch == -1).tolist():
            yield one, graph, int(graph.source[e]), int(graph.target[e])


def _split_arrivals(size: Size) -> Finding:
    splits = wrong = 0
    for one, graph, source, target in _split_edges(size):
        arrived = one.arrived(int(graph.times(target)[0]))
        splits += 1
        wrong += tuple((graph.executed + graph.ready)[target].tolist()) != arrived
        wrong += bool((graph.executed[source] != graph.executed[target]).any())
    text = f"{splits} splits: {wrong} with other ready jobs than those that have arrived by then."
    values = {"splits": splits, "wrong": wrong}
    return found(wrong == 0 < splits, text, values, reading=True)


def _untested(size: Size) -> Finding:
    splits = late = dominated = 0
    for one, graph, _, target in _split_edges(size):
        time = int(graph.times(target)[0])
        due = [
            k * t + d
            for k, t, d, r in zip(
                graph.executed[target].tolist(),
                one.period,
                one.deadline,
                graph.ready[target].tolist(),
                strict=True,
            )
            if r
        ]
        splits += 1
        late += min(due, default=time + 1) <= time
        same = (graph.executed == graph.executed[target]).all(axis=1)
        same &= (graph.ready == graph.ready[target]).all(axis=1)
        others = [v for v in np.flatnonzero(same).tolist() if v != target]
        dominated += any(int(graph.times(v)[0]) <= time for v in others)
    text = f"Of {splits} split vertices {late} have a ready job whose deadline has passed, and "
    text += f"{dominated} are dominated by another vertex of the graph."
    values = {"splits": splits, "late": late, "dominated": dominated}
    return found(late > 0 and dominated > 0, text, values)


def _not_feasible(size: Size) -> Finding:
    answer = graph_of(SPLIT, "paper")
    truth = listing(SPLIT)[1]
    gaps = (answer.start[1:] - answer.end[:-1]).tolist()
    text = f"{set_text(SPLIT)}: the listing answers {answer.accepted} with idle times "
    text += f"{named(gaps)} between frames; a schedule of PBS exists: {truth}."
    values = {"gaps": gaps, "exact": truth}
    return found(answer.accepted == truth, text, values)


def _figure_3_graph(origin: int) -> Graph:
    """Graph of the jobs of Figure 3 from the time of v2 (7) or v1 (10) on."""
    from gpusched import pbs

    tasks = KernelTasks(
        period=[100] * 4,
        offset=[max(origin, a) for a in _ARRIVES],
        wcet=list(_FIGURE_3),
        name=["J3", "J4", "J5", "J6"],
    )
    graph = pbs.graph.search(
        tasks, BatchTable(completion=_LONGEST), first_only=False, graph=True
    ).graph
    assert graph is not None
    return graph


def _times_of(graph: Graph, executed: int) -> list[int]:
    """Times of the vertices that have executed a set of jobs."""
    done = [executed >> i & 1 for i in range(4)]
    vertices = np.flatnonzero((graph.executed == done).all(axis=1)).tolist()
    return sorted(int(t) for v in vertices for t in graph.times(v))


def _figure_3(size: Size) -> Finding:
    one, two = _figure_3_graph(7), _figure_3_graph(10)
    start, end = _times_of(one, 0)[0], _LONGEST
    delta = _times_of(two, 0)[0] - start
    (v3,), (v4,), (skip,) = (_times_of(one, mask) for mask in (1, 2, 3))
    split = max(_times_of(two, 3))
    (v9,), (v14,) = _times_of(one, 7), _times_of(two, 11)
    v16, v11, v12, v15 = skip + end[4], split + end[4], split + end[12], v14 + end[4]
    computed = {
        "delta": delta,
        "v3": v3,
        "v4": v4,
        "v5": start + end[3],
        "v7": v3 + end[2],
        "v8": v4 + end[1],
        "skip": skip,
        "v8 + delta": v4 + end[1] + delta,
        "split": split,
        "v9": v9,
        "v16": v16,
        "v11 - v9": v11 - v9,
        "v12": v12,
        "v13": v9 + end[8],
        "v14": v14,
        "v15": v15,
    }
    printed = dict(zip(computed, _PRINTED_3, strict=True))
    missing = {v16, v11} - set(_times_of(two, 7))
    missing |= {v12, v9 + end[8], v15} ^ set(_times_of(two, 15))
    other = [
        f"{name} {value} (text: {printed[name]})"
        for name, value in computed.items()
        if value != printed[name]
    ]
    text = f"With batches as long as their longest job {len(computed) - len(other)} of "
    text += f"{len(computed)} numbers of the text follow, not {named(other)}."
    values = {**computed, "not_in_the_graph": len(missing)}
    return found(not other and not missing, text, values, two._repr_svg_())


def _figure_3_end(size: Size) -> Finding:
    graphs = {origin: _figure_3_graph(origin) for origin in (7, 10)}
    ends = {origin: _times_of(graph, 15) for origin, graph in graphs.items()}
    text = "; ".join(f"from {origin}: {named(times)}" for origin, times in ends.items())
    values = {f"from_{origin}": times for origin, times in ends.items()}
    holds = min(map(min, ends.values())) == 25
    return found(holds, f"Ends of all jobs {text}.", values, graphs[10]._repr_svg_(), reading=True)


_GRAPH = ("gs.pbs.graph.search",)
_BOTH = ("gs.pbs.graph.search", "gs.pbs.search")


def _optimal(size: Size) -> Finding:
    said, lost = listing(LOST)
    count, differ, yes = size.count(150, 3000), 0, 0
    for one in example_sets(count):
        truth = any(state[1] == one.jobs for state in one.reached())
        differ += graph_of(one).accepted != truth
        yes += truth
    text = f"{set_text(LOST)}: the listing answers {said}, the exact search {lost}. {count} random "
    text += f"sets, {yes} with a schedule: {differ} answers of the repaired graph differ from an "
    values = {"listing": said, "exact": lost, "sets": count, "differ": differ}
    return found(said == lost, f"{text}enumeration.", values)


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
        "A vertex that is merged away may itself stand for others; its own list dom is thrown "
        "away, and so are discarded successors (lines 32 and 33) with theirs. This set is lost "
        "with L as a queue, the one of Algorithm 4 as a stack.",
        _witness(LOST, False),
    ),
    Claim(
        "Algorithm 3",
        "splitting, line 6",
        "The deltas of the split vertex are those of the vertex that it is split from.",
        _BOTH,
        "differs",
        "They count from its earlier time, so that the copies describe times no schedule reaches "
        "(this set with L as a queue).",
        _witness(_COPIED, True),
    ),
    Claim(
        "Algorithm 3",
        "arrivals, line 4",
        "The split vertex adds R(t, t + delta) to the ready jobs.",
        _GRAPH,
        "agrees in this reading",
        "R has one argument in section 2.4, the time. A(t, t + delta) is meant: the jobs that "
        "arrive in between.",
        _split_arrivals,
    ),
    Claim(
        "Section 3.5",
        "split vertices are not tested",
        "A split vertex enters the graph and the list at once, without a test of deadlines or of "
        "domination.",
        _GRAPH,
        "agrees",
        "",
        _untested,
    ),
    Claim(
        "Algorithm 4",
        "fast-forward",
        "Idle time of a vertex is skipped by moving its time to the next arrival.",
        _BOTH,
        "differs",
        "A merge that comes later adds its delta to the moved time (this set with L as a stack, "
        "order='lifo').",
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
        "Merging drops deltas, so that some of these successors are missing: a schedule is lost, "
        "with L as a queue.",
        _witness(LOST, False),
    ),
    Claim(
        "Section 3.5",
        "schedules of S are feasible",
        "Every vertex of S gives a table that meets all deadlines under PBS.",
        _BOTH,
        "differs",
        "A path through a split vertex idles although work is ready, which PBS may not, and the "
        "deadlines meanwhile are not checked.",
        _not_feasible,
    ),
    Claim(
        "Figure 3",
        "merging and splitting",
        "Example 3.12: v1 at 10 is merged into v2 at 7 with delta = 3; v3 ends at 12, v4 at 11, v5 "
        "and v6 at 15, v7 and v8 at 16; idle time is skipped to 17; the split is at 18 or 19, v9 "
        "at 23, where v16 is merged with it, v12 at 25, v13 at 28, v14 at 24, v15 at 30; v11 is 2 "
        "after v9.",
        _GRAPH,
        "differs",
        "J3 and J4 together from 7 end at 12, not 15 (their end from 10), and 16 + 3 is 19, not "
        "18. With 15 a split of v6 at 18 would be due (lines 6 to 9), which the text does not "
        "make. The other numbers follow. By Definitions 3.4 and 3.7 it is v1 that is dominated by "
        "v2, and the delta has the indices 1, 2 in this order; J3 and J4 are ready at v1 and v2, "
        "not executed.",
        _figure_3,
    ),
    Claim(
        "Example 3.12",
        "the shortest schedule",
        "J5 and J6 together from 19 give the earliest end of all, 25.",
        _GRAPH,
        "agrees in this reading",
        "If L is a stack, so that v6 skips its idle time before v7 and v8 exist. As a queue, v6 "
        "dominates both, and the schedule that ends at 25 is lost.",
        _figure_3_end,
    ),
    Claim(
        "Theorem 3.13",
        "completeness",
        "If GPUSched finds nothing, PBS has no schedule.",
        _BOTH,
        "differs",
        "The listing loses schedules, see Lemma 3.11, with L as a queue; it holds for "
        "variant='sound' and gs.pbs.search.",
        _witness(LOST, False),
    ),
    Claim(
        "Section 3.5",
        "optimality for PBS",
        "By the theorem GPUSched leaves out no schedule that PBS could run.",
        _BOTH,
        "differs",
        "The listing misses schedules (Lemma 3.11). The repaired graph, variant='sound', agrees "
        "with an enumeration of all states.",
        _optimal,
    ),
)
