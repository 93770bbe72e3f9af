"""Changes of a program after which a way of sharing the GPU guarantees its deadlines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from gpusched._support.budget import Budget, raise_if_stopped
from gpusched._support.growth_factors import factor_text
from gpusched._support.text import clip
from gpusched.comparison.analyses import Request, analyzed, costs_of
from gpusched.comparison.derived_models import DerivedModels
from gpusched.comparison.margins import Growth, Margin
from gpusched.model.views.derived_view import uses_engine
from gpusched.model.workload.periodic_task import Task
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.segments import Kernel
from gpusched.model.workload.time_units import scaled_up, time_with_unit
from gpusched.model.workload.workloads import Workload
from gpusched.ways.way import Way, label_of

__all__ = ["Advice", "Change", "Tried", "advise", "closest_of"]

_SHOWN = 3
_MOST_TESTS = 400
_BUDGET = Budget(states=20_000, bytes=1 << 24)  # of each search, of which there are hundreds
_LONGER = (Fraction(11, 10), Fraction(5, 4), Fraction(3, 2), Fraction(2))
_SHORTER = (Fraction(9, 10), Fraction(3, 4), Fraction(1, 2))
_PARTS = (2, 4, 8)


@dataclass(frozen=True)
class Change:
    """A change of a program or a platform that makes a test accept.

    Attributes
    ----------
    text
        The change in words, such as "detector's deadline is 36ms instead of 33ms".
    kind
        "deadline", "period", "kernel", "copies", "split", "core", "cpus" or "channels".
    task
        Name of the task, or of the path, that is changed; "" for the platform.
    factor
        Factor of the changed time, or 1 for a change of another kind.
    conditional
        Whether the test then accepts under conditions only.
    """

    text: str
    kind: str
    task: str
    factor: Fraction
    conditional: bool


@dataclass(frozen=True)
class Advice:
    """The closest way, and what would make it guarantee the deadlines; see ``Comparison.advice``.

    >>> kernel = gs.Kernel("9ms", blocks=64, threads=512)
    >>> w = gs.Workload([
    ...     gs.Task("lidar", "20ms", [gs.CPU("1ms"), kernel], deadline="12ms"),
    ...     gs.Task("map", "40ms", [gs.CPU("1ms"), kernel])], tick="us")
    >>> ways = gs.compare(w, gs.Platform("AGX Orin", cpus=2), ways=["mpcp", "fmlp_plus"])
    >>> print(ways.advice())
    closest: mpcp (suspend), at 0.6315 of all times; it guarantees the deadlines if lidar's \
deadline is 20ms instead of 12ms

    Attributes
    ----------
    closest
        The `Margin` below 1 with the largest factor; None if no row has one.
    changes
        Changes after which that way, or another one that such a change makes applicable,
        guarantees the deadlines, those that change least first.
    """

    closest: Margin | None
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        parts = []
        if self.closest is not None and self.closest.factor is not None:
            under = ", under its conditions" if self.closest.conditional else ""
            at = factor_text(self.closest.factor)
            parts.append(f"closest: {self.closest.label}, at {at} of all times{under}")
        if self.changes:
            texts = [
                f"if {each.text}{' (under conditions)' if each.conditional else ''}"
                for each in self.changes[:_SHOWN]
            ]
            it = "it guarantees" if parts else "guaranteed:"
            parts.append(f"{it} the deadlines {', or '.join(texts)}")
        return "; ".join(parts)


@dataclass(frozen=True)
class Tried:
    """A way with its options that was asked about a workload on a platform."""

    workload: Workload
    platform: Platform
    way: Way
    request: Request
    applicable: bool

    @property
    def label(self) -> str:
        """Way and given parameters."""
        return label_of(self.way.name, {**self.request.options, **costs_of(self.way)})

    @property
    def quick(self) -> Request:
        """The request with a small budget."""
        return replace(self.request, budget=_BUDGET)

    def accepts(self, workload: Workload, platform: Platform) -> bool | None:
        """Whether the test accepts a changed program; None for under conditions only."""
        raise_if_stopped(self.request.stop)
        try:
            answer = analyzed(DerivedModels(workload, platform), self.way, self.quick)
        except (ValueError, OverflowError):
            return False
        return None if answer.conditional else answer.accepted


def closest_of(tried: Sequence[Tried]) -> tuple[Tried, Margin] | None:
    """The way that accepts the largest factor of all times below 1, with its margin."""
    best: tuple[Tried, Margin] | None = None
    for each in tried:
        if not each.applicable:
            continue
        try:
            growth = Growth(
                each.workload, each.platform, each.way, each.quick, "all", conditional=True
            )
            found = growth.margin() if best is None else growth.margin_above(best[1].factor)
        except (ValueError, OverflowError):
            continue
        if found and found.factor and (best is None or found.factor > (best[1].factor or 0)):
            best = each, found
    return best


def advise(tried: Sequence[Tried]) -> Advice | None:
    """Find the closest of several ways that guarantee nothing, and changes that help.

    None if no way is close and no change that is tried helps.
    """
    found = closest_of(tried)
    changes: list[Change] = []
    for each in tried:
        if not each.applicable:
            changes += _more_channels(each)
    if found is not None:
        changes += _changes(found[0])
    order = {"channels": 0, "cpus": 1, "core": 2, "split": 3}
    changes.sort(
        key=lambda of: (of.conditional, order.get(of.kind, 4), max(of.factor, 1 / of.factor))
    )
    if found is None and not changes:
        return None
    return Advice(None if found is None else found[1], tuple(changes))


def _more_channels(tried: Tried) -> list[Change]:
    """Channels for all streams, where their number is what makes a way not applicable."""
    gpu, count = tried.platform.gpu, sum(bool(task.kernels) for task in tried.workload)
    if gpu is None or count > 32:
        return []
    of_client = tried.way.name in ("mps", "mps_static")
    channels = DerivedModels(tried.workload, tried.platform).channels(of_client=of_client)
    if not channels or channels >= count:
        return []
    platform = tried.platform.replace(channels=count)
    accepted = tried.accepts(tried.workload, platform)
    if accepted is False:
        return []
    text = (
        f"there are {count} channels instead of {channels} (CUDA_DEVICE_MAX_CONNECTIONS, "
        f"--channels {count}), with {tried.label}"
    )
    return [Change(text, "channels", "", Fraction(1), accepted is None)]


def _changes(tried: Tried) -> list[Change]:
    """The smallest change of each kind and task that makes the test accept."""
    found: list[Change] = []
    done: set[tuple[str, str]] = set()
    for tests, (change, workload, platform) in enumerate(_candidates(tried)):
        if tests >= _MOST_TESTS:
            break
        if (change.kind, change.task) in done:
            continue
        accepted = tried.accepts(workload, platform)
        if accepted is not False:
            done.add((change.kind, change.task))
            found.append(replace(change, conditional=accepted is None))
    return found


def _candidates(tried: Tried) -> Iterator[tuple[Change, Workload, Platform]]:
    """Changed programs, the smallest changes first."""
    workload, platform = tried.workload, tried.platform
    tick = workload.tick_ns

    def with_task(task: Task) -> Workload:
        return workload.with_task(task)

    def changed(kind: str, task: str, factor: Fraction, text: str) -> Change:
        return Change(text, kind, task, factor, False)

    more = platform.cpus + 1
    if platform.cpus < len(workload):
        text = f"there are {more} CPUs instead of {platform.cpus}"
        yield changed("cpus", "", Fraction(1), text), workload, platform.replace(cpus=more)
    if all(task.core is not None for task in workload):
        for task in workload:
            for core in range(platform.cpus):
                if core != task.core:
                    text = f"{clip(task.name, 60)} is on core {core} instead of {task.core}"
                    moved = with_task(task.replace(core=core))
                    yield changed("core", task.name, Fraction(1), text), moved, platform
    for task in workload:
        for k in _PARTS:
            if (divided := _split(task, k)) is not None:
                text = f"{clip(task.name, 60)}'s longest kernel is divided into {k} parts"
                yield changed("split", task.name, Fraction(1), text), with_task(divided), platform
    for step in range(len(_LONGER)):
        for path in workload.paths:
            if path.deadline is not None:
                due = scaled_up(path.deadline, _LONGER[step], "deadline")
                text = _instead(
                    f"the deadline of {clip(path.name, 60)} is", due, path.deadline, tick
                )
                through = [
                    p if p is not path else path.replace(deadline=due) for p in workload.paths
                ]
                later = workload.replace(paths=through)
                yield changed("deadline", path.name, _LONGER[step], text), later, platform
        for task in workload:
            name = clip(task.name, 60)
            factor = min(_LONGER[step], max(Fraction(task.period, task.deadline), Fraction(1)))
            if factor > 1:
                due = scaled_up(task.deadline, factor, "deadline")
                text = _instead(f"{name}'s deadline is", due, task.deadline, tick)
                later = with_task(task.replace(deadline=due))
                yield changed("deadline", task.name, factor, text), later, platform
            factor = _LONGER[step]
            if not task.after:
                period = scaled_up(task.period, factor, "period")
                text = _instead(f"{name}'s period is", period, task.period, tick)
                slower = with_task(task.replace(period=period))
                yield changed("period", task.name, factor, text), slower, platform
            if step < len(_SHORTER) and task.copy_time:
                text = f"{name}'s copies take {_SHORTER[step]} of their times"
                quick = _with_copies(task, _SHORTER[step])
                yield changed("copies", task.name, _SHORTER[step], text), with_task(quick), platform
            if step < len(_SHORTER) and (found := _shorter(task, _SHORTER[step])) is not None:
                quick, before, after = found
                text = _instead(f"{name}'s longest kernel takes", after, before, tick)
                yield changed("kernel", task.name, _SHORTER[step], text), with_task(quick), platform


def _instead(what: str, new: int, old: int, tick: int) -> str:
    return f"{what} {time_with_unit(new, tick)} instead of {time_with_unit(old, tick)}"


def _longest(task: Task) -> int | None:
    """Index of the segment of the longest kernel with a stated time."""
    places = [
        i for i, part in enumerate(task.segments) if isinstance(part, Kernel) and part.has_time
    ]
    return max(places, key=lambda i: task.segments[i].time) if places else None


def _shorter(task: Task, factor: Fraction) -> tuple[Task, int, int] | None:
    """The task with a shorter longest kernel, and its time before and after."""
    at = _longest(task)
    if at is None:
        return None
    kernel: Any = task.segments[at]
    after = scaled_up(kernel.time, factor, "time")
    if after >= kernel.time or kernel.block_time is not None:
        return None
    return _with_segments(task, at, [kernel.replace(time=after)]), kernel.time, after


def _with_copies(task: Task, factor: Fraction) -> Task:
    """The task with shorter copies on engines."""
    return task.replace(
        segments=[
            part.replace(time=scaled_up(part.time, factor, "time")) if uses_engine(part) else part
            for part in task.segments
        ],
        best=0,
    )


def _split(task: Task, parts: int) -> Task | None:
    """The task whose longest kernel is several kernels of fewer blocks, one after another."""
    at = _longest(task)
    if at is None:
        return None
    kernel: Any = task.segments[at]
    if not kernel.blocks or kernel.blocks < parts or kernel.sms or kernel.block_time is not None:
        return None
    time = scaled_up(kernel.time, Fraction(1, parts), "time")
    one = kernel.replace(time=time, blocks=-(-kernel.blocks // parts), repeat=kernel.repeat * parts)
    return _with_segments(task, at, [one])


def _with_segments(task: Task, at: int, segments: list[Any]) -> Task:
    parts = [*task.segments[:at], *segments, *task.segments[at + 1 :]]
    return task.replace(segments=parts, best=0)  # a shorter job may take less than before
