"""Pictures of a comparison: per path and task, the bound and the worst observed time per way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpusched._draw import axes as plot_axes
from gpusched._support.text import clip, two_lines
from gpusched.comparison.rows import Row
from gpusched.comparison.workload_answer import known_at
from gpusched.model.workload.workloads import Workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 12  # panels without given names
_WIDEST = 2  # deadlines; what is longer ends at the edge, with a triangle
_BOUND, _LONG_BOUND, _NO_BOUND = "response bound", "bound above the deadline", "computed, no bound"
_PERIODS, _LONG_PERIODS = "of a path's bound: periods", "periods, above the deadline"
_SEEN, _SEEN_LATE = "worst observed", "worst observed, late"
_LEGEND = (_BOUND, _PERIODS, _LONG_BOUND, _LONG_PERIODS, _NO_BOUND, _SEEN, _SEEN_LATE, "deadline")
_BARS: dict[str, dict[str, Any]] = {
    _BOUND: {"color": plot_axes.color(0)},
    _PERIODS: {"color": plot_axes.color(0), "alpha": 0.4},
    _LONG_BOUND: {"color": plot_axes.color(5)},
    _LONG_PERIODS: {"color": plot_axes.color(5), "alpha": 0.4},
    _NO_BOUND: {"color": "#BDBDBD"},
}


@dataclass(frozen=True)
class _Times:
    """Of a row, in ticks: the computed time, how much of it is work, and the worst observed time.

    None where there is none. ``bounded``: the computed time is a bound.
    """

    bound: int | None
    work: int | None
    bounded: bool
    worst: int | None


@dataclass(frozen=True)
class _Panel:
    """A task or a path, with its deadline, if it has one, and its times in each row."""

    title: str
    kind: str
    deadline: int | None
    times: Sequence[_Times]


def plot(
    rows: Sequence[Row],
    workload: Workload,
    tasks: Iterable[str] | None,
    paths: Iterable[str] | None,
    axes: plot_axes.AxesLike | None,
) -> plot_axes.AxesArray:
    """One diagram for each named path and task; see ``Comparison.plot``."""
    shown = [row for row in rows if row.answer is not None or row.run is not None]
    given = tasks is not None or paths is not None
    drawn_paths = [path.name for path in workload.paths] if not given else list(paths or ())
    drawn_tasks = workload.names if not given else tuple(tasks or ())
    if not given:
        drawn_paths = drawn_paths[:_MOST]
        drawn_tasks = drawn_tasks[: _MOST - len(drawn_paths)]
    places = [workload.paths.index(workload.path(name)) for name in drawn_paths]
    numbers = [workload.names.index(workload[name].name) for name in drawn_tasks]
    panels = [_of_path(shown, workload, i) for i in places]
    panels += [_of_task(shown, workload, i) for i in numbers]
    count = max(1, len(panels))
    columns = min(2, count)
    lines = -(-count // columns)
    height = 0.9 + 0.2 * max(1, len(shown))
    if axes is None:
        made = plot_axes.panels(None, (lines, columns), (5.2 * columns, height * lines)).ravel()
        for spare in made[count:]:
            spare.remove()
        found = made[:count]
    else:
        found = plot_axes.panels(axes, count, (1, 1), "tasks and paths")
    unit = workload.tick if workload.tick in ("ns", "us", "ms", "s") else None
    labels = ["\n".join(two_lines(row.label, 30)) for row in shown]
    for panel, ax in zip(panels, found, strict=False):
        _draw(ax, panel, labels, unit)
    _legend(found)
    return found


def _of_task(rows: Sequence[Row], workload: Workload, i: int) -> _Panel:
    times = []
    for row in rows:
        bound = None if row.answer is None else known_at(row.answer.response, i)
        bounded = row.answer is not None and bool(row.answer.bounded[i])
        worst = None if row.run is None else known_at(row.run.worst, i)
        times.append(_Times(bound, bound, bounded, worst))
    return _Panel(workload.names[i], "response", workload[i].deadline, times)


def _of_path(rows: Sequence[Row], workload: Workload, i: int) -> _Panel:
    """Of a bound, what is not the work of its legs is periods between readings."""
    times = []
    for row in rows:
        found, work = row.paths[i], None
        if found.bound is not None and row.answer is not None:
            legs = row.answer.paths[i].legs
            work = min(found.bound, sum(leg.end - leg.earliest for leg in legs))
        times.append(_Times(found.bound, work, found.bound is not None, found.observed))
    path = workload.paths[i]
    return _Panel(path.name, path.kind, path.deadline, times)


def _draw(ax: Axes, panel: _Panel, labels: Sequence[str], unit: str | None) -> None:
    deadline = panel.deadline
    known = [t for row in panel.times for t in (row.bound, row.worst) if t is not None]
    end = max([*known, deadline or 1])
    if deadline is not None:
        end = min(end, _WIDEST * deadline)
    axis = plot_axes.time_axis(unit, end if deadline is None else deadline)
    for y, row in enumerate(panel.times):
        bound, worst = row.bound, row.worst
        if bound is None and worst is None:
            plot_axes.word(ax, y, "no bound, not simulated")
        if bound is not None and row.work is not None:
            look, rest = _NO_BOUND, _NO_BOUND
            if row.bounded:
                met = deadline is None or bound <= deadline
                look, rest = (_BOUND, _PERIODS) if met else (_LONG_BOUND, _LONG_PERIODS)
            work, length = min(row.work, end), min(bound, end)
            ax.barh(y, work / axis.ticks, 0.62, **_BARS[look], label=look)
            if work < length:
                left, width = work / axis.ticks, (length - work) / axis.ticks
                ax.barh(y, width, 0.62, left, **_BARS[rest], label=rest)
            if bound > end:
                ax.plot([end / axis.ticks], [y], ">", color=_BARS[look]["color"], clip_on=False)
        if worst is not None:
            look = _SEEN if deadline is None or worst <= deadline else _SEEN_LATE
            mark, at = ("o", worst) if worst <= end else (">", end)
            color = plot_axes.LATE if look == _SEEN_LATE else plot_axes.color(1)
            ax.plot([at / axis.ticks], [y], mark, color=color, markersize=5, clip_on=False)
            ax.plot([], [], "o", color=color, markersize=5, label=look)
    if deadline is not None:
        ax.axvline(deadline / axis.ticks, color=plot_axes.INK, linewidth=2, label="deadline")
    ax.set_yticks(range(len(labels)), labels, fontsize=8)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.set_xlim(0, 1.03 * end / axis.ticks)
    ax.set_xlabel(
        axis.label.replace("time", "response time" if panel.kind == "response" else panel.kind)
    )
    ax.set_title(clip(panel.title, 40), fontsize=10, loc="left", parse_math=False)
    plot_axes.grid(ax, "x")


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
