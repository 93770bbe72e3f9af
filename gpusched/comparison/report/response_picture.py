"""SVG pictures of a report: for one task, the bound and the worst observed response per way.

The pictures take their colours from the page's style sheet, so that they follow its light and dark
themes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusched._draw.axes import TimeAxis, time_axis
from gpusched._support.text import clip, two_lines, xml
from gpusched.comparison.rows import Row
from gpusched.comparison.workload_answer import known_at, tick_unit
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload

__all__ = ["WIDEST", "chosen_tasks", "drawn_rows", "figures_html"]

WIDEST = 3
"""Length at which bars are cut off, in multiples of the deadline."""

_LEFT, _PLOT, _COLUMN = 142, 300, 62
_ROW, _TOP, _BOTTOM = 19, 20, 38
_WIDTH = _LEFT + _PLOT + 2 * _COLUMN + 6

_KEY = (
    ('<rect class="b" y="2" width="26" height="10"/>', "response bound"),
    ('<rect class="l" y="2" width="26" height="10"/>', "bound later than the deadline"),
    (
        '<rect class="u" x="1" y="2.5" width="24" height="9"/>',
        "no bound: the test stopped at this response",
    ),
    ('<circle class="o" cx="13" cy="7" r="5"/>', "worst simulated response"),
    ('<path class="x" d="M8 2l10 10m0 -10l-10 10"/>', "the same, later than the deadline"),
    ('<path class="d" d="M13 0v14"/>', "deadline"),
)
"""Symbols, and their meanings."""


@dataclass(frozen=True)
class _Found:
    """Responses of a task in a row, None where there is none; whether ``bound`` is a bound."""

    label: str
    bound: int | None
    bounded: bool
    worst: int | None


def drawn_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows with an answer or a run."""
    return [row for row in rows if row.answer is not None or row.run is not None]


def chosen_tasks(rows: Sequence[Row], workload: Workload, most: int) -> list[int]:
    """Indices of the tasks that are drawn: those with the least slack per deadline, in order.

    The slack is that of the rows that guarantee all deadlines, or, if there are none, of all rows.
    """
    if len(workload) <= most:
        return list(range(len(workload)))
    good = [row for row in rows if row.schedulable or row.conditional] or rows
    least = [1.0] * len(workload)
    for row in good:
        times = [] if row.answer is None else [row.answer.response]
        times += [] if row.run is None or times else [row.run.worst]
        for values in times:
            for i in range(len(workload)):
                if (took := known_at(values, i)) is not None:
                    least[i] = min(least[i], 1 - took / workload[i].deadline)
    return sorted(sorted(range(len(workload)), key=lambda i: least[i])[:most])


def figures_html(rows: Sequence[Row], workload: Workload, numbers: Sequence[int]) -> str:
    """The pictures of some tasks, with a legend above them."""
    key = "".join(
        f'<span><svg class="p" viewBox="0 0 26 14" aria-hidden="true">{symbol}</svg>{text}</span>'
        for symbol, text in _KEY
    )
    figures = []
    for i in numbers:
        task = workload[i]
        facts = f"deadline {time_with_unit(task.deadline, workload.tick_ns)}"
        if task.deadline != task.period:
            facts += f", period {time_with_unit(task.period, workload.tick_ns)}"
        figures.append(
            f"<figure><figcaption>{xml(clip(task.name, 60))} "
            f'<span class="way">{facts}</span></figcaption>{_response_svg(rows, workload, i)}'
            "</figure>"
        )
    drawn = "\n".join(figures)
    return f'<div class="key">{key}</div>\n<div class="tasks">\n{drawn}\n</div>'


