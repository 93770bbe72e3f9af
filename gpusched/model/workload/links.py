"""Links between the tasks of a workload: groups of tasks that release each other, and paths.

In a path, each task is released by the one before it, or reads it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypedDict, Unpack

from gpusched._support.arguments import one_of
from gpusched._support.text import clip, shown
from gpusched.model.workload.facts import Facts, label
from gpusched.model.workload.periodic_task import Task, names_of
from gpusched.model.workload.time_units import MOST_TICKS, Stored, Time, as_time, time_with_unit

Kind = Literal["latency", "reaction", "age", "held age"]
"""Times of a path; see `Path`."""

Phases = Literal["any", "given"]
"""Whether the sources of a path have any phases, or the offsets of the workload on one clock."""

KINDS: tuple[Kind, ...] = ("latency", "reaction", "age", "held age")
PHASES: tuple[Phases, ...] = ("any", "given")


class _Changes(TypedDict, total=False):
    name: str
    tasks: Iterable[str]
    deadline: Time | None
    kind: Kind
    phases: Phases


class Path(Facts):
    """A path through tasks of a workload, and the time that it may take.

    >>> work = [gs.CPU("2ms")]
    >>> w = gs.Workload([
    ...     gs.Task("camera", "40ms", work), gs.Task("detector", segments=work, after="camera"),
    ...     gs.Task("control", "10ms", work, reads="detector"),
    ... ], paths=[gs.Path("frame to command", ["camera", "detector", "control"], "100ms")])
    >>> w.path("frame to command").deadline
    100000000

    Parameters
    ----------
    name
        Name of the path. It must differ from the names of the other paths in the workload.
    tasks
        Names of different tasks, each of which is released by the one before it (``after``) or
        reads it (``reads``).
    deadline
        Largest time allowed, in ticks or as text with a unit. None: the time is only reported.
    kind
        "latency": from the arrival of a sample, or from the release of the first task if that one
        has ``after``, to the first output that is based on it or on a newer one. "reaction": from
        an event that is just too late for a sample to the first output that reflects it. "age":
        from the sample that an output is based on to that output. "held age": from that sample to
        the next output, which replaces it.
    phases
        "any": sources run freely, at any phases. "given": the sources have the offsets of the
        workload, on one clock. Phases count as any if the period of a source is that of a rate and
        no whole number of ticks.

    Raises
    ------
    ValueError, TypeError
        An argument is invalid; the message names it.

    Times are those after each task has read once: the start of the program is left out.
    """

    __slots__ = ("_deadline", "kind", "name", "phases", "tasks")

    _KEYS: ClassVar[tuple[str, ...]] = ("name", "tasks", "_deadline", "kind", "phases")
    _TIMES: ClassVar[frozenset[str]] = frozenset({"_deadline"})

    name: str
    tasks: tuple[str, ...]
    kind: Kind
    phases: Phases
    _deadline: Stored | None

    def __init__(
        self,
        name: str,
        tasks: Iterable[str],
        deadline: Time | None = None,
        kind: Kind = "latency",
        phases: Phases = "any",
    ) -> None:
        found = names_of(tasks, "tasks")
        if not found:
            raise ValueError(f"tasks: got {shown(tasks)}, expected the name of at least one task")
        one_of(kind, KINDS, "kind")
        one_of(phases, PHASES, "phases")
        due = None if deadline is None else as_time(deadline, "deadline")
        self._put((label(name, "name"), found, due, kind, phases))

    @property
    def deadline(self) -> int | None:
        """Largest time allowed, in ticks; None where there is no limit."""
        return None if self._deadline is None else self._ticks(self._deadline, "deadline")

    def replace(self, **changes: Unpack[_Changes]) -> Path:
        """Return a copy of the path with some arguments changed; numbers are ticks as before.

        >>> gs.Path("a to b", ["a", "b"], 30).replace(kind="age")
        Path('a to b', tasks=('a', 'b'), deadline=30, kind='age')
        """
        made = Path(**{**self._given(), **changes})  # type: ignore[arg-type]
        return made if self._tick is None else made._at(self._tick)

    @classmethod
    def _unsaid(cls, name: str) -> object:
        return {"kind": "latency", "phases": "any"}.get(name)


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
