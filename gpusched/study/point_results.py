"""Results of a point of a study, from a store and from calls, and when its sampling ends."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import integer, real
from gpusched._support.text import shown
from gpusched.study.accumulators import Accumulator, Arrays, Chunk, State

__all__ = ["Coverage", "PointResults", "StoredMisfit", "Width", "rounds", "values_of"]


@dataclass(frozen=True)
class Width:
    """Criterion of ``gs.sweep``: sample points until their 95 % confidence intervals are narrow.

    The intervals are checked after ``first`` task sets and then each time the number of sets has
    grown by a quarter, so that the number of sets of a point does not depend on chunks and workers.

    Attributes
    ----------
    width
        Largest width of an interval (upper minus lower limit), above 0 and below 1.
    quantity
        The quantity whose interval is checked; None for all quantities that have one.
    first
        Number of task sets before the first check.

    Examples
    --------
    >>> import gpusched as gs
    >>> import numpy as np
    >>> def test(*, load, count, first, seed):
    ...     return {"met": np.arange(first, first + count) % 10 >= 10 * load}
    >>> table = gs.sweep(test, {"load": [0.1, 0.5]}, count=10**6, seed=1, stop=gs.Width(0.1))
    >>> table["count"].tolist()
    [157, 387]
    """

    width: float
    quantity: str | None = None
    first: int = 100

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", real(self.width, "width"))
        if not 0 < self.width < 1:
            raise ValueError(f"width: got {shown(self.width)}, expected more than 0, less than 1")
        if integer(self.first, "first") < 1:
            raise ValueError(f"first: got {self.first}, expected at least 1")

    def reached(self, columns: Mapping[str, Any]) -> bool:
        """Return whether the intervals among the columns of a point are narrow enough.

        Raises ValueError if there is no interval.
        """
        names = [self.quantity] if self.quantity is not None else []
        names = names or [name[: -len("_low")] for name in columns if name.endswith("_low")]
        try:
            widths = [columns[f"{name}_high"] - columns[f"{name}_low"] for name in names]
        except KeyError:
            widths = []
        if not widths:
            what = "any quantity" if self.quantity is None else shown(self.quantity)
            raise ValueError(
                f"stop: got a width for {what}, expected a quantity with a confidence interval"
            )
        return bool(max(widths) <= self.width)


def rounds(stop: Width | None, count: int) -> Iterator[int]:
    """Numbers of task sets at which a point is looked at, up to ``count``."""
    if stop is not None:
        at = stop.first
        while at < count:
            yield at
            at += -(-at // 4)
    yield count


class Coverage:
    """Disjoint ranges of task sets that are done."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []
        self.count = 0

    def add(self, first: int, size: int) -> None:
        """Add a range that overlaps none of the others."""
        self.count += size
        end = first + size
        at = bisect.bisect(self._ranges, (first, end))
        if at < len(self._ranges) and self._ranges[at][0] == end:
            end = self._ranges.pop(at)[1]
        if at and self._ranges[at - 1][1] == first:
            self._ranges[at - 1] = (self._ranges[at - 1][0], end)
        else:
            self._ranges.insert(at, (first, end))

    def gaps(self, first: int, end: int) -> list[tuple[int, int]]:
        """The parts of ``first`` .. ``end - 1`` that are not done, as (first, end)."""
        gaps = []
        # The range before the first that begins after ``first`` may contain it.
        for at in range(max(0, bisect.bisect(self._ranges, (first,)) - 1), len(self._ranges)):
            a, b = self._ranges[at]
            if b <= first:
                continue
            if a >= end:
                break
            if a > first:
                gaps.append((first, a))
            first = b
        if first < end:
            gaps.append((first, end))
        return gaps


class StoredMisfit(ValueError):
    """Stored chunks of a point that do not fit each other."""


class PointResults:
    """Results of the task sets ``first`` .. ``end - 1`` of a point.

    Parameters
    ----------
    accumulator
        Makes and joins states.
    first, end
        The range of task sets.
    stop, columns
        When to stop before ``end``, and the columns of a state by which that is decided.

    Attributes
    ----------
    target
        The task sets before this one are computed before the point is looked at again.
    state
        State of all sets that are done; None when none is.
    """

    def __init__(
        self,
        accumulator: Accumulator,
        first: int,
        end: int,
        stop: Width | None = None,
        columns: Callable[[State], Mapping[str, Any]] | None = None,
    ) -> None:
        self._accumulator = accumulator
        self.first = first
        self.end = end
        self._stop = stop
        self._columns = columns
        self._rounds = rounds(stop, end)
        self._stored: list[Chunk] = []
        self._parts: dict[int, Arrays] = {}
        self._done = Coverage()
        self.target = first
        self.state: State | None = None

    @property
    def count(self) -> int:
        """Number of task sets that are done."""
        return self._done.count

    @property
    def round_done(self) -> bool:
        """True when all sets before ``target`` are done."""
        return self._done.count == self.target - self.first

    def store(self, chunk: Chunk) -> None:
        """Note a chunk that a store has; they come in the order of ``Store.chunks``."""
        self._stored.append(chunk)

    def next_round(self) -> list[tuple[int, int]]:
        """The ranges (first, end) to be computed next; none when the point is finished.

        Called when the ranges that it returned before are done. Raises ``ValueError`` when the
        state has no interval to decide by, ``StoredMisfit`` for chunks that do not fit.
        """
        while not self._finished():
            self.target = next(self._rounds)
            try:
                self._take()
            except ValueError as error:
                raise StoredMisfit(str(error)) from error
            gaps = self._done.gaps(self.first, self.target)
            if gaps:
                return gaps
        self._stored.clear()
        return []

    def _finished(self) -> bool:
        if self.target == self.end:
            return True
        if self._stop is None or self._columns is None or self.state is None:
            return False
        return self._stop.reached(self._columns(self.state))

    def _take(self) -> None:
        """Add what the stored chunks have of the sets before the target."""
        if not self._stored:
            return
        later = []
        for chunk in self._stored:
            end = chunk.first + chunk.size
            if end > self.target and self.target < self.end:
                later.append(chunk)
            low, high = max(chunk.first, self.first), min(end, self.target)
            for first, last in self._done.gaps(low, high):
                if (first, last) == (chunk.first, end):
                    self.add(first, chunk.size, chunk.state, chunk.arrays)
                elif chunk.arrays is not None:  # a part of the chunk, with a state of its own
                    part = slice(first - chunk.first, last - chunk.first)
                    arrays = {name: values[part] for name, values in chunk.arrays.items()}
                    self.add(first, last - first, self._accumulator.state(arrays), arrays)
        self._stored = later

    def add(self, first: int, size: int, state: State, arrays: Arrays | None) -> None:
        """Add the results of a range; ``ValueError`` when they do not fit to the others."""
        if self.state is not None:
            state = self._accumulator.join(self.state, state)
        self.state = state
        self._done.add(first, size)
        if arrays is not None:
            self._parts[first] = arrays

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The kept arrays of all sets that are done, in order."""
        parts = [self._parts[first] for first in sorted(self._parts)]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def values_of(results: Sequence[PointResults]) -> dict[str, npt.NDArray[Any]]:
    """The kept arrays of all points, stacked: arrays of shape (points, count) by name."""
    kept = [result.arrays() for result in results]
    return {name: np.stack([arrays[name] for arrays in kept]) for name in kept[0]}
