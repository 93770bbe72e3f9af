"""Folder of a comparison's report: the page, its data, and a trace per simulated row."""

from __future__ import annotations

import os
import re

from gpusched._support.files import replacing
from gpusched._support.text import path_text
from gpusched.comparison.documents import comparison_document, json_text
from gpusched.comparison.findings import Findings
from gpusched.comparison.report.report_page import page_of
from gpusched.comparison.report.short_runs import short_runs

__all__ = ["PAGE", "save_report"]

PAGE = "compare.html"


def save_report(
    found: Findings, folder: str | os.PathLike[str], title: str | None
) -> tuple[str, ...]:
    """Write the folder; see ``Comparison.save_report``."""
    where = path_text(folder, "folder")
    runs = short_runs(found.rows, found.workload)
    traces = {short.label: _trace_name(short.label) for short in runs if short.run is not None}
    page = page_of(found, runs, title, traces)
    data = json_text(comparison_document(found))
    os.makedirs(where, exist_ok=True)
    written = []
    for short in runs:
        if short.run is not None:
            path = os.path.join(where, traces[short.label])
            short.run.to_chrome_trace(path)
            written.append(path)
    for name, text in (("compare.json", data), (PAGE, page)):  # the page last, which has the links
        path = os.path.join(where, name)
        with replacing(path, "w", encoding="utf-8") as file:
            file.write(text)
        written.append(path)
    return tuple(reversed(written))


def _trace_name(label: str) -> str:
    """The file of a row: mpcp-busy.trace.json for "mpcp (busy)"."""
    return "-".join(re.findall(r"\w+", label)) + ".trace.json"
