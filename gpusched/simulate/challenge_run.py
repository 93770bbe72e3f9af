"""Search for a late job of tasks on CPUs and a GPU (``gs.simulate.challenge``), its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import (
    Int64Array,
    flag,
    frozen,
    instance,
    position,
    seed_key,
    set_number,
)
from gpusched._support.budget import Budget, as_budget, share_of, within_seconds
from gpusched._support.registry import enumeration
from gpusched._support.results import Frozen, Results, Saved
from gpusched._support.tabular import Tabular
from gpusched._support.text import escape, named, plural
from gpusched.model.host_tasks import HostTasks
from gpusched.simulate import run_results
from gpusched.simulate.host_run import HostModel, host, host_model
from gpusched.simulate.run_results import Table
from gpusched.ways.old_values import OldSharing, way_of_old
from gpusched.ways.way import Way, placed_way

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from gpusched.model.answer import Flags
    from gpusched.simulate.host_result import HostRun


CLAIMS = ("unknown", "accepted", "counterexample")
"""Answers of a challenge, in the order of their numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class LateJobs(Table):
    """Jobs of counterexamples, ordered by set, task and release: read-only arrays.

    >>> jobs = [[2, (1, 7, 1), 2], [3, (1, 12, 1), 3]]
    >>> hosts = gs.HostTasks.from_segments([24, 30], jobs, core=[0, 1])
    >>> late = gs.analysis.mpcp(hosts).challenge().late
    >>> type(late).__name__, len(late.task) == len(late.release)
    ('LateJobs', True)

    Attributes
    ----------
    set, task
        Indices of the set (0 for a single one) and of the task, (jobs,).
    release
        Release times in ticks, (jobs,).
    times
        Execution times in ticks, (jobs, 4 w + 1), of CPU segment, copy in, kernel, copy out, CPU
        segment, ...; w is the largest number of GPU segments.
    """

    _KIND: ClassVar[str] = "LateJobs"

    set: Int64Array
    task: Int64Array
    release: Int64Array
    times: Int64Array

    def _table(self) -> dict[str, Any]:
        columns: dict[str, Any] = {name: getattr(self, name) for name in ("set", "task", "release")}
        for part in range(self.times.shape[1]):
            word = ("cpu", "copy_in", "kernel", "copy_out")[part % 4]
            columns[f"{word}_{part // 4}"] = self.times[:, part]
        return columns


