"""Which threads or warps are blocks drawn on, those side by side that start together?"""

from __future__ import annotations

Piece = tuple[int, int]  # lowest thread, threads


class Threads:
    """Which threads (or warps) of a picture are free, as intervals [low, high) in order."""

    def __init__(self, m: int) -> None:
        self.free: list[list[int]] = [[0, m]]

    def take(self, blocks: int, width: int) -> list[Piece]:
        """Threads for blocks: all side by side if possible, or block by block, or torn apart."""
        for interval in self.free:
            if interval[1] - interval[0] >= blocks * width:
                return [self._cut(interval, blocks * width)]
        pieces = []
        for interval in list(self.free):
            fitting = min(blocks, (interval[1] - interval[0]) // width)
            if fitting > 0:
                pieces.append(self._cut(interval, fitting * width))
                blocks -= fitting
        left = blocks * width
        for interval in list(self.free):
            if left > 0:
                size = min(left, interval[1] - interval[0])
                pieces.append(self._cut(interval, size))
                left -= size
        return pieces

    def _cut(self, interval: list[int], size: int) -> Piece:
        low = interval[0]
        interval[0] += size
        if interval[0] == interval[1]:
            self.free.remove(interval)
        return low, size

    def give(self, pieces: list[Piece]) -> None:
        """Frees threads again."""
        intervals = sorted(self.free + [[low, low + size] for low, size in pieces])
        self.free = []
        for interval in intervals:
            if self.free and self.free[-1][1] == interval[0]:
                self.free[-1][1] = interval[1]
            else:
                self.free.append(interval)
