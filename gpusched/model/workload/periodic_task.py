"""Tasks of a workload: releases, segments of a job, priorities and placement, links to others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal, NoReturn, TypedDict, Unpack

from gpusched._support.arguments import is_sequence, one_of
from gpusched._support.text import shown
from gpusched.model.workload.facts import Facts, count, label, optional_number
from gpusched.model.workload.segments import CPU, DLA, CopyIn, CopyOut, Kernel, Segment, Sync
from gpusched.model.workload.time_units import (
    MOST_TICKS,
    Rate,
    Stored,
    TickLength,
    Time,
    as_rate,
    as_time,
    time_with_unit,
)

__all__ = ["LAUNCHES", "Launches", "Task", "launches_of", "names_of"]

_KINDS = (CPU, CopyIn, CopyOut, DLA, Kernel)

MOST_EVERY = 1_000_000
"""Largest ``every`` of a task."""

Launches = Literal["async", "sync", "graph"]
"""Form in which a task launches the operations between which it has no CPU work."""

LAUNCHES: tuple[Launches, ...] = ("async", "sync", "graph")


def launches_of(given: object, name: str = "launches") -> Launches | None:
    """A form of launching, or None; ValueError for others."""
    if given is not None:
        one_of(given, LAUNCHES, name)
    return given  # type: ignore[return-value]


def names_of(given: object, name: str) -> tuple[str, ...]:
    """Names of tasks, given as one or as a list of different ones; none for None."""
    if given is None or given == ():
        return ()
    listed = [given] if isinstance(given, str) else given
    if not is_sequence(listed) or not isinstance(listed, Iterable):
        raise TypeError(f"{name}: got {shown(given)}, expected the name of a task, or a list")
    found = tuple(label(item, name) for item in listed)
    if not found:
        raise ValueError(f"{name}: got {shown(given)}, expected at least one name")
    if len(set(found)) < len(found):
        twice = next(item for item in found if found.count(item) > 1)
        raise ValueError(f"{name}: got {shown(twice)} twice, expected it once")
    return found


class _Changes(TypedDict, total=False):
    name: str
    period: Time | None
    segments: Iterable[Segment]
    rate: str | None
    deadline: Time | None
    offset: Time
    jitter: Time
    priority: int | None
    stream_priority: int | None
    gpu_priority: int | None
    process: str | None
    core: int | None
    launches: Launches | None
    after: str | Iterable[str] | None
    every: int
    queue: int | None
    reads: str | Iterable[str] | None
    best: Time


class Task(Facts):
    """A task whose jobs run its segments in order: periodic, sporadic, or released by others.

    >>> task = gs.Task("detector", rate="30Hz", segments=[
    ...     gs.CPU("2ms"), gs.CopyIn("300us"), gs.Kernel("4.1ms", blocks=120, threads=256)])
    >>> gs.Workload([task], tick="us")["detector"].period
    33333

    Parameters
    ----------
    name
        Name of the task. It must differ from the names of the other tasks in the workload.
    period
        Minimum time between two releases, in ticks or as text with a unit. A task with ``after``
        has none; in a workload it has the period of the task that it goes back to.
    segments
        CPU work, waits (`Sync`), copies and kernels of one job, in the order in which they run; at
        least one.
    rate
        Releases per second as text, such as ``"30Hz"``, given instead of the period. The
        resulting period is rounded down to a whole tick.
    deadline
        Relative deadline, from the arrival; of a task with ``after``, from the release. Default:
        the period.
    offset
        Time of the first release.
    jitter
        Maximum delay between the arrival of a job and its release.
    priority, stream_priority, gpu_priority
        Priority on the CPU, of the task's stream, and in the arbitration between GPU contexts. A
        smaller number is a higher priority. None: no priority is assigned.
    process
        Name of the process that the task belongs to. Tasks of one process share a GPU context.
    core
        Number of the CPU core that the task is assigned to, from 0.
    launches
        How the job launches copies on engines and kernels between which it has no CPU work:
        ``"async"`` (one call after the other, then it waits for all), ``"sync"`` (it waits for each
        before it calls the next) or ``"graph"`` (one call of a CUDA graph). None: as the workload
        says, else ``"async"``.
    after
        Names of one or several tasks that release the jobs: job j is released at the instant at
        which job j of all of them has ended. In place of a period or a rate.
    every
        With ``after``: of so many jobs of these tasks one releases a job, the first one included.
    queue
        With ``after``: number of results that the program has room for while they wait for the
        task. Default: any number.
    reads
        Names of tasks whose newest results a job takes, at an instant between its release and its
        start. Nothing waits: a newer result replaces the one before it.
    best
        Least time of a job. Default: 0.

    Times given as numbers are ticks of the workload. An attribute whose time was given as text
    raises ValueError until the task is part of a workload, which defines the tick.

    Raises
    ------
    ValueError, TypeError, OverflowError
        An argument is missing or invalid; the message names it.
    """

    __slots__ = (
        *("_best", "_deadline", "_inherited", "_jitter", "_offset", "_period", "_rate"),
        *("after", "core", "every", "gpu_priority", "launches", "name", "priority", "process"),
        *("queue", "reads", "segments", "stream_priority"),
    )

    _KEYS: ClassVar[tuple[str, ...]] = (
        *("name", "_period", "_rate", "_deadline", "_offset", "_jitter", "priority"),
        *("stream_priority", "gpu_priority", "process", "core", "launches", "after", "every"),
        *("queue", "reads", "_best", "segments"),
    )
    _TIMES: ClassVar[frozenset[str]] = frozenset(
        {"_period", "_deadline", "_offset", "_jitter", "_best"}
    )
    _NESTED: ClassVar[frozenset[str]] = frozenset({"segments"})

    name: str
    segments: tuple[Segment, ...]
    priority: int | None
    stream_priority: int | None
    gpu_priority: int | None
    process: str | None
    core: int | None
    launches: Launches | None
    after: tuple[str, ...]
    every: int
    queue: int | None
    reads: tuple[str, ...]
    _best: Stored
    _inherited: int | None  # with `after`, in a workload: the period
    _period: Stored | None
    _rate: Rate | None
    _deadline: Stored | None
    _offset: Stored
    _jitter: Stored

    def __init__(
        self,
        name: str,
        period: Time | None = None,
        segments: Iterable[Segment] = (),
        *,
        rate: str | None = None,
        deadline: Time | None = None,
        offset: Time = 0,
        jitter: Time = 0,
        priority: int | None = None,
        stream_priority: int | None = None,
        gpu_priority: int | None = None,
        process: str | None = None,
        core: int | None = None,
        launches: Launches | None = None,
        after: str | Iterable[str] | None = None,
        every: int = 1,
        queue: int | None = None,
        reads: str | Iterable[str] | None = None,
        best: Time = 0,
    ) -> None:
        checked = label(name, "name")
        before, read = names_of(after, "after"), names_of(reads, "reads")
        if before:
            _refuse_timing(before, period=period, rate=rate, offset=offset, jitter=jitter)
        elif (period is None) == (rate is None):
            both = "none" if period is None else "a period and a rate"
            raise ValueError(f"period: got {both}, expected a period, a rate, or after")
        if count(every, "every", 1, MOST_EVERY) > 1 and not before:
            raise ValueError(
                f"every: got {every}, expected after; a period says how often a timed task reads"
            )
        if queue is not None and count(queue, "queue", 1, 2**31 - 1) and not before:
            raise ValueError(f"queue: got {queue}, expected after; nothing waits that is read")
        if twice := next((task for task in read if task in before), None):
            raise ValueError(
                f"reads: got {shown(twice)}, which is in after, too; a triggered job has the "
                "result that released it"
            )
        form, work = launches_of(launches), _segments(segments)
        _refuse_waits_in_graphs(work, form)
        self._put(
            (
                checked,
                None if period is None else as_time(period, "period"),
                None if rate is None else as_rate(rate, "rate"),
                None if deadline is None else as_time(deadline, "deadline"),
                as_time(offset, "offset", 0),
                as_time(jitter, "jitter", 0),
                optional_number(priority, "priority"),
                optional_number(stream_priority, "stream_priority"),
                optional_number(gpu_priority, "gpu_priority"),
                None if process is None else label(process, "process"),
                None if core is None else count(core, "core", 0, 2**31 - 1),
                form,
                before,
                every,
                queue,
                read,
                as_time(best, "best", 0),
                work,
            )
        )

    def _put(self, values: Iterable[object], tick: TickLength | None = None) -> None:
        super()._put(values, tick)
        object.__setattr__(self, "_inherited", None)

    def _released(self, period: int) -> Task:
        """The task with the period that those before it give it."""
        made = object.__new__(Task)
        made._put(self._stored(), self._tick)
        object.__setattr__(made, "_inherited", period)
        return made

    @property
    def period(self) -> int:
        """Minimum number of ticks between two releases."""
        if self.after:
            if self._inherited is None:
                raise ValueError(
                    f"period: got none of {self.name!r:.60}, a task with after, expected ticks; "
                    "it has those of its source in a Workload"
                )
            return self._inherited
        if self._rate is None:
            return self._ticks(self._period, "period")
        if self._tick is None:
            self._no_ticks()
        return self._rate.period(self._tick)

    @property
    def rate(self) -> str | None:
        """The rate as it was given; None for a task that was given a period."""
        return None if self._rate is None else self._rate.text

    @property
    def deadline(self) -> int:
        """Relative deadline in ticks."""
        return self.period if self._deadline is None else self._ticks(self._deadline, "deadline")

    @property
    def has_deadline(self) -> bool:
        """Whether a deadline was given explicitly; if not, it equals the period."""
        return self._deadline is not None

    @property
    def offset(self) -> int:
        """Time of the first release, in ticks."""
        return self._ticks(self._offset, "offset")

    @property
    def jitter(self) -> int:
        """Maximum release jitter, in ticks."""
        return self._ticks(self._jitter, "jitter")

    @property
    def best(self) -> int:
        """Least time of a job, in ticks."""
        return self._ticks(self._best, "best")

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels among the segments; each appears once, whatever its ``repeat``."""
        return tuple(segment for segment in self.segments if isinstance(segment, Kernel))

    @property
    def cpu_time(self) -> int:
        """CPU work of one job in ticks, including copies that the CPU performs, and staging."""
        return sum(
            (segment.time if _is_work(segment) else getattr(segment, "staged", None) or 0)
            * segment.repeat
            for segment in self.segments
        )

    @property
    def copy_time(self) -> int:
        """Time of the copies of one job on copy engines, in ticks."""
        return sum(
            segment.time * segment.repeat
            for segment in self.segments
            if isinstance(segment, (CopyIn, CopyOut)) and segment.by == "engine"
        )

    def steps(self) -> Iterator[tuple[int, Segment]]:
        """Iterate over the segments as a job runs them, each as often as it repeats.

        Yields pairs: the index in ``segments``, and the segment.

        >>> task = gs.Task("a", 9, [gs.CPU(1), gs.Kernel(2, repeat=2)])
        >>> [place for place, segment in task.steps()]
        [0, 1, 1]
        """
        for place, segment in enumerate(self.segments):
            for _ in range(segment.repeat):
                yield place, segment

    def replace(self, **changes: Unpack[_Changes]) -> Task:
        """Return a copy of the task with some arguments changed; numbers are ticks as before.

        A deadline that was not given explicitly follows the new period. A new period replaces a
        rate, and a new rate replaces a period.

        >>> task = gs.Task("a", "33ms", [gs.CPU("2ms")])
        >>> gs.Workload([task.replace(period="40ms")], tick="us")["a"].deadline
        40000
        """
        kept = self._given()
        if changes.get("period") is not None:
            kept["rate"] = None
        elif changes.get("rate") is not None:
            kept["period"] = None
        made = Task(**{**kept, **changes})  # type: ignore[arg-type]
        if self._tick is not None:
            made = made._at(self._tick)
        same = made.after == self.after and made.every == self.every
        return made._released(self._inherited) if same and self._inherited is not None else made

    def _numbered(self, **numbers: int) -> Task:
        """The task with another core or priority, which is known to be right."""
        made = object.__new__(Task)
        made._put([numbers.get(key, getattr(self, key)) for key in self._KEYS], self._tick)
        object.__setattr__(made, "_inherited", self._inherited)
        return made

    def _explicit(self) -> Task:
        """The task with a `Sync` where a copy waits, and with the CPU work of staging."""
        steps = [step for part in self.segments for step in _explicit(part)]
        return self if len(steps) == len(self.segments) else self.replace(segments=steps)

    def _unlinked(self) -> Task:
        """The task with arrivals of its own, and without what it reads."""
        period: dict[str, Any] = {"period": self.period} if self.after else {}
        return self.replace(after=(), reads=(), every=1, queue=None, **period)

    def _ticks_as(self, tick: TickLength) -> Task:
        made = super()._ticks_as(tick)
        return made if self._inherited is None else made._released(self._inherited)

    def _converted(self, key: str, value: Any, tick: TickLength) -> object:
        if key != "segments":
            return super()._converted(key, value, tick)
        found = []
        for place, segment in enumerate(self.segments):
            try:
                found.append(segment._at(tick))
            except (ValueError, OverflowError) as error:
                raise type(error)(f"segments[{place}].{error}") from None
        return tuple(found)

    def _check(self) -> None:
        assert self._tick is not None
        if self._rate is not None and not 1 <= self._rate.period(self._tick) <= MOST_TICKS:
            raise ValueError(
                f"rate: got {self._rate.text!r}, expected a period of 1 to 2**60 - 1 ticks of "
                f"{self.tick}"
            )
        total = 0
        for segment in self.segments:
            for time in (segment._time, getattr(segment, "_staged", None)):
                total += (time if type(time) is int else 0) * segment.repeat
        if total > MOST_TICKS:
            raise OverflowError(
                f"segments: got jobs of {shown(total)} ticks, expected less than 2**60"
            )

    def _no_ticks(self) -> NoReturn:
        raise ValueError(
            f"period: got the rate {self.rate!r}, expected ticks; a rate has none before the task "
            "is in a Workload"
        )

    def _longest(self, jobs: int) -> int:
        """The time of so many periods of a timed task in ticks; that of a rate is rounded up."""
        if self._rate is None or self._tick is None:
            return jobs * self.period
        return self._rate.longest(jobs, self._tick)

    @property
    def _is_rounded(self) -> bool:
        """Whether the period is that of a rate, and not a whole number of ticks."""
        return (
            self._rate is not None and self._tick is not None and self._rate.is_rounded(self._tick)
        )

    def _assumption(self) -> str | None:
        """A sentence about a period that was rounded."""
        if self._rate is None or self._tick is None or not self._is_rounded:
            return None
        period = time_with_unit(self.period, self._tick)
        return f"{self.name}: the period of {self._rate.text} is rounded down to {period}"

    def _argument(self, key: str) -> str | None:
        if key in ("after", "reads"):
            names = getattr(self, key)
            return repr(names[0] if len(names) == 1 else names) if names else None
        if key == "segments":
            dots = ", ..." if len(self.segments) > 20 else ""
            return f"[{', '.join(map(repr, self.segments[:20]))}{dots}]"
        return super()._argument(key)


