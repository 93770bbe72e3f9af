"""Answer of the holistic test: response-time bounds of whole programs, and what they consist of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, task_number
from gpusched._support.registry import enumeration
from gpusched._support.results import Saved
from gpusched.model.answer import Answer, Claim, Flags, missing
from gpusched.model.programs import Programs
from gpusched.model.workload.time_units import time_in_text

__all__ = ["HOLISTIC_TERMS", "HolisticBound"]

HOLISTIC_TERMS = enumeration("analysis.holistic_term")
"""Columns of ``HolisticBound.terms``, in ticks: ``own`` work, operations, latencies and switches;
waiting for a ``cpu``, for a ``copy`` of another task on the engine, for the ``gpu`` (kernels,
sections, slices or units of other tasks), and for a ``channel`` in which no kernel has joined a
queue. With the rule "edf_serial" the time ``behind`` the unit of a job counts by itself, and
``cpu`` is all of the time before it."""

_WORDS = {
    "own": "its own work",
    "cpu": "other tasks on its core",
    "copy": "copies of other tasks",
    "gpu": "GPU work of other tasks",
    "channel": "tasks whose streams have the same hardware channel",
    "behind": "the work behind its kernels",
}
_RULES = {
    "one_stream": "All copies and kernels are in one stream.",
    "streams": "Each task has a stream.",
    "time_slices": "Each task that uses the GPU is a process; the GPU serves these in turn.",
    "gcaps": "Each task that uses the GPU is a process; the most urgent one with an open section "
    "has the GPU.",
    "edf_serial": "A dispatcher runs the GPU work of a job at a time, the earliest deadline first.",
}
_PROCESSES = (
    "The GPU serves processes in turn; the tasks of one share the SMs in its slices, each with a "
    "stream."
)
_LAUNCHES = {
    "graph": "Copies and kernels without CPU work between them are launched in one go.",
    "async": "Copies and kernels without CPU work between them are launched one by one, and the "
    "thread waits for all of them.",
    "mixed": "Each task launches copies and kernels in the form that was given for it.",
    "sync": "The thread waits for each copy and kernel before it launches the next one.",
}
_RELEASES = (
    "A job of a task that others release is released when those of the same arrival have ended."
)
_TOGETHER = "The test bounds all tasks or none"
_FROM_RELEASES = (
    "; deadlines of tasks that others release count from the releases, and one with GPU work has "
    "to end, with its latest release and its deadline, within a period"
)
_MODES = {
    "suspend": "A thread leaves its core until what it launched has ended.",
    "busy": "A thread keeps its core, at its priority, until what it launched has ended.",
}


@dataclass(frozen=True, eq=False, repr=False)
class HolisticBound(Answer):
    """Response-time bounds of whole programs, for one set of n tasks or a stack of N sets.

    >>> tasks = gs.Programs(period=[20, 50], kind=[["cpu", "kernel"], ["kernel", "cpu"]],
    ...                     time=[[2, 4], [10, 3]])
    >>> answer = gs.analysis.holistic(tasks, "one_stream")
    >>> answer.schedulable, answer.response.tolist(), answer.parts(0)["gpu"]
    (True, [16, 21], 10)

    Attributes
    ----------
    tasks
        The programs.
    rule, launches, mode, sharing
        The rule of the GPU; how operations are launched ("mixed" if not all tasks do it alike);
        the use of the core meanwhile; and the queues of parts of the GPU ("in_turns": parts are
        processes of several tasks, "instances": GPU instances), "" without parts.
    bound
        Response-time bounds in ticks, counted from the arrivals, of tasks that others release from
        the releases; -1 without one: int64 ``(n,)`` or ``(N, n)``.
    jobs
        Number of jobs of a run up to the one with the largest response, 0 without a bound; shape as
        ``bound``.
    terms
        What the window of that job consists of, int64 ``(n, 6)`` or ``(N, n, 6)``, with the columns
        of ``HOLISTIC_TERMS``. They add up to the bound, plus the periods of the jobs before it,
        less the jitter. With ``window`` they add up to the end without the source's jitter.
    earliest, latest, end
        Where tasks release each other (``after``): earliest and latest release, and latest end of a
        job, from the arrival of its source; -1 without a bound; shape as ``bound``. Else None.
    window
        Likewise, whether the bound is that of a window of paths: bool.
    seconds
        Wall-clock time of the call.
    """

    _KIND: ClassVar[str] = "HolisticBound"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (Programs,)
    _SHOWN: ClassVar[tuple[str, ...]] = ("core", "deadline", "response", "slack")

    tasks: Programs
    rule: str
    launches: str
    mode: str
    bound: Int64Array
    jobs: Int64Array
    terms: Int64Array
    sharing: str = ""
    earliest: Int64Array | None = None
    latest: Int64Array | None = None
    end: Int64Array | None = None
    window: npt.NDArray[np.bool_] | None = None
    seconds: float = field(default=0.0, compare=False)

    @property
    def _tasks(self) -> Programs:
        return self.tasks

    @property
    def claim(self) -> Claim:
        """ "sufficient": a set that is not accepted may be schedulable."""
        return "sufficient"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each."""
        links = () if self.end is None else (_RELEASES,)
        return (
            "Arrivals of a task are at least a period apart, and all work takes at most its time.",
            *links,
            _PROCESSES if self.sharing == "in_turns" else _RULES[self.rule],
            _LAUNCHES[self.launches],
            _MODES[self.mode],
            "Cores have fixed preemptive priorities, and copy engines serve copies in the order in "
            "which they get to them.",
        )

    def _responses(self) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
        return np.maximum(self.bound, 0), self.bound >= 0

    @property
    def bounded(self) -> npt.NDArray[np.bool_]:
        """Whether each task has a bound: bool ``(n,)`` or ``(N, n)``."""
        return self.bound >= 0

    @property
    def accepted(self) -> Flags:
        """Whether every task has a bound within its deadline: a bool, or bool ``(N,)``."""
        met = (self.bounded & (self.bound <= self.tasks.deadline)).all(axis=-1)
        return met if self.is_stack else bool(met)

    @property
    def rejected(self) -> Flags:
        """False, because the bounds show no misses: a bool, or bool ``(N,)``."""
        return np.zeros(len(self.tasks), np.bool_) if self.is_stack else False

    def parts(self, task: int | str) -> dict[str, int]:
        """Parts of the bound of a task of a single set, in ticks.

        Parameters
        ----------
        task
            Index or name of the task.

        Returns
        -------
        dict
            One number for each of ``HOLISTIC_TERMS``, 0 for a task without a bound.
        """
        if self.is_stack:
            raise ValueError("answer: got a stack, expected a single set; index it first")
        row = self.terms[task_number(task, self.tasks.name)].tolist()
        return dict(zip(HOLISTIC_TERMS, row, strict=True))

    def _reason(self) -> str:
        if self.accepted:
            return f"Every response bound is within its deadline; {self._tightest()}."
        none = np.flatnonzero(~self.bounded)
        return self._reason_of(int(none[0]) if none.size else int(self.slack.argmin()))

    def _reason_of(self, i: int) -> str:
        text = super()._reason_of(i)
        if not self.bounded[i] and self.rule == "edf_serial":
            return f"{text[:-1]}. {_TOGETHER}{_FROM_RELEASES if self.end is not None else ''}."
        if not self.bounded[i]:
            return f"{text[:-1]}. Its jobs may wait longer and longer."
        parts = self.parts(i)
        most = max(HOLISTIC_TERMS[1:], key=lambda name: parts[name])
        if not parts[most]:
            return text
        total = sum(parts.values())
        return (
            f"{text[:-1]}; {time_in_text(parts[most])} of {time_in_text(total)} are for "
            f"{_WORDS[most]}."
        )

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        known = self.bounded
        return {
            "core": self.tasks.core,
            "priority": self.tasks.priority,
            **super()._columns(),
            "jobs": missing(self.jobs, known),
            **{name: missing(self.terms[..., c], known) for c, name in enumerate(HOLISTIC_TERMS)},
        }

    def _form(self) -> str:
        known = f"{int(self.bounded.sum())} of {self.bounded.size} tasks bounded"
        return f"{known}, {self.rule}, {self.launches}"
