"""Search for a late job of tasks on CPUs and a GPU (``gs.simulate.challenge``)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array, flag, instance, seed_key, set_number
from gpusched._support.budget import Budget, as_budget, share_of, within_seconds
from gpusched._support.registry import enumeration
from gpusched.model.host_tasks import HostTasks
from gpusched.simulate.arguments.host_arguments import HostModel, host_model
from gpusched.simulate.challenge_result import Challenge, LateJobs
from gpusched.ways.way import Way, placed_way

__all__ = ["challenge"]

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
