"""Scheduling graph of [RTNS24], section 3: exploration, counts, drawing.

A vertex is the state of the GPU at the beginning of a scheduling frame; an edge is the batch that
the frame runs. The algorithm as printed is neither sound nor complete. The default variant here is
corrected and exact; the printed listing is kept for study. ``gs.pbs.search`` answers the same
question faster by orders of magnitude; use this module for the paper's figures and to inspect the
graph.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, frozen, instance, int_array, one_of
from gpusched._support.registry import enumeration
from gpusched._support.results import Frozen, Saved
from gpusched._support.tabular import Tabular, frame_of, optional
from gpusched._support.text import shown
from gpusched.model.answer import Claim
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.schedule import Schedule
from gpusched.pbs.search_answer import PRINTED, BatchAnswer

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["ORDERS", "PRUNINGS", "REASONS", "STATES", "VARIANTS", "Graph", "GraphSearch", "search"]


def __dir__() -> list[str]:
    return sorted(__all__)  # names for tab completion


VARIANTS = enumeration("pbs.graph_variant")
ORDERS = ("fifo", "lifo")
PRUNINGS = enumeration("pbs.graph_pruning")
REASONS = enumeration("pbs.graph_outcome")
STATES = enumeration("pbs.graph_vertex")

_BYTES = 2 << 30  # the budget where none is given


@dataclass(frozen=True, eq=False, repr=False)
class Graph(Tabular, Saved, Frozen):
    """A scheduling graph, or the explored part of it.

    The V vertices are numbered in order of creation; the root is vertex 0. E is the number of edges
    and P the number of pairs of a vertex and a time.

    >>> tasks = gs.KernelTasks([4, 6], wcet=[1, 3])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 1, (1,): 3, (0, 1): 4})
    >>> gs.pbs.graph.search(tasks, table, graph=True).graph
    <Graph: 7 vertices, 7 times, 8 edges>

    Attributes
    ----------
    names
        Names of the tasks.
    executed, ready
        Numbers of executed and of ready jobs per task, ``(V, n)``.
    state
        Fate of each vertex as an index into ``STATES``, ``(V,)``: "open" was not expanded,
        "success" has executed all jobs in time, "discarded" was removed again (paper, line 33).
    first
        ``(V + 1,)``: the times of vertex v are ``time[first[v]:first[v + 1]]``, ascending. In the
        paper's variants each vertex has one time. A vertex that is fast-forwarded has the time of
        the arrival that it waits for.
    time, parent, parent_batch
        ``(P,)``: the time in ticks; the index of the entry of ``time`` from which it was first
        reached, -1 at the root; and the batch in between (a bit mask; 0: waiting, -1: a split of
        the paper's variants).
    source, target, batch
        ``(E,)``: start vertex, end vertex and batch of each edge.
    """

    _KIND: ClassVar[str] = "Graph"

    names: tuple[str, ...]
    executed: Int64Array
    ready: Int64Array
    state: npt.NDArray[np.uint8]
    first: Int64Array
    time: Int64Array
    parent: Int64Array
    parent_batch: Int64Array
    source: Int64Array
    target: Int64Array
    batch: Int64Array

    def __len__(self) -> int:
        return len(self.state)

    @property
    def depth(self) -> Int64Array:
        """Number of executed jobs of each vertex, ``(V,)``."""
        depth: Int64Array = self.executed.sum(axis=1)
        return depth

    def times(self, vertex: int) -> Int64Array:
        """Times of one vertex, ascending."""
        if not 0 <= vertex < len(self):
            raise IndexError(f"vertex: got {vertex}, expected 0 to {len(self) - 1}")
        return self.time[self.first[vertex] : self.first[vertex + 1]]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per vertex.

        The columns are vertex, depth, times, earliest, latest (NA without a time), state, and
        ``executed <task>`` and ``ready <task>`` for each task.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        count = np.diff(self.first)
        some = count > 0
        earliest = np.full(len(self), -1)
        latest = np.full(len(self), -1)
        earliest[some] = self.time[self.first[:-1][some]]
        latest[some] = self.time[self.first[1:][some] - 1]
        columns: dict[str, Any] = {
            "vertex": np.arange(len(self)),
            "depth": self.depth,
            "times": count,
            "earliest": optional(earliest, some),
            "latest": optional(latest, some),
            "state": np.array(STATES, dtype=object)[self.state],
        }
        for i, name in enumerate(self.names):
            columns[f"executed {name}"] = self.executed[:, i]
            columns[f"ready {name}"] = self.ready[:, i]
        return columns

    def to_dot(self, path: str | os.PathLike[str] | None = None, max_vertices: int = 2000) -> str:
        """Return the graph in the DOT language of Graphviz, and write it to ``path`` if given.

        Vertices are labelled with their times and ready tasks, and edges with their batches.
        Vertices of equal depth are placed in one row.

        Raises
        ------
        ValueError
            The graph has more than ``max_vertices`` vertices.
        """
        from gpusched.pbs.graph_drawing import dot_text

        text = dot_text(self, max_vertices)
        if path is not None:
            from gpusched._support.files import replacing

            with replacing(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    def plot(self, ax: Axes | None = None, max_vertices: int = 300) -> Axes:
        """Draw the graph with Matplotlib, one column per depth; returns the axes.

        Vertices show their times (filled green: all jobs were executed in time), and edges their
        batches; dashed edges are waiting, or splits of the paper's variants.

        Raises
        ------
        ValueError
            The graph has more than ``max_vertices`` vertices.
        """
        from gpusched.pbs.graph_drawing import drawn

        return drawn(self, ax, max_vertices)

    def _repr_svg_(self) -> str | None:
        """A drawing for notebooks; None for graphs of more than a few dozen vertices."""
        from gpusched.pbs.graph_drawing import svg_text

        return svg_text(self)

    def __repr__(self) -> str:
        return f"<Graph: {len(self)} vertices, {len(self.time)} times, {len(self.batch)} edges>"


@dataclass(frozen=True, eq=False, repr=False)
class GraphSearch(BatchAnswer):
    """Answer of a search of the scheduling graph, for one set of n tasks.

    The corrected graph is exact: a set is accepted with a schedule, rejected if everything was
    explored without finding one, and undecided otherwise.

    >>> tasks = gs.KernelTasks([4, 6], wcet=[1, 3])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 1, (1,): 3, (0, 1): 4})
    >>> found = gs.pbs.graph.search(tasks, table)
    >>> found.schedulable, found.schedule.end.tolist()
    (True, [4, 5, 9, 10])

    Attributes
    ----------
    tasks
        The tasks.
    variant, idling
        Variant of the graph, and whether the GPU may wait although work is ready.
    accepted, rejected
        Whether a schedule was found, or none exists.
    reason
        Reason for the end of the search: "complete" (everything was explored), "found" (it stopped
        at the first schedule), "states", "bytes" or "seconds" (that budget was used up), "depth"
        or "undecided".
    start, end, batch
        The frames of the schedule, as ticks and bit masks of tasks; empty without a schedule. For
        the paper's variants, this is the schedule that the listing reports, which may be wrong.
    vertices, times, edges
        Numbers of vertices, of distinct pairs of a vertex and a time, and of edges created.
    merged
        Number of frames that ended in an existing vertex (paper: merges of lines 27 and 32).
    splits
        Number of additional vertices that were created because arrivals lie between the times of
        one vertex, so that one batch leads to several vertices (paper: calls of Split).
    per_depth
        Number of vertices by number of executed jobs (Figure 5c).
    graph
        The graph itself if it was requested; None if it did not fit the memory budget.
    seconds, bytes
        Time of the search, and largest amount of memory used.
    """

    _KIND: ClassVar[str] = "GraphSearch"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (KernelTasks, Graph)

    tasks: KernelTasks
    variant: str
    idling: bool
    accepted: bool
    rejected: bool
    reason: str
    start: Int64Array
    end: Int64Array
    batch: Int64Array
    vertices: int
    times: int
    edges: int
    merged: int
    splits: int
    per_depth: Int64Array
    graph: Graph | None
    bytes: int
    seconds: float = field(default=0.0, compare=False)

    @property
    def table(self) -> None:
        """Always None: the search keeps no table."""
        return None

    @property
    def schedule(self) -> Schedule | None:
        """The schedule of an accepted set, without its table; otherwise None."""
        if not self.accepted:
            return None
        return Schedule(self.start, self.end, self.batch, self.tasks, None, self.idling)

    @property
    def claim(self) -> Claim:
        """ "exact"; for the paper's variants only as far as the listing is right."""
        return "exact"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each."""
        waits = "may" if self.idling else "does not"
        return (
            "Releases are periodic, from the offsets; the jobs released in one hyperperiod (the "
            "least common multiple of the periods) count.",
            "A batch takes exactly its time in the table, and batches are not preempted.",
            f"The GPU {waits} wait while work is ready.",
            *([PRINTED] if self.variant != "sound" else []),
        )

    def _reason(self) -> str:
        if self.accepted:
            least = self._tightest()
            return f"The graph has a schedule{f'; {least}' if least else ''}."
        if self.rejected:
            return "Everything was explored; every sequence of batches misses a deadline."
        if self.reason == "undecided":
            return "The batches that the table leaves undecided decide it."
        what = "depth limit was reached" if self.reason == "depth" else "budget was spent"
        return f"The {what}{'' if self.reason == 'depth' else f' ({self.reason})'}."

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        names = ("reason", "vertices", "times", "edges", "merged", "splits", "bytes", "seconds")
        return {name: np.array([getattr(self, name)]) for name in names}

    def _form(self) -> str:
        variant = "" if self.variant == "sound" else f"{self.variant}, "
        return (
            f"graph, {variant}{self.reason}; {self.vertices} vertices, {self.times} times, "
            f"{self.edges} edges"
        )


def search(
    tasks: KernelTasks,
    table: Any,
    variant: str = "sound",
    order: str = "fifo",
    merge: bool = True,
    idling: bool = False,
    first_only: bool = True,
    depth: int | None = None,
    budget: Any = None,
    graph: bool = False,
    stop: Any = None,
    pruning: str = "frame",
) -> GraphSearch:
    """Explore the scheduling graph of one task set.

    >>> tasks = gs.KernelTasks(period=[4, 6], wcet=[2, 3])
    >>> table = gs.BatchTable.from_dict(2, {(0,): 2, (1,): 3, (0, 1): 4})
    >>> answer = gs.pbs.graph.search(tasks, table, first_only=False)
    >>> answer.schedulable, answer.reason, answer.vertices
    (True, 'complete', 7)

    Parameters
    ----------
    tasks
        One task set.
    table
        Completion times of its batches: an object with an array ``completion`` of 2**n ticks (and
        ``undecided``, the times of undecided batches, or None), or such an array.
    variant
        "sound" (exact), "paper" (Algorithms 1 to 4 as printed, with half-open intervals of
        arrivals) or "printed" (literally as printed, with arrivals closed at both ends). The last
        two sometimes answer wrongly, and accept neither offsets nor deadlines longer than periods.
    order
        Order in which the paper's variants extract vertices from their list: "fifo" or "lifo". The
        corrected graph is expanded by depth.
    merge
        False: every path gets its own vertices (Figure 5c, red line).
    idling
        Whether the dispatcher may wait for the next arrival although work is ready.
    first_only
        Whether to stop at the first schedule; False explores everything, to count vertices.
    depth
        Do not expand vertices with this many executed jobs.
    budget
        A ``gpusched.pbs.Budget``, or a mapping or object with any of ``states`` (times of
        vertices), ``bytes`` and ``seconds``; 0 and None mean no limit. Default: 2 GiB. If it is
        used up, ``schedulable`` is None, unless a schedule was found.
    graph
        Whether to keep the graph.
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.
    pruning
        Jobs whose deadlines line 23 of Algorithm 1 checks, in the paper's variants. "frame": all
        jobs known by the end of the frame, as in the listing, where line 19 has already added the
        jobs that arrive during the frame. "ready": jobs that are ready when the frame starts.
        "batch": jobs that the frame runs, as stated in section 3.3.

    Returns
    -------
    GraphSearch

    Raises
    ------
    ValueError, OverflowError
        An argument is invalid; the message names it.
    gpusched.Cancelled
        ``stop`` was set.
    """
    instance(tasks, KernelTasks, "tasks")
    if tasks.is_stack:
        raise ValueError("tasks: got a stack, expected one task set; index the stack")
    completion, undecided = _table_arrays(table, tasks.n)
    result = _run(
        tasks.period,
        tasks.deadline,
        tasks.offset,
        completion,
        undecided,
        variant=variant,
        order=order,
        merge=merge,
        idling=idling,
        first_only=first_only,
        depth=depth,
        graph=graph,
        stop=stop,
        pruning=pruning,
        **_budget_limits(budget),
    )
    arrays = result["graph"]
    return GraphSearch(
        tasks=tasks,
        variant=variant,
        idling=bool(idling),
        accepted=result["schedulable"] == 1,
        rejected=result["schedulable"] == 0,
        reason=REASONS[result["reason"]],
        start=frozen(result["start"]),
        end=frozen(result["end"]),
        batch=frozen(result["batch"]),
        vertices=result["vertices"],
        times=result["times"],
        edges=result["edges"],
        merged=result["merged"],
        splits=result["splits"],
        per_depth=frozen(result["per_depth"]),
        graph=None
        if arrays is None
        else Graph(tasks.name, **{key: frozen(array) for key, array in arrays.items()}),
        seconds=result["seconds"],
        bytes=result["bytes"],
    )


def _run(
    period: Int64Array,
    deadline: Int64Array,
    offset: Int64Array,
    completion: Int64Array,
    undecided: Int64Array | None = None,
    *,
    variant: str = "sound",
    order: str = "fifo",
    merge: bool = True,
    idling: bool = False,
    first_only: bool = True,
    depth: int | None = None,
    states: int = 0,
    bytes: int = 0,
    seconds: float = 0.0,
    graph: bool = False,
    stop: Any = None,
    pruning: str = "frame",
) -> dict[str, Any]:
    """Search on plain arrays of one task set, ``(n,)`` and ``(2**n,)``.

    Returns the dict of ``_core.graph_search``, in which ``schedulable`` is 1, 0 or -1 (undecided)
    and ``reason`` an index into ``REASONS``.
    """
    one_of(variant, VARIANTS, "variant")
    one_of(order, ORDERS, "order")
    one_of(pruning, PRUNINGS, "pruning")
    if depth is not None and (not isinstance(depth, (int, np.integer)) or not 0 <= depth < 2**63):
        raise ValueError(f"depth: got {shown(depth)}, expected a number of jobs, or None")
    return _core.graph_search(
        np.asarray(period)[np.newaxis],
        np.asarray(deadline)[np.newaxis],
        np.asarray(offset)[np.newaxis],
        np.asarray(completion)[np.newaxis],
        None if undecided is None else np.asarray(undecided)[np.newaxis],
        variant=VARIANTS.index(variant),
        pruning=PRUNINGS.index(pruning),
        lifo=order == "lifo",
        merge=merge,
        idling=idling,
        first_only=first_only,
        depth_limit=-1 if depth is None else depth,
        states=states,
        bytes=bytes,
        seconds=seconds,
        want_graph=graph,
        stop=stop,
    )


def _table_arrays(table: Any, n: int) -> tuple[Int64Array, Int64Array | None]:
    """Times of all batches of n tasks, and of those that are undecided, if there are any."""
    given = getattr(table, "completion", table)
    undecided = getattr(table, "undecided", None)
    completion = int_array(given, "completion")
    if completion.shape != (1 << n,):
        raise ValueError(
            f"completion: got shape {completion.shape}, expected {1 << n} entries for {n} tasks"
        )
    if undecided is None:
        return completion, None
    times = int_array(undecided, "undecided")
    if times.shape != completion.shape:
        raise ValueError(f"undecided: got shape {times.shape}, expected {1 << n} entries")
    return completion, times


def _budget_limits(budget: Any) -> dict[str, Any]:
    """The limits as numbers, 0 where there is none."""
    if budget is None:
        return {"bytes": _BYTES}
    keys = ("states", "bytes", "seconds")
    if isinstance(budget, Mapping):
        unknown = set(budget) - set(keys)
        if unknown:
            found = ", ".join(sorted(map(str, unknown)))
            raise ValueError(f"budget: got {found}, expected some of {', '.join(keys)}")
        limits = {key: budget.get(key) for key in keys}
    else:
        limits = {key: getattr(budget, key, None) for key in keys}
        if all(limit is None for limit in limits.values()) and not any(
            hasattr(budget, key) for key in keys
        ):
            raise TypeError(f"budget: got {shown(budget)}, expected states, bytes or seconds")
    for key, limit in limits.items():
        whole = (int, np.integer) if key != "seconds" else (int, float, np.number)
        if limit is not None and (not isinstance(limit, whole) or not 0 <= limit < 2**63):
            raise ValueError(
                f"budget: {key}: got {shown(limit)}, expected a non-negative number, or None"
            )
    return {key: 0 if limit is None else limit for key, limit in limits.items()}
