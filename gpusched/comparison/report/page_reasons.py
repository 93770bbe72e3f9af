"""Reasons and assumptions of the rows, in a report page."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched._support.text import clip, xml
from gpusched.comparison.comparison_text import rule_numbers
from gpusched.comparison.findings import Findings
from gpusched.comparison.rows import Row
from gpusched.model.workload.time_units import time_with_unit

__all__ = ["assumptions_html", "reasons_html", "rules_html", "sign_of"]

_SENTENCES = 30  # assumptions of a row
_TEXT = 600  # characters of a reason or an assumption

_SIGNS = {
    "guaranteed": ("yes", "✓"),
    "conditional": ("maybe", "✓?"),
    "not schedulable": ("no", "✗"),
    "impossible": ("no", "✗"),
    "undecided": ("", "?"),
    "not applicable": ("out", "–"),
    "no test": ("out", "–"),
}


def sign_of(row: Row) -> str:
    """The verdict of a row, as a sign and in words."""
    kind, sign = _SIGNS[row.verdict]
    return f'<span class="verdict {kind}">{sign} {row.verdict}</span>'


def reasons_html(found: Findings) -> str:
    """The reason of each row that does not guarantee the deadlines."""
    lost = [row for row in found.rows if row.schedulable is not True and not row.impossible]
    if not lost:
        return ""
    items = "\n".join(
        f"<dt>{xml(row.label)} {sign_of(row)}</dt><dd>{xml(clip(row.why(), _TEXT))}</dd>"
        for row in lost
    )
    tick = time_with_unit(1, found.workload.tick_ns)
    return (
        "<h2>Reasons of the rows that give no unconditional guarantee</h2>\n"
        f'<p class="note">Numbers without a unit are ticks of {tick}.</p>\n'
        f"<dl>\n{items}\n</dl>"
    )


def assumptions_html(found: Findings) -> str:
    """The assumptions common to all rows, and those of each."""
    stated: dict[str, tuple[str, ...]] = {}
    for row in found.rows:
        if row.answer is not None:
            stated[row.label] = row.answer.assumptions
        elif row.run is not None:
            stated[row.label] = row.run.assumptions
    if not stated:
        return ""
    first, *others = stated.values()
    common = [text for text in first if all(text in texts for texts in others)] if others else []
    out = [
        "<h2>Assumptions</h2>",
        '<p class="note">Those of a simulation where there is no test. Rows that are open are '
        "printed.</p>",
    ]
    if common:
        out.append(f"<p>Of all rows:</p>\n{_sentences(common)}")
    for label, texts in stated.items():
        if own := [text for text in texts if text not in common]:
            best = found.best is not None and found.best.label == label
            out.append(
                f"<details{' open' if best else ''}><summary>{xml(label)}</summary>"
                f"{_sentences(own)}</details>"
            )
    return "\n".join(out)


def rules_html(found: Findings) -> str:
    """The rules of GPUs that are inferred or hints, with their numbers, sources and rows."""
    numbers = rule_numbers(found.rows)
    if not numbers:
        return ""
    items = []
    for rule, number in numbers.items():
        rows = ", ".join(row.label for row in found.rows if rule in row.rules)
        items.append(
            f"<dt>[{number}] {xml(rule.text)}</dt><dd>{xml(rule.kind.capitalize())}: "
            f"{xml(rule.source)}. Settled by {xml(rule.settled_by)}. Rows: {xml(rows)}.</dd>"
        )
    body = "\n".join(items)
    return (
        "<h2>Rules of GPUs that are not documented</h2>\n"
        '<p class="note">A verdict that differs between two readings of such a rule is '
        f"conditional.</p>\n<dl>\n{body}\n</dl>"
    )


def _sentences(texts: Sequence[str]) -> str:
    items = [f"<li>{xml(clip(text, _TEXT))}</li>" for text in texts[:_SENTENCES]]
    if len(texts) > _SENTENCES:
        items.append(f"<li>and {len(texts) - _SENTENCES} more, which the JSON document lists</li>")
    return f"<ul>{''.join(items)}</ul>"