def _refuse_timing(before: tuple[str, ...], **given: object) -> None:
    """Raise ValueError for times that a task with ``after`` does not have."""
    for name, value in given.items():
        if value is not None and value != 0:
            of = " and ".join(before[:5])
            why = f"; its jobs are released by those of {of}" if name in ("period", "rate") else ""
            raise ValueError(f"{name}: got {shown(value)} of a task with after, expected none{why}")


def _explicit(part: Segment) -> list[Segment]:
    """The parts of a job for a segment, whose times are in ticks."""
    if not isinstance(part, (CopyIn, CopyOut)) or not part.has_waits:
        return [part]
    copy = part.replace(blocking=False, staged=None, repeat=1)
    if part.staged is None:
        once: list[Segment] = [copy, Sync()]
    elif isinstance(part, CopyOut):
        once = [copy, Sync(), CPU(part.staged, name=part.name)]
    else:
        once = [Sync(), CPU(part.staged, name=part.name), copy]
        once += [Sync()] if part.blocking else []
    return once * part.repeat


def _is_work(segment: Segment) -> bool:
    return isinstance(segment, CPU) or getattr(segment, "by", "") == "cpu"


def _segments(given: Iterable[Segment]) -> tuple[Segment, ...]:
    if not is_sequence(given):
        raise TypeError(f"segments: got {shown(given)}, expected a list of segments")
    segments = tuple(given)
    if not segments:
        raise ValueError("segments: got none, expected at least one")
    for place, segment in enumerate(segments):
        if not isinstance(segment, _KINDS):
            raise TypeError(
                f"segments[{place}]: got {shown(segment)}, expected CPU, CopyIn, CopyOut, Kernel, "
                "DLA or Sync"
            )
    if all(isinstance(segment, Sync) for segment in segments):
        raise ValueError("segments: got waits alone, expected CPU work, a copy or a kernel")
    return segments


def _refuse_waits_in_graphs(segments: Iterable[Segment], launches: Launches | None) -> None:
    """Raise ValueError for a copy for which its thread waits, in a graph."""
    for place, segment in enumerate(segments if launches == "graph" else ()):
        if isinstance(segment, (CopyIn, CopyOut)) and segment.has_waits:
            key = "blocking" if segment.blocking else "staged"
            raise ValueError(
                f"segments[{place}].{key}: got it with launches='graph', expected a copy of "
                "page-locked memory for which no thread waits; a Sync behind it ends the graph"
            )