def _response_svg(rows: Sequence[Row], workload: Workload, i: int) -> str:
    """The picture of task ``i``."""
    deadline, tick = workload[i].deadline, workload.tick_ns
    found = [_found(row, i) for row in rows]
    axis = time_axis(tick_unit(workload), deadline)
    known = [t for each in found for t in (each.bound, each.worst) if t is not None]
    end = max(deadline, min(max(known, default=0), WIDEST * deadline))
    span = 1.04 * end
    bottom = _TOP + _ROW * len(rows)
    height = bottom + _BOTTOM
    out = [
        f'<svg class="p" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="responses of {xml(clip(workload.names[i], 60))}">'
    ]
    for column, name in enumerate(("bound", "observed")):
        side = _LEFT + _PLOT + _COLUMN * (column + 1)
        out.append(f'<text class="m e" x="{side}" y="{_TOP - 7}">{name}</text>')
    for time in axis.steps(0, int(span), 5):
        x = _LEFT + _PLOT * time / span
        out.append(f'<path class="g" d="M{x:.1f} {_TOP}V{bottom + 4}"/>')
        out.append(f'<text class="m c" x="{x:.1f}" y="{bottom + 17}">{axis.text(time)}</text>')
    for y, each in enumerate(found):
        out.append(_row(each, _TOP + _ROW * y, span, deadline, axis, tick))
    x = _LEFT + _PLOT * deadline / span
    due = time_with_unit(deadline, tick)
    out.append(
        f'<path class="d" d="M{x:.1f} {_TOP - 4}V{bottom}"><title>deadline {due}</title></path>'
    )
    for row, each in enumerate(found):
        out.append(_dot(each, _TOP + _ROW * row, span, deadline, tick))
    label = axis.label.replace("time", "response time")
    out.append(f'<text class="m c" x="{_LEFT + _PLOT / 2}" y="{bottom + 34}">{label}</text></svg>')
    return "".join(out)


def _found(row: Row, i: int) -> _Found:
    answer, run = row.answer, row.run
    return _Found(
        row.label,
        None if answer is None else known_at(answer.response, i),
        answer is not None and bool(answer.bounded[i]),
        None if run is None else known_at(run.worst, i),
    )


def _row(found: _Found, top: float, span: float, deadline: int, axis: TimeAxis, tick: int) -> str:
    """The label, bar and numbers of a row."""
    base = top + 13
    out = [_name(found.label, base)]
    if found.bound is not None:
        width = _PLOT * min(found.bound / span, 1)
        kind = "u" if not found.bounded else "b" if found.bound <= deadline else "l"
        tip = f"{found.label}: bound {time_with_unit(found.bound, tick)}"
        if not found.bounded:
            tip = f"{found.label}: no bound; {time_with_unit(found.bound, tick)} or more"
        out.append(
            f'<rect class="{kind}" x="{_LEFT}" y="{top + 3.5}" width="{width:.1f}" height="12">'
            f"<title>{xml(tip)}</title></rect>"
        )
    numbers = (
        "–" if found.bound is None else _number(found.bound, axis, "" if found.bounded else "≥ "),
        "–" if found.worst is None else _number(found.worst, axis, ""),
    )
    for column, text in enumerate(numbers):
        x = _LEFT + _PLOT + _COLUMN * (column + 1)
        out.append(f'<text class="e" x="{x}" y="{base}">{text}</text>')
    return "".join(out)


def _name(label: str, base: float) -> str:
    """The label of a row, in two small lines if it is long."""
    lines = two_lines(label, 28) if len(label) > 20 else [label]
    first, size = (base, "") if len(lines) == 1 else (base - 5, ' style="font-size:8px"')
    spans = (
        f'<tspan x="{_LEFT - 8}" y="{first + 9 * i}">{xml(line)}</tspan>'
        for i, line in enumerate(lines)
    )
    return f'<text class="e"{size}>{"".join(spans)}<title>{xml(label)}</title></text>'


def _dot(found: _Found, top: float, span: float, deadline: int, tick: int) -> str:
    """The worst observed response, on the bars and the line of the deadline."""
    if found.worst is None:
        return ""
    x, y = _LEFT + _PLOT * min(found.worst / span, 1), top + 9.5
    tip = f"<title>{xml(f'{found.label}: observed {time_with_unit(found.worst, tick)}')}</title>"
    if found.worst > deadline:
        return f'<path class="x" d="M{x - 5:.1f} {y - 5}l10 10m0 -10l-10 10">{tip}</path>'
    return f'<circle class="o" cx="{x:.1f}" cy="{y}" r="4.5">{tip}</circle>'


def _number(ticks: int, axis: TimeAxis, before: str) -> str:
    """A time in the axis' unit with four digits."""
    value = ticks / axis.ticks
    text = f"{value:.4g}" if value < 10_000 else f"{value:,.0f}"
    return before + text
