"""The scheduling graph as printed in [RTNS24], including its errors.

Source: "GPUSched", section 3: Algorithm 1 (expansion), 2 (Merge), 3 (Split), 4 (Fast-Forward),
for D <= T and no offsets.  Each known error of the listing is a switch in `faults`; with all of
them off the answer is exact.

1  A(t, t') is closed at t: line 19 re-adds jobs that were just executed, and lines 7 (Algorithm 1)
   and 4 (Algorithm 2) split whenever a job arrives at t itself.
2  A split vertex hangs below the dominating vertex (and Merge goes through it), and a delta is
   handed on without a look at the deadlines in the frame that it moves.  Off: a delta is handed on
   over a frame only when that frame, moved by the delta, has no miss.
3  Split copies dom(v_k), whose deltas are relative to t(v_k), to a vertex at t(v_k) + delta.
   Off: the copy starts with an empty list.
4  Merging keeps one delta: the list of the merged vertex is dropped, as are the edge to it (so a
   later Merge does not follow it) and the successors of a vertex that a new one dominates.
   Off: all three are kept.
5  Line 23 looks for misses in [t(v_i), t(v_s)] alone.  Off: every job that is not executed and
   whose deadline is <= t(v_s), also one whose deadline passed before the frame.
6  Fast-Forward moves t(v_k); a later Merge adds its delta to the moved time, although the
   dominated vertex would idle too, and less.  Off: deltas that come over an edge count from the end
   of the frame.

With error 5, `pruning` says whose deadlines line 23 checks.  "frame" is the listing: a job of the
batch that ends late, or a job of ready(v_s), which line 19 has made of the waiting jobs and of
those that arrive during the frame, with its deadline in the frame.  "ready" leaves out those that
arrive.  "batch" is the sentence about pruning in section 3.3: the jobs of the batch alone.

PRINTED is the listing word for word.  The default leaves out error 1: taken literally every job
that starts when it arrives is executed twice and most feasible sets are refused, which cannot be
what the authors ran.  Some sets make the printed exploration very long, because a discarded vertex
takes all it led to with it (rare, from four tasks on with "lifo", more often with error 1): hence
`limit`.

Where the listing leaves a choice:
- batches of a vertex in ascending order of their bit mask, one job (the oldest ready) per task, and
  one vertex per set of tasks, since all orders of submission have the same completion here;
- `order` is how line 5 extracts from L; new vertices go to its end, deltas are taken in ascending
  order; v_j on line 25 goes through the graph in order of creation (a vertex that is
  fast-forwarded goes to the end);
- delta 0: nothing to merge, the new vertex is dropped;
- Fast-Forward without a later arrival before H: all is executed, the vertex counts as schedulable;
- t(v_s) >= H is the only other success test (line 39); the search goes on until L is empty;
- a discarded vertex also leaves the successor list of its predecessor;
- Algorithm 3 puts its vertex into G and L without a check of dominance.
"""

from math import lcm
from typing import NamedTuple

PRINTED = frozenset({1, 2, 3, 4, 5, 6})
DEFAULT = PRINTED - {1}


class Result(NamedTuple):
    schedulable: bool
    vertices: int  # that entered the graph, split vertices and later discarded ones included
    per_depth: dict  # the same by depth, the number of executed jobs
    created: int  # all of line 17 and Algorithm 3, with those that missed or were dominated


class Vertex:
    def __init__(self, t, ready, exe, dom):
        self.t, self.ready, self.exe, self.dom = t, frozenset(ready), exe, set(dom)
        self.waited = 0  # what Fast-Forward added to t
        self.succ = []  # edges (vertex, batch, time at which the frame ends); split: None
        self.gone = False
        self.home = None  # without error 4: the vertex that took this one over


