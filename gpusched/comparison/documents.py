"""Comparisons, answers, runs and margins as documents of dicts, lists, text and numbers (JSON).

Every document has ``format`` and ``version``. All times are whole ticks of ``tick_ns`` nanoseconds;
null means that there is no value. New keys may be added within a version; removing a key or
changing its meaning increments the version.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields

import numpy as np

from gpusched._support.arguments import Int64Array
from gpusched._support.registry import Method, methods
from gpusched._version import __version__
from gpusched.analysis.assignment_answer import Assignment
from gpusched.analysis.breakdown_answer import Breakdown
from gpusched.comparison.advice import Advice
from gpusched.comparison.choosing.choice_answer import Choice
from gpusched.comparison.findings import Findings
from gpusched.comparison.margins import Margin
from gpusched.comparison.path_runs import SimulatedTimes
from gpusched.comparison.response_table import PERCENTILES
from gpusched.comparison.rows import Row, RowPath
from gpusched.comparison.run_stack import RunStack
from gpusched.comparison.verdicts.premises import conditions_values
from gpusched.comparison.workload_answer import WorkloadAnswer, known_at
from gpusched.comparison.workload_run import WorkloadRun
from gpusched.model.answer import Times
from gpusched.model.gpus.mps_shares import share_values
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workload_document import parts_document
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import WAYS, Way

VERSION = 1

Document = dict[str, object]


def json_text(document: Mapping[str, object]) -> str:
    """The text of a JSON file, in ASCII."""
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def comparison_document(found: Findings) -> Document:
    """The document of a comparison; see ``Comparison.document``."""
    document = {
        **_head("comparison", found.workload, found.platform),
        "schedulable": found.schedulable,
        "verdict": found.verdict,
        "impossible": list(found.impossible),
        "notes": list(found.notes),
        "rows": [_row(row) for row in found.rows],
        "rules": [
            {**asdict(rule), "rows": [row.label for row in found.rows if rule in row.rules]}
            for rule in dict.fromkeys(rule for row in found.rows for rule in row.rules)
        ],
        "seconds": found.seconds,
    }
    if found.margins:
        document["best"] = None if found.best is None else margin_document(found.best)
        document["advice"] = None if found.advice is None else advice_document(found.advice)
    return document


def answer_document(answer: WorkloadAnswer, margin: Margin | None = None) -> Document:
    """The document of an answer of ``gs.analyze``, with its margin if one is given.

    Keys in addition to ``format``, ``version``, ``gpusched``, ``tick``, ``tick_ns``, ``workload``
    and ``platform``, which are as in ``Comparison.document``: ``label``, ``way``, ``test``,
    ``options``, ``claim``, ``schedulable``, ``verdict``, ``conditions`` (``premise``, ``text``,
    ``tasks``, ``remedy``), ``rules`` (those of GPUs that are not documented: ``name``, ``kind``,
    ``text``, ``settled_by``, ``source``), ``tightest`` (the name of a task), ``reason``, ``setup``
    (sentences on cores, SMs and priorities chosen by the test), ``units`` (by task, the numbers of
    kernels in the units of a job that a dispatcher launches), ``paths`` (if there are any:
    ``path``, ``kind``, ``deadline``, ``bound``, ``slack``; ``p99``, ``observed`` and ``late``,
    which are simulated times of a comparison, are null), ``tasks`` (``task``,
    ``deadline``, ``response``, ``bounded``, ``slack``, ``reason``), ``assumptions``, ``seconds``,
    and ``margin``, which is like ``best`` in ``Comparison.document``.
    """
    workload = answer.workload
    document = {
        **_head("answer", workload, answer.platform),
        "label": answer.label,
        "way": answer.way,
        "test": answer.method,
        "options": dict(answer.options),
        "claim": answer.claim,
        "schedulable": answer.schedulable,
        "verdict": answer.verdict,
        "conditions": _conditions(answer),
        "rules": [asdict(rule) for rule in answer.rules],
        "tightest": None if answer.tightest is None else workload.names[answer.tightest],
        "reason": answer.why(),
        "setup": list(answer.setup),
        "units": {name: list(sizes) for name, sizes in answer.units.items()},
        **_paths(RowPath(of.path, of.bound, None) for of in answer.paths),
        "tasks": [
            {**_task(workload, i), **bound, "reason": answer.why(i)}
            for i, bound in enumerate(_bounds(answer, len(workload)))
        ],
        "assumptions": list(answer.assumptions),
        "seconds": answer.seconds,
    }
    if margin is not None:
        document["margin"] = margin_document(margin)
    return document


def not_applicable_document(kind: str, way: str, reason: str, verdict: str) -> Document:
    """The document of a way without an answer for a workload; ``schedulable`` is null.

    ``kind``: "answer" or "run". ``verdict``: "not applicable" or, without time, "undecided".
    """
    return {
        "format": f"gpusched {kind}",
        "version": VERSION,
        "gpusched": __version__,
        "way": way,
        "schedulable": None,
        "verdict": verdict,
        "reason": reason,
    }


def breakdown_document(answer: WorkloadAnswer, found: Sequence[Breakdown]) -> Document:
    """The document of an answer and of the breakdown factors of its host tasks.

    Keys in addition to those of `answer_document`: ``factors``, each with ``scale``, ``task`` (the
    name of the task whose times are multiplied, null for all tasks), ``factor`` (an exact fraction
    as text; null if no factor is accepted), ``unlimited``, ``exact``, ``limiting`` (the name of a
    task), ``utilization`` (at the factor), ``tests`` and ``text``.
    """
    names = answer.workload.names
    return {
        **answer_document(answer),
        "format": "gpusched breakdown",
        "factors": [
            {
                "scale": one.scale if one.task < 0 else "task",
                "task": None if one.task < 0 else names[one.task],
                "factor": None if one.unlimited or not one.numerator else str(one.factor),
                "unlimited": bool(one.unlimited),
                "exact": True,
                "limiting": None if one.limiting < 0 else names[int(one.limiting)],
                "utilization": float(one.utilization),
                "tests": int(one.tests),
                "text": one.why(),
            }
            for one in found
        ],
    }


def assignment_document(answer: WorkloadAnswer, found: Assignment) -> Document:
    """The document of chosen priorities and of the answer for the workload with them.

    Keys in addition to those of `answer_document`: ``of`` ("cpu" or "gpu"), ``priority`` and
    ``gpu_priority`` (per task, 0 is the highest priority; the latter is null if ``of`` is "cpu"),
    ``method`` (the algorithm), ``optimal``, ``tests`` and ``text``. The ``workload`` has the CPU
    priorities, unless it had none and GPU priorities were chosen.
    """
    return {
        **answer_document(answer),
        "format": "gpusched assignment",
        "of": found.of,
        "priority": _plain(found.hosts.priority),
        "gpu_priority": _plain(found.gpu_priority),
        "method": found.method,
        "optimal": bool(found.optimal),
        "tests": int(found.tests),
        "text": found.how(),
    }


def choice_document(found: Choice) -> Document:
    """The document of chosen values and of the answer for the program with them.

    Keys in addition to those of `answer_document`, with ``margin``: ``before`` (the verdict before,
    or "not applicable"), ``what``, ``aim``, ``of``, ``changes`` (sentences), ``arguments`` (options
    of commands), ``tested``, ``total`` (null beyond a billion), ``optimal`` and ``text``.
    """
    return {
        **answer_document(found.answer, found.margin),
        "format": "gpusched choice",
        "before": "not applicable" if found.before is None else found.before.verdict,
        "what": list(found.what),
        "aim": found.aim,
        "of": found.of,
        "changes": list(found.changes),
        "arguments": found.arguments,
        "tested": found.tested,
        "total": found.total,
        "optimal": found.optimal,
        "text": found.why(),
    }


def run_document(run: WorkloadRun, percentiles: Sequence[float] = PERCENTILES) -> Document:
    """The document of a run of ``gs.observe``.

    Keys in addition to those of the head: ``label``, ``way``, ``options``, ``schedulable``,
    ``verdict``, ``reason``, ``rules``, ``until``, ``jobs``, ``late``, ``tasks`` (``task``,
    ``deadline``, ``jobs``, ``worst``, ``late``, ``share_late`` and ``percentiles``, responses by
    the percentage of jobs that do not exceed them), ``paths`` (if there are any: ``path``,
    ``kind``, ``deadline``, ``count``, ``percentiles``, ``worst``, ``late``), ``assumptions``,
    ``limits`` (what the run does not represent), ``seconds``.
    """
    workload = run.workload
    return {
        **_head("run", workload, run.platform),
        "label": run.label,
        "way": run.way,
        "options": dict(run.options),
        "schedulable": run.schedulable,
        "verdict": run.verdict,
        "reason": run.why(),
        "rules": [asdict(rule) for rule in run.rules],
        **_simulation(run),
        "tasks": _responses(run, run.job_count, run.worst, run.late_count, percentiles),
        **_times(run.paths, percentiles),
    }


def stack_document(runs: RunStack, percentiles: Sequence[float] = PERCENTILES) -> Document:
    """The document of a stack of runs.

    Keys in addition to those of the head: ``label``, ``way``, ``options``, ``until``, ``index`` (of
    the first run), ``runs``, ``jobs``, ``late``, ``left`` (jobs that had not ended, which count as
    what they had taken), ``tasks`` (as of a run, of all runs together, and ``late_interval``, the
    95 % confidence interval of the probability that a job is late), ``budget`` (the one that was
    spent, else null), ``assumptions``, ``limits``, ``seconds``.
    """
    jobs, late = runs.job_count.sum(axis=0), runs.late_count.sum(axis=0)
    tasks = _responses(runs, jobs, runs.largest, late, percentiles)
    for task, *interval in zip(tasks, *(one.tolist() for one in runs.late_interval), strict=True):
        task["late_interval"] = interval
    return {
        **_head("runs", runs.workload, runs.platform),
        "label": runs.label,
        "way": runs.way,
        "options": dict(runs.options),
        "until": runs.until,
        "index": runs.index,
        "runs": len(runs),
        "jobs": int(jobs.sum()),
        "late": int(late.sum()),
        "left": int(runs.left.sum()),
        "tasks": tasks,
        "budget": runs.reason,
        "assumptions": list(runs.assumptions),
        "limits": [text for _, text in runs.limits],
        "seconds": runs.seconds,
    }


def _responses(
    found: WorkloadRun | RunStack,
    jobs: Int64Array,
    worst: Times,
    late: Int64Array,
    percentiles: Sequence[float],
) -> list[Document]:
    """The responses of each task."""
    return [
        {
            **_task(found.workload, i),
            "jobs": int(jobs[i]),
            "percentiles": {f"{q:g}": found.percentile(q, i) for q in percentiles},
            "worst": known_at(worst, i),
            "late": int(late[i]),
            "share_late": _share(found, i),
        }
        for i in range(len(found.workload))
    ]


def margin_document(margin: Margin) -> Document:
    """The document of a margin; factors are exact fractions as text."""
    return {
        "label": margin.label,
        "way": margin.way,
        "options": dict(margin.options),
        "what": margin.what,
        "factor": None if margin.factor is None else str(margin.factor),
        "failed": None if margin.failed is None else str(margin.failed),
        "exact": margin.exact,
        "tested": margin.tested,
        "conditional": margin.conditional,
        "chosen": margin.chosen,
        "text": str(margin),
    }


def advice_document(advice: Advice) -> Document:
    """The document of the closest way and of changes that help; factors as text."""
    return {
        "closest": None if advice.closest is None else margin_document(advice.closest),
        "changes": [
            {
                "text": change.text,
                "kind": change.kind,
                "task": change.task or None,
                "factor": str(change.factor),
                "conditional": change.conditional,
            }
            for change in advice.changes
        ],
        "text": str(advice),
    }


def methods_document() -> Document:
    """The document of the ways of sharing the GPU, and of ``gs.methods()``."""
    return {
        "format": "gpusched methods",
        "version": VERSION,
        "gpusched": __version__,
        "ways": [_way(way) for way in WAYS],
        "methods": [_method(method) for method in methods()],
    }


# Parts --------------------------------------------------------------------------------------------


def _head(kind: str, workload: Workload, platform: Platform) -> Document:
    return {
        "format": f"gpusched {kind}",
        "version": VERSION,
        "gpusched": __version__,
        "tick": workload.tick,
        "tick_ns": workload.tick_ns,
        "workload": parts_document(workload._parts()),
        "platform": _platform(platform.at(workload.tick)),
    }


def _platform(platform: Platform) -> Document:
    gpu: Document | None = None
    if platform.gpu is not None:
        gpu = {
            field.name: _plain(getattr(platform.gpu, field.name)) for field in fields(platform.gpu)
        }
    timeslice: int | None
    try:
        timeslice = platform.timeslice
    except ValueError:  # not a whole number of ticks, and not used
        timeslice = None
    return {
        "gpu": gpu,
        "cpus": platform.cpus,
        "launch_latency": platform.launch_latency,
        "launch_cpu": platform.launch_cpu,
        "graph_launch_cpu": platform.graph_launch_cpu,
        "kernel_gap": platform.kernel_gap,
        "wake_latency": platform.wake_latency,
        "context_switch": platform.context_switch,
        "timeslice": timeslice,
        "ring": platform.ring,
        "update_cost": platform.update_cost,
        "server_overhead": platform.server_overhead,
        "priority_levels": platform.priority_levels,
        "slowdown": list(platform.slowdown),
        "copy_engines": _plain(platform.copy_engines),
        "mig": _plain(platform.mig),
        "mps": None if platform.mps is None else share_values(platform.mps),
        "mps_partitions": _parts(platform.mps_partitions),
        "green_contexts": _parts(platform.green_contexts),
        "channels": platform.channels,
        "workqueue": platform.workqueue,
        "sm_coscheduling": platform.sm_coscheduling,
    }


def _parts(entries: Sequence[tuple[tuple[str, ...], object]] | None) -> list[object] | None:
    if entries is None:
        return None
    return [[list(names), _plain(sms)] for names, sms in entries]


def _plain(value: object) -> object:
    """Arrays and tuples as lists."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value


