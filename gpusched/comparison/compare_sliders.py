"""Comparison with sliders for periods, deadlines and times of kernels (``gs.compare_sliders``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from gpusched._draw.page_style import VIEW, VIEW_STYLE
from gpusched._support.arguments import instance, is_sequence
from gpusched._support.budget import Budget
from gpusched._support.text import clip, escape, shown, xml
from gpusched.comparison.comparison_text import HEAD, cells_of
from gpusched.comparison.comparisons import Comparison, compare
from gpusched.comparison.derived_models import Gaps
from gpusched.comparison.report.page_reasons import sign_of
from gpusched.comparison.report.response_picture import chosen_tasks, drawn_rows, figures_html
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.time_units import Time, time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import Way

_HEADS = ("way", "verdict", "tightest task", "slack", "why")
_REASON = 140  # characters


def view_html(comparison: Comparison, tasks: Sequence[int]) -> str:
    """A table with a row per way of sharing the GPU, and the pictures of some tasks."""
    rows, workload = comparison.rows, comparison.workload
    head = "".join(f"<th>{name}</th>" for name in _HEADS)
    tightest, slack = HEAD.index("tightest task"), HEAD.index("slack")
    lines = []
    for row in rows:
        cells = cells_of(row, workload)
        whole = row.why()
        lines.append(
            f'<tr><th title="{xml(row.way.title)}">{xml(row.label)}</th><td>{sign_of(row)}</td>'
            f"<td>{xml(cells[tightest])}</td><td>{xml(cells[slack])}</td>"
            f'<td title="{xml(whole)}">{xml(clip(whole, _REASON))}</td></tr>'
        )
    notes = "".join(f"<p>{xml(text)}</p>" for text in comparison.notes)
    return (
        f'<div class="{VIEW}"><style>{VIEW_STYLE}</style>'
        f"<table><tr>{head}</tr>{''.join(lines)}</table>{notes}"
        f"{figures_html(drawn_rows(rows), workload, tasks)}</div>"
    )


_TIMES = ("kernels", "cpu", "copies")
_PERCENT = (50, 300, 5)  # of the given times: least, most, step
_PERIODS = (50, 60, 70, 75, 80, 90, 100, 110, 120, 125, 140, 150, 175, 200)  # percent
_SLIDERS = 12  # periods of tasks
_PICTURES = 4  # tasks that are drawn
_FAST = 0.15  # seconds of a comparison that follows a slider while it moves


class CompareSliders:
    """A comparison that follows sliders for the periods and the times; see `compare_sliders`.

    >>> w = gs.Workload([gs.Task("a", 9, [gs.CPU(2), gs.Kernel(3, blocks=4, threads=64)])])
    >>> view = gs.compare_sliders(w, gs.Platform("Xavier"), ways=["mpcp"])
    >>> view.times["kernels"].value = 200
    >>> view.workload["a"].segments[1].time, view.comparison["mpcp"].answer.slack.tolist()
    (6, [1])

    Attributes
    ----------
    comparison
        The ``Comparison`` at the current positions of the sliders.
    periods
        Sliders for the periods (``ipywidgets.SelectionSlider``), keyed by task name; ``value`` is
        the period in ticks. They range from half to twice the given period.
    times
        Sliders for times (``ipywidgets.IntSlider``), keyed by "kernels", "cpu" and "copies";
        ``value`` scales all given times of that kind, in percent from 50 to 300.
    widget
        The complete view as shown in a notebook.
    """

    comparison: Comparison
    periods: Mapping[str, Any]
    times: Mapping[str, Any]
    widget: Any

    def __init__(
        self, workload: Workload, platform: Platform, tasks: Iterable[str], options: dict[str, Any]
    ) -> None:
        widgets = _ipywidgets()
        self._given, self._platform, self._options = workload, platform, options
        self.comparison = self._compared(workload)
        rows = drawn_rows(self.comparison.rows)
        self._drawn = chosen_tasks(rows, workload, _PICTURES)
        look = {
            "continuous_update": self.comparison.seconds < _FAST,
            "style": {"description_width": "9em"},
            "layout": {"width": "28em"},
        }
        self.periods = MappingProxyType(
            {
                name: widgets.SelectionSlider(
                    options=_offered(workload[name], workload.tick_ns),
                    value=workload[name].period,
                    description=clip(name, 20),
                    **look,
                )
                for name in tasks
            }
        )
        least, most, step = _PERCENT
        self.times = MappingProxyType(
            {
                kind: widgets.IntSlider(100, least, most, step, description=f"{kind} (%)", **look)
                for kind in _TIMES
            }
        )
        self._shown = widgets.HTML(view_html(self.comparison, self._drawn))
        self.widget = widgets.VBox(
            [
                widgets.HBox(
                    [
                        widgets.VBox([widgets.Label("Periods"), *self.periods.values()]),
                        widgets.VBox([widgets.Label("Times"), *self.times.values()]),
                    ]
                ),
                self._shown,
            ]
        )
        for slider in (*self.periods.values(), *self.times.values()):
            slider.observe(self._follow, "value")

    @property
    def workload(self) -> Workload:
        """The workload at the current positions of the sliders."""
        return self.comparison.workload

    def _compared(self, workload: Workload) -> Comparison:
        return compare(workload, self._platform, progress=False, **self._options)

    def _follow(self, _change: object) -> None:
        """Compare again, for the values of the sliders; what is shown is never of other values."""
        try:
            self.comparison = self._compared(self._moved())
        except Exception as error:
            self._shown.value = f"<p>{escape(str(error))}</p>"
            raise
        self._shown.value = view_html(self.comparison, self._drawn)

    def _moved(self) -> Workload:
        """The given workload with the values of the sliders."""
        given = self._given
        for name, slider in self.periods.items():
            if slider.value != given[name].period:
                given = given.with_task(_with_period(given[name], slider.value))
        factors = {kind: Fraction(slider.value, 100) for kind, slider in self.times.items()}
        if any(factor != 1 for factor in factors.values()):
            given = given.scaled(**factors)
        return given

    def __repr__(self) -> str:
        return f"<CompareSliders: {len(self.periods)} periods; {repr(self.comparison)[1:-1]}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """The widget, and what it shows now for pages that have no widgets."""
        bundle: dict[str, Any] = dict(self.widget._repr_mimebundle_())
        return {**bundle, "text/plain": repr(self), "text/html": self._shown.value}


def compare_sliders(
    workload: Workload,
    platform: Platform,
    *,
    tasks: Iterable[str] | None = None,
    ways: Iterable[Way | str] | None = None,
    simulate: bool = False,
    until: Time | None = None,
    gaps: Gaps = "occupy",
    budget: Budget | None = None,
) -> CompareSliders:
    """Compare all ways of sharing the GPU in a notebook, with sliders for periods and times.

    Each movement of a slider repeats the comparison, as `compare` does. Without simulations this
    takes some tens of milliseconds for a workload of eight tasks.

    >>> w = gs.Workload([
    ...     gs.Task("camera", "40ms", [gs.CPU("2ms"), gs.Kernel("5ms", blocks=32, threads=256)]),
    ...     gs.Task("planner", "80ms", [gs.CPU("9ms"), gs.Kernel("8ms", blocks=8, threads=128)]),
    ... ], tick="us")
    >>> view = gs.compare_sliders(w, gs.Platform("AGX Orin", cpus=2), ways=["mpcp"])
    >>> view.comparison["mpcp"].verdict
    'guaranteed'
    >>> view.times["kernels"].value = 300
    >>> view.periods["camera"].value = 20_000
    >>> view.comparison["mpcp"].verdict
    'not schedulable'

    Parameters
    ----------
    workload, platform
        As in `compare`. If a period is moved below a deadline that was given, the deadline becomes
        equal to the period.
    tasks
        Names of the tasks whose periods get a slider. Default: the first twelve.
    ways, until, gaps, budget
        As in `compare`.
    simulate
        Whether to run simulations. Unlike in `compare`, the default is False.

    Returns
    -------
    CompareSliders
        The view, shown by a notebook if it is the last expression of a cell. A page without
        widgets shows its state at the end of the cell.

    Raises
    ------
    ImportError
        ipywidgets is not installed.
    KeyError
        The workload does not have a given task.
    TypeError, ValueError
        As in `compare`.
    """
    instance(workload, Workload, "workload")
    timed = [task.name for task in workload if not task.after]
    names = timed[:_SLIDERS] if tasks is None else tasks
    if not is_sequence(names):
        raise TypeError(f"tasks: got {shown(tasks)}, expected a list of names")
    chosen = list(dict.fromkeys(workload[name].name for name in names))
    if others := [name for name in chosen if name not in timed]:
        raise ValueError(f"tasks: got {shown(others[0])}, a task with after, expected a period")
    rows: Any = ways if ways is None or not is_sequence(ways) else list(ways)
    options = {
        "ways": rows,
        "simulate": simulate,
        "until": until,
        "gaps": gaps,
        "budget": budget,
    }
    return CompareSliders(workload, platform, chosen, options)


def _offered(task: Task, tick: int) -> list[tuple[str, int]]:
    """Periods in whole ticks, with their text."""
    periods = [task.period * percent // 100 for percent in _PERIODS]
    return [(time_with_unit(period, tick), period) for period in dict.fromkeys(periods) if period]


def _with_period(task: Task, period: int) -> Task:
    """The task with another period, and a deadline that is not later than it."""
    if task.has_deadline and task.deadline > period:
        return task.replace(period=period, deadline=period)
    return task.replace(period=period)


def _ipywidgets() -> Any:
    try:
        import ipywidgets
    except ImportError as error:
        raise ImportError(
            "sliders need ipywidgets: pip install 'gpusched[widgets]'", name="ipywidgets"
        ) from error
    return ipywidgets