@dataclass(frozen=True, eq=False, repr=False)
class Challenge(Tabular, Saved, Frozen):
    """Answer of a search for a late job, for one set of n tasks or for each set of a stack of N.

    >>> hosts = gs.HostTasks.from_segments([7, 9], [[2, (0, 2, 0), 1], [4]], core=[0, 0])
    >>> found = gs.analysis.mpcp(hosts).challenge()
    >>> found.claim, found.by, found.explored
    ('unknown', 'exploration', True)
    >>> found.why()
    'No integer schedule is late: all were visited. At times between ticks a job may be late.'

    Attributes
    ----------
    hosts, cpus, way, sms
        The tasks, the platform and the way of sharing the GPU, as ``gs.simulate.host`` takes them.
    claim
        "accepted": no job is ever late, as the test accepts the set. "counterexample": a schedule
        with a late job was found. "unknown": neither was shown; this includes sets of which all
        integer schedules were visited (``explored``), since releases and execution times between
        ticks can make a job late. A str, or an array of str (N,).
    by
        Source of the answer: "test" (the test accepts the set), "exploration" (of all integer
        schedules), "search", or "" after a search that found nothing. A str, or (N,).
    jobs, runs, states
        Numbers of simulated jobs, of simulations, and of transitions of an exploration: ints, or
        (N,).
    worst
        Largest observed response of each task, (n,) or (N, n); after an exploration without a
        counterexample, it is the maximum over all integer schedules.
    victim
        Index of the task whose requests are ordered last in the counterexample, -1 for none: an
        int, or (N,).
    late
        Releases and execution times of the counterexamples, as ``LateJobs``.
    reason
        The budget that ended the search, "states" or "seconds", or "": a str, or (N,).
    """

    _KIND: ClassVar[str] = "Challenge"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (HostTasks, Way, OldSharing, LateJobs)

    hosts: HostTasks
    cpus: int
    way: Way
    sms: int
    claim: Any
    by: Any
    jobs: Any
    runs: Any
    states: Any
    worst: Int64Array
    victim: Any
    late: LateJobs
    reason: Any

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Self:
        return cls(**way_of_old(values, "protocol"))

    @property
    def is_stack(self) -> bool:
        """Whether this is an answer for a stack of sets."""
        return self.hosts.is_stack

    def __len__(self) -> int:
        """Number of sets of a stack, or number of tasks of a single set."""
        return len(self.claim) if self.is_stack else self.hosts.n

    def _is(self, word: str) -> Flags:
        return np.asarray(self.claim) == word if self.is_stack else bool(self.claim == word)

    @property
    def accepted(self) -> Flags:
        """Whether no job is ever late: a bool, or bool ``(N,)``."""
        return self._is("accepted")

    @property
    def rejected(self) -> Flags:
        """Whether a counterexample was found: a bool, or bool ``(N,)``."""
        return self._is("counterexample")

    @property
    def undecided(self) -> Flags:
        """Whether neither was shown: a bool, or bool ``(N,)``."""
        return self._is("unknown")

    @property
    def explored(self) -> Flags:
        """Whether all integer schedules were visited and none is late: bool, or bool ``(N,)``."""
        by = np.asarray(self.by) == "exploration"
        return by & self.undecided if self.is_stack else bool(by) and bool(self.undecided)

    @property
    def schedulable(self) -> Flags:
        """True, False, or None if undecided; for a stack, the bool array ``accepted``."""
        if self.is_stack:
            return self.accepted
        return True if self.accepted else False if self.rejected else None

    def __getitem__(self, index: Any) -> Self:
        """Return the answer for one set of a stack.

        Raises
        ------
        IndexError
            The set does not exist.
        TypeError
            The answer is for a single set.
        """
        if not self.is_stack:
            raise TypeError("challenge: got an index for a single set, expected a stack")
        at = position(index, len(self), "sets")
        changed = {f.name: self._part(getattr(self, f.name), at) for f in fields(self)}
        changed["hosts"] = self.hosts[at]
        changed["worst"] = np.array(self.worst[at, : changed["hosts"].n])
        return type(self)(**changed)

    def __iter__(self) -> Iterator[Self]:
        """Iterate over the answers for the sets of a stack."""
        return (self[i] for i in range(len(self)))

    def _part(self, value: Any, at: int) -> Any:
        if isinstance(value, np.ndarray):
            return value[at].item() if value.ndim == 1 else value
        if isinstance(value, Way):
            return value._sets(at) if value.is_stack else value
        if isinstance(value, LateJobs):
            mine = value.set == at
            return LateJobs(
                np.zeros(int(mine.sum()), np.int64),
                *(getattr(value, name)[mine] for name in ("task", "release", "times")),
            )
        return value

    # The counterexample

    def _one(self) -> None:
        if self.is_stack:
            raise ValueError(f"challenge: got a stack of {len(self)} sets, expected one, as by [0]")
        if not self.rejected:
            raise ValueError(f"challenge: got the claim {self.claim!r}, expected a counterexample")

    @property
    def releases(self) -> tuple[Int64Array, ...]:
        """Releases of the counterexample of a single set: one row per task."""
        self._one()
        rows = (self.late.release[self.late.task == i] for i in range(self.hosts.n))
        return tuple(frozen(row) for row in rows)

    @property
    def times(self) -> tuple[Int64Array, ...]:
        """Execution times of the counterexample of a single set: (jobs, parts) per task."""
        self._one()
        parts = (4 * self.hosts.segments + 1).tolist()
        rows = (self.late.times[self.late.task == i, : parts[i]] for i in range(self.hosts.n))
        return tuple(frozen(np.ascontiguousarray(row)) for row in rows)

    def run(self, *, intervals: bool = True) -> HostRun:
        """Simulate the counterexample again with ``gs.simulate.host``; at least one job is late.

        Raises
        ------
        ValueError
            The answer is for a stack, or has no counterexample.
        """
        self._one()
        return host(
            self.hosts,
            self.cpus,
            self.way,
            releases=self.releases,
            execution=self.times,
            sms=self.sms,
            victim=self.victim if self.victim >= 0 else None,
            intervals=intervals,
        )

    def why(self, task: int | str | None = None) -> str:
        """Explain the answer; for a counterexample, tell what the late job waited for.

        ``task``: index or name of a task, to explain its job with the largest response. Raises
        IndexError and ValueError for a task that does not exist and for a task of a stack.
        """
        if self.is_stack:
            if task is not None:
                raise ValueError("task: got a task of a stack, expected None; index the answer")
            return f"{self._counts()}; answer[i].why() explains set i."
        if self.rejected:
            run = self.run()
            number, row = run_results.worst_job(run, task)
            return run.why(number, job=int(run.job[row])) if row is not None else run.why(number)
        if self.accepted:
            return "No job is ever late: the test accepts the set."
        if self.explored:
            return (
                "No integer schedule is late: all were visited. "
                "At times between ticks a job may be late."
            )
        ended = f" before its budget ({self.reason}) was spent" if self.reason else ""
        most = int(np.argmax(self.worst / self.hosts.deadline))
        return (
            f"No late job was found in {plural(self.jobs, 'simulated job')}{ended}; "
            f"{named(self.hosts.name[most])} came closest, with a response of {self.worst[most]} "
            f"for a deadline of {self.hosts.deadline[most]}."
        )

    def _counts(self) -> str:
        numbers = [(int(np.sum(self.claim == word)), word) for word in ("accepted", "unknown")]
        late = int(np.sum(self.rejected))
        return (
            f"{plural(len(self), 'set')}: {numbers[0][0]} accepted, {late} with a counterexample, "
            f"{numbers[1][0]} unknown"
        )

    def plot(self, ax: Axes | None = None, **window: Any) -> Axes:
        """Draw the counterexample; the arguments are those of ``HostRun.plot``.

        Raises ValueError for a stack and for an answer without a counterexample.
        """
        return self.run().plot(ax, **window)

    def _repr_svg_(self) -> str | None:
        return self.run()._repr_svg_() if not self.is_stack and self.rejected else None

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per job of the counterexamples."""
        return self.late.to_frame()

    def _table(self) -> dict[str, Any]:
        return self.late._table()

    def __repr__(self) -> str:
        form = f"{self.way.name}, {self.way.given.get('mode', 'suspend')}"
        if self.is_stack:
            return f"<Challenge: {self._counts()} ({form})>"
        by = f" by {self.by}" if self.by else ""
        size = f"{plural(self.hosts.n, 'task')} on {plural(self.cpus, 'core')}"
        return f"<Challenge: {self.claim}{by} ({form}; {size})>"

    def _repr_html_(self) -> str:
        picture = self._repr_svg_() or ""
        if self.is_stack:
            columns: Mapping[str, Any] = {
                name: getattr(self, name) for name in ("claim", "by", "jobs", "states")
            }
            picture = Results(dict(columns))._repr_html_()
        return f"<p>{escape(repr(self)[1:-1])}</p><p>{escape(self.why())}</p>{picture}"


_REASONS = ("", *enumeration("core.status")[1:4])
_JOBS = 1_000_000  # simulated unless a budget says otherwise
# Sets that are explored by default: this takes seconds.
_TINY_TASKS, _TINY_PERIOD = 4, 32


def challenge(
    hosts: HostTasks,
    cpus: int,
    way: Way | str,
    *,
    sms: int | None = None,
    budget: Budget | None = None,
    seed: Any = 0,
    first: int = 0,
    exhaustive: bool | None = None,
    accepted: npt.ArrayLike | None = None,
    stop: Any = None,
) -> Challenge:
    """Search for a schedule with a late job; for a verdict, use ``verdict.challenge``.

    The directed search simulates patterns that are bad for one task after the other (simultaneous
    releases, requests just before those of the task, jobs that end late before jobs that come
    early, sporadic gaps, shorter execution times), and improves the worst of them by hill climbing,
    until a job is late or the budget is used up. A late job is a counterexample, which
    ``Challenge.run`` simulates again. If none is found, nothing is claimed.

    Small sets can be explored exhaustively instead. The exploration covers all schedules with
    integer times: releases of a task are any number of ticks apart, but at least its period; every
    part of a job takes any whole number of ticks from 1 to its worst case, independently for each
    job. Events at the same time follow the rules of ``gs.simulate.host``, for each choice of one
    task (or none) whose requests are always ordered after simultaneous requests of other tasks.
    (The choice is fixed within a schedule, and is omitted if the order of requests has no effect.)
    Neither the number of jobs nor the length of a schedule is limited, because no state is visited
    twice. If no job is late, no integer schedule is, and ``worst`` has the largest responses of
    integer schedules. This proves nothing for real times: with releases or execution times between
    ticks a job can be late all the same. The claim is then "unknown", by "exploration".

    >>> hosts = gs.HostTasks.from_segments(
    ...     [10, 11], [[1, (1, 2, 0), 1], [2, (1, 2, 1), 0]], core=[0, 1])
    >>> found = gs.simulate.challenge(hosts, 2, "fmlp_plus")
    >>> found.claim, found.by, found.worst.tolist()
    ('unknown', 'exploration', [9, 9])

    Parameters
    ----------
    hosts
        One set or a stack, with cores, deadlines no longer than periods, and distinct priorities.
        The sets of a stack are searched one after the other.
    cpus, sms
        As in ``gs.simulate.host``.
    way
        A way of sharing the GPU with a test of tasks with cores: ``Stgm``, ``Mpcp``, ``FmlpPlus``,
        ``GpuServer``, ``TimeSlices`` or ``Gcaps`` of ``gs.ways``, as in ``gs.simulate.host``, or
        its name; the core of a server may be (N,), GPU priorities (N, n).
    budget
        A ``gs.Budget`` for the whole call, whose ``states`` limit the simulated jobs, or the
        transitions of the exploration, of each set. Default: 1,000,000 states and 2 GiB. Each set
        gets an equal part of the seconds that are left; with them, the answer depends on the
        machine.
    seed, first
        Random numbers of set i depend only on the seed and on ``first + i``.
    exhaustive
        None: explore sets of at most 4 tasks with periods of at most 32 ticks, and search the
        others and those for which the budget does not suffice. True: explore all sets (at most 8
        tasks and times of 250 ticks). False: search all sets.
    accepted
        Sets that are known to be schedulable, which are skipped: a bool, or bool (N,).
    stop
        Writable buffer of one byte, such as ``bytearray(1)``. The call ends when another thread
        sets the byte to 1.

    Returns
    -------
    Challenge
        Its claim is "counterexample", "unknown", or, for sets of ``accepted``, "accepted".

    Raises
    ------
    ValueError
        A task has no core (with "stgm", no SM), a deadline exceeds its period, priorities are
        equal, options cannot be combined, or a set is too large for ``exhaustive=True``.
    OverflowError
        A period is 2**56 ticks or more.
    gpusched.Cancelled
        ``stop`` was set.

    Assumptions
    -----------
    Those of ``gs.simulate.host`` with partitioned priorities.
    """
    instance(hosts, HostTasks, "hosts")
    way = placed_way(way)
    explore = None if exhaustive is None else flag(exhaustive, "exhaustive")
    limits, key = as_budget(budget), seed_key(seed)
    number = set_number(first, "first")
    stop = within_seconds(stop, limits.seconds)
    sets = len(hosts) if hosts.is_stack else 1
    known = np.zeros(sets, np.bool_)
    if accepted is not None:
        known = np.broadcast_to(np.asarray(accepted, np.bool_), (sets,))
    model = host_model(hosts, cpus, way, sms, 1.0, 0, None, sets)
    found = [
        _Found("accepted", "test", None, np.zeros(0, np.int64))
        if known[i]
        else _challenge(model, hosts, i, explore, limits, key, number + i, share_of(stop, sets - i))
        for i in range(sets)
    ]
    return _answer(hosts, int(cpus), model, found)


class _Found(NamedTuple):
    """Answer for one set; ``example``: begins, releases, times, victim, an instant."""

    claim: str
    by: str
    example: tuple[Any, ...] | None
    worst: Int64Array
    jobs: int = 0
    runs: int = 0
    states: int = 0
    reason: str = ""


def _challenge(
    model: HostModel,
    hosts: HostTasks,
    at: int,
    exhaustive: bool | None,
    limits: Budget,
    key: npt.NDArray[np.uint64],
    index: int,
    stop: Any,
) -> _Found:
    """Explore or search set ``at``."""
    one = hosts[at] if hosts.is_stack else hosts
    tiny = one.n <= _TINY_TASKS and int(one.period.max(initial=0)) <= _TINY_PERIOD
    explored = None
    if exhaustive or (exhaustive is None and tiny):
        first = stop if exhaustive else share_of(stop, 2)
        explored = _call(model, one, at, True, limits, key, index, first)
        if exhaustive or explored.by:
            return explored
    found = _call(model, one, at, False, limits, key, index, stop)
    return found if explored is None else found._replace(states=explored.states)


def _call(
    model: HostModel,
    one: HostTasks,
    at: int,
    explore: bool,
    limits: Budget,
    key: npt.NDArray[np.uint64],
    index: int,
    stop: Any,
) -> _Found:
    given = model.arguments
    priority = given.get("gpu_priority")
    status, example, worst, jobs, runs, states = _core.host_challenge(
        one._columns(),
        given["core"][at : at + 1, : one.n],
        None if given["sm"] is None else np.ascontiguousarray(given["sm"][at : at + 1, : one.n]),
        given["server"][at : at + 1],
        explore=explore,
        **{name: given[name] for name in ("cpus", "sms", "way", "mode", "overhead")},
        **{name: given[name] for name in ("slice", "switch", "ring", "stall") if name in given},
        gpu_priority=None if priority is None else priority[at : at + 1, : one.n],
        key=key,
        index=index,
        states=limits.states or _JOBS,
        bytes=limits.bytes or 0,
        seconds=limits.seconds or 0.0,
        stop=stop,
    )
    claim = "counterexample" if example else "unknown"
    by = "exploration" if explore and not status else "search" if example else ""
    return _Found(claim, by, example, worst, jobs, runs, states, _REASONS[status])


def _answer(
    hosts: HostTasks,
    cpus: int,
    model: HostModel,
    found: list[_Found],
) -> Challenge:
    worst = np.zeros((len(found), hosts.n), np.int64)
    for row, one in zip(worst, found, strict=True):
        row[: len(one.worst)] = one.worst
    columns = {
        name: [getattr(one, name) for one in found]
        for name in ("claim", "by", "jobs", "runs", "states", "reason")
    }
    columns["victim"] = [one.example[3] if one.example else -1 for one in found]
    single = not hosts.is_stack
    return Challenge(
        hosts=hosts,
        cpus=cpus,
        way=model.way,
        sms=model.sms,
        worst=worst[0] if single else worst,
        late=_late_jobs(hosts, found),
        **{name: values[0] if single else np.array(values) for name, values in columns.items()},
    )


def _late_jobs(hosts: HostTasks, found: list[_Found]) -> LateJobs:
    width = 4 * hosts.copy_in.shape[-1] + 1
    columns: list[list[Int64Array]] = [[], [], [], []]
    for i, one in enumerate(found):
        if one.example is None:
            continue
        begin, release, times = one.example[:3]
        padded = np.zeros((len(release), width), np.int64)
        padded[:, : times.shape[1]] = times
        task = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
        for column, part in zip(
            columns, (np.full(len(release), i), task, release, padded), strict=True
        ):
            column.append(part)
    empty = (*([np.zeros(0, np.int64)] * 3), np.zeros((0, width), np.int64))
    return LateJobs(
        *(np.concatenate([none, *column]) for none, column in zip(empty, columns, strict=True))
    )
