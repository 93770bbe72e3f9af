"""Twin of batch times as a function: utilization in fractions, factors by the printed generators.

Sources: [RTNS24], sections 2.3 and 6.1; splitmix64 (Steele, Lea and Flood 2014); xoshiro256++
(Blackman and Vigna 2019). Eligibility by placement has its twin in ``oracle``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

_WORD = 2**64
_GAMMA = 0x9E3779B97F4A7C15
ONE = 10**9


def mixed(place: int) -> int:
    """The finalizer of splitmix64."""
    z = ((place ^ place >> 30) * 0xBF58476D1CE4E5B9) % _WORD
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) % _WORD
    return z ^ z >> 31


def factor(seed: int, batch: int, least: int, most: int) -> int:
    """Slowdown factor of a batch in billionths: draw number ``batch`` of the seed's sequence."""
    bits = mixed((seed + (batch + 1) * _GAMMA) % _WORD)
    return least + (bits * (most - least + 1) >> 64)


def members(batch: int) -> list[int]:
    return [i for i in range(batch.bit_length()) if batch >> i & 1]


def by_utilization(period: Sequence[int], wcet: Sequence[int], batch: int) -> bool:
    """Whether tasks may run together: at most one, or utilizations of at most 1 together."""
    of = members(batch)
    return len(of) < 2 or sum(Fraction(wcet[i], period[i]) for i in of) <= 1


def time(wcet: Sequence[int], batch: int, slowdown: int) -> int:
    """Time of an eligible batch, slowed down by a factor in billionths where it has two or more."""
    longest = max(wcet[i] for i in members(batch))
    return longest if len(members(batch)) == 1 else -(-longest * slowdown // ONE)


def worth_beyond_time(
    price: Sequence[int], scale: int, completion: Sequence[int]
) -> list[tuple[int, ...]]:
    """Batches of a table that are worth more than their time at these prices."""
    n = len(price)
    found = []
    for size in range(1, n + 1):
        for batch in combinations(range(n), size):
            spent = completion[sum(1 << i for i in batch)]
            if spent and sum(price[i] for i in batch) > scale * spent:
                found.append(batch)
    return found
