"""Answer of the tests for task sets with CPU and GPU segments under partitioned priorities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration, methods
from gpusched._support.results import Saved
from gpusched._support.text import clip, plural
from gpusched.model.answer import Answer, Claim, Flags, Ticks, missing
from gpusched.model.host_tasks import HostTasks
from gpusched.model.workload.time_units import time_in_text
from gpusched.ways.old_values import OldSharing, way_of_old
from gpusched.ways.way import Way

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched._support.budget import Budget
    from gpusched.simulate.challenge_run import Challenge

__all__ = ["TERMS", "Terms", "Verdict"]

TERMS = enumeration("analysis.term")
"""Parts of a response time: the task's own segments (and the overhead of its requests); waiting for
the copy engine (B^m in [RTCSA19]), for SMs (B^e), and for the lock, the server or other contexts;
GPU segments of lower-priority tasks on its core (B^l), or their updates with GCAPS; the server's
work on its core; higher-priority tasks on its core."""

_TERM = {
    "own": "its own segments",
    "copy": "waiting for the copy engine",
    "kernel": "waiting for kernels on its SMs",
    "request": "waiting for its turn on the GPU",
    "lower": "GPU segments of less urgent tasks on its core",
    "server": "the GPU server on its core",
    "higher": "more urgent tasks on its core",
    "release": "jitter of its release",
}

_LOWER_GCAPS = "updates by less urgent tasks on its core"

_COLORS = {
    **{"own": 0, "copy": 4, "kernel": 1, "request": 3, "lower": 5, "server": 7, "higher": 2},
    "release": 6,
}


class Terms(Mapping[str, Int64Array]):
    """The terms of an answer: parts of one array, whose first axis is that of ``TERMS``."""

    __slots__ = ("_array",)

    def __init__(self, array: Int64Array) -> None:
        self._array = array

    def __getitem__(self, name: str) -> Int64Array:
        part: Int64Array = self._array[_NUMBER[name]]
        return part

    def __iter__(self) -> Iterator[str]:
        return iter(TERMS)

    def __len__(self) -> int:
        return len(TERMS)

    def __repr__(self) -> str:
        return repr(dict(self))


_NUMBER = {name: number for number, name in enumerate(TERMS)}

_RELEASES = "Releases of a task are at least a period apart"
_DELAYED = (
    "Arrivals of a task, from which deadlines count, are at least a period apart, releases at most "
    "its jitter later"
)
_COMMON = (
    "Tasks run on their assigned cores by fixed preemptive priorities, without further overhead.",
)
_MODE: dict[tuple[str | None, str], str] = {
    (
        "divided",
        "suspend",
    ): "A task is suspended while it waits for the copy engine, its SMs or its "
    "kernel; copies occupy its core at boosted priority (more urgent than all CPU segments).",
    ("divided", "busy"): "A task keeps its core, not preempted, during its GPU segments.",
    ("lock", "suspend"): "Tasks are suspended while they wait for the lock and during kernels; the "
    "lock's holder is boosted (more urgent than all tasks without the lock).",
    (
        "lock",
        "busy",
    ): "Tasks are suspended while they wait for the lock, and the holder keeps its core.",
    ("contexts", "suspend"): "A task leaves its core while it waits for the GPU and during its "
    "kernels; copies are CPU work at its own priority.",
    ("contexts", "busy"): "A task spins at its own priority while it waits for the GPU and during "
    "its kernels, and can be preempted; copies are CPU work.",
    ("lock", "spin"): "Tasks spin at their own priority while they wait for the lock; the holder "
    "keeps its core.",
}
_UNSOUND = {
    "paper": "The printed equations hold; counterexamples are known.",
    "paper, B_h": "The printed equations hold with B_h; counterexamples are known.",
    "gcaps": "The bound of the public GCAPS code holds; in mode 'suspend' counterexamples are "
    "known.",
}


@dataclass(frozen=True, eq=False, repr=False)
class Verdict(Answer):
    """Answer of a partitioned test for one set of n tasks, or for a stack of N sets.

    The answer is a claim about the whole set. If every response bound is within its deadline, the
    set is accepted, and no job of any task has a longer response. Otherwise the set is undecided
    and nothing is claimed about any of its tasks, because a late job may delay all others. These
    tests are sufficient: they reject no set.

    >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5]], core=[0, 0])
    >>> answer = gs.analysis.mpcp(hosts)
    >>> answer.schedulable, answer.response.tolist(), answer.slack.tolist()
    (True, [13, 12], [47, 68])
    >>> answer.why(1)
    'task 1: response at most 12, 68 before its deadline of 80: 7 more urgent tasks on its core, 5 \
its own segments.'

    Attributes
    ----------
    hosts
        The tasks; for an allocator, with the cores and SMs that it chose.
    way
        The way of sharing the GPU, with the parameters and options of the test (`gs.ways.Way`).
    cpus, sms
        Numbers of cores and of SMs.
    accepted
        Whether every response bound is within its deadline: a bool, or bool ``(N,)``.
    terms
        A dict from ``TERMS`` to int64 arrays of the shape of ``response``, which add up to it. For
        the task `failed`, they are the delays that can occur until its deadline, which exceed it;
        for tasks that were not examined they are 0.
    rounds
        For an allocator, the number of times it assigned SMs; None for a test.
    spent
        Whether an exhaustive search ended because its budget was used up: a bool, or bool ``(N,)``.
        If it is False and the set is not accepted, no allocation passes the test.
    seconds
        Wall-clock time of the call.
    """

    _KIND: ClassVar[str] = "Verdict"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (HostTasks, Way, OldSharing)

    hosts: HostTasks
    way: Way
    cpus: int
    sms: int
    accepted: Flags
    terms: Mapping[str, Int64Array]
    rounds: Ticks | None
    spent: Flags
    _computed: Int64Array = field(repr=False)  # -1: the failed task and those not examined
    _failed: Ticks = field(repr=False)  # -1: none
    seconds: float = field(default=0.0, compare=False)

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Self:
        return cls(**way_of_old(values, "test"))

    @property
    def _tasks(self) -> HostTasks:
        return self.hosts

    @property
    def test(self) -> str:
        """Name of the test."""
        return self.way.name

    @property
    def variant(self) -> str:
        """Variant of the test: "sound", or a printed one."""
        return self.way.given.get("variant", "sound")  # type: ignore[no-any-return]

    @property
    def server(self) -> Ticks | None:
        """Core of the GPU server, equal to ``cpus`` if it has its own core; None without one."""
        return self.way.given.get("server")

    @property
    def mode(self) -> str:
        """Behaviour of tasks on their CPU while the GPU works: "suspend", "busy" or "spin"."""
        return self.way.given.get("mode", "suspend")  # type: ignore[no-any-return]

    @property
    def claim(self) -> Claim:
        """ "sufficient": a set that is not accepted is undecided."""
        return "sufficient"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Conditions under which the answer holds, one sentence each."""
        kind = self.test if self.server is not None else self.way.family
        releases = _DELAYED if self.hosts.jitter.any() else _RELEASES
        said = f"{releases}, and segments take at most their given times."
        found = [said, *_COMMON, methods()[self.test].summary]
        if (kind, self.mode) in _MODE:
            found.append(_MODE[kind, self.mode])
        if self.variant in _UNSOUND:
            found.append(_UNSOUND[self.variant])
        if self.way.divided and self.hosts.columns == 1 and self.sms > 1:
            if self.hosts.segments.any():
                found.append("The one time given for each kernel is that on its task's SMs.")
        return tuple(found)

    @property
    def rejected(self) -> Flags:
        """False for every set, because the tests are sufficient: a bool, or bool ``(N,)``."""
        return np.zeros(len(self), np.bool_) if self.is_stack else False

    @property
    def bounded(self) -> npt.NDArray[np.bool_]:
        """Whether ``response`` bounds the responses of each task: bool ``(n,)`` or ``(N, n)``. True
        for all tasks of an accepted set and for no others. (A set that is accepted only by an
        unsafe line of `stgm_allocate` has tasks without a bound.)"""
        return np.asarray(self.accepted, np.bool_)[..., None] & (self._computed >= 0)

    @property
    def failed(self) -> Any:  # an int, None or a masked array, as is_stack says
        """The highest-priority task whose bound exceeds its deadline (if all bounds are found
        together, the first one to exceed it): an int, or None; for a stack an int64 array ``(N,)``,
        masked if there is none."""
        if self.is_stack:
            return missing(self._failed, np.asarray(self._failed) >= 0)
        return None if self._failed < 0 else self._failed

    def challenge(
        self,
        budget: Budget | None = None,
        *,
        seed: Any = 0,
        first: int = 0,
        exhaustive: bool | None = None,
        ring: Literal["fifo", "cyclic"] = "fifo",
        stop: Any = None,
    ) -> Challenge:
        """Search for a schedule with a late job, for sets that the test does not accept.

        A sufficient test leaves sets undecided, some of which are schedulable. The search is that
        of ``gs.simulate.challenge``; see there for its coverage and its arguments. It is a directed
        search, or for very small sets an exploration of all integer schedules, which shows that no
        job is late in integer time, and nothing of times between ticks. Accepted sets are not
        searched, unless the variant of the test is unsound.

        >>> hosts = gs.HostTasks.from_segments(
        ...     [9, 9], [[2, (1, 3, 1), 1], [2, (1, 2, 1), 2]], core=[0, 1])
        >>> verdict = gs.analysis.mpcp(hosts)
        >>> verdict.schedulable, verdict.challenge().claim
        (None, 'counterexample')

        Parameters
        ----------
        budget, seed, first, exhaustive, stop
            As in ``gs.simulate.challenge``.
        ring
            Order of turns that is simulated for the test "time_slices", which holds for both.

        Returns
        -------
        gpusched.simulate.Challenge
            For the same set or stack: "accepted", "counterexample" or "unknown".

        Raises
        ------
        The errors of ``gs.simulate.challenge``; ValueError also for a set without cores, for
        example from an allocator that found no allocation.
        """
        from gpusched.simulate.challenge_run import challenge

        way = self.way.replace(ring=ring) if self.test == "time_slices" else self.way
        return challenge(
            self.hosts,
            self.cpus,
            way,
            sms=max(self.sms, 1, self.hosts.sms if self.way.divided else 1),
            budget=budget,
            seed=seed,
            first=first,
            exhaustive=exhaustive,
            accepted=self.accepted if self.variant == "sound" else None,
            stop=stop,
        )

    def _responses(self) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
        return self._computed, self._computed >= 0

    def _reason(self) -> str:
        if self.accepted and self._failed >= 0:
            failed = self._reason_of(int(self._failed))
            return f"The algorithm as printed accepts the set, the test does not: {failed}"
        if self.accepted:
            if not self.hosts.n:
                return "There are no tasks."
            return f"Every response bound is within its deadline; {self._tightest()}."
        if self.spent:
            return "The budget was spent before all allocations were tried."
        if self._failed < 0:
            return "No allocation passes the test."
        return self._reason_of(int(self._failed))

    def _reason_of(self, i: int) -> str:
        parts = {name: int(self.terms[name][i]) for name in TERMS}
        named = ", ".join(
            f"{time_in_text(value)} {self._term(name)}" for name, value in _largest(parts)
        )
        if i != self._failed:
            text = super()._reason_of(i)
            if self._computed[i] < 0 and self.way.family == "contexts":
                return f"{self._name(i)}: no bound, as the set is not accepted."
            if self._computed[i] < 0:
                return f"{self._name(i)}: not examined."
            return f"{text[:-1]}: {named}." if named else text
        total, deadline = sum(parts.values()), int(self.hosts.deadline[i])
        extra = {name: value for name, value in parts.items() if name != "own"}
        most = max(extra, key=lambda name: extra[name])
        first = (
            f"{self._name(i)} may miss its deadline of {time_in_text(deadline)}: "
            f"its response bound comes to {time_in_text(total)} or more, {named}."
        )
        if parts["own"] > deadline:
            return f"{first} Its own segments alone take longer."
        if extra[most] >= total - deadline:
            return f"{first} Without {self._term(most)} it would be in time."
        return first

    def _term(self, name: str) -> str:
        return _LOWER_GCAPS if (self.test, name) == ("gcaps", "lower") else _TERM[name]

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        hosts = self.hosts
        analysed = self.terms["own"] > 0
        return {
            "priority": hosts.priority,
            "core": missing(hosts.core, hosts.core >= 0),
            **super()._columns(),
            **{name: missing(self.terms[name], analysed) for name in TERMS},
        }

    def plot(self, ax: Axes | None = None, *, unit: str | None = None) -> Axes:
        """Draw the parts of each response bound, beside the task's deadline.

        There is one bar per task, ordered by priority from the top. The task that fails has a red
        deadline and a bar that exceeds it; tasks of lower priority were not examined and have no
        bar. For a stack, a bar chart of the accepted and undecided sets is drawn.

        Parameters
        ----------
        ax
            Matplotlib axes. Default: those of a new figure.
        unit
            Length of a tick: None, "ns", "us", "ms" or "s".

        Returns
        -------
        The axes.
        """
        if self.is_stack:
            return self._plot_counts(ax)
        parts = [(self._term(name), _COLORS[name], self.terms[name]) for name in TERMS]
        return self._plot_bars(ax, unit, parts, self._html_order(), self.failed, "not analysed")

    def _form(self) -> str:
        form = f"{self.test}, {self.mode}" + (
            "" if self.variant == "sound" else f", {self.variant}"
        )
        tasks = "" if self.is_stack else f"{plural(self.hosts.n, 'task')} on "
        return f"{form}; {tasks}{plural(self.cpus, 'core')}, {plural(self.sms, 'SM')}"

    def _html_columns(self) -> tuple[str, ...]:
        used = [name for name in TERMS if self.terms[name].any()]
        return ("core", *self._SHOWN, *used)

    def _html_order(self) -> Int64Array:
        return np.argsort(self.hosts.priority, kind="stable")

    def _label(self, i: int) -> str:
        core = int(self.hosts.core[i])
        return clip(self.hosts.name[i], 24) + (f", core {core}" if core >= 0 else "")


def _largest(parts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(((k, v) for k, v in parts.items() if v > 0), key=lambda item: -item[1])
