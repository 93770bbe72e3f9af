"""Slow and obvious assignment of launch calls to annotated ranges, for small inputs."""

from __future__ import annotations

from dataclasses import dataclass

NONE, SEVERAL = "none", "several"


@dataclass(frozen=True)
class Range:
    """An annotated range; ``anywhere``: any thread of the process may start and end it."""

    name: str
    start: int
    end: int
    thread: int
    anywhere: bool = False

    def contains(self, time: int) -> bool:
        return self.start <= time < self.end


def jobs(
    ranges: list[Range], process: list[int], helpers: set[int], innermost: bool
) -> list[Range]:
    """The ranges that are jobs; ``process`` has that of each thread."""
    found = []
    for i, one in enumerate(ranges):
        others = [
            (j, other)
            for j, other in enumerate(ranges)
            if j != i
            and _lane(other, ranges, process, helpers) == _lane(one, ranges, process, helpers)
        ]
        for _, other in others:
            partly = one.start < other.start < one.end < other.end
            if partly and not one.anywhere:
                raise ValueError("overlap")
        hidden = any(
            _inside(other, j, one, i) if innermost else _inside(one, i, other, j)
            for j, other in others
        )
        if not hidden:
            found.append(one)
    return found


def _inside(one: Range, i: int, other: Range, j: int) -> bool:
    """Whether one range is inside another; of equal ones, the later is inside the earlier."""
    if (one.start, one.end) == (other.start, other.end):
        return j < i
    return other.start <= one.start and one.end <= other.end


def owner(
    time: int,
    thread: int,
    kept: list[Range],
    ranges: list[Range],
    process: list[int],
    helpers: set[int],
) -> Range | str:
    """The range of ``kept``, which `jobs` gave, in which a call lies."""
    lane = _thread(thread, ranges, process, helpers)
    own = [
        r for r in kept
        if not r.anywhere and _thread(r.thread, ranges, process, helpers) == lane
    ]  # fmt: skip
    for one in own:
        if one.contains(time):
            return one
    here = [r for r in kept if process[r.thread] == process[thread]]
    inside = [r for r in here if r.anywhere and r.contains(time)]
    if not inside and (lane in helpers or not own):
        inside = [r for r in here if not r.anywhere and r.contains(time)]
    if len(inside) > 1:
        return SEVERAL
    return inside[0] if inside else NONE


def _thread(thread: int, ranges: list[Range], process: list[int], helpers: set[int]) -> int:
    """The thread as which one counts: for a helper, the only other annotated one."""
    if thread not in helpers:
        return thread
    served = {
        r.thread for r in ranges
        if not r.anywhere and r.thread not in helpers and process[r.thread] == process[thread]
    }  # fmt: skip
    return served.pop() if len(served) == 1 else thread


def _lane(
    one: Range, ranges: list[Range], process: list[int], helpers: set[int]
) -> tuple[bool, int]:
    if one.anywhere:
        return True, process[one.thread]
    return False, _thread(one.thread, ranges, process, helpers)
