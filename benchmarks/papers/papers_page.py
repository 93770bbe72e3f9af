"""HTML page of the report on the papers, self-contained: inline styles and pictures, no scripts."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from benchmarks.papers.claim import VERDICTS, CheckedClaim, Verdict
from benchmarks.papers.paper_list import PAPERS
from gpusched._draw.page_style import STYLE
from gpusched._support.text import clip, xml
from gpusched._version import __version__

__all__ = ["page_of"]

_MORE_STYLE = """
article { border-top: 1px solid var(--line); padding: .9rem 0 1.1rem; }
article h3 { font-size: 1.05rem; margin: 0 0 .3rem; }
article dl { display: grid; grid-template-columns: 6rem 1fr; gap: .25rem .8rem; }
article dt { margin: 0; color: var(--muted); font-weight: 400; }
article dd { margin: 0; }
article details { margin: 0; max-width: 60rem; }
article img { max-width: 100%; margin-top: .6rem; background: #ffffff; border-radius: 4px; }
code { font-size: .9em; }
@media (max-width: 40rem) { article dl { grid-template-columns: 1fr; } }
"""

_SIGNS: dict[Verdict, tuple[str, str]] = {
    "agrees": ("✓", "yes"),
    "agrees in this reading": ("✓", "yes"),
    "differs": ("✗", "no"),
    "needs hardware": ("?", ""),
    "cannot be decided from the text": ("?", ""),
}
_LONGEST = 2000  # characters of a value that are shown


def page_of(checked: Sequence[CheckedClaim], full: bool) -> str:
    """The page of a report."""
    keys = list(dict.fromkeys(one.paper for one in checked))
    sizes = "the papers' sizes" if full else "small sizes; the option full takes the papers'"
    parts = [
        "<header>\n<h1>The papers, claim by claim</h1>\n"
        f'<p class="lead">{len(checked)} claims of {len(keys)} '
        f"{'paper' if len(keys) == 1 else 'papers'}, each with what gpusched computes.</p>\n"
        f'<p class="note">At {sizes}.</p>\n</header>',
        _counts(checked, keys),
        _unexpected(checked),
        _differences(checked),
        *(_paper(checked, key) for key in keys),
        f"<footer>gpusched {xml(__version__)}; "
        f"computed in {sum(one.seconds for one in checked):.3g} s.</footer>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>The papers, claim by claim</title>\n<style>{STYLE}{_MORE_STYLE}</style>\n"
        "</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def _counts(checked: Sequence[CheckedClaim], keys: Sequence[str]) -> str:
    head = "".join(f'<th scope="col" class="number">{xml(verdict)}</th>' for verdict in VERDICTS)
    body = []
    for key in keys:
        verdicts = [one.finding.verdict for one in checked if one.paper == key]
        cells = "".join(
            f'<td class="number">{verdicts.count(verdict) or "–"}</td>' for verdict in VERDICTS
        )
        paper = PAPERS[key]
        body.append(
            f'<tr><th scope="row"><a href="#{key}">[{key}]</a> {xml(paper.title)}'
            f'<span class="way">{xml(paper.authors)}</span></th>{cells}</tr>'
        )
    return (
        f'<div class="wide"><table>\n<thead><tr><th scope="col">paper</th>{head}</tr></thead>\n'
        "<tbody>\n" + "\n".join(body) + "\n</tbody></table></div>"
    )


def _unexpected(checked: Sequence[CheckedClaim]) -> str:
    unexpected = [one for one in checked if not one.expected]
    if not unexpected:
        return ""
    items = "".join(
        f"<li>{_link(one)}: {xml(one.finding.verdict)}, expected {xml(one.claim.verdict)}</li>"
        for one in unexpected
    )
    return f"<h2>Verdicts that are not as expected</h2>\n<ul>{items}</ul>"


def _differences(checked: Sequence[CheckedClaim]) -> str:
    """The claims that differ, before all others, with the reason."""
    different = [one for one in checked if one.finding.verdict == "differs"]
    if not different:
        return ""
    items = "".join(f"<li>{_link(one)}: {xml(one.claim.because)}</li>" for one in different)
    return f"<h2>Differences</h2>\n<ul>{items}</ul>"


def _paper(checked: Sequence[CheckedClaim], key: str) -> str:
    paper = PAPERS[key]
    articles = [_article(one) for one in checked if one.paper == key]
    return (
        f'<h2 id="{key}">[{key}] {xml(paper.title)}</h2>\n'
        f'<p class="note">{xml(paper.authors)}.</p>\n' + "\n".join(articles)
    )


def _article(one: CheckedClaim) -> str:
    claim, finding = one.claim, one.finding
    sign, kind = _SIGNS[finding.verdict]
    rows = [("paper", xml(claim.says))]
    if finding.computed:
        rows.append(("here", xml(finding.computed)))
    rows.append(("verdict", f'<span class="verdict {kind}">{sign} {xml(finding.verdict)}</span>'))
    if claim.because:
        rows.append(("because", xml(claim.because)))
    if claim.functions:
        rows.append(("by", ", ".join(f"<code>{xml(name)}</code>" for name in claim.functions)))
    if finding.values:
        rows.append(("", _values(one)))
    body = "\n".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)
    return (
        f'<article id="{_anchor(one)}">\n<h3>{xml(claim.place)}: {xml(claim.title)}</h3>\n'
        f"<dl>{body}</dl>{_picture(one)}\n</article>"
    )


def _values(one: CheckedClaim) -> str:
    items = "".join(
        f"<li>{xml(name)}: {xml(clip(str(value), _LONGEST))}</li>"
        for name, value in one.finding.values.items()
    )
    number = len(one.finding.values)
    head = "1 value" if number == 1 else f"{number} values"
    return f"<details><summary>{head}</summary><ul>{items}</ul></details>"


def _picture(one: CheckedClaim) -> str:
    """The picture as an image, since the names within an SVG hold for a whole page."""
    if one.finding.picture is None:
        return ""
    data = base64.b64encode(one.finding.picture.encode()).decode()
    text = xml(f"{one.claim.place}: {one.claim.title}")
    return f'\n<img alt="{text}" src="data:image/svg+xml;base64,{data}">'


def _link(one: CheckedClaim) -> str:
    text = xml(f"[{one.paper}] {one.claim.place}, {one.claim.title}")
    return f'<a href="#{_anchor(one)}">{text}</a>'


def _anchor(one: CheckedClaim) -> str:
    words = f"{one.paper}-{one.claim.place}-{one.claim.title}"
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in words)
