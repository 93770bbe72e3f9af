"""Division of a study's task sets into calls.

The size of a call follows the measured time of earlier calls; results do not depend on it.
"""

from __future__ import annotations

import bisect
from collections import deque

__all__ = ["Coverage", "Planner"]

_SECONDS = 0.1  # that a call should take
_SHORT = 0.001  # seconds that calls may take at the end, whatever is left
_FIRST = 16  # task sets of a call before anything was measured
_GROWTH = 8  # of a call over the one that was measured
_LARGEST = 1 << 16  # task sets of a call, which bounds its memory


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


class Planner:
    """Work that has not been given out, in order.

    Parameters
    ----------
    chunk
        Task sets of a call; None to choose it by measured times.
    largest
        Most task sets of a call when ``chunk`` is None, and of calls that come together.
    width
        Number of workers.
    """

    def __init__(self, chunk: int | None, largest: int | None, width: int) -> None:
        self._chunk = chunk
        self._largest = _LARGEST if largest is None else largest
        self._width = width
        self._todo: deque[tuple[int, int, int]] = deque()
        self._left = 0
        self._rates: dict[int, tuple[float, int]] = {}  # seconds per set, sets of that call
        self._rate: tuple[float, int] | None = None  # of the latest call of any point

    def add(self, point: int, first: int, end: int) -> None:
        """Add the task sets ``first`` .. ``end - 1`` of a point."""
        self._todo.append((point, first, end))
        self._left += end - first

    def put_back(self, point: int, first: int, end: int) -> None:
        """Add task sets that were given out and not computed, as the next."""
        self._todo.appendleft((point, first, end))
        self._left += end - first

    def measured(self, point: int, size: int, seconds: float) -> None:
        """Note the time of the calls for ``size`` task sets."""
        self._rate = self._rates[point] = (seconds / size, size)

    def next(self) -> tuple[int, int, int, int] | None:
        """The next calls as (point, first, size, task sets of each).

        None when everything has been given out. Short calls of a given size come several at a time,
        for about a millisecond.
        """
        if not self._todo:
            return None
        point, first, end = self._todo.popleft()
        each = self._chunk or min(end - first, self._size(point))
        size = each if self._chunk is None else min(end - first, each * self._calls(point, each))
        if first + size < end:
            self._todo.appendleft((point, first + size, end))
        self._left -= size
        return point, first, size, each

    def _calls(self, point: int, each: int) -> int:
        """Number of calls of a given size that follow each other in a worker.

        It may be too large for a point that was not measured, since a worker stops in time.
        """
        known = self._rates.get(point) or self._rate
        if known is None:
            return 1
        rate, measured = known
        most = min(_GROWTH * measured, self._largest, -(-self._left // (2 * self._width)))
        if rate * most > _SHORT:
            most = int(_SHORT / rate)
        return max(1, most // each)

    def _size(self, point: int) -> int:
        own = self._rates.get(point)
        known = own or self._rate
        if known is None:
            size = short = _FIRST
        else:
            rate, measured = known
            most = _GROWTH * measured if own else max(measured // _GROWTH, _FIRST)
            size = most if rate * most <= _SECONDS else int(_SECONDS / rate)
            short = size if rate * size <= _SHORT else int(_SHORT / rate)
        # Towards the end, calls are so short that the workers finish together.
        even = max(short, -(-self._left // (2 * self._width)))
        return max(1, min(size, even, self._largest))
