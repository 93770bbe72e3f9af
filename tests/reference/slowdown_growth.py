"""Schedulability as the slowdown of batches grows, by a scan of all factors that make a difference.

A batch takes L + ceil(f (C - L)) with factor f, where L is the longest time of a member alone; only
batches with C > L change. Between two neighbouring multiples of 1 / (C - L) nothing changes.
"""

from fractions import Fraction
from math import ceil

from reference import pbs_brute


def longest_alone(completion, mask):
    return max(completion[1 << i] for i in range(len(completion)) if mask >> i & 1)


def grown(completion, factor):
    """The times with a factor on the slowdown."""
    times = list(completion)
    for mask, time in enumerate(completion):
        if mask & (mask - 1) and time:
            alone = longest_alone(completion, mask)
            if time > alone:
                times[mask] = alone + ceil(factor * (time - alone))
    return times


def factors(completion, most):
    """0 and all multiples of 1 / (C - L) up to `most`, rising."""
    found = {Fraction(0)}
    for mask, time in enumerate(completion):
        if mask & (mask - 1) and time > longest_alone(completion, mask):
            excess = time - longest_alone(completion, mask)
            found |= {Fraction(m, excess) for m in range(1, most * excess + 1)}
    return sorted(found)


def accepted(period, deadline, completion, offset, idling, most):
    """{factor: whether the set is schedulable with it}, for all factors up to `most`."""
    return {
        factor: pbs_brute.search(period, deadline, grown(completion, factor), offset, idling)
        is not None
        for factor in factors(completion, most)
    }
