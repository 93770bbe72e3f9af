"""Picture of the links between the tasks of a workload, with Matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpusched._draw import axes as plot_axes
from gpusched._support.text import clip
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workload_parts import Parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "places"]

_MOST = 100  # tasks that are drawn
_ROUND = {"boxstyle": "round,pad=0.35", "facecolor": "white"}


def places(tasks: Sequence[Task]) -> dict[str, tuple[int, int]]:
    """Column and row of each task that is drawn.

    It is behind those that release it; one with arrivals of its own behind those that it reads,
    where these do not go back to it.
    """
    drawn = {task.name: task for task in tasks[:_MOST]}
    column: dict[str, int] = {}
    open_tasks: set[str] = set()

    def find(task: Task) -> int:
        if task.name not in column:
            open_tasks.add(task.name)
            before = [name for name in task.after or task.reads if name in drawn]
            columns = [find(drawn[name]) + 1 for name in before if name not in open_tasks]
            open_tasks.discard(task.name)
            column[task.name] = max(columns, default=0)
        return column[task.name]

    filled: dict[int, int] = {}
    found = {}
    for task in drawn.values():
        at = find(task)
        found[task.name] = (at, filled.get(at, 0))
        filled[at] = filled.get(at, 0) + 1
    return found


def draw(parts: Parts, ax: Axes | None) -> Axes:
    """See ``Workload.plot``."""
    by_name = {task.name: task for task in parts.tasks}
    at = places(parts.tasks)
    columns = 1 + max(x for x, _ in at.values())
    rows = 1 + max(y for _, y in at.values())
    ax = plot_axes.axes(ax, (max(4.0, 1.9 * columns), max(2.0, 0.9 * rows + 0.6)))
    for number, path in enumerate(parts.paths):
        line = [at[name] for name in path.tasks if name in at]
        ax.plot(
            [x for x, _ in line],
            [-y - 0.06 * number for _, y in line],
            color=plot_axes.color(number),
            linewidth=10,
            alpha=0.25,
            solid_capstyle="round",
            zorder=1,
            label=clip(path.name, 40),
        )
    for name, (x, y) in at.items():
        task = by_name[name]
        for before in task.after:
            _arrow(ax, at, before, name, f"x{task.every}" if task.every > 1 else "", "-")
        for before in task.reads:
            _arrow(ax, at, before, name, "", "--")
        text = clip(name, 20)
        if not task.after:
            text += f"\n{task.rate or time_with_unit(task.period, parts.tick)}"
        box = {**_ROUND, "edgecolor": plot_axes.INK, "linewidth": 1 if task.after else 2.4}
        ax.text(x, -y, text, ha="center", va="center", bbox=box, fontsize=8, zorder=3)
    ax.set_xlim(-0.6, columns - 0.4)
    ax.set_ylim(-rows + 0.3, 0.7)
    ax.axis("off")
    if parts.paths:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), frameon=False, fontsize=8)
    return ax


def _arrow(
    ax: Any, at: Mapping[str, tuple[int, int]], before: str, name: str, text: str, style: str
) -> None:
    """An arrow between two tasks that are drawn."""
    if before not in at:
        return
    (x, y), (to_x, to_y) = at[before], at[name]
    arrow = {"arrowstyle": "-|>", "linestyle": style, "color": plot_axes.MUTED, "shrinkA": 22}
    arrow |= {"shrinkB": 22, "connectionstyle": "arc3,rad=0.08"}
    ax.annotate("", xy=(to_x, -to_y), xytext=(x, -y), arrowprops=arrow, zorder=2)
    if text:
        ax.text((x + to_x) / 2, -(y + to_y) / 2, text, fontsize=8, color=plot_axes.MUTED)
