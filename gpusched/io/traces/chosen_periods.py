"""Choice of periods for kernels with known execution times."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import SupportsIndex, cast

from gpusched._support.arguments import Int64Array, integer
from gpusched._support.text import time_text
from gpusched.io.traces.trace_tables import INT64_MAX, column

PERIOD_STEP = 50_000
HYPERPERIOD_RATIO = 48


def harmonic_periods(
    wcet: Sequence[SupportsIndex] | Int64Array,
    utilization: float = 1.0,
    step: SupportsIndex = PERIOD_STEP,
) -> Int64Array:
    """Choose periods, in ns, with which tasks have approximately a given total utilization.

    No period is less than twice the longest execution time, because kernels cannot be preempted. If
    this reduces the utilization of a task, the difference is divided evenly among the others. The
    periods are rounded **up** to the next of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... steps, so that the
    utilization of the tasks is at most ``utilization``. The hyperperiod of such periods is at most
    three times the largest period. If it would exceed 48 times the smallest period, the smallest
    periods are increased.

    >>> gs.io.harmonic_periods([20_000, 30_000], utilization=0.5).tolist()
    [100000, 150000]

    Parameters
    ----------
    wcet
        Execution times in ns, one per task.
    utilization
        Total utilization of all tasks, in (0, n].
    step
        Unit of the periods, in ns.

    Returns
    -------
    int64 array
        One period per task.

    Raises
    ------
    ValueError
        ``utilization`` is not in (0, n], an execution time or ``step`` is not positive, or a period
        exceeds 64 bits.
    """
    times = [operator.index(c) for c in wcet]
    step = integer(step, "step")
    if step < 1:
        raise ValueError(f"step: got {step}, expected a positive number")
    if wrong := [i for i, c in enumerate(times) if c < 1]:
        raise ValueError(f"wcet[{wrong[0]}]: got {times[wrong[0]]}, expected a positive number")
    if not 0 < utilization <= max(len(times), 1):
        raise ValueError(
            f"utilization: got {utilization}, expected more than 0 and at most {len(times)}"
        )
    floor, rest, left = 2 * max(times, default=0), Fraction(utilization), len(times)
    periods = dict.fromkeys(times, 0)
    for c in sorted(times):  # by increasing time, since these may not use their share
        periods[c] = max(periods[c], floor, math.ceil(c / (rest / left)))  # one for equal times
        rest -= Fraction(c, periods[c])
        left -= 1
    steps = [_grid(-(-periods[c] // step)) for c in times]
    while steps and math.lcm(*steps) > HYPERPERIOD_RATIO * min(steps):
        least = _grid(min(steps) + 1)
        steps = [max(s, least) for s in steps]
    if steps and max(steps) * step > INT64_MAX:
        raise ValueError(
            f"utilization: got {utilization}, expected more (a period exceeds 64 bits of ns)"
        )
    return cast(Int64Array, column([s * step for s in steps]))


def utilization_text(wcet: Int64Array, periods: Int64Array, asked: float) -> str:
    """A sentence about the utilization with chosen periods, and why it is less than asked for.

    >>> periods = gs.io.harmonic_periods([800_000, 1_000_000], 1.9)
    >>> utilization_text(np.array([800_000, 1_000_000]), periods, 1.9)[:36]
    'utilization 0.75 (asked for: 1.9): k'
    """
    times = wcet.tolist()
    pairs = zip(times, periods.tolist(), strict=True)
    reached = sum((Fraction(c, p) for c, p in pairs), Fraction(0))
    text = f"utilization {float(reached):.4g}"
    if reached >= Fraction(asked):
        return text
    floor = 2 * max(times)
    most = Fraction(sum(times), floor)
    reasons = []
    if most < Fraction(asked):
        reasons.append(
            f"kernels cannot be interrupted, and no period is below {time_text(floor, 4)}, twice "
            f"the longest kernel, which allows {float(most):.4g}"
        )
    if reached < min(most, Fraction(asked)):
        reasons.append(
            f"periods are rounded up to 1, 2, 3, 4, 6, 8, ... times {time_text(PERIOD_STEP, 4)}, "
            "which keeps the hyperperiod short"
        )
    return f"{text} (asked for: {asked:g}): {'; '.join(reasons)}"


def _grid(steps: int) -> int:
    """The least of 1, 2, 3, 4, 6, 8, 12, ... (2^k and 3 * 2^k) that is at least ``steps``."""
    third = -(-steps // 3)
    return min(1 << (steps - 1).bit_length(), 3 << (third - 1).bit_length())
