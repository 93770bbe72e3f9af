"""Random sets of CPU-only tasks and tasks that use the GPU, [RTNS10], section 5.1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpusched import _core
from gpusched._support.arguments import flag, integer, one_of, real, seed_key, set_count, set_number
from gpusched._support.registry import enumeration
from gpusched._support.text import shown
from gpusched.model.host_segments import same
from gpusched.model.host_tasks import HostTasks

UTILIZATIONS = {"light": (0.01, 0.1), "medium": (0.1, 0.4), "heavy": (0.5, 0.9)}
"""The paper's intervals of task utilizations."""

PERIODS = {"short": (3, 33), "moderate": (15, 60), "long": (50, 250)}
"""The paper's intervals of periods, in milliseconds."""

ROUNDINGS = enumeration("generate.rounding")
"""Ways to round a share of the tasks to a number of tasks."""


def elliott(
    utilization: Any = "medium",
    periods: Any = "moderate",
    gpu: float = 0.5,
    share: tuple[float, float] = (0.3, 0.4),
    count: int | None = None,
    seed: Any = None,
    first: int = 0,
    *,
    cpus: int = 4,
    overhead: float = 0.05,
    rounding: str = "nearest",
    empty: bool = True,
    ticks: int = 1_000_000,
) -> HostTasks:
    """Draw random task sets of the experiments in [RTNS10], section 5.1, in nanoseconds.

    For each set, a limit of the utilization is drawn uniformly from (0, cpus]. Tasks are drawn
    until their total utilization exceeds it, and the last one is removed. Utilization u and period
    p are uniform in their intervals; E = u p (to the nearest tick, at least one) is the time of a
    job on CPU and GPU. A share of the tasks, uniform in its interval, uses the GPU. The time of
    their kernel is s = ``gpu`` E. The copies take ``overhead`` E, which is part of the CPU time
    e = E - s. The critical section is s plus the copies. (The paper prints (x + epsilon) e for the
    critical section; its observation 4 holds only if s is the share x of the whole E.) A set is
    drawn again if it has no task, only one task that uses the GPU, or critical sections with a
    utilization above 1 (Ineq. 7).

    The tasks that use the GPU come first. As tasks are drawn independently, this has the same
    distribution as a random choice of these tasks.

    Parameters
    ----------
    utilization
        A name in ``UTILIZATIONS`` (light, medium, heavy), or a pair of numbers in (0, 1].
    periods
        A name in ``PERIODS`` (short: 3 to 33 ms, moderate: 15 to 60, long: 50 to 250), or a pair of
        whole numbers, in units of ``ticks``.
    gpu
        Share of a job that is its kernel (25, 50, 75 % in the paper); resolved to thousandths, like
        ``overhead``.
    share
        Interval of the share of tasks that use the GPU.
    count
        Number of sets; None for a single set.
    seed, first
        As in `uunifast`: set ``first + i`` of a seed does not depend on ``count``.
    cpus
        Number of CPUs (m in the paper).
    overhead
        Share of a job that is its copies.
    rounding
        Rounding of the number of tasks that use the GPU: ``nearest`` (halves up), ``down`` or
        ``up``.
    empty
        Whether to accept sets in which no task uses the GPU.
    ticks
        Ticks per unit of ``periods``. With the default, ticks are ns and periods are in ms.

    Returns
    -------
    HostTasks
        One set, or a stack of ``count`` sets. The sets differ in size: ``sizes`` has their numbers
        of tasks, and unused rows are 0.

    Raises
    ------
    ValueError
        Utilizations or shares are above 1, negative, NaN or in the wrong order; periods are not
        positive; copies and kernel are longer than the job; there is no CPU; or 100,000 sets in a
        row were rejected.
    OverflowError
        A period is 2^31 ticks or more.

    >>> sets = gs.generate.elliott("medium", count=1000, seed=1)
    >>> sets.sizes[:5].tolist(), sets[2].n
    ([9, 7, 11, 15, 13], 11)
    >>> bool((sets.utilization("busy", sms=1).sum(axis=-1) < 4).all())
    True
    >>> answer = gs.analysis.srm(sets, cpus=4)
    >>> answer.accepted.shape, answer[2] == gs.analysis.srm(sets[2], cpus=4)
    ((1000,), True)
    """
    arguments = scenario(
        utilization, periods, gpu, share, cpus, overhead, rounding, empty, ticks=ticks
    )
    number = set_count(count)
    sizes, block = _core.elliott_draw(
        seed_key(seed), **arguments, first=set_number(first), count=number, stop=None
    )
    shape = block.shape[1:]
    stack = HostTasks._of(
        sizes=sizes,
        period=block[0],
        priority=block[1],
        segments=block[2],
        cpu=block[3:5].reshape(*shape, 2),
        copy_in=block[5].reshape(*shape, 1),
        kernel=block[6].reshape(*shape, 1, 1),
        copy_out=same(0, (*shape, 1)),
        derived=["priority"],
    )
    return stack[0] if count is None else stack


