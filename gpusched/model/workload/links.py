"""Links between the tasks of a workload: groups of tasks that release each other, and paths."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from gpusched._support.text import clip, shown
from gpusched.model.workload.path import Path
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.time_units import MOST_TICKS, time_with_unit

__all__ = [
    "LinkError",
    "check_paths",
    "groups_of",
    "linked",
    "one_task_each",
    "refuse_cuts",
    "refuse_long_bests",
    "sources_of",
]


class LinkError(ValueError):
    """A link that cannot be; ``place`` is the number of the task or of the path, ``text`` its key
    and what is wrong."""

    def __init__(self, place: int, text: str) -> None:
        super().__init__(place, text)
        self.place, self.text = place, text


def sources_of(tasks: Sequence[Task]) -> dict[str, str]:
    """The timed task that each task goes back to: itself, or that of the tasks before it."""
    found: dict[str, str] = {}
    for task in _in_order(tasks):
        found[task.name] = found[task.after[0]] if task.after else task.name
    return found


def groups_of(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    """The tasks that go back to each timed task, itself first, each behind those before it."""
    source, found = sources_of(tasks), dict[str, list[Task]]()
    for task in _in_order(tasks):
        found.setdefault(source[task.name], []).append(task)
    return found


def linked(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """The tasks with the periods that they have by their links; LinkError for wrong links."""
    if not any(task.after or task.reads for task in tasks):
        return tuple(tasks)
    numbers = {task.name: i for i, task in enumerate(tasks)}
    for i, task in enumerate(tasks):
        for key in ("after", "reads"):
            for name in getattr(task, key):
                if name not in numbers:
                    raise LinkError(i, f"{key}: got {shown(name)}, expected the name of a task")
    made: dict[str, Task] = {}
    source: dict[str, str] = {}
    for task in _in_order(tasks):
        if not task.after:
            made[task.name], source[task.name] = task, task.name
            continue
        i = numbers[task.name]
        sources = list(dict.fromkeys(source[name] for name in task.after))
        if len(sources) > 1:
            raise LinkError(
                i,
                f"after: got tasks of different sources ({clip(', '.join(sources), 100)}), "
                "expected one source; let one of them release the jobs, and read the others",
            )
        periods = {made[name].period for name in task.after}
        if len(periods) > 1:
            raise LinkError(i, "after: got tasks of different rates, expected one rate")
        period = periods.pop() * task.every
        if period > MOST_TICKS:
            raise LinkError(i, f"every: got {task.every}, expected a period below 2**60 ticks")
        made[task.name], source[task.name] = task._released(period), sources[0]
    return tuple(made[task.name] for task in tasks)


def _in_order(tasks: Sequence[Task]) -> list[Task]:
    """The tasks, each behind those that release it; LinkError for a cycle."""
    by_name = {task.name: task for task in tasks}
    behind: dict[str, list[Task]] = {}
    left = {task.name: len(task.after) for task in tasks}
    for task in tasks:
        for name in task.after:
            behind.setdefault(name, []).append(task)
    ready = deque(task for task in tasks if not task.after)
    found = []
    while ready:
        task = ready.popleft()
        found.append(task)
        for other in behind.get(task.name, ()):
            left[other.name] -= 1
            if left[other.name] == 0:
                ready.append(other)
    if len(found) < len(tasks):
        done = {task.name for task in found}
        name = next(task.name for task in tasks if task.name not in done)
        seen: dict[str, None] = {}
        while name not in seen:  # back along tasks that wait for each other
            seen[name] = None
            name = next(other for other in by_name[name].after if other not in done)
        place = {task.name: i for i, task in enumerate(tasks)}
        cycle = sorted(list(seen)[list(seen).index(name) :], key=place.__getitem__)
        raise LinkError(
            place[cycle[0]],
            f"after: got a cycle of {clip(', '.join(cycle), 200)}; feedback is a value that is "
            "read: reads",
        )
    return found


def refuse_cuts(kept: Sequence[Task]) -> None:
    """Raise ValueError for tasks without those that they are after, or that they read."""
    names = {task.name for task in kept}
    for task in kept:
        for key, word in (("after", "is after"), ("reads", "reads")):
            for name in getattr(task, key):
                if name not in names:
                    raise ValueError(
                        f"tasks: got {clip(task.name, 60)}, which {word} {clip(name, 60)}, without "
                        f"{clip(name, 60)}"
                    )


def _check_path(path: Path, place: int, tasks: Sequence[Task]) -> None:
    """Raise LinkError for a path through unknown tasks, or without a link."""
    by_name = {task.name: task for task in tasks}
    for i, name in enumerate(path.tasks):
        if name not in by_name:
            raise LinkError(place, f"tasks[{i}]: got {shown(name)}, expected the name of a task")
        if i == 0:
            continue
        before, task = path.tasks[i - 1], by_name[name]
        if before not in task.after and before not in task.reads:
            between = _shortest(tasks, before, name)
            hint = f"; {clip(' -> '.join(between), 200)} is a path" if between else ""
            raise LinkError(
                place,
                f"tasks[{i}]: got {shown(name)} behind {shown(before)}, expected a task that is "
                f"after {clip(before, 60)} or reads it{hint}",
            )


def _shortest(tasks: Sequence[Task], start: str, end: str) -> list[str]:
    """The shortest path from a task to another one; none if there is no path."""
    behind: dict[str, list[str]] = {}
    for task in tasks:
        for name in (*task.after, *task.reads):
            behind.setdefault(name, []).append(task.name)
    before: dict[str, str] = {start: ""}
    ready = deque([start])
    while ready:
        name = ready.popleft()
        for other in behind.get(name, ()):
            if other not in before:
                before[other] = name
                ready.append(other)
    if end not in before or end == start:
        return []
    found = [end]
    while found[-1] != start:
        found.append(before[found[-1]])
    return found[::-1]


def check_paths(paths: Sequence[Path], tasks: Sequence[Task]) -> None:
    """Raise LinkError for the first path with an unknown task, without a link, or named twice."""
    first: dict[str, int] = {}
    for i, path in enumerate(paths):
        if first.setdefault(path.name, i) != i:
            raise LinkError(
                i,
                f"name: got {shown(path.name)}, expected another name than that of "
                f"path[{first[path.name]}]",
            )
        _check_path(path, i, tasks)


def refuse_long_bests(tasks: Sequence[Task]) -> None:
    """Raise ValueError for a least time of a job that is longer than its known time."""
    for i, task in enumerate(tasks):
        times = [None if part._time is None else part.time * part.repeat for part in task.segments]
        if task.best and None not in times and task.best > sum(times):  # type: ignore[arg-type]
            most = time_with_unit(sum(times), task._tick or 1)  # type: ignore[arg-type]
            got = time_with_unit(task.best, task._tick or 1)
            raise LinkError(i, f"best: got {got}, expected at most the time of a job, {most}")


_ALIKE = ("priority", "stream_priority", "gpu_priority", "process", "core", "launches")


def one_task_each(
    tasks: Sequence[Task], paths: Sequence[Path]
) -> tuple[list[Task], tuple[Path, ...], list[str]]:
    """Groups as one task each, paths through these, and sentences; see `Workload.in_one_thread`."""
    groups = groups_of(tasks)
    place = {task.name: i for i, task in enumerate(tasks)}
    name_of: dict[str, str] = {}
    said = []
    for group in groups.values():
        first, last = group[0].name, group[-1].name
        for task in group:
            name_of[task.name] = first if len(group) == 1 else f"{first} to {last}"
        if len(group) > 1:
            others = ", ".join(clip(task.name, 40) for task in group[:-1])
            text = f"{others} and {clip(last, 40)} run one after the other in one thread"
            if seldom := [task.name for task in group if task.every > 1]:
                text += f", {clip(', '.join(seldom), 100)} in every job"
            said.append(clip(text, 400))
    made = [_one_task(groups[name], name_of) for name in sorted(groups, key=place.__getitem__)]
    through = []
    for path in paths:
        names: list[str] = []
        for name in path.tasks:
            if not names or names[-1] != name_of[name]:
                names.append(name_of[name])
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(
                f"paths[{path.name!r:.60}].tasks: got a path that comes back to {clip(twice, 60)}, "
                "expected one that does not, where its tasks are run by one thread"
            )
        through.append(path.replace(tasks=names))
    return made, tuple(through), said


def _one_task(group: Sequence[Task], name_of: Mapping[str, str]) -> Task:
    """The task of a group: its segments one after the other."""
    first = group[0]
    if len(group) == 1:
        return first.replace(reads=_reads(group, name_of))
    facts: dict[str, Any] = {}
    for key in _ALIKE:
        values: dict[Any, str] = {}
        for task in group:
            if (value := getattr(task, key)) is not None:
                values.setdefault(value, task.name)
        if len(values) > 1:
            (one, name), (two, other) = list(values.items())[:2]
            raise ValueError(
                f"{clip(other, 60)}: got {key} {two}, expected that of {clip(name, 60)}, {one}; "
                "one thread runs both"
            )
        facts[key] = next(iter(values), None)
    return first.replace(
        name=name_of[first.name],
        segments=[segment for task in group for segment in task.segments],
        deadline=min(task.deadline for task in group),
        reads=_reads(group, name_of),
        best=sum(task.best for task in group if task.period == first.period),
        **facts,
    )


def _reads(group: Sequence[Task], name_of: Mapping[str, str]) -> tuple[str, ...]:
    """Tasks that a group reads, without itself."""
    own = name_of[group[0].name]
    names = dict.fromkeys(name_of[name] for task in group for name in task.reads)
    return tuple(name for name in names if name != own)
