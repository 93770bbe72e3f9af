"""Tables of a comparison: text, HTML and pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.text import clip, escape
from gpusched.comparison.response_table import late_text, shares_of
from gpusched.comparison.rows import Row, RowPath
from gpusched.comparison.verdicts.gpu_rules import Rule
from gpusched.comparison.workload_answer import deadlines_of, known_at
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.model.answer import Times, missing
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload

_MODES = {
    "suspend": "in mode suspend, a task leaves its CPU during its GPU work",
    "busy": "in mode busy, a task keeps its CPU meanwhile",
    "spin": "in mode spin, a task keeps its CPU while it waits for the GPU, too",
}

HEAD = (
    "way",
    "claim",
    "verdict",
    "deploy",
    "tightest task",
    "slack",
    "late",
    "P99",
    "worst observed",
)


def cells_of(row: Row, workload: Workload) -> tuple[str, ...]:
    """Cells of a row under `HEAD`; "–" for cells without content."""
    tick, i = workload.tick_ns, row.tightest
    first = (row.label, row.claim or "–", row.verdict, row.deploy)
    if (path := row.tightest_path) is not None:
        return (*first, *_path_cells(row, path, tick))
    if i is None:
        return (*first, *("–",) * 5)
    due = workload[i].deadline
    slack = worst = often = late = "–"
    if row.answer is not None and (left := known_at(row.answer.slack, i)) is not None:
        slack = signed_time(left, tick)
    if row.run is not None and (took := known_at(row.run.worst, i)) is not None:
        often = time_with_unit(row.run.percentile(99, i) or 0, tick)
        late = late_text(int(row.run.late_count[i]), int(row.run.job_count[i]))
        worst = f"{time_with_unit(took, tick)} of {time_with_unit(due, tick)}"
        worst += _without(row.run)
        if row.answer is None:
            slack = signed_time(due - took, tick)
    return (*first, clip(workload.names[i], 24), slack, late, often, worst)


def _path_cells(row: Row, path: RowPath, tick: int) -> tuple[str, ...]:
    """The name of a path, its slack, and its simulated times."""
    due = path.path.deadline
    name, slack = clip(path.path.name, 24), "–"
    if path.slack is not None:
        slack = signed_time(path.slack, tick)
    if path.observed is None or row.run is None:
        return name, slack, "–", "–", "–"
    often = time_with_unit(path.p99 or 0, tick)
    worst = time_with_unit(path.observed, tick)
    if due is None:
        return name, slack, "–", often, worst
    worst += f" of {time_with_unit(due, tick)}"
    late = late_text(path.late or 0, len(row.run.path(path.path.name)))
    return name, slack, late, often, worst


def _without(run: WorkloadRun) -> str:
    """Limits of a run in brackets; choices that were made for it only if a job is late."""
    late = bool(run.late.any())
    short = [text for text, _ in run.limits if late or not text.startswith("chosen")]
    return f" ({', '.join(short)})" if short else ""


def signed_time(ticks: int, tick: int) -> str:
    """A time with its unit, and a minus sign if it is negative."""
    return f"-{time_with_unit(-ticks, tick)}" if ticks < 0 else time_with_unit(ticks, tick)


def text_of(rows: Sequence[Row], workload: Workload, notes: Sequence[str]) -> str:
    """Aligned table, followed by the reason of each row that is not schedulable, and notes.

    Verdicts that rest on rules that are inferred or hints are marked with their numbers.
    """
    numbers = rule_numbers(rows)
    table: list[tuple[str, ...]] = [HEAD]
    for row in rows:
        cells = cells_of(row, workload)
        place = HEAD.index("verdict")
        marked = f"{cells[place]}{marks_of(row, numbers)}"
        table.append((*cells[:place], marked, *cells[place + 1 :]))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    reasons = [reason_of(row) for row in rows if row.schedulable is not True and not row.impossible]
    rules = [f"[{number}] {rule}" for rule, number in numbers.items()]
    if rules:
        rules.insert(0, "Rules of GPUs that are not documented, on which marked rows rest:")
    blocks = [lines, mode_notes(rows), reasons, notes, rules]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def rule_numbers(rows: Sequence[Row]) -> dict[Rule, int]:
    """Numbers of the rules on which the rows rest, in the order in which they first occur."""
    rules = dict.fromkeys(rule for row in rows for rule in row.rules)
    return {rule: number for number, rule in enumerate(rules, 1)}


def marks_of(row: Row, numbers: Mapping[Rule, int]) -> str:
    """The numbers of the rules on which a row rests, in brackets; "" without any."""
    marks = ", ".join(str(numbers[rule]) for rule in row.rules)
    return f" [{marks}]" if marks else ""


def mode_notes(rows: Sequence[Row]) -> list[str]:
    """A line on the modes in the labels of the rows, if there are any."""
    used = {row.options.get("mode") for row in rows}
    said = "; ".join(text for mode, text in _MODES.items() if mode in used)
    return [f"{said[0].upper()}{said[1:]}."] if said else []


def reason_of(row: Row) -> str:
    """The label of a row and its reason, in which the label may be the first word already."""
    return f"{row.label}: {row.why().removeprefix(f'{row.label}: ')}"


def html_of(rows: Sequence[Row], workload: Workload, notes: Sequence[str]) -> str:
    """The table with the reasons in its last column, and notes."""
    head = "".join(f"<th>{escape(name)}</th>" for name in (*HEAD, "why"))
    body, numbers, place = [], rule_numbers(rows), HEAD.index("verdict")
    for row in rows:
        given = list(cells_of(row, workload))
        given[place] += marks_of(row, numbers)
        first, *cells = (*given, clip(row.why(), 400))
        body.append(
            f"<tr><th title='{escape(row.way.title)}'>{escape(first)}</th>"
            + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            + "</tr>"
        )
    below = "".join(f"<p>{escape(text)}</p>" for text in notes)
    below += "".join(f"<p>[{number}] {escape(str(rule))}</p>" for rule, number in numbers.items())
    return f"<table><tr>{head}</tr>{''.join(body)}</table>{below}"


def _joined(parts: Sequence[Times]) -> Times:
    """Times one behind the other, masked where they were."""
    values = [np.ma.getdata(part) for part in parts]
    known = [~np.ma.getmaskarray(part) for part in parts]
    return missing(np.concatenate(values), np.concatenate(known))


def table_of(rows: Sequence[Row], workload: Workload) -> dict[str, Any]:
    """The columns of a table with a row per way and task."""
    n, count = len(workload), len(rows)
    empty = missing(np.zeros(n, np.int64), np.zeros(n, np.bool_))
    verdicts = [row.schedulable for row in rows]
    words_of = [row.verdict for row in rows]
    times: dict[str, list[Times]] = {
        key: [] for key in ("response", "slack", "p99", "observed", "late")
    }
    runs = [row.run for row in rows]
    none = np.zeros(n, np.int64)
    late = [none if run is None else run.late_count for run in runs]
    jobs = [none if run is None else run.job_count for run in runs]
    for row in rows:
        answer, run = row.answer, row.run
        times["response"].append(empty if answer is None else answer.response)
        times["slack"].append(empty if answer is None else answer.slack)
        times["p99"].append(empty if run is None else run.percentile(99))
        times["observed"].append(empty if run is None else run.worst)
        times["late"].append(
            empty if run is None else missing(run.late_count, np.ones(n, np.bool_))
        )

    def words(given: Sequence[str]) -> npt.NDArray[np.object_]:
        return np.repeat(np.array(given, object), n)

    yes = np.array([verdict is True for verdict in verdicts])
    return {
        "way": words([row.label for row in rows]),
        "claim": words([row.claim for row in rows]),
        "schedulable": np.ma.array(yes, mask=[v is None for v in verdicts]).repeat(n),
        "verdict": words(words_of),
        "deploy": words([row.deploy for row in rows]),
        "task": np.tile(np.array(workload.names, object), count),
        "deadline": np.tile(deadlines_of(workload), count),
        **{key: _joined(each) for key, each in times.items()},
        "share_late": shares_of(np.concatenate(late), np.concatenate(jobs)),
        "reason": words([row.why() for row in rows]),
    }
