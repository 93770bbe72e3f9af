"""Distributions of times: quantiles, the largest, and the number of samples that these are from."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from gpusched._support.arguments import integer, real
from gpusched._support.text import shown
from gpusched.model.workload.time_units import (
    Duration,
    Stored,
    TickLength,
    Time,
    as_time,
    in_ticks,
    scaled_up,
    time_with_unit,
)

_QUANTILE = re.compile(r"p(\d{1,2}(?:\.\d{1,9})?)", re.ASCII)
_KEYS = "expected p0 to p99.9... (such as p50), largest and count"
_MOST_SAMPLES = 2**53


def exceedance(count: int, confidence: float | None = None) -> float:
    """Return the probability with which the next sample exceeds the largest of so many.

    Samples are independent and identically distributed; of the distribution nothing is assumed.

    >>> exceedance(99), round(exceedance(12_000, 0.95), 6)
    (0.01, 0.00025)

    Parameters
    ----------
    count
        Number of samples, from 1 on.
    confidence
        None: the most that the probability is on average, over all samples, 1 / (count + 1). Above
        0 and below 1: the least p that the probability exceeds in at most 1 - confidence of the
        cases, 1 - (1 - confidence) ** (1 / count), since the largest is below a quantile 1 - p of
        a continuous distribution with probability (1 - p) ** count.

    Raises
    ------
    ValueError, TypeError, OverflowError
        An argument is outside of these limits, or no number.
    """
    samples = _samples(count)
    if confidence is None:
        return 1 / (samples + 1)
    level = real(confidence, "confidence")
    if not 0 < level < 1:
        raise ValueError(f"confidence: got {shown(confidence)}, expected above 0 and below 1")
    return -math.expm1(math.log1p(-level) / samples)


@dataclass(frozen=True, slots=True)
class Distribution:
    """Times of a part of a job: of each quantile a share of samples takes no more than its time.

    >>> w = gs.Workload([gs.Task("net", "10ms", [
    ...     gs.Kernel({"p50": "3ms", "p99": "4.1ms", "largest": "5ms", "count": 12000})])], "us")
    >>> found = w["net"].segments[0].distribution
    >>> found.largest, found.at_least(Fraction(99, 100)), found.count
    (5000, 4100, 12000)

    Attributes
    ----------
    quantiles
        Pairs of a share from 0 to below 1 and its time, both ascending.
    largest
        The largest time.
    count
        Number of samples, or None if it is not known.
    """

    quantiles: tuple[tuple[Fraction, Stored], ...]
    largest: Stored
    count: int | None

    def __post_init__(self) -> None:
        """Raise ValueError for times that fall."""
        named = [(quantile_key(share), time) for share, time in self.quantiles]
        for (before, low), (key, high) in pairwise([*named, ("largest", self.largest)]):
            if _exceeds(low, high):
                raise ValueError(
                    f"{key}: got {shown(_text(high))}, expected at least {shown(_text(low))}, the "
                    f"time of {before}"
                )

    def at_least(self, share: Fraction) -> Stored:
        """The time of the least stated quantile that is no smaller, else the largest one."""
        return next((time for of, time in self.quantiles if of >= share), self.largest)

    def exceedance(self, confidence: float | None = None) -> float | None:
        """`exceedance` of so many samples; None if their number is not known."""
        return None if self.count is None else exceedance(self.count, confidence)

    def given(self) -> dict[str, Time]:
        """The argument that makes it, numbers as ticks."""
        found: dict[str, Time] = {
            quantile_key(share): _text(time) for share, time in self.quantiles
        }
        found["largest"] = _text(self.largest)
        if self.count is not None:
            found["count"] = self.count
        return found

    def with_units(self, tick: TickLength) -> dict[str, Time]:
        """As `given`, with times of ``tick`` ns as text."""
        return {
            key: time_with_unit(value, tick) if key != "count" and isinstance(value, int) else value
            for key, value in self.given().items()
        }

    def in_ticks(self, own: TickLength | None, tick: TickLength, name: str) -> Distribution:
        """The distribution in ticks of ``tick`` ns; numbers are ticks of ``own`` ns."""

        def converted(time: Stored, key: str) -> int:
            return in_ticks(time, own, tick, f"{name}.{key}")

        found = tuple((of, converted(time, quantile_key(of))) for of, time in self.quantiles)
        return _made(name, found, converted(self.largest, "largest"), self.count)

    def scaled(self, factor: Fraction, name: str) -> Distribution:
        """All times multiplied by a factor, rounded up; ticks only."""

        def longer(time: Stored) -> int:
            assert isinstance(time, int)
            return scaled_up(time, factor, name)

        found = tuple((share, longer(time)) for share, time in self.quantiles)
        return Distribution(found, longer(self.largest), self.count)

    def shares(self, least: Fraction = Fraction(0)) -> list[tuple[Fraction, Fraction]]:
        """The quantiles, with times as shares of the largest, none below ``least``; ticks only."""
        found = []
        for share, time in self.quantiles:
            assert isinstance(time, int) and isinstance(self.largest, int)
            found.append((share, max(least, Fraction(time, self.largest))))
        return found

    def divided(self, parts: int) -> Distribution:
        """The times of one of so many equal parts, rounded up to ticks, or ns of text."""

        def shorter(time: Stored) -> Stored:
            if isinstance(time, int):
                return -(-time // parts)
            if parts == 1:
                return time
            return as_time(f"{math.ceil(time.ns / parts)}ns", "time")

        found = tuple((share, shorter(time)) for share, time in self.quantiles)
        return Distribution(found, shorter(self.largest), self.count)


def as_distribution(given: object, name: str) -> Distribution | None:
    """A time that is a distribution: a mapping with the largest time; None for other times.

    Raises ValueError, TypeError and OverflowError for wrong keys and values, and their order.
    """
    if isinstance(given, Distribution):
        return given
    if not isinstance(given, Mapping):
        return None
    quantiles: list[tuple[Fraction, Stored]] = []
    for key, value in given.items():
        if key not in ("largest", "count"):
            share = quantile_of(key, f"{name}: got the key {shown(key)}, {_KEYS}")
            quantiles.append((share, as_time(value, f"{name}.{key}")))
    quantiles.sort(key=lambda pair: pair[0])
    shares = [share for share, _ in quantiles]
    if twice := next((one for one, other in pairwise(shares) if one == other), None):
        raise ValueError(f"{name}: got {quantile_key(twice)} twice, expected it once")
    if given.get("largest") is None:
        raise ValueError(f"{name}.largest: got none, expected the largest time")
    count = given.get("count")
    if not quantiles and count is None:
        raise ValueError(f"{name}: got only the largest, expected quantiles or a count, too")
    largest = as_time(given["largest"], f"{name}.largest")
    samples = None if count is None else _samples(count, f"{name}.count")
    return _made(name, tuple(quantiles), largest, samples)


def _made(
    name: str, quantiles: tuple[tuple[Fraction, Stored], ...], largest: Stored, count: int | None
) -> Distribution:
    try:
        return Distribution(quantiles, largest, count)
    except ValueError as error:
        raise ValueError(f"{name}.{error}") from None


def quantile_of(key: object, wrong: str) -> Fraction:
    """The share of a name such as "p99"; ValueError with this message for others."""
    found = _QUANTILE.fullmatch(key) if isinstance(key, str) else None
    if found is None:
        raise ValueError(wrong)
    return Fraction(found[1]) / 100


def quantile_key(share: Fraction) -> str:
    """The name of a quantile: "p99", "p99.9"."""
    percent = 100 * share
    if percent.denominator == 1:
        return f"p{percent.numerator}"
    whole, rest = divmod(percent.numerator * 10**9 // percent.denominator, 10**9)
    return f"p{whole}.{rest:09d}".rstrip("0")


def _samples(count: object, name: str = "count") -> int:
    samples = integer(count, name)
    if not 1 <= samples <= _MOST_SAMPLES:
        raise ValueError(f"{name}: got {shown(count)}, expected 1 to 2**53 samples")
    return samples


def _exceeds(one: Stored, other: Stored) -> bool:
    """Whether a time is longer than another; False where that depends on the tick."""
    if isinstance(one, Duration) and isinstance(other, Duration):
        return one.ns > other.ns
    return isinstance(one, int) and isinstance(other, int) and one > other


def _text(time: Stored) -> Time:
    return time.text if isinstance(time, Duration) else time
