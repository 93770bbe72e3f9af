"""Text and HTML of `HostTasks`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched._support.text import TICKS, clip, escape, plural
from gpusched.model.hosts.host_columns import HostColumns

__all__ = ["html_of", "job_of", "text_of"]

_SHOWN_ROWS = 40


def text_of(hosts: HostColumns) -> str:
    """The call that makes a small set, or the size of a larger one or a stack."""
    if hosts.is_stack:
        return f"<{_stack(hosts)}>"
    shown = f"HostTasks.from_segments({clip(str(hosts.period[:20].tolist()), 80)}, "
    jobs = ", ".join(str(job_of(hosts, i)) for i in range(min(hosts.n, 20)))
    more = ""
    if (hosts.deadline != hosts.period).any():
        more += f", deadline={hosts.deadline.tolist()}"
    if "priority" not in hosts._derived:
        more += f", priority={hosts.priority.tolist()}"
    if hosts.offset.any():
        more += f", offset={hosts.offset.tolist()}"
    if (hosts.core >= 0).any():
        more += f", core={hosts.core.tolist()}"
    if hosts.sms:
        more += f", sm={[np.flatnonzero(row).tolist() for row in hosts.sm]}"
    if "name" not in hosts._derived:
        more += f", name={list(hosts.name)}"
    if len(shown) + len(jobs) < 160 and len(more) < 160 and hosts.n <= 20:
        return f"{shown}[{jobs}]{more})"
    segments = int(hosts.segments.sum())
    return f"<HostTasks: {plural(hosts.n, 'task')}, {plural(segments, 'GPU segment')}>"


def html_of(hosts: HostColumns) -> str:
    """A table of a set's tasks, or the size of a stack."""
    if hosts.is_stack:
        return f"<p>{_stack(hosts)}</p>"
    placed = bool((hosts.core >= 0).any() or hosts.sms)
    keys = ["period", "deadline", "priority", "job", *(["core", "SMs"] if placed else [])]
    head = "".join(f"<th>{key}</th>" for key in keys)
    rows = "".join(
        f"<tr><th>{escape(clip(hosts.name[i], 60))}</th>"
        + "".join(f"<td>{escape(_cell(hosts, i, key))}</td>" for key in keys)
        + "</tr>"
        for i in range(min(hosts.n, _SHOWN_ROWS))
    )
    note = f"<p>and {hosts.n - _SHOWN_ROWS} more tasks</p>" if hosts.n > _SHOWN_ROWS else ""
    return f"<table>{TICKS}<tr><th></th>{head}</tr>{rows}</table>{note}"


def _stack(hosts: HostColumns) -> str:
    least = f"{hosts.sizes.min()} to " if hosts.is_ragged else ""
    return f"HostTasks: {plural(len(hosts), 'set')} of {least}{plural(hosts.n, 'task')}"


def job_of(hosts: HostColumns, i: int) -> list[Any]:
    """Task i's job as `HostTasks.from_segments` takes it."""
    job: list[Any] = []
    for j in range(int(hosts.segments[i]) + 1):
        if hosts.cpu[i, j] > 0:
            job.append(int(hosts.cpu[i, j]))
        if j < hosts.segments[i]:
            times = hosts.kernel[i, j].tolist()
            while len(times) > 1 and times[-1] == times[-2]:
                times.pop()
            kernel = times if len(times) > 1 else times[0]
            job.append((int(hosts.copy_in[i, j]), kernel, int(hosts.copy_out[i, j])))
    return job


def _cell(hosts: HostColumns, i: int, key: str) -> str:
    if key == "job":
        return clip(", ".join(str(part) for part in job_of(hosts, i)), 80)
    if key == "SMs":
        return clip(", ".join(map(str, np.flatnonzero(hosts.sm[i]))), 40)
    value = int(getattr(hosts, key)[i])
    return "" if key == "core" and value < 0 else str(value)
