"""Results of a point of a study, as they are collected from a store and from calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched.study.accumulators import Accumulator, Arrays, Chunk, State
from gpusched.study.planner import Coverage
from gpusched.study.width import Width, rounds

__all__ = ["PointResults", "StoredMisfit", "values_of"]


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
