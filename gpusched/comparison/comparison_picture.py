"""Pictures of a comparison: per task, the bound and the worst observed response of each method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpusched._draw import axes as plot_axes
from gpusched._support.text import clip
from gpusched.comparison.rows import Row
from gpusched.comparison.workload_answer import known_at
from gpusched.model.workload.workloads import Workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot"]

_WIDEST = 3  # bars end at so many deadlines


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
    handles, labels = found[0].get_legend_handles_labels()
    found[0].figure.legend(
        handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=9
    )
    return found


def _panel(ax: Axes, rows: Sequence[Row], workload: Workload, i: int) -> None:
    deadline = workload[i].deadline
    unit = workload.tick if workload.tick in ("ns", "us", "ms", "s") else None
    axis = plot_axes.time_axis(unit, deadline)
    end = deadline
    for y, row in enumerate(rows):
        if row.answer is not None and (bound := known_at(row.answer.response, i)) is not None:
            end = max(end, min(bound, _WIDEST * deadline))
            known = bool(row.answer.bounded[i])
            color = plot_axes.color(0 if bound <= deadline and known else 7)
            ax.barh(y, bound / axis.ticks, 0.62, color=color, alpha=1 if known else 0.4)
        if row.run is not None and (worst := known_at(row.run.worst, i)) is not None:
            end = max(end, min(worst, _WIDEST * deadline))
            color = plot_axes.LATE if worst > deadline else plot_axes.color(1)
            ax.plot([worst / axis.ticks], [y], "o", color=color, markersize=5)
    ax.axvline(deadline / axis.ticks, color=plot_axes.INK, linewidth=2)
    ax.barh([], [], color=plot_axes.color(0), label="response bound")
    ax.plot([], [], "o", color=plot_axes.color(1), markersize=5, label="worst observed")
    ax.plot([], [], color=plot_axes.INK, linewidth=2, label="deadline")
    ax.set_yticks(range(len(rows)), [row.label for row in rows], fontsize=8)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, 1.05 * end / axis.ticks)
    ax.set_xlabel(axis.label.replace("time", "response time"))
    ax.set_title(clip(workload.names[i], 40), fontsize=10, loc="left", parse_math=False)
    plot_axes.grid(ax, "x")
