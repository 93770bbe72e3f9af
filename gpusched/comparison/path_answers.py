"""Bounds of the paths of a workload, from the bounds of its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.results import Frozen
from gpusched._support.text import clip
from gpusched.analysis.path_times import PathTimes, path_bounds, waiting_results
from gpusched.model.answer import Times
from gpusched.model.workload.links import KINDS, Path, sources_of
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.time_units import time_with_unit
from gpusched.model.workload.workloads import Workload


@dataclass(frozen=True, eq=False)
class Ends(Frozen):
    """Latest ends of tasks from the arrivals of their sources, -1 without a bound, and earliest
    releases: int64 ``(n,)`` each, in ticks."""

    end: Int64Array
    earliest: Int64Array


def ends_of(response: Times, bounded: npt.NDArray[np.bool_]) -> Ends:
    """Ends of timed tasks: their responses, where these are bounds."""
    known = np.asarray(bounded) & ~np.ma.getmaskarray(response)
    end = np.where(known, response.filled(0), -1)
    return Ends(end, np.zeros(len(end), np.int64))


@dataclass(frozen=True)
class PathLeg:
    """Tasks of a path that release each other, with the most ticks between two results.

    ``earliest``: release of the first one, ``end``: end of the last one, from the arrival of their
    source; ``own``: what a job of each takes alone, -1 if that is not known.
    """

    tasks: tuple[str, ...]
    period: int
    earliest: int
    end: int
    jitter: int
    own: int
    offset: int


@dataclass(frozen=True)
class PathAnswer:
    """Bound of a path in the answer of a test.

    >>> work = [gs.CPU("2ms")]
    >>> w = gs.Workload([
    ...     gs.Task("camera", "40ms", work), gs.Task("control", "10ms", work, reads="camera"),
    ... ], "us", paths=[gs.Path("frame to command", ["camera", "control"], "20ms")])
    >>> answer = gs.analyze(w, gs.Platform("AGX Orin", cpus=2), "mpcp")
    >>> path = answer.path("frame to command")
    >>> path.bound, path.slack, path.times.reaction
    (14000, 6000, 54000)

    Attributes
    ----------
    path
        The path.
    legs
        Its legs; empty without a bound.
    times
        Bounds of all kinds of times, in ticks; None without a bound.
    why_none
        Why there is no bound; "" if there is one.
    tick
        Length of a tick in ns.
    is_timed
        Whether offsets are given on one clock, and no period is that of a rate in parts of ticks.
    """

    path: Path
    legs: tuple[PathLeg, ...]
    times: PathTimes | None
    why_none: str
    tick: int
    is_timed: bool = False

    @property
    def bound(self) -> int | None:
        """The bound of the path's kind of time, in ticks; None without one."""
        return None if self.times is None else self.times[KINDS.index(self.path.kind)]

    @property
    def slack(self) -> int | None:
        """Deadline minus bound in ticks; None without a deadline or a bound."""
        due, bound = self.path.deadline, self.bound
        return None if due is None or bound is None else due - bound

    @property
    def met(self) -> bool:
        """Whether the bound is within the deadline; True without a deadline."""
        due = self.path.deadline
        return due is None or (self.bound is not None and self.bound <= due)

    @property
    def share(self) -> Fraction | None:
        """The bound as a share of the deadline; None without one of them."""
        due, bound = self.path.deadline, self.bound
        return None if due is None or bound is None else Fraction(bound, due)

    def _text(self, ticks: int) -> str:
        return time_with_unit(ticks, self.tick)

    def line(self) -> str:
        """The bound and the deadline, in words."""
        name, due = clip(self.path.name, 60), self.path.deadline
        if self.bound is None:
            return f"{name}: no bound; {self.why_none}"
        if due is None:
            return f"{name}: {self.path.kind} of at most {self._text(self.bound)}"
        side = "of" if self.met else "for a deadline of"
        return f"{name}: {self.path.kind} of {self._text(self.bound)} {side} {self._text(due)}"

    def why(self) -> str:
        """Explain the bound: one part per leg, and what would change most."""
        if self.bound is None:
            return f"{self.line()}."
        kind, first, last = self.path.kind, self.legs[0], self.legs[-1]
        parts = []
        if kind == "reaction":
            parts.append(f"the next {clip(first.tasks[0], 40)} {self._text(first.period)} later")
        for i, leg in enumerate(self.legs):
            took = self._leg(leg)
            later = i > 0 and kind in ("latency", "reaction")
            if later and not self.is_timed:
                took = f"the next {clip(leg.tasks[0], 40)} {self._text(leg.period)} later, {took}"
            parts.append(took)
            if i + 1 < len(self.legs) and kind in ("age", "held age") and not self.is_timed:
                parts.append(f"its result is used for {self._text(leg.period)} more")
        if kind == "held age":
            parts.append(f"the next {clip(last.tasks[-1], 40)} {self._text(last.period)} later")
        text = f"{self.line()}: {'; '.join(parts)}."
        return f"{text} {advice}" if (advice := self._advice()) else text

    def _leg(self, leg: PathLeg) -> str:
        name = clip(leg.tasks[0], 40)
        if len(leg.tasks) > 1:
            name += f" to {clip(leg.tasks[-1], 40)}"
        total = leg.end - leg.earliest
        if leg.own < 0 or leg.own == total:
            return f"{name} {self._text(total)}"
        jitter = f", {self._text(leg.jitter)} jitter" if leg.jitter else ""
        waits = max(0, total - leg.own - leg.jitter)
        return (
            f"{name} {self._text(total)} ({self._text(leg.own)} own{jitter}, {self._text(waits)} "
            "waiting)"
        )

    def _advice(self) -> str:
        """The share of periods, and what a release in place of the longest reading saves."""
        assert self.bound is not None
        total = sum(leg.end - leg.earliest for leg in self.legs)
        periods = self.bound - total
        if periods <= 0 or len(self.legs) == 1 or self.is_timed:
            return ""
        text = f"{self._text(periods)} of {self._text(self.bound)} are periods"
        forward = self.path.kind in ("latency", "reaction")
        saved = [
            (self.legs[i + 1] if forward else self.legs[i]).period
            for i in range(len(self.legs) - 1)
        ]
        i = saved.index(max(saved))
        before, behind = self.legs[i].tasks[-1], self.legs[i + 1].tasks[0]
        return (
            f"{text}; if {clip(before, 40)} released {clip(behind, 40)}, "
            f"{self._text(saved[i])} of them would go, and other waits might grow."
        )


