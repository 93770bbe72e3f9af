"""Twin of drawn execution times: the printed generators, quantiles in fractions.

Sources: splitmix64 (Steele, Lea and Flood 2014); xoshiro256++ (Blackman and Vigna 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor

from reference.batch_function import mixed

_WORD = 2**64
_GAMMA = 0x9E3779B97F4A7C15


def at(seed: int, index: int) -> int:
    """Number ``index`` of the splitmix64 sequence from a seed."""
    return mixed((seed + (index + 1) * _GAMMA) % _WORD)


def first_number(key: Sequence[int], index: int, stream: int) -> int:
    """The first number of xoshiro256++ for a key, an index and a stream."""
    seed = at(stream, 0) ^ index
    words = []
    for word in key:
        place = seed ^ word
        seed = at(place, 0)
        words.append(at(place, 1))
    words = [word ^ at(seed, i) for i, word in enumerate(words)]
    total = (words[0] + words[3]) % _WORD
    return ((total << 23 | total >> 41) + words[0]) % _WORD


def from_quantiles(
    quantiles: Sequence[tuple[Fraction, int]], largest: int, uniform: Fraction
) -> int:
    """The time at a place from 0 to below 1: in proportion between two quantiles, rounded up."""
    below, low = Fraction(0), None
    for share, time in [*quantiles, (Fraction(1), largest)]:
        if uniform < share:
            if low is None or low == time:
                return time
            return low + 1 + floor((uniform - below) / (share - below) * (time - low))
        below, low = share, time
    raise AssertionError("a place is below 1")
