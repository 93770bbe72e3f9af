"""Style sheets of report pages and of views in notebooks: light, dark and on paper."""

from __future__ import annotations

from string import Template

from gpusched._draw.axes import INK, LATE, MUTED, PALETTE
from gpusched._draw.svg import DARK_INK, DARK_LATE, DARK_MUTED, DARK_PAPER, PAPER

VIEW = "gpusched-view"

_LIGHT = f"""
  --ink: {INK}; --muted: {MUTED}; --line: #d4d4d4; --paper: {PAPER}; --panel: #f5f6f7;
  --yes: {PALETTE[0]}; --no: {LATE}; --open: #6b6b6b; --seen: {PALETTE[1]}; --bar: {PALETTE[0]};
"""
_DARK = f"""
  --ink: {DARK_INK}; --muted: {DARK_MUTED}; --line: #444a50; --paper: {DARK_PAPER};
  --panel: #1f2428; --yes: {PALETTE[4]}; --no: {DARK_LATE}; --open: #a0a0a0;
  --seen: {PALETTE[1]}; --bar: #2f8fc7;
"""

_VERDICTS = """
.way { display: block; font-weight: 400; color: var(--muted); font-size: .85em; }
.verdict { white-space: nowrap; font-weight: 600; color: var(--open); }
.verdict.yes { color: var(--yes); }
.verdict.no { color: var(--no); }
.verdict.maybe { color: var(--open); }
.verdict.out { font-weight: 400; font-style: italic; }
"""

_FIGURES = """
.tasks {
  display: grid; gap: 1.2rem 2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 32rem), 1fr));
}
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; overflow-wrap: anywhere; }
figure svg { width: 100%; height: auto; display: block; }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.4rem; margin: .4rem 0 1rem; font-size: .9em; }
.key svg { width: 26px; height: 14px; vertical-align: -2px; margin-right: .3rem; }
.p text { fill: var(--ink); font-size: 12px; }
.p .m { fill: var(--muted); }
.p .e { text-anchor: end; }
.p .c { text-anchor: middle; }
.p .g { stroke: var(--line); stroke-width: 1; }
.p .d { stroke: var(--ink); stroke-width: 2.5; }
.p .b { fill: var(--bar); }
.p .l { fill: var(--no); }
.p .u { fill: none; stroke: var(--open); stroke-width: 1.2; stroke-dasharray: 4 2; }
.p .o { fill: var(--seen); stroke: var(--paper); stroke-width: 1; }
.p .x { stroke: var(--no); stroke-width: 2.6; fill: none; }
"""

_TEMPLATE = Template("""
:root {
  color-scheme: light dark;
  $light
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    $dark
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
}
main { max-width: 76rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .6rem; border-bottom: 1px solid var(--line); }
p, dd, li { max-width: 60rem; overflow-wrap: anywhere; }
.lead { font-size: 1.15em; margin: .3rem 0; }
.note { color: var(--muted); font-size: .9em; margin: .3rem 0 .8rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9em; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--muted); padding: .2rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem 1.1rem .3rem 0; }
th:last-child, td:last-child { padding-right: .3rem; }
tr { border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
td.number, th.number { text-align: right; white-space: nowrap; }
$verdicts
tr.best { background: var(--panel); }
tr.best th:first-child { box-shadow: inset 4px 0 var(--yes); padding-left: .7rem; }
dl { margin: 0; }
dt { font-weight: 600; margin-top: .7rem; }
dd { margin: 0 0 0 1.2rem; }
ul { margin: .3rem 0; padding-left: 1.2rem; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: 0 .9rem; }
summary { cursor: pointer; padding: .4rem 0; font-weight: 600; }
details[open] { padding-bottom: .7rem; }
pre { background: var(--panel); padding: .8rem; overflow-x: auto; font-size: .82em; }
$figures
.timeline { overflow-x: auto; }
.timeline svg { width: 100%; min-width: 46rem; height: auto; display: block; }
footer { margin-top: 3rem; color: var(--muted); font-size: .85em; }
a { color: var(--yes); }
@media print {
  :root { color-scheme: light; }
  @page { margin: 14mm 12mm; }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  h1 { font-size: 16pt; }
  h2 { font-size: 12.5pt; margin-top: 1.4rem; break-after: avoid; }
  .lead { font-size: 11pt; }
  table { font-size: 8.5pt; }
  thead { display: table-header-group; }
  tr, figure, dt, dd { break-inside: avoid; }
  dt { break-after: avoid; }
  .wide, pre { overflow: visible; }
  pre { white-space: pre-wrap; font-size: 7.5pt; }
  .tasks { grid-template-columns: 1fr 1fr; gap: .8rem 1.2rem; }
  .timeline { overflow: visible; }
  .timeline svg { min-width: 0; max-height: 230mm; break-inside: avoid; }
  details { border: 0; padding: 0; margin: .3rem 0; }
  details:not([open]) { display: none; }
  a { color: inherit; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
""")

STYLE = _TEMPLATE.substitute(light=_LIGHT, dark=_DARK, verdicts=_VERDICTS, figures=_FIGURES)
"""The style sheet, in the colours of the package's other pictures."""

VIEW_STYLE = f"""
.{VIEW} {{
  {_LIGHT}
  background: var(--paper); color: var(--ink); padding: .5rem;
  table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
  th, td {{ text-align: left; padding: .15rem 1rem .15rem 0; color: var(--ink); }}
  {_VERDICTS}{_FIGURES}
}}
@media screen and (prefers-color-scheme: dark) {{ .{VIEW} {{{_DARK}}} }}
"""
"""The style sheet of a part of a page, an element of the class `VIEW`."""
