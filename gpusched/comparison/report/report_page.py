"""HTML page of a comparison, self-contained: inline styles and pictures, no scripts.

Its size is bounded: pictures and lists have a maximum number of entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpusched._draw.page_style import STYLE
from gpusched._support.growth_factors import factor_text
from gpusched._support.text import clip, plural, xml
from gpusched._version import __version__
from gpusched.comparison.comparison_text import HEAD, cells_of, marks_of, rule_numbers
from gpusched.comparison.findings import Findings
from gpusched.comparison.margins import Margin
from gpusched.comparison.report.page_inputs import platform_html, workload_html
from gpusched.comparison.report.page_reasons import (
    assumptions_html,
    reasons_html,
    rules_html,
    sign_of,
)
from gpusched.comparison.report.page_timelines import timelines_html
from gpusched.comparison.report.response_picture import (
    WIDEST,
    chosen_tasks,
    drawn_rows,
    figures_html,
)
from gpusched.comparison.report.short_runs import ShortRun
from gpusched.model.workload.time_units import time_with_unit

__all__ = ["page_of"]

_PICTURES = 12  # tasks that are drawn
_SETUP = 40  # tasks whose cores and SMs are listed


def page_of(
    found: Findings,
    runs: Sequence[ShortRun],
    title: str | None = None,
    traces: Mapping[str, str] | None = None,
) -> str:
    """The page; ``traces`` has the names of trace files beside it, by label of the row."""
    name = "Ways of sharing the GPU" if title is None else clip(title, 200)
    parts = [
        _headline(found, name),
        _verdicts(found),
        _setup(found),
        _responses(found),
        reasons_html(found),
        rules_html(found),
        timelines_html(found, runs, traces or {}),
        assumptions_html(found),
        workload_html(found.workload),
        platform_html(found),
        f"<footer>gpusched {xml(__version__)}; computed in {found.seconds:.3g} s.</footer>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{xml(name)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + "\n</main>\n</body>\n</html>\n"
    )


# Headline -----------------------------------------------------------------------------------------


def _headline(found: Findings, name: str) -> str:
    good = [row.label for row in found.rows if row.schedulable is True]
    total = plural(len(found.rows), "row")
    if found.schedulable:
        lead = f"guaranteed by {len(good)} of {total}."
        kind, word = "yes", "✓ All deadlines can be kept:"
    elif found.schedulable is False:
        kind, word, lead = "no", "✗ Impossible:", "no way can keep all deadlines."
    elif found.verdict == "conditional":
        some = sum(row.conditional for row in found.rows)
        kind, word = "maybe", "✓? Deadlines can be kept under conditions:"
        lead = f"guaranteed by {some} of {total}, if what is said below holds."
    else:
        kind, word = "", "? Undecided:"
        lost = sum(row.schedulable is False for row in found.rows)
        lead = f"no way guarantees every deadline; {lost} of {total} miss one."
    sums = found.workload.utilization(found.platform)
    where = _machine(found)
    size = plural(len(found.workload), "task")
    return (
        f"<header>\n<h1>{xml(name)}</h1>\n"
        f'<p class="lead"><span class="verdict {kind}">{word}</span> {lead}</p>\n'
        + "".join(f'<p class="lead">{xml(clip(text, 600))}</p>\n' for text in found.notes)
        + f"{_best(found)}"
        f'<p class="note">{size} on {where}; {sums.cpu:.2f} CPUs, {sums.gpu:.0%} of the GPU and '
        f"{sums.copies:.0%} of a copy engine are busy in the long run.</p>\n</header>"
    )


def _machine(found: Findings) -> str:
    gpu, cpus = found.platform.gpu, found.platform.cpus
    cores = "1 CPU" if cpus == 1 else f"{cpus} CPUs"
    if gpu is None:
        return f"{cores} without a known GPU"
    name = xml(clip(gpu.name, 60)) if gpu.name else "a GPU"
    return f"{name} ({gpu.sms} SMs) with {cores}"


def _best(found: Findings) -> str:
    if found.advice is not None:
        text = str(found.advice)
        return f'<p class="lead">{xml(clip(text[:1].upper() + text[1:], 900))}.</p>\n'
    if found.best is None:
        return ""
    title = next((row.way.title for row in found.rows if row.label == found.best.label), "")
    under = "Most room, under its conditions" if found.best.conditional else "Most room"
    return (
        f'<p class="lead">{under}: <strong>{xml(found.best.label)}</strong> ({xml(title)}). '
        f"{_room(found.best)}</p>\n"
    )


def _setup(found: Findings) -> str:
    """Cores, SMs and priorities that the best row has chosen."""
    row = next((row for row in found.rows if found.best and row.label == found.best.label), None)
    if row is None or row.answer is None or not row.answer.setup:
        return ""
    items = "".join(f"<li>{xml(text)}</li>" for text in row.answer.setup[:_SETUP])
    more = len(row.answer.setup) - _SETUP
    note = f'<p class="note">And {more} more.</p>' if more > 0 else ""
    return f"<h2>Setup of {xml(row.label)}</h2>\n<ul>{items}</ul>{note}"


def _room(margin: Margin) -> str:
    """A margin of all times in a sentence."""
    if margin.factor is None:
        return "No factor of the times that was tested is accepted."
    grows = f"Every CPU, copy and kernel time may be {factor_text(margin.factor)} times as long"
    if margin.exact:
        return f"{grows}, {margin.at_most}."
    if margin.failed is None:
        return f"{grows}, the largest factor that was tested."
    return f"{grows}; {factor_text(margin.failed)} times, the next factor tested, is not accepted."


# Tables and lists ---------------------------------------------------------------------------------


def _verdicts(found: Findings) -> str:
    heads, numbers = (*HEAD, "late jobs"), (*HEAD[4:], "late jobs")
    head = "".join(f'<th scope="col"{_number(name in numbers)}>{xml(name)}</th>' for name in heads)
    body, rules = [], rule_numbers(found.rows)
    for row in found.rows:
        _, claim, _, *rest = cells_of(row, found.workload)
        late = "–" if row.run is None else f"{int(row.run.late.sum()):,} of {len(row.run):,}"
        cells = [f"<td>{xml(claim)}</td><td>{sign_of(row)}{marks_of(row, rules)}</td>"]
        for name, cell in zip(heads[3:], (*rest, late), strict=True):
            cells.append(f"<td{_number(name in numbers)}>{xml(cell)}</td>")
        best = found.best is not None and found.best.label == row.label
        body.append(
            f'<tr{" class=best" if best else ""}><th scope="row">{xml(row.label)}'
            f'<span class="way">{xml(row.way.title)}</span></th>{"".join(cells)}</tr>'
        )
    ends = {row.run.until for row in found.rows if row.run is not None}
    spans = ", ".join(time_with_unit(end, found.workload.tick_ns) for end in sorted(ends))
    played = f" Simulations release jobs for {spans}." if ends else ""
    return (
        "<h2>Verdicts</h2>\n"
        '<p class="note">A sufficient test that does not accept leaves the question open, as does '
        "a simulation without a miss; slack and responses are those of the tightest task."
        f"{played}</p>\n"
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n'
        + "\n".join(body)
        + "\n</tbody></table></div>"
    )


def _number(yes: bool) -> str:
    return ' class="number"' if yes else ""


def _responses(found: Findings) -> str:
    rows, workload = drawn_rows(found.rows), found.workload
    if not rows:
        return ""
    numbers = chosen_tasks(rows, workload, _PICTURES)
    cut = f"Pictures end at {WIDEST} deadlines at most, the numbers beside them do not."
    if len(numbers) < len(workload):
        cut = (
            f"{len(numbers)} of {len(workload):,} tasks are drawn: those with the least slack for "
            f"their deadlines. {cut}"
        )
    figures = figures_html(rows, workload, numbers)
    return f'<h2>Response times</h2>\n<p class="note">{cut}</p>\n{figures}'
