"""Reductions: the statistics that a sweep keeps of the values of many task sets.

A reduction turns the values of a chunk into a small state. States are joined exactly, in any order,
so that a table does not depend on chunks, workers or shards, and the memory of a sweep does not
grow with the number of task sets. A state consists of JSON values: numbers, strings, lists and
dicts with string keys.

    gs.sweep(function, grid, count=10**6,
             reduce={"response": [gs.reductions.Mean(), gs.reductions.Quantiles(0.5, 0.99)]})
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import integer, real
from gpusched._support.results import wilson
from gpusched._support.text import shown

__all__ = ["Extremes", "Histogram", "Mean", "Quantiles", "Reduction", "Share", "Weighted"]

Values = npt.NDArray[Any]


class Reduction(ABC):
    """Base of reductions; a subclass defines ``reduce``, ``join`` and ``columns``.

    ``join`` must be exact, associative and commutative. The attributes of an object must determine
    its behaviour, because a store compares them.

    >>> isinstance(gs.reductions.Mean(), gs.reductions.Reduction)
    True
    """

    kinds: ClassVar[str] = "biuf"
    """Kinds of NumPy types that it accepts, as in ``numpy.dtype.kind``."""

    @abstractmethod
    def reduce(self, values: Values, others: Mapping[str, Values]) -> Any:
        """State of a chunk; ``others`` has the arrays of all quantities, including ``values``."""

    @abstractmethod
    def join(self, one: Any, other: Any) -> Any:
        """Joined state of the task sets of two states."""

    @abstractmethod
    def columns(self, name: str, state: Any) -> Mapping[str, Any]:
        """Columns of the table for the quantity ``name``; each value is a number or an array."""

    def holds(self, state: Any, size: int) -> bool:
        """Whether a state from a store can be one of ``size`` task sets; by default any can."""
        return True


@dataclass(frozen=True)
class Share(Reduction):
    """Share of the sets with verdict 1, with a 95 % confidence interval (Wilson).

    The default reduction of booleans and of verdicts (int8: 1 yes, 0 no, -1 undecided). For a
    quantity q, the columns are q, q_low and q_high, and for verdicts also q_undecided, the share of
    -1. The interval covers both extremes: that all and that none of the undecided sets are 1.

    >>> def below(*, x, count, first, seed):
    ...     return {"y": np.arange(first, first + count) < x}
    >>> kept = {"y": gs.reductions.Share()}
    >>> gs.sweep(below, {"x": [1, 3]}, count=4, seed=1, reduce=kept)["y"].tolist()
    [0.25, 0.75]
    """

    kinds: ClassVar[str] = "bi"

    def reduce(self, values: Values, others: Mapping[str, Values]) -> Any:
        if values.dtype.char == "?":
            return [values.size, int(np.count_nonzero(values)), None]
        yes, no, open_ = (int(np.count_nonzero(values == verdict)) for verdict in (1, 0, -1))
        if yes + no + open_ != values.size:
            wrong = values[(values < -1) | (values > 1)][0]
            raise ValueError(f"got {wrong}, expected verdicts (1, 0 or -1)")
        return [values.size, yes, open_]

    def join(self, one: Any, other: Any) -> Any:
        if (one[2] is None) != (other[2] is None):
            raise ValueError("got booleans and verdicts, expected one of them")
        unknown = None if one[2] is None else one[2] + other[2]
        return [one[0] + other[0], one[1] + other[1], unknown]

    def holds(self, state: Any, size: int) -> bool:
        if not _is_list(state, 3) or state[0] != size:
            return False
        parts = [number for number in state[1:] if number is not None]
        return _are_counts(parts, size) and state[1] is not None

    def columns(self, name: str, state: Any) -> Mapping[str, Any]:
        count, yes, unknown = state
        columns = {
            name: yes / count,
            f"{name}_low": float(wilson(yes, count)[0]),
            f"{name}_high": float(wilson(yes + (unknown or 0), count)[1]),
        }
        if unknown is not None:
            columns[f"{name}_undecided"] = unknown / count
        return columns


@dataclass(frozen=True)
class Mean(Reduction):
    """Mean of the values of all sets, rounded once, in column q.

    The default reduction of numbers. It is NaN if a value is NaN, or if both infinities occur.

    >>> def numbers(*, x, count, first, seed):
    ...     return {"y": x * np.arange(first, first + count)}
    >>> kept = {"y": gs.reductions.Mean()}
    >>> gs.sweep(numbers, {"x": [1, 2]}, count=4, seed=1, reduce=kept)["y"].tolist()
    [1.5, 3.0]
    """

    def reduce(self, values: Values, others: Mapping[str, Values]) -> Any:
        return [values.size, *_special_sum(values)]

    def join(self, one: Any, other: Any) -> Any:
        return [one[0] + other[0], *_joined_sums(one[1:], other[1:])]

    def holds(self, state: Any, size: int) -> bool:
        return _is_list(state, 5) and state[0] == size and _is_special_sum(state[1:], size)

    def columns(self, name: str, state: Any) -> Mapping[str, Any]:
        return {name: _ratio(state[1:], [state[0], 0])}


@dataclass(frozen=True)
class Extremes(Reduction):
    """Smallest and largest value, ignoring NaNs; columns q_min and q_max (NaN without a value).

    >>> def numbers(*, x, count, first, seed):
    ...     return {"y": x * np.arange(first, first + count)}
    >>> kept = {"y": gs.reductions.Extremes()}
    >>> table = gs.sweep(numbers, {"x": [1, 2]}, count=4, seed=1, reduce=kept)
    >>> table["y_min"].tolist(), table["y_max"].tolist()
    ([0, 0], [3, 6])
    """

    def reduce(self, values: Values, others: Mapping[str, Values]) -> Any:
        held = values[~np.isnan(values)] + 0.0 if values.dtype.kind == "f" else values  # no -0.0
        return [held.min().item(), held.max().item()] if held.size else []

    def join(self, one: Any, other: Any) -> Any:
        if not one or not other:
            return one or other
        return [min(one[0], other[0]), max(one[1], other[1])]

    def holds(self, state: Any, size: int) -> bool:
        return state == [] or (
            _is_list(state, 2)
            and type(state[0]) is type(state[1])
            and isinstance(state[0], (int, float))
            and bool(state[0] <= state[1])
            and (type(state[0]) is not int or max(map(abs, state)) < 2**64)
        )

    def columns(self, name: str, state: Any) -> Mapping[str, Any]:
        low, high = state or (math.nan, math.nan)
        return {f"{name}_min": low, f"{name}_max": high}


@dataclass(frozen=True, init=False)
class Histogram(Reduction):
    """Numbers of values between given edges, in column q_counts, an array per point.

    >>> def numbers(*, x, count, first, seed):
    ...     return {"y": x * np.arange(first, first + count)}
    >>> kept = {"y": gs.reductions.Histogram([0, 2, 4])}
    >>> table = gs.sweep(numbers, {"x": [1, 2]}, count=4, seed=1, reduce=kept)
    >>> table.arrays["y_counts"].tolist()
    [[0, 2, 2, 0], [0, 1, 1, 2]]

    Parameters
    ----------
    edges
        Increasing numbers. Bin i, for i from 1 to ``len(edges) - 1``, counts values that are at
        least ``edges[i - 1]`` and less than ``edges[i]``. Bin 0 counts those below the first edge,
        and the last bin those at or above the last edge. NaNs are ignored.
    """

    edges: tuple[float, ...]

    def __init__(self, edges: Any) -> None:
        numbers = tuple(real(edge, "edges") for edge in edges)
        if not numbers or any(not a < b for a, b in itertools.pairwise(numbers)):
            raise ValueError(f"edges: got {shown(edges)}, expected increasing numbers")
        object.__setattr__(self, "edges", numbers)

    def reduce(self, values: Values, others: Mapping[str, Values]) -> Any:
        held = values[~np.isnan(values)] if values.dtype.kind == "f" else values
        bins = np.searchsorted(np.array(self.edges), held, side="right")
        counts: list[int] = np.bincount(bins, minlength=len(self.edges) + 1).tolist()
        return counts

    def join(self, one: Any, other: Any) -> Any:
        return [a + b for a, b in zip(one, other, strict=True)]

    def holds(self, state: Any, size: int) -> bool:
        return _is_list(state, len(self.edges) + 1) and _are_counts(state, size)

    def columns(self, name: str, state: Any) -> Mapping[str, Any]:
        return {f"{name}_counts": np.array(state)}


@dataclass(frozen=True, init=False)
class Quantiles(Reduction):
    """Approximate quantiles; each quantile has a column such as q_p99 or q_p99.9.

    Values are counted in classes of equal relative width, given by the first bits of their binary
    representation. The quantile p is the middle of the class that contains the value with rank
    ceil(p n) among n values in ascending order (NaNs are ignored; NaN without a value).

    >>> def numbers(*, x, count, first, seed):
    ...     return {"y": x * np.arange(first, first + count)}
    >>> kept = {"y": gs.reductions.Quantiles(0.5)}
    >>> gs.sweep(numbers, {"x": [1, 2]}, count=101, seed=1, reduce=kept)["y_p50"].tolist()
    [50.125, 100.25]

    Parameters
    ----------
    shares
        Numbers from 0 to 1, such as 0.5 and 0.99.
    bits
        Binary logarithm of the number of classes per power of two. The relative error is at most
        2**-(bits + 1), that is 0.4 % for 7.
    """

    shares: tuple[float, ...]
    bits: int

    def __init__(self, *shares: float, bits: int = 7) -> None:
        numbers = tuple(real(share, "shares") for share in shares)
        if not numbers or any(not 0 <= share <= 1 for share in numbers):
            raise ValueError(f"shares: got {shown(shares)}, expected numbers from 0 to 1")
        if not 0 <= integer(bits, "bits") <= 20:
            raise ValueError(f"bits: got {bits}, expected 0 to 20")
        object.__setattr__(self, "shares", numbers)
        object.__setattr__(self, "bits", bits)

    def reduce(self, values: Values, others: Mapping[str, Values]) -> Any:
        held = values.astype(np.float64)
        held = held[~np.isnan(held)]
        size = np.abs(held).view(np.int64) >> (52 - self.bits)
        # Classes of negative values are numbered downwards from -1.
        classes, counts = np.unique(np.where(held < 0, -1 - size, size), return_counts=True)
        return [list(pair) for pair in zip(classes.tolist(), counts.tolist(), strict=True)]

    def join(self, one: Any, other: Any) -> Any:
        counts = dict(one)
        for number, count in other:
            counts[number] = counts.get(number, 0) + count
        return [list(pair) for pair in sorted(counts.items())]

    def holds(self, state: Any, size: int) -> bool:
        if not isinstance(state, list) or not all(_is_list(pair, 2) for pair in state):
            return False
        numbers = [number for number, _ in state]
        most = 0x7FF << self.bits
        return (
            {int} >= set(map(type, numbers))
            and all(-1 - most <= number <= most for number in numbers)
            and all(a < b for a, b in itertools.pairwise(numbers))
            and _are_counts([count for _, count in state], size)
            and all(count > 0 for _, count in state)
        )

    def columns(self, name: str, state: Any) -> Mapping[str, Any]:
        numbers = [number for number, _ in state]
        upto = np.cumsum([count for _, count in state])
        columns = {}
        for share in self.shares:
            value = math.nan
            if numbers:
                rank = max(1, math.ceil(share * int(upto[-1])))
                value = self._middle(numbers[int(np.searchsorted(upto, rank))])
            columns[f"{name}_p{100 * share:.12g}"] = value
        return columns

    def _middle(self, number: int) -> float:
        """Middle of a class; 0 for the class of 0, and an infinity for its class."""
        size = -1 - number if number < 0 else number
        ends = np.array([size, size + 1], np.int64) << (52 - self.bits)
        low, high = ends.view(np.float64).tolist()
        middle = low if low == 0 or not math.isfinite(high) else low + (high - low) / 2
        return float(-middle if number < 0 else middle)


@dataclass(frozen=True)
class Weighted(Reduction):
    """Mean of the values weighted by another quantity, in column q_weighted.

    For verdicts weighted by the utilizations of the sets, this is the weighted schedulability of
    Bastoni, Brandenburg and Anderson (2010) for the sets of a point: the sum of weight times value,
    divided by the sum of the weights. ``Sweep.weighted`` computes it over the points of a
    parameter. Undecided verdicts (-1) count as 0.

    >>> def weighed(*, x, count, first, seed):
    ...     return {"y": np.arange(first, first + count) < x, "u": np.ones(count)}
    >>> kept = {"y": gs.reductions.Weighted("u")}
    >>> gs.sweep(weighed, {"x": [1, 3]}, count=4, seed=1, reduce=kept)["y_weighted"].tolist()
    [0.25, 0.75]

    Attributes
    ----------
    by
        Name of the quantity that has the weights; these are non-negative finite numbers.
    """

    by: str

    def reduce(self, values: Values, others: Mapping[str, Values]) -> Any:
        if self.by not in others:
            raise ValueError(f"got no quantity {self.by!r}, expected one with the weights")
        weights = others[self.by]
        if not ((weights >= 0) & (weights < math.inf)).all():
            raise ValueError(f"{self.by!r}: got a weight out of range, expected finite, not < 0")
        if values.dtype == np.int8:
            values = values == 1
        with np.errstate(over="ignore", invalid="ignore"):  # infinite or NaN values
            products = values * weights.astype(np.float64)
        return [*_special_sum(products), sum_of(weights)]

    def join(self, one: Any, other: Any) -> Any:
        return [*_joined_sums(one[:-1], other[:-1]), added(one[-1], other[-1])]

    def holds(self, state: Any, size: int) -> bool:
        return (
            _is_list(state, 5)
            and _is_special_sum(state[:-1], size)
            and is_exact_sum(state[-1])
            and state[-1][0] >= 0
        )

    def columns(self, name: str, state: Any) -> Mapping[str, Any]:
        return {f"{name}_weighted": _ratio(state[:-1], state[-1])}


_SHARE, _MEAN = Share(), Mean()


def usual(values: Values) -> Reduction:
    """The default reduction of a quantity."""
    return _SHARE if values.dtype.char in "?b" else _MEAN


def _special_sum(values: Values) -> list[Any]:
    """Exact sum of the finite values, and the numbers of NaNs, of inf and of -inf."""
    if values.dtype.kind != "f" or (finite := np.isfinite(values)).all():
        return [sum_of(values), 0, 0, 0]
    rest = values[~finite]
    nans, above = int(np.isnan(rest).sum()), int((rest > 0).sum())
    return [sum_of(values[finite]), nans, above, rest.size - nans - above]


def _joined_sums(one: Any, other: Any) -> list[Any]:
    (total, nans, above, below), (more, *others) = one, other
    return [added(total, more), nans + others[0], above + others[1], below + others[2]]


def _is_list(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


def _are_counts(values: Any, size: int) -> bool:
    """Whether values are numbers of different task sets among ``size``."""
    return (
        {int} >= set(map(type, values))
        and all(count >= 0 for count in values)
        and sum(values) <= size
    )


def _is_special_sum(value: Any, size: int) -> bool:
    """Whether a value can be one of `_special_sum`."""
    return is_exact_sum(value[0]) and _are_counts(value[1:], size)


def _ratio(state: Any, over: list[int]) -> float:
    total, nans, above, below = state
    if nans or (above and below):
        return math.nan
    if above or below:
        return math.inf if above else -math.inf
    return quotient(total, over)


ExactSum = list[int]
"""A pair [m, e], m * 2**e, with m odd or zero: whatever the order and the grouping of its terms."""

_FEW = 16  # terms that are added one by one
_BLOCK = 2**25  # terms whose halves of 27 bits add up without rounding in a double
_LOW = 26  # bits of the lower half of a mantissa


def sum_of(values: npt.NDArray[Any]) -> ExactSum:
    """Sum of an array of finite floats, integers or booleans of any shape."""
    kind = values.dtype.kind
    if values.size <= _FEW:
        if kind != "f":
            return _odd(sum(values.ravel().tolist()), 0)
        total: ExactSum = [0, 0]
        for value in map(float, values.ravel().tolist()):
            top, bottom = value.as_integer_ratio()
            total = added(total, [top, 1 - bottom.bit_length()])
        return total
    if kind == "b":
        return _odd(int(np.count_nonzero(values)), 0)
    if kind in "iu":
        wide = values.astype(np.uint64 if kind == "u" else np.int64, copy=False)
        half = wide.dtype.type(32)  # sums of up to 2**31 halves fit 64 bits
        high, low = wide >> half, wide & wide.dtype.type(2**32 - 1)
        return _odd((int(high.sum()) << 32) + int(low.sum()), 0)
    flat = values.ravel()
    total = [0, 0]
    for start in range(0, flat.size, _BLOCK):
        total = added(total, _block(flat[start : start + _BLOCK].astype(np.float64, copy=False)))
    return total


def _block(values: npt.NDArray[np.float64]) -> ExactSum:
    """Sum of at most _BLOCK floats: one sum of whole mantissas per exponent."""
    fractions, exponents = np.frexp(values)
    whole = np.ldexp(fractions, 53).astype(np.int64)
    least = int(exponents.min())
    places = exponents - least
    high = np.bincount(places, weights=whole >> _LOW)
    low = np.bincount(places, weights=whole & (2**_LOW - 1))
    total = 0
    for place in np.flatnonzero((high != 0) | (low != 0)).tolist():
        total += ((int(high[place]) << _LOW) + int(low[place])) << place
    return _odd(total, least - 53)


def added(one: ExactSum, other: ExactSum) -> ExactSum:
    """Sum of two sums."""
    (m, e), (n, f) = one, other
    if e < f:
        return _odd(m + (n << (f - e)), e)
    return _odd((m << (e - f)) + n, f)


def _odd(number: int, exponent: int) -> ExactSum:
    if number == 0:
        return [0, 0]
    zeros = (number & -number).bit_length() - 1
    return [number >> zeros, exponent + zeros]


def is_exact_sum(value: Any) -> bool:
    """Whether a value can be a sum of 2**62 doubles or integers of 64 bits."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and {int} >= set(map(type, value))
        and -1100 <= value[1] <= 1100
        and value[0].bit_length() <= 2300
    )


def quotient(one: ExactSum, other: ExactSum) -> float:
    """``one / other``, rounded once; NaN for a division by zero, an infinity beyond all floats."""
    (m, e), (n, f) = one, other
    if n == 0:
        return float("nan")
    shift = e - f
    try:
        return (m << shift) / n if shift >= 0 else m / (n << -shift)
    except OverflowError:
        return math.copysign(math.inf, m)


def __dir__() -> list[str]:
    return sorted(__all__)