def _task(workload: Workload, i: int) -> Document:
    return {"task": workload.names[i], "deadline": workload[i].deadline}


def _bounds(answer: WorkloadAnswer | None, count: int) -> list[Document]:
    """Response and slack of each task."""
    if answer is None:
        return [{"response": None, "bounded": False, "slack": None}] * count
    slack = answer.slack
    return [
        {
            "response": known_at(answer.response, i),
            "bounded": bool(answer.bounded[i]),
            "slack": known_at(slack, i),
        }
        for i in range(count)
    ]


def _simulation(run: WorkloadRun) -> Document:
    return {
        "until": run.until,
        "jobs": len(run),
        "late": int(run.late.sum()),
        "assumptions": list(run.assumptions),
        "limits": [text for _, text in run.limits],
        "seconds": run.seconds,
    }


def _paths(paths: Iterable[RowPath]) -> Document:
    """The paths of a row, if there are any."""
    found = [
        {
            "path": of.path.name,
            "kind": of.path.kind,
            "deadline": of.path.deadline,
            "bound": of.bound,
            "slack": of.slack,
            "p99": of.p99,
            "observed": of.observed,
            "late": of.late,
        }
        for of in paths
    ]
    return {"paths": found} if found else {}


def _times(paths: Iterable[SimulatedTimes], percentiles: Sequence[float]) -> Document:
    """The simulated times of paths, if there are any."""
    found = [
        {
            "path": of.path.name,
            "kind": of.path.kind,
            "deadline": of.path.deadline,
            "count": len(of),
            "percentiles": {f"{q:g}": of.percentile(q) for q in percentiles},
            "worst": of.largest,
            "late": of.late_count,
        }
        for of in paths
    ]
    return {"paths": found} if found else {}