def legs_of(path: Path, workload: Workload) -> list[list[Task]]:
    """The tasks of a path, apart where one reads the one before it."""
    legs = [[workload[path.tasks[0]]]]
    for name in path.tasks[1:]:
        task = workload[name]
        if legs[-1][-1].name in task.after:
            legs[-1].append(task)
        else:
            legs.append([task])
    return legs


def is_timed(path: Path, workload: Workload) -> bool:
    """Whether the phases of a path's sources are given, and stay so.

    The period of a rate that is no whole number of ticks is rounded, so that its phase drifts.
    """
    if path.phases != "given":
        return False
    source = sources_of(workload.tasks)
    return not any(workload[source[name]]._is_rounded for name in path.tasks)


def path_answers(
    workload: Workload, ends: Ends, alone: Sequence[int] | None, label: str
) -> tuple[PathAnswer, ...]:
    """The bounds of all paths, from latest ends of tasks.

    ``alone``: what a job of each task takes alone, if that is known; ``label``: that of the test.
    """
    source = sources_of(workload.tasks) if workload.paths else {}
    found = []
    for path in workload.paths:
        missing = [name for name in path.tasks if ends.end[workload.index(name)] < 0]
        if missing:
            why = f"{label} bounds no response of {clip(missing[0], 60)}"
            found.append(PathAnswer(path, (), None, why, workload.tick_ns))
            continue
        legs = []
        for tasks in legs_of(path, workload):
            first, last = workload.index(tasks[0].name), workload.index(tasks[-1].name)
            timed = workload[source[tasks[0].name]]
            own = [-1 if alone is None else alone[workload.index(task.name)] for task in tasks]
            legs.append(
                PathLeg(
                    tasks=tuple(task.name for task in tasks),
                    period=timed._longest(tasks[-1].period // timed.period),
                    earliest=int(ends.earliest[first]),
                    end=int(ends.end[last]),
                    jitter=0 if tasks[0].after else timed.jitter,
                    own=-1 if min(own) < 0 else sum(own),
                    offset=timed.offset,
                )
            )
        given = is_timed(path, workload)
        times = path_bounds(
            [leg.period for leg in legs],
            [leg.end for leg in legs],
            [leg.earliest for leg in legs],
            [leg.offset for leg in legs] if given else None,
        )
        found.append(PathAnswer(path, tuple(legs), times, "", workload.tick_ns, given))
    return tuple(found)


def waiting_of(workload: Workload, ends: Ends) -> dict[str, tuple[int, str]]:
    """Per task that others release with a bound: results that wait at most, and of which task."""
    found: dict[str, tuple[int, str]] = {}
    for i, task in enumerate(workload):
        if not task.after or ends.end[i] < 0:
            continue
        for name in task.after:
            before = workload[name]
            most = waiting_results(
                int(ends.end[i]),
                task.best,
                int(ends.earliest[workload.index(name)]) + before.best,
                task.period,
            )
            if most > found.get(task.name, (0, ""))[0]:
                found[task.name] = (most, name)
    return found
