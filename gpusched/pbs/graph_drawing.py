"""Drawings of scheduling graphs: Matplotlib, SVG for notebooks, the DOT language of Graphviz."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from gpusched._draw.axes import axes
from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration
from gpusched._support.text import clip
from gpusched.model.batches import members

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INLINE = 60  # vertices in a drawing that a notebook shows by itself

# How vertices look in DOT and in Matplotlib, by their state.
_LOOKS = {
    "open": ("style=dashed", "white"),
    "expanded": ("", "lightsteelblue"),
    "success": ("peripheries=2", "lightgreen"),
    "discarded": ("style=dotted, color=gray", "lightgray"),
}
_NODES, _COLORS = zip(*(_LOOKS[name] for name in enumeration("pbs.graph_vertex")), strict=True)


class Explored(Protocol):
    """Protocol of a graph: the parts that are drawn."""

    def __len__(self) -> int: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def depth(self) -> Int64Array: ...
    @property
    def ready(self) -> Int64Array: ...
    @property
    def state(self) -> npt.NDArray[np.uint8]: ...
    @property
    def source(self) -> Int64Array: ...
    @property
    def target(self) -> Int64Array: ...
    @property
    def batch(self) -> Int64Array: ...
    def times(self, vertex: int) -> Int64Array: ...


def dot_text(graph: Explored, max_vertices: int) -> str:
    """The graph in DOT; ValueError if it has more than the given number of vertices."""
    _check_size(graph, max_vertices)
    lines = ["digraph scheduling_graph {", "  node [shape=box, fontsize=10];"]
    lines += ["  edge [fontsize=9];"]
    for v in range(len(graph)):
        more = _NODES[graph.state[v]]
        label = _quoted(f"t = {_time_label(graph, v)}\nready {_ready_label(graph, v)}")
        lines.append(f"  v{v} [label={label}{f', {more}' if more else ''}];")
    for depth in np.unique(graph.depth):
        row = " ".join(f"v{v};" for v in np.flatnonzero(graph.depth == depth))
        lines.append(f"  {{ rank=same; {row} }}")
    for source, target, batch in _edges(graph):
        style = ", style=dashed" if batch <= 0 else ""
        lines.append(
            f"  v{source} -> v{target} [label={_quoted(_batch_label(graph, batch))}{style}];"
        )
    lines.append("}")
    return "\n".join(lines) + "\n"


def drawn(graph: Explored, ax: Axes | None, max_vertices: int) -> Axes:
    """Axes with the graph, one column per depth; ValueError if it has too many vertices."""
    _check_size(graph, max_vertices)
    x, y = _layout(graph)
    height = max(2.5, 0.8 * float(np.bincount(graph.depth).max()))
    width = max(4.0, 1.7 * float(graph.depth.max() + 1))
    ax = axes(ax, (width, height))
    for source, target, batch in _edges(graph):
        dashed = "--" if batch <= 0 else "-"
        arrow = {"arrowstyle": "->", "color": "gray", "linestyle": dashed}
        arrow["connectionstyle"] = "arc3,rad=0.08"
        ends = (float(x[target]), float(y[target])), (float(x[source]), float(y[source]))
        ax.annotate("", *ends, arrowprops={**arrow, "shrinkA": 14, "shrinkB": 14})
        ax.text(
            # Closer to the source of the edge, as edges diverge there and meet at their targets.
            0.6 * ends[1][0] + 0.4 * ends[0][0],
            0.6 * ends[1][1] + 0.4 * ends[0][1],
            "+".join(map(str, members(batch))) if batch > 0 else _batch_label(graph, batch),
            fontsize=8,
            ha="center",
            va="center",
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
        )
    for v in range(len(graph)):
        box = {"boxstyle": "round", "facecolor": _COLORS[graph.state[v]], "edgecolor": "black"}
        ax.text(x[v], y[v], _time_label(graph, v), ha="center", va="center", fontsize=8, bbox=box)
    ax.set_xlim(x.min() - 0.6, x.max() + 0.6)
    ax.set_ylim(y.min() - 0.6, y.max() + 0.6)
    batches = ", ".join(f"{i}: {clip(name, 20)}" for i, name in enumerate(graph.names))
    words = f"executed jobs (in boxes: time; on edges: batches of {batches})"
    ax.set_xlabel(words, parse_math=False)
    ax.set_yticks([])
    ax.locator_params(axis="x", integer=True)
    return ax


def svg_text(graph: Explored) -> str | None:
    """An SVG document; None for a large graph, and without Matplotlib."""
    if len(graph) > _INLINE:
        return None
    try:
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError:
        return None
    rows = int(np.bincount(graph.depth).max())
    size = (max(4.0, 1.7 * (int(graph.depth.max()) + 1)), max(2.5, 0.8 * rows))
    figure = Figure(figsize=size)
    FigureCanvasSVG(figure)
    drawn(graph, figure.add_subplot(), _INLINE)
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
    return buffer.getvalue()


def _check_size(graph: Explored, max_vertices: int) -> None:
    if len(graph) > max_vertices:
        raise ValueError(
            f"max_vertices: got {max_vertices}, expected at least {len(graph)}, the vertices of "
            "the graph; search with depth=... for its beginning, or allow more"
        )


def _edges(graph: Explored) -> Iterator[tuple[int, int, int]]:
    yield from zip(graph.source.tolist(), graph.target.tolist(), graph.batch.tolist(), strict=True)


def _layout(graph: Explored) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Columns by depth, within them in order of creation, centred."""
    depth = graph.depth
    x = depth.astype(np.float64)
    y = np.zeros(len(graph))
    for d in np.unique(depth):
        members = np.flatnonzero(depth == d)
        y[members] = (len(members) - 1) / 2 - np.arange(len(members))
        # Splits and waiting lead to vertices of the same depth, whose edges must not overlap.
        if len(members) > 1:
            x[members] += np.where(np.arange(len(members)) % 2 == 1, 0.18, 0.0)
    return x, y


def _time_label(graph: Explored, vertex: int) -> str:
    times = graph.times(vertex).tolist()
    if len(times) > 4:
        return f"{times[0]}, {times[1]}, ... {times[-1]} ({len(times)} times)"
    return ", ".join(map(str, times)) or "-"


def _ready_label(graph: Explored, vertex: int) -> str:
    ready = graph.ready[vertex].tolist()
    parts = [
        graph.names[i] if count == 1 else f"{count} x {graph.names[i]}"
        for i, count in enumerate(ready)
        if count
    ]
    return "{" + ", ".join(parts) + "}"


def _batch_label(graph: Explored, batch: int) -> str:
    if batch <= 0:
        return "wait" if batch == 0 else "split"
    return ", ".join(graph.names[i] for i in members(batch))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
