"""Pictures of a comparison: per task, the bound and the worst observed response under each way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpusched._draw import axes as plot_axes
from gpusched._support.text import clip, two_lines
from gpusched.comparison.rows import Row
from gpusched.comparison.workload_answer import known_at
from gpusched.model.workload.workloads import Workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]

_WIDEST = 2  # deadlines; what is longer ends at the edge, with a triangle
_BOUND, _LONG_BOUND, _NO_BOUND = "response bound", "bound above the deadline", "computed, no bound"
_SEEN, _SEEN_LATE = "worst observed", "worst observed, late"
_LEGEND = (_BOUND, _LONG_BOUND, _NO_BOUND, _SEEN, _SEEN_LATE, "deadline")
_BARS: dict[str, dict[str, Any]] = {
    _BOUND: {"color": plot_axes.color(0)},
    _LONG_BOUND: {"color": plot_axes.color(5)},
    _NO_BOUND: {"color": "#BDBDBD"},
}


def plot(
    rows: Sequence[Row],
    workload: Workload,
    names: Sequence[str],
    axes: plot_axes.AxesLike | None,
) -> plot_axes.AxesArray:
    """One diagram for each named task; see ``Comparison.plot``."""
    numbers = [workload.names.index(workload[name].name) for name in names]
    shown = [row for row in rows if row.answer is not None or row.run is not None]
    count = max(1, len(numbers))
    columns = min(2, count)
    lines = -(-count // columns)
    height = 0.9 + 0.2 * max(1, len(shown))
    if axes is None:
        made = plot_axes.panels(None, (lines, columns), (5.2 * columns, height * lines)).ravel()
        for spare in made[count:]:
            spare.remove()
        found = made[:count]
    else:
        found = plot_axes.panels(axes, count, (1, 1), "tasks")
    for i, ax in zip(numbers, found, strict=False):
        _panel(ax, shown, workload, i)
    _legend(found)
    return found


def _panel(ax: Axes, rows: Sequence[Row], workload: Workload, i: int) -> None:
    deadline = workload[i].deadline
    unit = workload.tick if workload.tick in ("ns", "us", "ms", "s") else None
    axis = plot_axes.time_axis(unit, deadline)
    times = [time for row in rows for time in _times(row, i) if time is not None]
    end = min(max([deadline, *times]), _WIDEST * deadline)
    for y, row in enumerate(rows):
        bound, worst = _times(row, i)
        if bound is None and worst is None:
            plot_axes.word(ax, y, "no bound, not simulated")
        if bound is not None and row.answer is not None:
            look = _NO_BOUND
            if row.answer.bounded[i]:
                look = _BOUND if bound <= deadline else _LONG_BOUND
            ax.barh(y, min(bound, end) / axis.ticks, 0.62, **_BARS[look], label=look)
            if bound > end:
                ax.plot([end / axis.ticks], [y], ">", **_BARS[look], clip_on=False)
        if worst is not None:
            look = _SEEN if worst <= deadline else _SEEN_LATE
            mark, at = ("o", worst) if worst <= end else (">", end)
            color = plot_axes.LATE if look == _SEEN_LATE else plot_axes.color(1)
            ax.plot([at / axis.ticks], [y], mark, color=color, markersize=5, clip_on=False)
            ax.plot([], [], "o", color=color, markersize=5, label=look)
    ax.axvline(deadline / axis.ticks, color=plot_axes.INK, linewidth=2, label="deadline")
    ax.set_yticks(
        range(len(rows)), ["\n".join(two_lines(row.label, 30)) for row in rows], fontsize=8
    )
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, 1.03 * end / axis.ticks)
    ax.set_xlabel(axis.label.replace("time", "response time"))
    ax.set_title(clip(workload.names[i], 40), fontsize=10, loc="left", parse_math=False)
    plot_axes.grid(ax, "x")


def _times(row: Row, i: int) -> tuple[int | None, int | None]:
    """The bound of a task and its worst observed response, None where there is none."""
    bound = None if row.answer is None else known_at(row.answer.response, i)
    return bound, None if row.run is None else known_at(row.run.worst, i)


def _legend(axes: plot_axes.AxesArray) -> None:
    """One legend above all panels, with each kind of mark that occurs in one of them."""
    found: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    shown = [label for label in _LEGEND if label in found]
    axes[0].figure.legend(
        [found[label] for label in shown], shown, loc="outside upper center",
        ncols=min(3, len(shown)), frameon=False, fontsize=9,
    )  # fmt: skip
