"""Bounded tardiness under global EDF, with the GPU behind a lock or in a container [RTNS10]."""

from __future__ import annotations

import math
from dataclasses import fields
from fractions import Fraction
from time import perf_counter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import (
    Int64Array,
    at_least,
    flag,
    frozen,
    instance,
    int_array,
    integer,
    one_of,
    real,
)
from gpusched._support.text import shown
from gpusched.analysis.global_edf_verdict import FIT, GEDF_BOUNDS, LOCKS, GedfVerdict
from gpusched.model.host_segments import sum_segments
from gpusched.model.host_tasks import HostTasks, container_period

__all__ = [
    "GEDF_METHODS",
    "container",
    "cpu_only",
    "gedf_tardiness",
    "srm",
]

GEDF_METHODS = ("best", "devi_anderson", "compliant")
"""Choices of ``method``."""

_ALWAYS = ("alone", "uniprocessor")  # tried, whatever is chosen
# Bits for the core.
_TRIED = {
    method: sum(1 << GEDF_BOUNDS.index(bound) for bound in (*_ALWAYS, *bounds))
    for method, bounds in (
        ("best", ("devi_anderson", "compliant")),
        ("devi_anderson", ("devi_anderson",)),
        ("compliant", ("compliant",)),
    )
}
Method = Literal["best", "devi_anderson", "compliant"]
Variant = Literal["sound", "paper"]
SrmVariant = Literal["sound", "paper", "paper, once"]
SRM_VARIANTS: tuple[SrmVariant, ...] = ("sound", "paper", "paper, once")
"""Forms of the bound of OMLP, in the order of the core's numbers."""


def gedf_tardiness(
    hosts: HostTasks,
    cpus: int,
    *,
    blocking: npt.ArrayLike = 0,
    method: Method = "best",
    stop: Any = None,
) -> GedfVerdict:
    """Bound response times under global EDF, counting all of a job's time as execution.

    Sporadic tasks run on m CPUs. A job executes for e' = e + s + b, where e is its CPU time
    including copies, s the time of its kernels (on as many SMs as kernel times are given for) and b
    its blocking. Tardiness is bounded if e' <= p for every task and the utilization is at most m.

    - ``devi_anderson`` (Devi and Anderson, "Tardiness bounds under global EDF scheduling on a
      multiprocessor", 2008; implicit deadlines): response <= p + x + e', x = (sum of the L largest
      e' - least e') / (m - sum of the L - 1 largest u'), L = ceil(U) - 1;
    - ``compliant`` (Erickson, Devi and Baruah 2010, for any deadlines in the form of Erickson and
      Anderson 2012): response <= Y + e' + s - e' / m, with Y the deadline less the shortest one;
    - ``best``: the smallest of these for each task.

    With no more tasks than CPUs, no job waits (response <= e'); on one CPU with implicit deadlines
    no job is late. Which method gives the smallest bound differs from task to task; see
    ``GedfVerdict.method``.

    >>> hosts = gs.HostTasks([30, 30, 30], cpu=[20, 20, 20])
    >>> answer = gs.analysis.gedf_tardiness(hosts, cpus=2)
    >>> answer.schedulable, answer.tardiness.tolist()
    (True, [20, 20, 20])

    Parameters
    ----------
    hosts
        One set or a stack. Deadlines determine the EDF priorities.
    cpus
        Number of CPUs (m).
    blocking
        Blocking in ticks, one number or one per task.
    method
        One of ``GEDF_METHODS``.
    stop
        None, or a writable buffer of one byte; the call ends when another thread sets the byte
        to 1.

    Returns
    -------
    GedfVerdict
        Sufficient: accepted or undecided.

    Raises
    ------
    ValueError
        There is no CPU, blocking is negative, the method is unknown, or ``devi_anderson`` is chosen
        and a deadline differs from its period.
    OverflowError
        The sum of the times of the jobs exceeds 2**59 ticks.
    gpusched.Cancelled
        ``stop`` was set.
    """
    began = perf_counter()
    one_of(method, GEDF_METHODS, "method")
    m = _cpus(hosts, cpus)
    work = _cpu_time(hosts) + _kernels(hosts)
    wait = int_array(blocking, "blocking")
    at_least(wait, 0, "blocking")
    try:
        wait = np.broadcast_to(wait, work.shape)
    except ValueError:
        raise ValueError(
            f"blocking: got shape {wait.shape}, expected one that fits {work.shape}"
        ) from None
    wait = np.where(hosts.is_task, wait, 0)
    _implicit(hosts, method)
    if _most(wait) + _most(work) >= 2**62:
        raise OverflowError(f"blocking: got {_most(wait)}, expected jobs below 2**62 ticks with it")
    demand = work + wait
    found = _response(hosts, demand, m, method, stop)
    return _verdict(hosts, m, "gedf_tardiness", demand, wait, found, began)


