"""HTML of the current state of a view with sliders: verdicts of all ways, pictures of tasks."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched._draw.page_style import VIEW, VIEW_STYLE
from gpusched._support.text import clip, xml
from gpusched.comparison.comparison_text import HEAD, cells_of
from gpusched.comparison.comparisons import Comparison
from gpusched.comparison.report.page_reasons import sign_of
from gpusched.comparison.report.response_picture import drawn_rows, figures_html

__all__ = ["view_html"]

_HEADS = ("method", "verdict", "tightest task", "slack", "why")
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
