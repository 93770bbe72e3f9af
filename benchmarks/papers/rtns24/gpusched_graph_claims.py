"""Claims of [RTNS24], sections 3.2 to 3.4: the scheduling graph and domination."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.claim import Claim, Finding, Size, found
from benchmarks.papers.rtns24.gpusched_shared import (
    LOST,
    SPLIT,
    graph_of,
    in_one_reading,
    listing,
    named,
    state_pairs,
)
from benchmarks.papers.rtns24.gpusched_states import SmallSet, State, example_sets
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["GRAPH_CLAIMS"]

_ARRIVING = SmallSet((6, 12, 8), (6, 12, 4), (0, 3, 6, 0, 1, 3, 0, 0))


def _steps(size: Size) -> Finding:
    """Definition 3.1 on every edge of the repaired graph."""
    edges = wrong = 0
    for one in example_sets(size.count(30, 300)):
        graph = graph_of(one).graph
        assert graph is not None
        for source, target, batch in zip(graph.source, graph.target, graph.batch, strict=True):
            ran = [int(batch) >> i & 1 for i in range(len(one.period))]
            edges += 1
            wrong += (graph.executed[source] + ran).tolist() != graph.executed[target].tolist()
            known = (graph.executed + graph.ready)[target].tolist()
            wrong += not any(list(one.arrived(int(t))) == known for t in graph.times(target))
    text = f"{edges} edges: {wrong} lead to other executed or ready jobs than the definition says, "
    return found(wrong == 0, f"{text}with arrivals in (t, t'].", {"edges": edges, "wrong": wrong})


def _paths(size: Size) -> Finding:
    from gpusched import pbs

    one = KernelTasks(period=[3], wcet=[1])
    schedule = pbs.search(one, BatchTable(completion=[0, 1])).schedule
    assert schedule is not None
    end = int(schedule.end[-1])
    text = f"One task with T = 3, C = 1: its schedule ends at {end}, when every job has met its "
    text += "deadline, before H = 3."
    return found(end >= one.hyperperiod, text, {"end": end, "hyperperiod": one.hyperperiod})


def _order_path(size: Size) -> Finding:
    from gpusched import pbs

    ends = 0
    for one in example_sets(size.count(40, 400)):
        tasks = KernelTasks(period=one.period, deadline=one.deadline, wcet=1)
        found_one = pbs.graph.search(tasks, BatchTable(completion=one.completion), graph=True)
        if found_one.schedulable:
            counts = [sum(int(b) >> i & 1 for b in found_one.batch) for i in range(tasks.n)]
            ends += tuple(counts) != one.jobs
    text = f"Paths to a schedule execute each job once; {ends} exceptions."
    return found(ends == 0, text, {"exceptions": ends})


def _algorithm_1(size: Size) -> Finding:
    count = size.count(400, 6_000)
    answers = {"frame": [0, 0, 0], "ready": [0, 0, 0], "batch": [0, 0, 0]}
    for one in example_sets(count):
        for pruning, errors in answers.items():
            said, truth = listing(one, pruning=pruning, budget={"states": 20_000})
            errors[0] += said is True and not truth
            errors[1] += said is False and truth
            errors[2] += said is None
    witness = {pruning: listing(_ARRIVING, pruning=pruning)[0] for pruning in answers}
    parts = [
        f"{name}: {yes} wrong yes, {no} wrong no, {open_} undecided"
        for name, (yes, no, open_) in answers.items()
    ]
    shown = named(f"{name}: {answer}" for name, answer in witness.items())
    text = f"Of {count} random sets ({'; '.join(parts)}). T = (6, 12, 8), D = (6, 12, 4): {shown}."
    wrong = sum(answers["frame"])
    for one in (SPLIT, LOST):
        said, truth = listing(one)
        wrong += said != truth
    text += " The listing (frame) is wrong on the two sets of Algorithm 2 and Section 3.5 below."
    values = {
        f"{name}_{kind}": n
        for name, row in answers.items()
        for kind, n in zip(("wrong_yes", "wrong_no", "undecided"), row, strict=True)
    }
    return found(wrong == 0, text, values)


def _pruned(size: Size) -> Finding:
    said = {p: listing(_ARRIVING, pruning=p)[0] for p in ("frame", "ready", "batch")}
    truth = listing(_ARRIVING)[1]
    holds = said["batch"] == truth
    text = "T = (6, 12, 8), D = (6, 12, 4), times 3, 6, 1 and 3 of the first with the third: the "
    shown = named(f"{name}: {answer}" for name, answer in said.items())
    text += f"exact answer is {truth}, the listing's by reading of line 23: {shown}."
    return found(holds, text, {**said, "exact": truth})


def _no_arrival(size: Size) -> Finding:
    pairs = state_pairs(size.count(250, 2000))
    half = sum(one.arrivals(a[0], b[0]) for one, a, b in pairs)
    closed = sum(one.arrivals(a[0], b[0], closed=True) for one, a, b in pairs)
    text = (
        f"{len(pairs)} dominated states: {half} with an arrival in (t, t'], {closed} with one in "
    )
    values = {"pairs": len(pairs), "half_open": half, "closed": closed}
    return found(half == 0, f"{text}[t, t'].", values, reading=closed > 0)


def _domination(size: Size) -> Finding:
    """Times of one vertex of the repaired graph, and states of two vertices."""
    pairs = differ = repeated = 0
    for one in example_sets(size.count(400, 4000)):
        graph = graph_of(one).graph
        assert graph is not None
        states = {
            (tuple(e), tuple(r))
            for e, r in zip(graph.executed.tolist(), graph.ready.tolist(), strict=True)
        }
        repeated += len(graph) - len(states)
        for v in range(len(graph)):
            first, *later = graph.times(v).tolist()
            pairs += len(later)
            differ += sum(one.arrived(first) != one.arrived(time) for time in later)
    text = f"{pairs} later times share a vertex with an earlier one: {differ} have other arrivals. "
    text += f"{repeated} vertices repeat the executed and ready jobs of another."
    values = {"pairs": pairs, "differ": differ, "repeated": repeated}
    return found(differ == repeated == 0 < pairs, text, values)


def _successors(size: Size) -> Finding:
    """Ends of the frames from every time of a vertex, against the times of its successors."""
    compared = absent = apart = 0
    for one in example_sets(size.count(400, 4000)):
        graph = graph_of(one).graph
        assert graph is not None
        targets: dict[tuple[int, int], set[int]] = {}
        for source, target, batch in zip(graph.source, graph.target, graph.batch, strict=True):
            known = targets.setdefault((int(source), int(batch)), set())
            known.update(graph.times(int(target)).tolist())
        for v in range(len(graph)):
            first, *later = graph.times(v).tolist()
            executed = tuple(graph.executed[v].tolist())
            for time in later:
                pairs = zip(
                    one.frames((first, executed)), one.frames((time, executed)), strict=True
                )
                for (batch, early, missed), (_, late, also) in pairs:
                    if missed or also:
                        continue
                    ends = one.started(early)[0], one.started(late)[0]
                    compared += 1
                    absent += not targets.get((v, batch), set()).issuperset(ends)
                    waits = ends != (early[0], late[0])
                    apart += not waits and ends[1] - ends[0] != time - first
    text = f"{compared} pairs of frames with the same batch from two times of a vertex: {absent} "
    text += f"ends are no times of its successors, {apart} lie further apart than the two times."
    values = {"compared": compared, "absent": absent, "apart": apart}
    return found(absent == apart == 0 < compared, text, values)


def _misses(size: Size) -> Finding:
    pairs = state_pairs(size.count(250, 2000))
    compared = earlier = 0
    for one, a, b in pairs:
        for first, second in zip(one.frames(a), one.frames(b), strict=True):
            compared += 1
            earlier += first[2] and not second[2]
    one = SmallSet((10, 10), (10, 3), (0, 2, 2, 0))
    ends = []
    for order in ((1, 2), (2, 1)):
        state: State = (0, (0, 0))
        missed = False
        for batch in order:
            state, missed = next((s, m) for b, s, m in one.frames(state) if b == batch)
        ends.append((state, missed))
    text = (
        f"{compared} pairs of frames of {len(pairs)} dominated states: {earlier} miss a deadline "
        f"only in the earlier one. Of two equal states at {ends[0][0][0]} the last frame misses a "
        f"deadline in one order of the jobs ({ends[0][1]}) and not in the other ({ends[1][1]})."
    )
    holds = earlier == 0 < compared and ends[0][0] == ends[1][0]
    values = {"compared": compared, "only_earlier_misses": earlier}
    return found(holds, text, values, reading=ends[0][1] != ends[1][1])


def _propagation(size: Size) -> Finding:
    compared = wrong = closed = 0
    for one, a, b in state_pairs(size.count(250, 2000)):
        delta = b[0] - a[0]
        for first, second in zip(one.frames(a), one.frames(b), strict=True):
            dominated = one.ready(first[1]) == one.ready(second[1])
            dominated &= one.arrived(first[1][0]) == one.arrived(second[1][0])
            end = first[1][0]
            compared += 1
            wrong += dominated == one.arrivals(end, end + delta)
            closed += dominated == one.arrivals(end, end + delta, closed=True)
    text = f"{compared} pairs of successors: the condition is wrong for {wrong} with arrivals in "
    text += f"(t, t + delta], for {closed} with arrivals in [t, t + delta]."
    values = {"compared": compared, "half_open": wrong, "closed": closed}
    return found(wrong == 0, text, values, reading=closed > 0)


def _example_3_9(size: Size) -> Finding:
    from gpusched import pbs

    # Single jobs take 30 and pairs 50; larger batches are not in the example.
    table = BatchTable(completion=[(0, 30, 50, 0, 0)[m.bit_count()] for m in range(16)])
    rows = []
    for start in (200, 220):
        tasks = KernelTasks(period=[1000] * 4, offset=[start, start, start, 260], wcet=30)
        graph = pbs.graph.search(tasks, table, first_only=False, graph=True).graph
        assert graph is not None
        pair = graph.source[(graph.batch == 3) & (graph.executed[graph.source].sum(axis=1) == 0)]
        after = int(graph.target[(graph.batch == 3) & np.isin(graph.source, pair)][0])
        out = sorted(set(graph.batch[graph.source == after].tolist()))
        names = [f"J{i + 1}" for i in range(4) if graph.ready[after][i]]
        rows.append((start + 50, names, out))
    text = "; ".join(
        f"at {end} {' and '.join(names)} ready, sets to submit: {len(out)}"
        for end, names, out in rows
    )
    holds = [(end, names, len(out)) for end, names, out in rows] == [
        (250, ["J3"], 1),
        (270, ["J3", "J4"], 3),
    ]
    values = {"ready": [names for _, names, _ in rows], "batches": [out for *_, out in rows]}
    return found(holds, f"After J1 with J2: {text}.", values)


_GRAPH = ("gs.pbs.graph.search",)
_BOTH = ("gs.pbs.graph.search", "gs.pbs.search")

GRAPH_CLAIMS = (
    Claim(
        "Definition 3.1",
        "vertices and edges",
        "An edge adds its batch to the executed jobs, takes it from the ready ones, and adds the "
        "jobs that arrive during the frame to these.",
        _GRAPH,
        "agrees in this reading",
        "Arrivals count in (t, t'], not in [t, t'] as A is defined.",
        lambda size: in_one_reading(_steps(size)),
    ),
    Claim(
        "Definition 3.2",
        "execution order path",
        "A path executes the jobs of its batches; its last vertex holds all of them.",
        _GRAPH,
        "agrees",
        "",
        _order_path,
    ),
    Claim(
        "Definition 3.3",
        "schedulable path",
        "A path is schedulable if and only if its last vertex has a time of at least H and every "
        "job met its deadline.",
        _BOTH,
        "differs",
        "Where the last job ends before H no vertex has such a time, and Algorithm 4 looks for the "
        "least of no arrivals; here a vertex with every job executed is a success. Jobs that "
        "arrive at H do not belong, as in section 3.1 (5, 4 and 2 jobs).",
        _paths,
    ),
    Claim(
        "Algorithm 1",
        "expansion",
        "The listing finds the schedules of PBS: successors by batch, pruned at missed deadlines, "
        "merged where dominated.",
        _BOTH,
        "differs",
        "As printed it says yes to sets without a schedule and no to sets with one; each cause is "
        "listed below. variant='sound' is repaired.",
        _algorithm_1,
    ),
    Claim(
        "Section 3.3",
        "pruning by the executed jobs",
        "A vertex is pruned if the frame ends after the deadline of one of the executed jobs.",
        _BOTH,
        "differs",
        "Jobs that wait, or that arrive during the frame, can miss their deadlines too; this "
        "sentence looks at the batch alone, and a set without a schedule passes. Line 23 asks for "
        "any miss, and line 19 has already added the arrivals. pruning= selects 'batch' (this "
        "sentence), 'ready' or 'frame' (the listing).",
        _pruned,
    ),
    Claim(
        "Definition 3.4",
        "domination",
        "A vertex is dominated by one with the same executed and ready jobs and a time that is not "
        "later.",
        _GRAPH,
        "agrees",
        "",
        _domination,
    ),
    Claim(
        "Lemma 3.5",
        "misses of dominated vertices",
        "A deadline that the earlier vertex's frame misses is missed in the later one's.",
        _GRAPH,
        "agrees in this reading",
        "It holds for frames that run the same batch from the two vertices, as it is used. Frames "
        "that end at the two may run other jobs last, and then it fails.",
        _misses,
    ),
    Claim(
        "Lemma 3.6",
        "no arrival between two vertices",
        "No job arrives between the times of a vertex and one that it dominates.",
        _GRAPH,
        "agrees in this reading",
        "With arrivals in (t, t']; a job that arrives at t itself belongs to both.",
        _no_arrival,
    ),
    Claim(
        "Definition 3.7 and Lemma 3.8",
        "delta of successors",
        "The successors of two vertices by the same batch lie as far apart as the vertices.",
        _GRAPH,
        "agrees",
        "",
        _successors,
    ),
    Claim(
        "Example 3.9",
        "a domination that ends",
        "Vertices at 200 and 220, a batch of 50, an arrival at 260: the successors at 250 and 270 "
        "have one and three batches, and the first does not dominate the second.",
        _GRAPH,
        "agrees in this reading",
        "Three sets of jobs; with orders of submission, as counted in section 3.1, there are four.",
        lambda size: in_one_reading(_example_3_9(size)),
    ),
    Claim(
        "Lemma 3.10",
        "domination of successors",
        "The successor is dominated if and only if no job arrives between the end of the earlier "
        "frame and delta after it.",
        _GRAPH,
        "agrees in this reading",
        "With arrivals in (t, t + delta]; an arrival at t would refuse dominations that hold.",
        _propagation,
    ),
)
