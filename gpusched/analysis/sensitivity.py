"""Breakdown factors: the largest factor on execution times at which a test accepts a set."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import flag, instance, task_number
from gpusched._support.registry import enumeration
from gpusched._support.text import shown
from gpusched.analysis.breakdown_answer import Breakdown
from gpusched.analysis.placed_tests import sound_test, tested
from gpusched.model.host_tasks import HostTasks
from gpusched.ways.way import Way

__all__ = ["breakdown", "schedulability"]

_SCALES = enumeration("analysis.scale")

# Parameters of which a test may accept a worse value and reject a better one, with an example.
_REFUSED = {
    "deadlines": "in one pass fmlp_plus accepts a set with a deadline of 45 and rejects it with "
    "48, as bounds of other tasks assume it",
    "timeslice": "with kernels of 6 and 30 on two cores and switches of 1, time_slices has bounds "
    "of 14, 15, 16 for slices of 6, 7, 8, and of 24, 18, 16, 18 for 1, 2, 3, 4",
    "sms": "stgm accepts kernels on few SMs that form long chains on more",
}


def breakdown(
    hosts: HostTasks,
    way: Way | str,
    scale: str | int = "all",
    *,
    cpus: int | None = None,
    sms: int | None = None,
    stop: Any = None,
    **options: Any,
) -> Breakdown:
    """Find the largest factor on execution times at which a test accepts each set.

    Scaled times are rounded up to whole ticks. The sound tests are monotone: if they accept a
    factor, they accept every smaller one (the proof is in
    ``csrc/analysis/breakdown.h``). Their result can change only at fractions k / t of a
    time t, so a bisection over these fractions finds the exact factor. It takes about 30 tests per
    set for times of nine digits, and fewer for shorter ones.

    >>> hosts = gs.HostTasks.from_segments(
    ...     [60, 80], [[3, (1, 6, 1), 2], [5, (2, 9, 1)]], core=[0, 0])
    >>> found = gs.analysis.breakdown(hosts, "mpcp")
    >>> found.factor, found.why()
    (Fraction(11, 6), 'All times may be 1.8333 times as long, and no longer: task 0 may miss its \
deadline then.')
    >>> gs.analysis.breakdown(hosts, "mpcp", "kernels").factor
    Fraction(26, 9)

    Parameters
    ----------
    hosts
        One set or a stack of N, as the test takes it.
    way
        A way of sharing the GPU with a test of tasks with cores: ``Stgm``, ``Mpcp``, ``FmlpPlus``,
        ``GpuServer``, ``TimeSlices`` or ``Gcaps`` of ``gs.ways``, or its name.
    scale
        Times to scale: "all", "kernels", "copies", "cpu" (CPU segments), or all times of one task,
        given by its index or name. Costs of context switches, updates and the server do not change.
    cpus, sms
        Numbers of cores and SMs, as in the test.
    stop
        Writable buffer of one byte; the call ends when another thread sets the byte to 1.
    options
        Parameters that are added to the way, such as ``mode="busy"`` or ``timeslice=2_000_000``.

    Returns
    -------
    Breakdown
        For one set, ``factor`` is a ``Fraction``; for a stack, values are arrays ``(N,)``.

    Raises
    ------
    ValueError
        The errors of the test; also for a variant that is not sound, for "deadlines", "timeslice"
        and "sms" as the scale (tests are not monotone in these), and for a scale under which no
        time of any set grows.
    TypeError
        The scale is neither text nor a number.
    OverflowError, gpusched.Cancelled
        As in the test.

    Notes
    -----
    A set whose jobs would take 2**60 ticks or more in total is not accepted. To find limits of
    deadlines, slices and numbers of SMs, try their values.
    """
    instance(hosts, HostTasks, "hosts")
    began = perf_counter()
    index, task = _scale_of(hosts, scale)
    test = sound_test(hosts, way, cpus, sms, options)
    if not test.way.monotone:
        raise ValueError(
            f"way: got {test.way.name!r}, expected a way whose test is proven to be monotone"
        )
    tested(test, began, stop)  # refuses what the test refuses
    found = _core.host_breakdown(*test.arrays, scale=index, task=task, **test.options, stop=stop)
    numerator, denominator, limiting, tests, unlimited, load = found
    grows = _grows(hosts, _SCALES[index], task)
    if len(numerator) and not grows.any():
        raise ValueError(f"scale: got {shown(scale)}, expected times that can grow, found none")
    one = not hosts.is_stack
    columns: dict[str, Any] = {
        "numerator": numerator,
        "denominator": denominator,
        "limiting": limiting,
        "unlimited": unlimited,
        "utilization": load,
        "tests": tests,
    }
    if one:
        columns = {name: values[0].item() for name, values in columns.items()}
    return Breakdown(
        hosts=hosts,
        way=test.way,
        scale=_SCALES[index] if task < 0 else hosts.name[task],
        sms=test.sms,
        task=task,
        **columns,
        seconds=perf_counter() - began,
    )


def schedulability(
    hosts: HostTasks,
    way: Way | str,
    *,
    breakdown: bool = False,
    cpus: int | None = None,
    sms: int | None = None,
    stop: Any = None,
    **options: Any,
) -> dict[str, npt.NDArray[Any]]:
    """Compute the columns of a sweep for a stack: verdicts, utilizations, breakdown factors.

    >>> def tested(*, utilization, count, first, seed, stop=None):
    ...     hosts = gs.generate.stgm(6, count, seed=seed, first=first, cpus=2,
    ...                              utilization=(utilization, utilization))
    ...     hosts = gs.analysis.partition(hosts, 2).hosts
    ...     return gs.analysis.schedulability(hosts, "mpcp", breakdown=True, stop=stop)
    >>> weighted = [gs.reductions.Share(), gs.reductions.Weighted("set_utilization")]
    >>> table = gs.sweep(tested, {"utilization": [0.3, 0.4]}, count=50, seed=1,
    ...                  reduce={"schedulable": weighted}, progress=False)
    >>> list(table.columns)[2:]  # doctest: +NORMALIZE_WHITESPACE
    ['schedulable', 'schedulable_low', 'schedulable_high', 'schedulable_weighted',
     'set_utilization', 'breakdown_factor', 'breakdown_utilization']

    Parameters
    ----------
    hosts
        A stack of N sets, as the test takes it.
    way, cpus, sms, options
        As in `breakdown`.
    breakdown
        Whether to compute breakdown factors of all times.
    stop
        Writable buffer of one byte; the call ends when another thread sets the byte to 1.

    Returns
    -------
    dict
        Arrays ``(N,)`` by column: ``schedulable`` (bool), ``set_utilization`` (the sum of
        (C + G) / T), and with ``breakdown`` also ``breakdown_factor`` and
        ``breakdown_utilization`` (the utilization at that factor; 0 if no factor is accepted). For
        weighted schedulability, apply ``gs.reductions.Weighted("set_utilization")`` to
        ``schedulable`` in a sweep; ``breakdown_utilization`` is usually reduced to its mean.

    Raises
    ------
    The errors of `breakdown`; ValueError also for a single set.
    """
    instance(hosts, HostTasks, "hosts")
    if not hosts.is_stack:
        raise ValueError("hosts: got a single set, expected a stack")
    test = sound_test(hosts, way, cpus, sms, options)
    verdict = tested(test, perf_counter(), stop)
    gpu = hosts.gpu_time() if test.way.divided else hosts.gpu_time(max(test.sms, 1))
    shares = (hosts.cpu_time + gpu) / np.maximum(hosts.period, 1)
    columns: dict[str, npt.NDArray[Any]] = {
        "schedulable": np.asarray(verdict.accepted),
        "set_utilization": shares.sum(axis=-1),
    }
    if flag(breakdown, "breakdown"):
        found = _breakdown(hosts, test.way, "all", cpus=cpus, sms=sms, stop=stop)
        columns["breakdown_factor"] = np.asarray(found.factor)
        columns["breakdown_utilization"] = np.asarray(found.utilization)
    return columns


_breakdown = breakdown  # `schedulability` has an argument of that name


def _scale_of(hosts: HostTasks, scale: Any) -> tuple[int, int]:
    """The number of a scale, and of the task or -1."""
    if isinstance(scale, str):
        if scale in _SCALES:
            return _SCALES.index(scale), -1
        if scale in _REFUSED and scale not in hosts.name:
            raise ValueError(
                f"scale: got {scale!r}, expected times; tests are not monotone in it "
                f"({_REFUSED[scale]}), so that a bisection would be wrong: try its values"
            )
        if scale not in hosts.name:
            raise ValueError(
                f"scale: got {shown(scale)}, expected {', '.join(map(repr, _SCALES))} or a task's "
                "name or number"
            )
    elif isinstance(scale, (bool, np.bool_)) or not isinstance(scale, (int, np.integer)):
        raise TypeError(f"scale: got {shown(scale)}, expected text or a task's number")
    return 0, task_number(scale, hosts.name)


def _grows(hosts: HostTasks, scale: str, task: int) -> npt.NDArray[np.bool_]:
    """Whether a set has times that grow: bool ``(N,)``."""
    fields = {"kernels": ["kernel"], "copies": ["copy_in", "copy_out"], "cpu": ["cpu"]}
    found = np.zeros(np.atleast_2d(hosts.period).shape, np.bool_)
    for name in fields.get(scale, [name for names in fields.values() for name in names]):
        values = getattr(hosts, name).reshape(*found.shape, -1)
        found |= values.any(axis=-1)
    grows: npt.NDArray[np.bool_] = np.asarray(found[:, task] if task >= 0 else found.any(axis=-1))
    return grows
