"""Text and HTML of workloads, in words."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched._support.text import clip, escape
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.segments import CPU, CopyIn, Kernel, Segment
from gpusched.model.workload.time_units import TickLength, tick_text, time_with_unit

__all__ = ["html_of", "repr_of", "text_of"]

_ROWS = 40
_PARTS = 8  # segments of a job that are listed


def repr_of(tasks: Sequence[Task], tick: TickLength) -> str:
    """The call that makes a small workload, or the size of a larger one."""
    if len(tasks) <= 10 and sum(len(task.segments) for task in tasks) <= 30:
        text = f"Workload([{', '.join(map(repr, tasks))}], tick={tick_text(tick)!r})"
        if len(text) <= 400:
            return text
    return f"<{_size(tasks, tick)}>"


def text_of(tasks: Sequence[Task], tick: TickLength) -> str:
    """A line with the size, and one per task."""
    lines = [_size(tasks, tick)]
    for task in tasks[:_ROWS]:
        timing = ", ".join(f"{key} {value}" for key, value in _facts(task, tick).items())
        lines.append(f"  {clip(task.name, 40)}: {timing}: {_job(task, tick)}")
    if len(tasks) > _ROWS:
        lines.append(f"  and {len(tasks) - _ROWS} more tasks")
    return "\n".join(lines)


def html_of(tasks: Sequence[Task], tick: TickLength) -> str:
    """A table with one row per task."""
    rows = []
    for task in tasks[:_ROWS]:
        facts = _facts(task, tick)
        cells = (facts.pop("period"), facts.pop("deadline", ""))
        more = ", ".join(f"{key} {value}" for key, value in facts.items())
        body = "".join(f"<td>{escape(cell)}</td>" for cell in (*cells, more, _job(task, tick)))
        rows.append(f"<tr><th>{escape(clip(task.name, 40))}</th>{body}</tr>")
    head = "".join(f"<th>{key}</th>" for key in ("task", "period", "deadline", "", "job"))
    note = f"<p>and {len(tasks) - _ROWS} more tasks</p>" if len(tasks) > _ROWS else ""
    caption = f"<caption>{escape(_size(tasks, tick))}</caption>"
    return f"<table>{caption}<tr>{head}</tr>{''.join(rows)}</table>{note}"


def _size(tasks: Sequence[Task], tick: TickLength) -> str:
    kernels = sum(segment.repeat for task in tasks for segment in task.kernels)
    many = "task" if len(tasks) == 1 else "tasks"
    found = "1 kernel" if kernels == 1 else f"{kernels:,} kernels"
    return f"Workload: {len(tasks):,} {many}, {found} per round of jobs, tick {tick_text(tick)}"


def _facts(task: Task, tick: TickLength) -> dict[str, str]:
    facts = {"period": time_with_unit(task.period, tick)}
    if task.rate is not None:
        facts["period"] += f" ({task.rate})"
    if task.has_deadline:
        facts["deadline"] = time_with_unit(task.deadline, tick)
    for key, time in (("offset", task.offset), ("jitter", task.jitter)):
        if time:
            facts[key] = time_with_unit(time, tick)
    for key in ("priority", "stream_priority", "gpu_priority", "process", "core"):
        if (value := getattr(task, key)) is not None:
            facts[key.replace("_", " ")] = clip(str(value), 40)
    return facts


def _job(task: Task, tick: TickLength) -> str:
    parts = [_part(segment, tick) for segment in task.segments[:_PARTS]]
    more = len(task.segments) - _PARTS
    return ", ".join(parts) + (f", and {more} more segments" if more > 0 else "")


def _part(segment: Segment, tick: TickLength) -> str:
    times = f" {segment.repeat} times" if segment.repeat > 1 else ""
    named = f" {clip(segment.name, 30)}" if segment.name else ""
    if isinstance(segment, CPU):
        return f"CPU{named} {time_with_unit(segment.time, tick)}{times}"
    if not isinstance(segment, Kernel):
        way = "in" if isinstance(segment, CopyIn) else "out"
        by = " by the CPU" if segment.by == "cpu" else ""
        return f"copy {way}{named} {time_with_unit(segment.time, tick)}{by}{times}"
    facts = [time_with_unit(segment.time, tick)] if segment.has_time else []
    if segment.has_shape:
        facts.append(f"{segment.blocks} blocks of {segment.threads} threads")
    if segment.block_time is not None:
        facts.append(f"{time_with_unit(segment.block_time, tick)} per block")
    if profile := segment.sms:
        facts.append(f"measured on {clip(', '.join(map(str, profile)), 30)} SMs")
    return f"kernel{named} {' ('.join(facts[:2])}{')' if len(facts) > 1 else ''}{times}"
