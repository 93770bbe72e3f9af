"""Breakdown factors and priorities, by trying everything.

Slow and plain: a breakdown factor is the largest of all fractions k / t at which some time changes
that the public test accepts, without any assumption on what it accepts between; priorities are
accepted when some permutation is; Audsley's algorithm is written for one task at a time.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np

FIELDS = {"kernels": ["kernel"], "copies": ["copy_in", "copy_out"], "cpu": ["cpu"]}
FIELDS["all"] = [name for names in FIELDS.values() for name in names]


def growing(hosts, scale):
    """Names of the fields that grow, and the rows: a task's number, or all."""
    if isinstance(scale, int):
        return FIELDS["all"], scale
    return FIELDS[scale], slice(None)


def scaled(hosts, scale, factor):
    """One set with its times multiplied by a Fraction and rounded up."""
    names, rows = growing(hosts, scale)
    changed = {}
    for name in names:
        values = getattr(hosts, name).astype(object)
        values[rows] = -(-(values[rows] * factor.numerator) // factor.denominator)
        changed[name] = values.astype(np.int64)
    return hosts.replace(**changed)


def fractions(hosts, scale, most):
    """All k / t up to `most`, in order, of the times t that grow."""
    names, rows = growing(hosts, scale)
    times = {int(t) for name in names for t in getattr(hosts, name)[rows].ravel() if t > 0}
    return sorted({Fraction(k, t) for t in times for k in range(1, int(most * t) + 1)})


def scan(hosts, scale, most, accepts):
    """All fractions, and which of them are accepted; `accepts`: of a stack."""
    tried = fractions(hosts, scale, most)
    stack = type(hosts).stack([scaled(hosts, scale, factor) for factor in tried])
    return tried, accepts(stack)


def audsley(n, fits):
    """Tasks by priority, or None; fits(i, above, below): i meets its deadline between them."""
    left, below = list(range(n)), []
    while left:
        for i in left:
            if fits(i, [j for j in left if j != i], below):
                break
        else:
            return None
        left.remove(i)
        below.insert(0, i)
    return below


def all_orders(n):
    """Priorities of n tasks, one row for each order."""
    return np.array([np.argsort(order) for order in permutations(range(n))])
