"""Rows and colours of kernels in a picture: blocks side by side, one colour for a name."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

import numpy as np

from gpusched._draw.axes import PALETTE
from gpusched._draw.timeline import Key
from gpusched._support.arguments import Int64Array
from gpusched._support.text import clip

Run = tuple[int, int]
"""Lowest thread, number of adjacent threads."""


class Threads:
    """Free threads (or warps) of a picture, as intervals [low, high) in order."""

    def __init__(self, m: int) -> None:
        self.free: list[list[int]] = [[0, m]]

    def take(self, blocks: int, width: int) -> list[Run]:
        """Take threads for blocks: all adjacent if possible, else block by block, else divided."""
        for interval in self.free:
            if interval[1] - interval[0] >= blocks * width:
                return [self._cut(interval, blocks * width)]
        runs = []
        for interval in list(self.free):
            fitting = min(blocks, (interval[1] - interval[0]) // width)
            if fitting > 0:
                runs.append(self._cut(interval, fitting * width))
                blocks -= fitting
        left = blocks * width
        for interval in list(self.free):
            if left > 0:
                size = min(left, interval[1] - interval[0])
                runs.append(self._cut(interval, size))
                left -= size
        return runs

    def _cut(self, interval: list[int], size: int) -> Run:
        low = interval[0]
        interval[0] += size
        if interval[0] == interval[1]:
            self.free.remove(interval)
        return low, size

    def give(self, runs: list[Run]) -> None:
        """Free threads again."""
        intervals = sorted(self.free + [[low, low + size] for low, size in runs])
        self.free = []
        for interval in intervals:
            if self.free and self.free[-1][1] == interval[0]:
                self.free[-1][1] = interval[1]
            else:
                self.free.append(interval)


class Placement:
    """Places blocks over time: each group of blocks keeps its threads from start to end."""

    def __init__(self, m: int) -> None:
        self.threads = Threads(m)
        self.running: list[tuple[int, int, list[Run]]] = []
        self.count = 0

    def place(self, start: int, end: int, blocks: int, width: int) -> list[Run]:
        """Threads of blocks; calls must be in order of ``start``."""
        while self.running and self.running[0][0] <= start:
            self.threads.give(heapq.heappop(self.running)[2])
        runs = self.threads.take(blocks, width)
        heapq.heappush(self.running, (end, self.count, runs))
        self.count += 1
        return runs


def side_by_side(start: Iterable[int], end: Iterable[int]) -> list[tuple[int, int]]:
    """Rows of intervals, in order of ``start``: (row, number of rows) of each.

    Intervals that overlap, directly or through others, share a lane's height in rows.
    """
    rows: list[int] = []
    ends: list[int] = []  # of the last interval in each row of the present group
    sizes: list[int] = []  # rows of each group
    group: list[int] = []
    for low, high in zip(start, end, strict=True):
        if not ends or low >= max(ends):
            ends = []
            sizes.append(0)
        row = next((k for k, last in enumerate(ends) if last <= low), len(ends))
        ends[row : row + 1] = [high]
        rows.append(row)
        group.append(len(sizes) - 1)
        sizes[-1] = len(ends)
    return [(row, sizes[g]) for row, g in zip(rows, group, strict=True)]


def split(runs: Iterable[Run], width: int) -> list[Run]:
    """One run for each block, as far as blocks are in one piece."""
    single = []
    for low, size in runs:
        count, rest = divmod(size, width)
        single += [(low + k * width, width) for k in range(count)] if rest == 0 else []
        single += [(low, size)] if rest else []
    return single


def spans(
    runs: Iterable[Run], m: int, top: float = 0.0, bottom: float = 1.0
) -> tuple[tuple[float, float], ...]:
    """Runs as shares of a lane's height, thread 0 at ``bottom``, ``m`` at ``top``."""
    high = bottom - top
    return tuple((bottom - high * (low + size) / m, bottom - high * low / m) for low, size in runs)


_LEGEND = 10  # names in the legend
_LABEL = 28  # characters of a name
_HALF = 13  # of one that is cut in the middle


class NameColors:
    """Colours of launches by their names: those of ``first``, then in order of first use."""

    def __init__(self, names: Sequence[str], first: Iterable[str] = ()) -> None:
        self.names = names
        self.index: dict[str, int] = {}
        for name in (*first, *names):
            self.index.setdefault(name, len(self.index))

    def color(self, launch: int) -> int:
        """Index of a launch's colour."""
        return self.index[self.names[launch]]

    def classes(self) -> Int64Array:
        """Entry of the palette of each launch, (launches,): colours repeat."""
        found = (self.index[name] % len(PALETTE) for name in self.names)
        return np.fromiter(found, np.int64, len(self.names))

    def used(self, classes: Int64Array) -> set[int]:
        """Indices of the colours that are the given entries of the palette."""
        entries = set(classes.tolist())
        return {k for k in self.index.values() if k % len(PALETTE) in entries}

    def keys(self, colors: Iterable[int | str]) -> list[Key]:
        """Entries of the legend for the colours that are used."""
        used = sorted({color for color in colors if isinstance(color, int)})[:_LEGEND]
        names = list(self.index)
        texts = [clip(names[k], _LABEL) for k in used]
        # Names that begin alike, as those of templates do, are told apart by their ends.
        return [
            Key(
                f"{clip(names[k][:_HALF], _HALF)}…{clip(names[k][-_HALF:], _HALF)}"
                if texts.count(text) > 1
                else text,
                k,
            )
            for k, text in zip(used, texts, strict=True)
        ]