def _row(row: Row) -> Document:
    answer, run, workload = row.answer, row.run, row.workload
    worst, late = (None, None) if run is None else (run.worst, run.late_count)
    tasks = [
        {
            **_task(workload, i),
            **bound,
            "p99": None if run is None else run.percentile(99, i),
            "observed": None if worst is None else known_at(worst, i),
            "late": None if late is None else int(late[i]),
            "share_late": None if run is None else _share(run, i),
        }
        for i, bound in enumerate(_bounds(answer, len(workload)))
    ]
    return {
        "label": row.label,
        "way": row.way.name,
        "title": row.way.title,
        "test": row.way.test,
        "options": {**row.options, **row.way.given},
        "claim": row.claim or None,
        "schedulable": row.schedulable,
        "verdict": row.verdict,
        "deploy": row.deploy,
        "conditions": _conditions(row.answer) if row.conditional and row.answer else [],
        "rules": [rule.name for rule in row.rules],
        "tightest": None if row.tightest is None else workload.names[row.tightest],
        "reason": row.why(),
        **_paths(row.paths),
        "tasks": tasks,
        "assumptions": [] if answer is None else list(answer.assumptions),
        "why_no_test": row.why_no_answer or None,
        "simulation": None if run is None else _simulation(run),
        "why_no_simulation": row.why_no_run or None,
        "seconds": None if answer is None else answer.seconds,
    }


def _share(run: WorkloadRun | RunStack, task: int) -> float | None:
    """The share of late jobs of a task; None without a job."""
    found = run.share_late
    return None if np.ma.getmaskarray(found)[task] else float(found[task])


def _conditions(answer: WorkloadAnswer) -> list[Document]:
    return [
        {**values, "tasks": list(values["tasks"])}
        for values in conditions_values(answer.conditions)
    ]


def _way(way: Way) -> Document:
    method = way.test_method
    return {
        "name": way.name,
        "title": way.title,
        "test": way.test,
        "claim": "simulation" if method is None else method.claim,
        "modes": list(way.modes),
    }


def _method(method: Method) -> Document:
    return {
        **{field.name: getattr(method, field.name) for field in fields(method)},
        "options": [
            {field.name: _plain(getattr(option, field.name)) for field in fields(option)}
            for option in method.options
        ],
    }
