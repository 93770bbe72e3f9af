"""Places of tasks and of the links between them in a drawing, and the links as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpusched._support.text import clip
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.time_units import TickLength, time_with_unit
from gpusched.model.workload.workload_document import Parts

MOST = 100
"""Tasks that are drawn."""

_MOST_ROUTES = 400

_CHARACTER, _PADDING = 6.4, 20.0  # pixels of a box: per character, and beside the text
_HIGH, _PITCH, _GAP = 34.0, 56.0, 50.0  # of a box, between rows, between columns
_MARGIN, _LIFT = 14.0, 30.0  # around the drawing; of links that go back, above it

Curve = tuple[tuple[float, float], ...]
"""A start, and per cubic curve three points; a straight line is one, too."""


@dataclass(frozen=True)
class Route:
    """A link: rows by column from ``source`` to ``target``; none where it goes back."""

    source: str
    target: str
    reads: bool
    rows: tuple[int, ...]


@dataclass(frozen=True)
class Box:
    """The frame of a task: its middle and its size, in pixels."""

    x: float
    y: float
    width: float
    height: float = _HIGH


@dataclass(frozen=True)
class Drawing:
    """Frames by task, curves by route, and the size, in pixels from the top left."""

    boxes: Mapping[str, Box]
    curves: Mapping[Route, Curve]
    width: float
    height: float

    def through(self, tasks: Sequence[str], down: float) -> list[Curve]:
        """Curves along the links between these tasks, in one piece each, lowered by pixels."""
        of = {(route.source, route.target): curve for route, curve in self.curves.items()}
        pieces: list[Curve] = []
        for before, name in pairwise(tasks):
            if (curve := of.get((before, name))) is None:
                continue
            ends = [(self.boxes[task].x, self.boxes[task].y) for task in (before, name)]
            whole = (ends[0], *_line(ends[0], curve[0]), *curve[1:], *_line(curve[-1], ends[1]))
            pieces.append(tuple((x, y + down) for x, y in whole))
        if not pieces and tasks[0] in self.boxes:  # a path of one task
            box = self.boxes[tasks[0]]
            first, last = (box.x - box.width / 2 - 8, box.y), (box.x + box.width / 2 + 8, box.y)
            pieces.append(tuple((x, y + down) for x, y in (first, *_line(first, last))))
        return pieces


def places(tasks: Sequence[Task]) -> dict[str, tuple[int, int]]:
    """Column and row of each task that is drawn, the first hundred.

    It is behind those that release it, and behind those that it reads where these do not go back to
    it. It has the row of one that is in the column before, if that is free, or the next free one.
    """
    drawn = {task.name: task for task in tasks[:MOST]}
    column = _columns(drawn)
    found: dict[str, tuple[int, int]] = {}
    for at in range(max(column.values(), default=0) + 1):
        wanted = []
        for order, (name, task) in enumerate(drawn.items()):
            if column[name] == at:
                links = (*task.after, *task.reads)
                known = [found[link] for link in links if link in found]
                rows = [row for place, row in known if place == at - 1]
                wanted.append(((rows or [row for _, row in known] or [0])[0], order, name))
        free = list(range(len(wanted) + max((row for row, *_ in wanted), default=0)))
        for row, _, name in sorted(wanted):
            nearest = _nearest(free, row, row)
            free.remove(nearest)
            found[name] = (at, nearest)
    return {name: found[name] for name in drawn}


def _columns(tasks: Mapping[str, Task]) -> dict[str, int]:
    """The column of each task: the length of the longest way to it that goes back nowhere."""
    number = {name: i for i, name in enumerate(tasks)}
    links = [(number[a], number[t.name]) for t in tasks.values() for a in t.after if a in number]
    for timed in (True, False):  # what others release may read what is behind it
        of = [task for task in tasks.values() if (not task.after) == timed]
        links += [(number[a], number[t.name]) for t in of for a in t.reads if a in number]
    before = [1 << i for i in range(len(tasks))]  # tasks from which a way leads to one, as bits
    kept = []
    for one, other in links:
        if before[one] >> other & 1:
            continue
        kept.append((one, other))
        for i, bits in enumerate(before):
            if bits >> other & 1:
                before[i] |= before[one]
    columns = [0] * len(tasks)
    for one, other in sorted(kept, key=lambda link: before[link[0]].bit_count()):
        columns[other] = max(columns[other], columns[one] + 1)
    return dict(zip(tasks, columns, strict=True))


def _nearest(rows: Iterable[int], one: int, other: int) -> int:
    """The row that is closest to two rows, of several the highest one."""
    return min(rows, key=lambda row: (abs(row - one) + abs(row - other), row))


def routes(tasks: Sequence[Task], at: Mapping[str, tuple[int, int]]) -> list[Route]:
    """The links between tasks that are drawn, at most 400.

    One over several columns has a row in which no task is in its way, and no link of another task;
    such rows may be above all tasks, too, and are then negative.
    """
    taken: dict[int, int] = {}  # columns that are in use, as bits, by row
    for x, y in at.values():
        taken[y] = taken.get(y, 0) | 1 << x
    own: dict[tuple[str, int], int] = {}  # those of the links from a task
    above, below = -1, max((y for _, y in at.values()), default=0) + 1
    found: list[Route] = []
    for task in tasks:
        links = [*((name, False) for name in task.after), *((name, True) for name in task.reads)]
        for name, reads in links:
            if task.name not in at or name not in at or len(found) == _MOST_ROUTES:
                continue
            (x, y), (to_x, to_y) = at[name], at[task.name]
            if to_x <= x:
                found.append(Route(name, task.name, reads, ()))
                continue
            between = (1 << to_x) - (1 << x + 1)
            if not between:
                found.append(Route(name, task.name, reads, (y, to_y)))
                continue
            free = [
                row
                for row in range(above, below + 1)
                if not taken.get(row, 0) & between & ~own.get((name, row), 0)
            ]
            row = _nearest(free, y, to_y)
            taken[row] = taken.get(row, 0) | between
            own[name, row] = own.get((name, row), 0) | between
            above, below = min(above, row - 1), max(below, row + 1)
            found.append(Route(name, task.name, reads, (y, *[row] * (to_x - x - 1), to_y)))
    return found


def drawing_of(tasks: Sequence[Task], labels: Mapping[str, int]) -> Drawing:
    """Frames and curves; ``labels``: the length of the text in the frame of each task."""
    at = places(tasks)
    links = routes(tasks, at)
    columns = 1 + max(x for x, _ in at.values())
    widest = [0] * columns
    for name, (x, _) in at.items():
        widest[x] = max(widest[x], labels[name])
    left, right = [], []
    across = _MARGIN
    for most in widest:
        left.append(across)
        right.append(across + most * _CHARACTER + _PADDING)
        across = right[-1] + _GAP
    rows = [*(y for _, y in at.values()), *(row for link in links for row in link.rows)]
    highest = min(rows)
    top = _MARGIN + _HIGH / 2 + (_LIFT if any(not link.rows for link in links) else 0)

    def level(row: int) -> float:
        return top + _PITCH * (row - highest)

    boxes = {
        name: Box(
            (left[x] + right[x]) / 2, level(y), labels[name] * _CHARACTER + _PADDING
        )
        for name, (x, y) in at.items()
    }  # fmt: skip
    curves = {}
    for link in links:
        first, last = boxes[link.source], boxes[link.target]
        if not link.rows:
            curves[link] = _back(first, last)
            continue
        points = [(first.x + first.width / 2, first.y)]
        x = at[link.source][0]
        if first.width < right[x] - left[x]:
            points += _line(points[0], (right[x], first.y))
        for before, row in pairwise(link.rows):
            x += 1
            points += _bend((right[x - 1], level(before)), (left[x], level(row)))
            end = last.x - last.width / 2 if x == at[link.target][0] else right[x]
            if end > left[x]:
                points += _line((left[x], level(row)), (end, level(row)))
        curves[link] = tuple(points)
    return Drawing(boxes, curves, across - _GAP + _MARGIN, level(max(rows)) + _HIGH / 2 + _MARGIN)


def _line(start: tuple[float, float], end: tuple[float, float]) -> Iterable[tuple[float, float]]:
    return (start, end, end)


def _bend(start: tuple[float, float], end: tuple[float, float]) -> Iterable[tuple[float, float]]:
    """A curve that begins and ends level."""
    middle = (start[0] + end[0]) / 2
    return ((middle, start[1]), (middle, end[1]), end)


def _back(first: Box, last: Box) -> Curve:
    """A curve from the top of a box to that of another one, which may be the same."""
    y, to_y = first.y - first.height / 2, last.y - last.height / 2
    x, to_x = (first.x + 6, last.x - 6) if first is last else (first.x, last.x)
    lift = min(y, to_y) - 1.4 * _LIFT
    return ((x, y), (x, lift), (to_x, lift), (to_x, to_y))


_WIDEST = 100  # characters of a line that goes on to the right
_MOST_LINES = 200
_NAME = 40


def lines_of(parts: Parts) -> list[str]:
    """Arrows from each task to those that it releases (``─>``) and that read it (``┄>``).

    Tasks follow each other in a line or, where lines would be too long, one below the other. A task
    that is reached again is marked "(above)", and what follows it stands there.
    """
    drawn = {task.name: task for task in parts.tasks[:MOST]}
    follow: dict[str, list[tuple[str, str]]] = {name: [] for name in drawn}
    for task in drawn.values():
        for name in task.after:
            if name in follow:
                follow[name].append(("─", task.name))
        for name in task.reads:
            if name in follow:
                follow[name].append(("┄", task.name))
    texts = {name: _text(task, parts.tick) for name, task in drawn.items()}
    lines = _lines(drawn, follow, texts, across=True)
    if max(map(len, lines)) > _WIDEST:
        lines = _lines(drawn, follow, texts, across=False)
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"and {len(lines) - _MOST_LINES} more lines"]
    if len(parts.tasks) > MOST:
        lines.append(f"and {len(parts.tasks) - MOST} more tasks")
    return lines


def _text(task: Task, tick: TickLength) -> str:
    name = clip(task.name, _NAME)
    if not task.after:
        return f"{name} {task.rate or time_with_unit(task.period, tick)}"
    return f"{name} x{task.every}" if task.every > 1 else name


def _lines(
    tasks: Iterable[str],
    follow: Mapping[str, list[tuple[str, str]]],
    texts: Mapping[str, str],
    *,
    across: bool,
) -> list[str]:
    """The lines; ``across``: the first task behind another one is in its line."""
    lines: list[str] = []
    seen: set[str] = set()

    def draw(name: str, prefix: str) -> None:
        """Append to the last line the task, and what follows; ``prefix`` is before other lines."""
        if name in seen:
            lines[-1] += f"{texts[name]} (above)"
            return
        seen.add(name)
        lines[-1] += texts[name]
        links = follow[name]
        room = prefix + " " * (len(lines[-1]) - len(prefix) + 1) if across else prefix
        for i, (line, following) in enumerate(links):
            last = i + 1 == len(links)
            if across and i == 0:
                lines[-1] += f" {'' if last else '┬'}{line}> "
            else:
                lines.append(f"{room}{'└' if last else '├'}{line}> ")
            draw(following, f"{room}{' ' if last else '│'}   ")

    # Those without a task before them, then the first of each cycle that is left.
    behind = {following for links in follow.values() for _, following in links}
    firsts = [name for name in tasks if name not in behind]
    for name in [*firsts, *tasks]:
        if name not in seen:
            lines.append("")
            draw(name, "")
    return lines
