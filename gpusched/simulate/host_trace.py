"""A run of tasks on CPUs and a GPU as a Chrome trace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw import chrome_trace
from gpusched.simulate.fifo_trace import Lanes
from gpusched.simulate.host_result import WHAT

if TYPE_CHECKING:
    from gpusched.simulate.host_result import HostRun

_JOBS, _CPUS, _GPU = 0, 1, 2
COPIES = (WHAT.index("copy in"), WHAT.index("copy out"))
KERNEL = WHAT.index("kernel")


def write(run: HostRun, path: str | os.PathLike[str], tick: int) -> None:
    """What `HostRun.to_chrome_trace` describes."""
    if tick < 1:
        raise ValueError(f"tick = {tick}: must be at least 1 ns")
    other = {"policy": run.policy, "gpu": run.gpu, "mode": run.mode, "outcome": run.outcome}
    chrome_trace.write_chrome_trace(path, _events(run, tick), other=other)


def sms_of(run: HostRun, task: int) -> list[int]:
    """The SMs of a task's kernels."""
    if run.gpu == "stgm":
        return [int(sm) for sm in np.flatnonzero(run.tasks.sm[task])]
    return list(range(run.sms))


def _events(run: HostRun, tick: int) -> Iterator[dict[str, Any]]:
    yield chrome_trace.process_name(_JOBS, "jobs")
    lanes = Lanes(_JOBS, run.tasks.name)
    late = run.late.tolist()
    spent = run.spent() if run.intervals is not None else {}
    ends = np.where(run.finish >= 0, run.finish, np.maximum(run.now, run.release))
    for k in range(len(run)):
        task, release, end = int(run.task[k]), int(run.release[k]), int(ends[k])
        lane = yield from lanes.place(task, release, end)
        args: dict[str, Any] = {"job": int(run.job[k]), "deadline": int(run.deadline[k]) * tick}
        response = int(run.response[k])
        args["response"] = response * tick if response >= 0 else None
        args["missed"] = late[k]
        args |= {word: int(time[k]) * tick for word, time in spent.items() if time[k]}
        label = f"{run.tasks.name[task]} #{args['job']}"
        length = (end - release) * tick
        yield chrome_trace.complete_event(label, _JOBS, lane, release * tick, length, args)
    if run.intervals is not None:
        yield from _machine(run, tick)


def _machine(run: HostRun, tick: int) -> Iterator[dict[str, Any]]:
    log = run.intervals
    assert log is not None
    yield chrome_trace.process_name(_CPUS, "CPUs")
    for core in np.unique(log.core[log.core >= 0]).tolist():
        yield chrome_trace.thread_name(_CPUS, core, f"core {core}")
    yield chrome_trace.process_name(_GPU, "GPU")
    if np.isin(log.what, COPIES).any():
        yield chrome_trace.thread_name(_GPU, 0, "copies")
    used = np.unique(log.task[log.what == KERNEL]).tolist()
    sms = {task: sms_of(run, task) for task in used}
    for sm in sorted({sm for these in sms.values() for sm in these}):
        yield chrome_trace.thread_name(_GPU, sm + 1, f"SM {sm}")
    rows = zip(
        *(column.tolist() for column in (log.task, log.job, log.what)),
        *(column.tolist() for column in (log.core, log.start, log.end)),
        strict=True,
    )
    for task, job, what, core, start, end in rows:
        places = [(_CPUS, core)] if core >= 0 else []
        if what == KERNEL:
            places += [(_GPU, sm + 1) for sm in sms[task]]
        elif what in COPIES:
            places.append((_GPU, 0))
        name = "server" if task < 0 else f"{run.tasks.name[task]} #{job}"
        for pid, tid in places:
            label = f"{name}: {WHAT[what]}"
            yield chrome_trace.complete_event(label, pid, tid, start * tick, (end - start) * tick)
