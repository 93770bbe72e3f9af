"""Timelines of the simulated rows, in a report page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpusched._support.text import clip, xml
from gpusched.comparison.findings import Findings
from gpusched.comparison.instances.instance_runs import InstanceRuns
from gpusched.comparison.report.short_runs import ShortRun
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.model.workload.time_units import time_with_unit
from gpusched.simulate.machine_result import MachineRun

__all__ = ["timelines_html"]

_DRAWING = 250_000  # characters of a picture
_TEXT = 600  # of a reason


def timelines_html(found: Findings, runs: Sequence[ShortRun], traces: Mapping[str, str]) -> str:
    """Collapsible pictures of short runs, with links to the traces beside the page."""
    if not runs:
        return ""
    tick = found.workload.tick_ns
    ends = {short.run.until for short in runs if short.run is not None}
    window = ", ".join(time_with_unit(end, tick) for end in sorted(ends))
    files = " Trace files open in ui.perfetto.dev." if traces else ""
    if found.workload.paths:
        files = (
            " Outlined and joined are the jobs behind the largest time of the path that is closest "
            f"to its deadline, or farthest behind it.{files}"
        )
    items = []
    for short in runs:
        link = ""
        if short.label in traces:
            file = xml(traces[short.label])
            link = f'<p class="note">Trace: <a href="{file}">{file}</a></p>'
        picture, note = _drawn(short)
        items.append(
            f"<details><summary>{xml(short.label)}{note}</summary>{link}"
            f'<div class="timeline">{picture}</div></details>'
        )
    return (
        "<h2>Timelines</h2>\n"
        f'<p class="note">Simulations of the jobs released before {window}; a picture ends early '
        f"where it would have too many bars. Those that are open are printed.{files}</p>\n"
        + "\n".join(items)
    )


def _drawn(short: ShortRun) -> tuple[str, str]:
    """A timeline's picture, or the reason why there is none; and a note on late jobs."""
    run = short.run
    if run is None:
        return f"<p>{xml(clip(short.reason, _TEXT))}</p>", ""
    late = int(run.late.sum())
    note = f' <span class="verdict no">✗ {late:,} late</span>' if late else ""
    try:
        picture = _svg(run)
    except ValueError as error:
        return f"<p>{xml(clip(str(error), _TEXT))}</p>", note
    if len(picture) > _DRAWING:
        return "<p>The picture has too many bars for this page.</p>", note
    return picture, note


def _svg(run: WorkloadRun) -> str:
    """The picture.

    Raises ValueError for a run that was simulated without the logs that are to be drawn.
    """
    if _parts_of(run.detail) is None:
        raise ValueError("Kernels of so many blocks are not drawn.")
    path = run.tightest_path
    return run.to_svg() if path is None else run.to_svg(path=path, since=0)


def _parts_of(detail: Any) -> object | None:
    """The bars of a picture, None where they were not kept."""
    if isinstance(detail, InstanceRuns):
        kept = [_parts_of(run) for run in detail.runs.values()]
        return None if any(part is None for part in kept) else kept
    return detail.operations if isinstance(detail, MachineRun) else detail.intervals