class Graph:
    def __init__(self, period, deadline, completion, order, merge, faults, pruning):
        self.period, self.completion = period, completion
        self.pop = {"fifo": 0, "lifo": -1}[order]
        self.merging, self.faults, self.pruning = merge, frozenset(faults), pruning
        self.horizon = lcm(*period)
        self.due = {
            (i, a): a + deadline[i]  # jobs are (task, arrival)
            for i, p in enumerate(period)
            for a in range(0, self.horizon, p)
        }
        self.todo = []  # the listing's L
        self.known = {}  # the listing's V, by (exe, ready)
        self.found = False  # S is not empty
        self.created, self.per_depth = 0, {}

    def arrivals(self, start, end):
        return {j for j in self.due if start < j[1] <= end or (1 in self.faults and j[1] == start)}

    def missed(self, v, batch, start, end):
        """Line 22 for a frame that runs `batch` from v, moved to [start, end]."""
        if any(self.due[j] < end for j in batch):
            return True
        if 5 in self.faults:
            known = {"batch": set(), "ready": v.ready, "frame": v.ready | self.arrivals(start, end)}
            return any(start <= self.due[j] <= end for j in known[self.pruning] - batch)
        return any(d <= end for j, d in self.due.items() if j not in v.exe | batch)

    def batches(self, v):
        oldest = {i: (i, a) for i, a in sorted(v.ready, reverse=True)}
        for mask in range(1, 1 << len(self.period)):
            tasks = [i for i in range(len(self.period)) if mask >> i & 1]
            if self.completion[mask] and all(i in oldest for i in tasks):
                yield frozenset(oldest[i] for i in tasks), self.completion[mask]

    def create(self, t, ready, exe, dom):
        self.created += 1
        return Vertex(t, ready, exe, dom)

    def enter(self, v):
        self.known.setdefault((v.exe, v.ready), []).append(v)
        self.per_depth[len(v.exe)] = self.per_depth.get(len(v.exe), 0) + 1

    def run(self, limit):
        v = self.create(0, {j for j in self.due if j[1] == 0}, frozenset(), ())
        self.enter(v)
        self.todo.append(v)
        while self.todo:
            if limit is not None and self.created > limit:
                self.found = None
                break
            self.expand(self.todo.pop(self.pop))
        return Result(self.found, sum(self.per_depth.values()), self.per_depth, self.created)

    def expand(self, v):
        for delta in sorted(v.dom):  # lines 6-11
            if self.arrivals(v.t, v.t + delta):
                v.dom.remove(delta)
                self.split(v, v.t + delta)
        if not v.ready and not self.fast_forward(v):  # lines 12-14
            self.found = True
            return
        for batch, length in self.batches(v):  # lines 15-22
            end = v.t + length
            s = self.create(end, v.ready - batch | self.arrivals(v.t, end), v.exe | batch, v.dom)
            if 2 not in self.faults:
                s.dom = {d for d in v.dom if not self.missed(v, batch, v.t + d, end + d)}
            if not self.missed(v, batch, v.t, end):
                self.consider(v, batch, s)

    def consider(self, v, batch, s):
        """Lines 23-44: s, reached from v by batch, is merged or enters the graph."""
        end = s.t
        for j in list(self.known.get((s.exe, s.ready), ())) if self.merging else ():
            if s.t >= j.t:  # s is dominated
                self.merge(j, s.t - j.t)
                if 4 not in self.faults:
                    for delta in sorted(s.dom):
                        self.reach(j, s.t + delta)
                    v.succ.append((j, batch, end))
                return
            s.dom.add(j.t - s.t)  # s dominates; it has no successors
            if 4 not in self.faults:
                s.dom |= {j.t - s.t + delta for delta in j.dom}
            self.discard(j, s)
        v.succ.append((s, batch, end))
        self.enter(s)
        if s.t < self.horizon:
            self.todo.append(s)
        else:
            self.found = True

    def merge(self, v, delta):
        """Algorithm 2."""
        if delta == 0 or (4 not in self.faults and delta in v.dom):
            return
        v.dom.add(delta)
        for k, batch, end in list(v.succ):
            if k.gone:
                continue
            if 2 not in self.faults and self.missed(v, batch, v.t + delta, end + delta):
                continue
            self.reach(k, end + delta + (k.waited if 6 in self.faults else 0))

    def reach(self, v, t):
        """Lines 4-8 of Algorithm 2: a dominated schedule comes to v at time t instead of t(v)."""
        while v.home:
            v = v.home
        if t < v.t:
            return  # and idles until t(v)
        if self.arrivals(v.t, t):
            self.split(v, t)
        else:
            self.merge(v, t - v.t)

    def split(self, v, t):
        """Algorithm 3."""
        s = self.create(
            t, v.ready | self.arrivals(v.t, t), v.exe, v.dom if 3 in self.faults else ()
        )
        if 2 in self.faults:
            v.succ.append((s, None, t))
        self.enter(s)
        self.todo.append(s)

    def fast_forward(self, v):
        """Algorithm 4; False when no job arrives any more."""
        later = [a for _, a in self.due if a > v.t]
        if not later:
            return False
        self.known[v.exe, v.ready].remove(v)
        v.waited = min(later) - v.t
        v.t, v.dom = min(later), set()
        v.ready = frozenset(j for j in self.due if j[1] == v.t)
        self.known.setdefault((v.exe, v.ready), []).append(v)
        return True

    def discard(self, v, by):
        """Line 33; without error 4 what was found behind v stays."""
        if 4 not in self.faults:
            self.known[v.exe, v.ready].remove(v)
            if v in self.todo:
                self.todo.remove(v)
                v.home = by
            return
        doomed = [v]
        while doomed:
            v = doomed.pop()
            if not v.gone:
                v.gone = True
                self.known[v.exe, v.ready].remove(v)
                if v in self.todo:
                    self.todo.remove(v)
                doomed += [k for k, _, _ in v.succ]


def explore(
    period,
    deadline,
    completion,
    order="fifo",
    merge=True,
    faults=DEFAULT,
    limit=None,
    pruning="frame",
):
    """The Result of the graph; schedulable is None when `limit` created vertices were too few."""
    return Graph(period, deadline, completion, order, merge, faults, pruning).run(limit)