def srm(
    hosts: HostTasks,
    cpus: int,
    *,
    lock: Literal["fmlp", "omlp", "best"] = "best",
    variant: SrmVariant = "sound",
    method: Method = "best",
    stop: Any = None,
) -> GedfVerdict:
    """Test the Shared Resource Method, with one lock for the GPU: [RTNS10], section 4.1.

    A job holds the lock during a GPU segment including copies (its critical section), and waits for
    it for at most b. Tardiness under global EDF is bounded if e + s + b <= p for every task and the
    sum of (e + s + b) / p is at most m (Ineqs. 3 and 4). CPU-only tasks do not wait.

    - ``fmlp``: b is one critical section of every other task that uses the GPU (Eq. 1);
    - ``omlp``: the same with at most m + 1 tasks that use the GPU. With more, b is the sum of the
      2m - 1 longest critical sections of other tasks, at most two of each task. Eq. 2 of the paper
      has 2 (m - 1), which is one too few: there are m holders while the request is in the priority
      queue, and m - 1 requests ahead of it in the FIFO queue. The paper does not say how many
      requests of one task count: up to two (``variant="paper"``) or one ("paper, once").

    A job with several GPU segments waits for each of them, and delays other jobs by its longest
    one.

    >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5, (2, 9, 1), 1]])
    >>> answer = gs.analysis.srm(hosts, cpus=2, lock="fmlp")
    >>> answer.schedulable, answer.blocking.tolist(), answer.response.tolist()
    (True, [12, 8], [25, 26])

    Parameters
    ----------
    hosts, cpus, method, stop
        As in `gedf_tardiness`.
    lock
        "fmlp", "omlp", or "best": for each set the lock with which it is accepted, or, if it is
        accepted with both, the one with the smaller maximum tardiness (``fmlp`` at a tie).
    variant
        "sound", or "paper" or "paper, once" for OMLP by Eq. 2 as printed, which is unsound.

    Returns
    -------
    GedfVerdict
        Sufficient: accepted or undecided.

    Raises
    ------
    The errors of `gedf_tardiness`.
    """
    began = perf_counter()
    one_of(lock, (*LOCKS, "best"), "lock")
    one_of(variant, SRM_VARIANTS, "variant")
    one_of(method, GEDF_METHODS, "method")
    m = _cpus(hosts, cpus)
    _implicit(hosts, method)
    work = _cpu_time(hosts) + _kernels(hosts)
    verdicts = []
    columns = hosts._columns()
    for code, name in enumerate(LOCKS):
        if lock not in (name, "best"):
            continue
        wait = _core.srm_blocking(
            columns,
            cpus=m,
            sms=max(1, hosts.columns),
            lock=code,
            paper=SRM_VARIANTS.index(variant),
            stop=stop,
        ).reshape(work.shape)
        demand = work + wait
        found = _response(hosts, demand, m, method, stop)
        verdicts.append(_verdict(hosts, m, "srm", demand, wait, found, began, lock=code))
    return verdicts[0] if len(verdicts) == 1 else _better(*verdicts)