def scenario(
    utilization: Any,
    periods: Any,
    gpu: Any,
    share: Any,
    cpus: Any,
    overhead: Any,
    rounding: str,
    empty: bool,
    ticks: Any = 1_000_000,
) -> dict[str, Any]:
    """Checked arguments of ``_core.elliott_draw`` and ``elliott_study`` for a scenario."""
    m = integer(cpus, "cpus")
    if not 1 <= m < 2**31:
        raise ValueError(f"cpus: got {m}, expected 1 to 2**31 - 1 CPUs")
    one_of(rounding, ROUNDINGS, "rounding")
    unit = integer(ticks, "ticks")
    if unit < 1:
        raise ValueError(f"ticks: got {unit}, expected a positive number")
    kernel, copies = _per_mille(gpu, "gpu"), _per_mille(overhead, "overhead")
    if kernel + copies > 1000:
        raise ValueError(
            f"overhead: got {overhead}, expected at most {1 - kernel / 1000:g}, the part of a job "
            "beside its kernel"
        )
    return {
        "cpus": m,
        "utilization": _interval(utilization, UTILIZATIONS, "utilization", above=0.0),
        "periods": _span(periods, unit),
        "gpu": kernel,
        "overhead": copies,
        "share": _interval(share, {}, "share", above=None),
        "rounding": ROUNDINGS.index(rounding),
        "empty": flag(empty, "empty"),
    }


def _pair(value: Any, known: dict[str, Any], name: str) -> tuple[Any, Any]:
    if isinstance(value, str):
        one_of(value, known, name)
        value = known[value]
    try:
        low, high = value
    except (TypeError, ValueError):
        names = f" or one of {', '.join(known)}" if known else ""
        raise ValueError(f"{name}: got {shown(value)}, expected two numbers{names}") from None
    return low, high


def _number(value: Any, name: str) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise TypeError(f"{name}: got {shown(value)}, expected a number")
    return real(value, name)


def _interval(value: Any, known: dict[str, Any], name: str, above: float | None) -> Any:
    """Two numbers from 0 to 1, in order; not below 2^-32 where ``above`` is given."""
    low, high = (_number(item, name) for item in _pair(value, known, name))
    for item in (low, high):
        if not (0 <= item <= 1) or (above is not None and item < 2.0**-32):
            what = "at most 1 and " + ("positive" if above is not None else "not negative")
            raise ValueError(f"{name}: got {item}, expected {what}")
    if high < low:
        raise ValueError(f"{name}: got ({low}, {high}), expected the smaller number first")
    return np.array([low, high])


def _span(value: Any, ticks: int) -> Any:
    low, high = _pair(value, PERIODS, "periods")
    span = [integer(low, "periods"), integer(high, "periods")]
    if span[0] < 1 or span[1] < span[0]:
        raise ValueError(
            f"periods: got ({span[0]}, {span[1]}), expected positive numbers, the shorter first"
        )
    if span[1] * ticks >= 2**31:
        raise OverflowError(f"periods: got {span[1]} times {ticks} ticks, expected less than 2**31")
    return np.array([span[0] * ticks, span[1] * ticks])


def _per_mille(value: Any, name: str) -> int:
    number = _number(value, name)
    if not 0 <= number <= 1:
        raise ValueError(f"{name}: got {number}, expected a share, from 0 to 1")
    whole = round(number * 1000)
    if not math.isclose(number * 1000, whole, abs_tol=1e-9):
        raise ValueError(f"{name}: got {number}, expected a multiple of 0.001")
    return whole
