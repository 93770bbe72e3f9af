"""Slow twin of shares of bandwidth: all shares rise together until the memory is full."""

from __future__ import annotations

from fractions import Fraction


def shares(demand: list[int], capacity: int) -> list[Fraction]:
    """Max-min shares by progressive filling."""
    got = [Fraction(0)] * len(demand)
    while True:
        rising = [i for i, most in enumerate(demand) if got[i] < most]
        left = capacity - sum(got)
        if not rising or not left:
            return got
        step = min(left / len(rising), *(demand[i] - got[i] for i in rising))
        for i in rising:
            got[i] += step


def slowdowns(demand: list[int], capacity: int) -> list[Fraction]:
    """Times of kernels that run together, as multiples of those alone."""
    got = shares(demand, capacity)
    return [
        Fraction(most) / share if most else Fraction(1)
        for most, share in zip(demand, got, strict=True)
    ]


def batch_times(times: list[int], demand: list[int], capacity: int) -> list[int]:
    """Times of batches by bit mask, slowed by the largest factor of their members, rounded up."""
    found = []
    for batch, time in enumerate(times):
        members = [i for i in range(len(demand)) if batch >> i & 1]
        factor = max(slowdowns([demand[i] for i in members], capacity), default=Fraction(1))
        found.append(-(-time * factor.numerator // factor.denominator))
    return found


def fluid_ends(work: list[int], demand: list[int], capacity: int) -> list[Fraction]:
    """Ends of kernels that begin together, each as fast at every instant as its share allows."""
    left = [Fraction(time) for time in work]
    end = [Fraction(0)] * len(work)
    now = Fraction(0)
    while running := [i for i, rest in enumerate(left) if rest]:
        factor = dict(zip(running, slowdowns([demand[i] for i in running], capacity), strict=True))
        step = min(left[i] * factor[i] for i in running)
        now += step
        for i in running:
            left[i] -= step / factor[i]
            if not left[i]:
                end[i] = now
    return end