def container(
    hosts: HostTasks,
    cpus: int,
    *,
    variant: Variant = "sound",
    server_period: npt.ArrayLike | None = None,
    whole_budget: bool = False,
    method: Method = "best",
    stop: Any = None,
) -> GedfVerdict:
    """Test the Container Method, with one server for all GPU tasks: [RTNS10], section 4.2.

    The bandwidth w of the container, the sum of (e + s) / p of its tasks, must not exceed 1
    (Ineq. 5), and the total utilization must not exceed m (Ineq. 6). The utilization of a CPU-only
    task must not exceed 1 either, which the paper does not state; ``variant="paper"`` omits this
    condition, and gives no bounds for such a set. Inside the container, jobs are served in the
    order of their releases.

    The bounds model the container as a periodic server with period P and budget w P among the
    CPU-only tasks. If Theta is its tardiness there, the response of a task that uses the GPU is at
    most Theta + 2 P + (sum of e + s) / w. Overheads of short server periods are not included. If
    w P cannot be represented as a fraction of a tick with a small denominator, the server has the
    next larger budget and w follows from it: the bound is then that of a slightly larger server.

    A simulated server has a budget of whole ticks. If that is larger than w P, responses can exceed
    the bounds for w P; for CPU-only tasks by much if P is only a few ticks. ``whole_budget`` gives
    bounds for the rounded budget.

    >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5]])
    >>> answer = gs.analysis.container(hosts, cpus=2)
    >>> answer.schedulable, answer.server_period
    (True, 60)

    Parameters
    ----------
    hosts, cpus, method, stop
        As in `gedf_tardiness`.
    variant
        "sound" or "paper".
    server_period
        Period P of the server, one number or one per set. Default: the shortest period of the tasks
        that use the GPU.
    whole_budget
        Whether the bounds are for a server whose budget is w P rounded up to a whole tick, as in
        ``gs.simulate.host``; there are none if that budget overloads the CPUs. ``accepted`` does
        not depend on it.

    Returns
    -------
    GedfVerdict
        Sufficient: accepted or undecided.

    Raises
    ------
    ValueError
        As in `gedf_tardiness`; also for a server period that is not positive, and for a number of
        server periods other than one per set.
    OverflowError
        The sum of the times of the jobs, or a server period, exceeds 2**59 ticks.
    """
    began = perf_counter()
    one_of(variant, ("sound", "paper"), "variant")
    one_of(method, GEDF_METHODS, "method")
    m = _cpus(hosts, cpus)
    _implicit(hosts, method)
    inside = hosts.segments > 0
    if server_period is None:
        period = container_period(hosts)
    else:
        period = int_array(server_period, "server_period")
        at_least(period, 1, "server_period")
        lead = hosts.period.shape[:-1]
        if period.ndim and period.shape != lead:
            raise ValueError(f"server_period: got shape {period.shape}, expected one per set")
        period = np.broadcast_to(period, lead)
    work = _cpu_time(hosts) + _kernels(hosts)
    columns = _stacked(hosts, hosts.period, hosts.deadline, work, inside.astype(np.int64))
    servers = np.ascontiguousarray(np.atleast_1d(period))
    found = _core.container_response(
        columns[0],
        columns[1],
        columns[2],
        columns[3],
        servers,
        sizes=hosts._sizes(),
        cpus=m,
        whole=flag(whole_budget, "whole_budget"),
        paper=variant == "paper",
        methods=_TRIED[method],
        stop=stop,
    )
    server = period.copy() if hosts.is_stack else int(period)
    none = np.zeros_like(work)
    return _verdict(hosts, m, "container", work, none, found, began, server_period=server)


def cpu_only(
    hosts: HostTasks,
    cpus: int,
    speed_up: float | Fraction,
    *,
    method: Method = "best",
    stop: Any = None,
) -> GedfVerdict:
    """Test the same jobs without a GPU that is ``speed_up`` times as fast as a CPU.

    The comparison of [RTNS10], section 5.1. A job takes its CPU segments, plus its kernels times c
    on a CPU, without the copies (e + c s - epsilon in the paper). Tardiness is bounded if this is
    at most p for every task and the utilization is at most m, and unbounded otherwise.

    >>> hosts = gs.HostTasks.from_segments([60, 80], [[3, (1, 6, 1), 2], [5]])
    >>> [gs.analysis.cpu_only(hosts, 2, c).schedulable for c in (8, 16)]
    [True, False]

    Parameters
    ----------
    hosts, cpus, method, stop
        As in `gedf_tardiness`.
    speed_up
        The factor c: a positive int, ``Fraction`` or float; a float stands for the decimal number
        that it prints as.

    Returns
    -------
    GedfVerdict
        Exact: accepted or rejected.

    Raises
    ------
    The errors of `gedf_tardiness`; TypeError and ValueError for a speed-up that is not a positive
    number.
    """
    began = perf_counter()
    one_of(method, GEDF_METHODS, "method")
    m = _cpus(hosts, cpus)
    _implicit(hosts, method)
    factor = _factor(speed_up)
    finer = factor.denominator
    kernels, own = _kernels(hosts), hosts.cpu_time
    longest = max(_most(hosts.period), _most(hosts.deadline)) * finer
    longest = max(longest, _most(own) * finer + _most(kernels) * factor.numerator)
    if longest >= 2**60:
        raise OverflowError(f"speed_up: got {factor}, expected jobs below 2**60 ticks with it")
    demand = own * finer + kernels * factor.numerator
    found = _response(hosts, demand, m, method, stop, finer)
    if finer > 1:
        found = (*found[:2], *_divided(found[2], found[3], finer), found[4])
    none = np.zeros_like(demand)
    return _verdict(hosts, m, "cpu_only", -(-demand // finer), none, found, began)


# Shared parts


def _cpus(hosts: HostTasks, cpus: Any) -> int:
    """The number of CPUs, after a check of both arguments."""
    instance(hosts, HostTasks, "hosts")
    if hosts.jitter.any():
        at = tuple(int(i) for i in np.argwhere(hosts.jitter)[0])
        raise ValueError(
            f"jitter[{', '.join(map(str, at))}]: got {hosts.jitter[at]}, expected 0, since the "
            "model has no release jitter"
        )
    m = integer(cpus, "cpus")
    if not 1 <= m < 2**31:
        raise ValueError(f"cpus: got {shown(m)}, expected 1 to 2**31 - 1 CPUs")
    return m


def _cpu_time(hosts: HostTasks) -> Int64Array:
    """e: CPU segments and copies."""
    return hosts.cpu_time + hosts.copy_time


def _kernels(hosts: HostTasks) -> Int64Array:
    """s: a job's kernels, on as many SMs as there are times for."""
    if hosts.width == 0 or hosts.columns == 0:
        return np.zeros_like(hosts.period)
    return sum_segments(hosts.kernel[..., -1])


def _most(values: Int64Array) -> int:
    return int(values.max(initial=0))


def _implicit(hosts: HostTasks, method: str) -> None:
    if method != "devi_anderson":
        return
    other = hosts.deadline != hosts.period
    if other.any():
        at = tuple(int(i) for i in np.argwhere(other)[0])
        where = ", ".join(map(str, at))
        raise ValueError(
            f"deadline[{where}]: got {hosts.deadline[at]}, expected {hosts.period[at]}, the "
            "period, for Devi and Anderson's bound (or use method='compliant')"
        )


def _factor(speed_up: Any) -> Fraction:
    if isinstance(speed_up, (bool, np.bool_)) or not isinstance(
        speed_up, (int, float, Fraction, np.integer, np.floating)
    ):
        raise TypeError(f"speed_up: got {shown(speed_up)}, expected a number")
    if not 0 < real(speed_up, "speed_up") < math.inf:
        raise ValueError(f"speed_up: got {speed_up}, expected a positive, finite number")
    if isinstance(speed_up, (float, np.floating)):
        factor = Fraction(repr(float(speed_up)))
    else:
        factor = Fraction(speed_up if isinstance(speed_up, Fraction) else int(speed_up))
    if factor.denominator > 10**6 or factor.numerator > 10**9:
        raise ValueError(
            f"speed_up: got {speed_up}, expected at most 10**9, in steps of 10**-6 or more"
        )
    return factor


def _stacked(hosts: HostTasks, *columns: Int64Array) -> Any:
    """The columns with an axis for the sets, as a list."""
    return [column if hosts.is_stack else column[None] for column in columns]


Found = tuple[Int64Array, Int64Array, Int64Array, Int64Array, Int64Array]


def _response(
    hosts: HostTasks, demand: Int64Array, m: int, method: str, stop: Any, finer: int = 1
) -> Found:
    """Bounds in units of 1 / finer ticks, which ``demand`` is in."""
    period, deadline = hosts.period, hosts.deadline
    if finer > 1:
        period, deadline = period * finer, deadline * finer
    period, deadline, work = _stacked(hosts, period, deadline, demand)
    return _core.gedf_response(
        *(period, deadline, work),
        sizes=hosts._sizes(),
        cpus=m,
        methods=_TRIED[method],
        stop=stop,
    )


def _divided(
    numerator: Int64Array, denominator: Int64Array, by: int
) -> tuple[Int64Array, Int64Array]:
    """Fractions divided by a whole number; rounded up where they do not fit."""
    above, below = numerator.copy(), denominator.copy()
    for at in np.argwhere(denominator > 0):
        i = tuple(at)
        value = Fraction(int(numerator[i]), int(denominator[i]) * by)
        if value.denominator >= 2**63:
            value = Fraction(math.ceil(value))
        above[i], below[i] = value.numerator, value.denominator
    return above, below


def _verdict(
    hosts: HostTasks,
    m: int,
    test: str,
    demand: Int64Array,
    blocking: Int64Array,
    found: Found,
    began: float,
    lock: int = -1,
    server_period: Any = 0,
) -> GedfVerdict:
    verdict, failed, numerator, denominator, method = found
    code = verdict.astype(np.int8)
    parts: dict[str, Any] = {
        "demand": demand,
        "blocking": blocking,
        "numerator": numerator,
        "denominator": denominator,
        "method_code": method.astype(np.int8),
    }
    if hosts.is_stack:
        parts |= {
            "accepted": verdict == FIT,
            "verdict_code": code,
            "server_period": np.full(len(hosts), server_period, np.int64),
            "_lock": np.full(len(hosts), lock, np.int8),
            "_failed": failed,
        }
        parts = {name: frozen(array) for name, array in parts.items()}
    else:
        shape = hosts.period.shape
        parts = {name: frozen(array.reshape(shape)) for name, array in parts.items()}
        reason = code.item()
        parts |= {
            "accepted": reason == FIT,
            "verdict_code": reason,
            "server_period": server_period,
            "_lock": lock,
            "_failed": failed.item(),
        }
    return GedfVerdict._made(
        hosts=hosts, cpus=m, test=test, **parts, seconds=perf_counter() - began
    )


def _better(fmlp: GedfVerdict, omlp: GedfVerdict) -> GedfVerdict:
    """For each set the lock that passes; with both, the one with the least largest tardiness."""
    if not fmlp.is_stack:
        second = omlp.accepted and (not fmlp.accepted or _sooner(omlp, fmlp))
        return GedfVerdict._made(**{**vars(omlp if second else fmlp), "seconds": omlp.seconds})
    second = omlp.accepted & (~fmlp.accepted | _sooner(omlp, fmlp))
    chosen = {}
    for field in fields(GedfVerdict):
        one, other = getattr(fmlp, field.name), getattr(omlp, field.name)
        if isinstance(one, np.ndarray):
            pick = second.reshape(second.shape + (1,) * (one.ndim - 1))
            one = np.where(pick, other, one)
        chosen[field.name] = one
    return GedfVerdict(**{**chosen, "seconds": omlp.seconds})


def _sooner(one: GedfVerdict, other: GedfVerdict) -> Any:
    """Of each set, whether the first one's largest tardiness is known and less than the other's."""
    (bounded, late), (other_bounded, other_late) = _latest(one), _latest(other)
    return bounded & ((late < other_late) | ~other_bounded)


def _latest(verdict: GedfVerdict) -> tuple[Any, Any]:
    """Of each set, whether all tasks have a bound, and the largest tardiness of those that do."""
    values, known = verdict._responses()
    late = np.where(known, values - verdict.hosts.deadline, 0).max(axis=-1, initial=0)
    return (known | ~verdict.hosts.is_task).all(axis=-1), late
