"""Tasks of a workload: release pattern, segments of a job, priorities and placement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal, NoReturn, TypedDict, Unpack

from gpusched._support.arguments import is_sequence, one_of
from gpusched._support.text import shown
from gpusched.model.workload.facts import Facts, count, label, optional_number
from gpusched.model.workload.segments import CPU, CopyIn, CopyOut, Kernel, Segment
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

__all__ = ["AFTER", "LAUNCHES", "Launches", "Task", "launches_of"]

AFTER = "no jobs that other tasks' jobs trigger; after= is reserved for them"
_KINDS = (CPU, CopyIn, CopyOut, Kernel)

Launches = Literal["async", "sync", "graph"]
"""Form in which a task launches the operations between which it has no CPU work."""

LAUNCHES: tuple[Launches, ...] = ("async", "sync", "graph")


def launches_of(given: object, name: str = "launches") -> Launches | None:
    """A form of launching, or None; ValueError for others."""
    if given is not None:
        one_of(given, LAUNCHES, name)
    return given  # type: ignore[return-value]


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


class Task(Facts):
    """A periodic or sporadic task, whose jobs run its segments in order.

    >>> task = gs.Task("detector", rate="30Hz", segments=[
    ...     gs.CPU("2ms"), gs.CopyIn("300us"), gs.Kernel("4.1ms", blocks=120, threads=256)])
    >>> gs.Workload([task], tick="us")["detector"].period
    33333

    Parameters
    ----------
    name
        Name of the task. It must differ from the names of the other tasks in the workload.
    period
        Minimum time between two releases, in ticks or as text with a unit.
    segments
        CPU work, copies and kernels of one job, in the order in which they run; at least one.
    rate
        Releases per second as text, such as ``"30Hz"``, given instead of the period. The
        resulting period is rounded down to a whole tick.
    deadline
        Relative deadline, from the arrival. Default: the period.
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
        Reserved for precedence constraints; every value but None is refused.

    Times given as numbers are ticks of the workload. An attribute whose time was given as text
    raises ValueError until the task is part of a workload, which defines the tick.

    Raises
    ------
    ValueError, TypeError, OverflowError
        An argument is missing or invalid; the message names it.
    """

    __slots__ = (
        *("_deadline", "_jitter", "_offset", "_period", "_rate"),
        *("core", "gpu_priority", "launches", "name", "priority", "process", "segments"),
        "stream_priority",
    )

    _KEYS: ClassVar[tuple[str, ...]] = (
        *("name", "_period", "_rate", "_deadline", "_offset", "_jitter", "priority"),
        *("stream_priority", "gpu_priority", "process", "core", "launches", "segments"),
    )
    _TIMES: ClassVar[frozenset[str]] = frozenset({"_period", "_deadline", "_offset", "_jitter"})
    _NESTED: ClassVar[frozenset[str]] = frozenset({"segments"})

    name: str
    segments: tuple[Segment, ...]
    priority: int | None
    stream_priority: int | None
    gpu_priority: int | None
    process: str | None
    core: int | None
    launches: Launches | None
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
        after: None = None,
    ) -> None:
        checked = label(name, "name")
        if after is not None:
            raise ValueError(f"after: got {shown(after)}, expected {AFTER}")
        if (period is None) == (rate is None):
            both = "None" if period is None else "a period and a rate"
            raise ValueError(f"period: got {both}, expected a period or a rate")
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
                launches_of(launches),
                _segments(segments),
            )
        )

    @property
    def period(self) -> int:
        """Minimum number of ticks between two releases."""
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
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels among the segments; each appears once, whatever its ``repeat``."""
        return tuple(segment for segment in self.segments if isinstance(segment, Kernel))

    @property
    def cpu_time(self) -> int:
        """CPU work of one job in ticks, including copies that the CPU performs."""
        return sum(
            segment.time * segment.repeat
            for segment in self.segments
            if isinstance(segment, CPU) or getattr(segment, "by", "") == "cpu"
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
        return made if self._tick is None else made._at(self._tick)

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
            total += (segment._time if type(segment._time) is int else 0) * segment.repeat
        if total > MOST_TICKS:
            raise OverflowError(
                f"segments: got jobs of {shown(total)} ticks, expected less than 2**60"
            )

    def _no_ticks(self) -> NoReturn:
        raise ValueError(
            f"period: got the rate {self.rate!r}, expected ticks; a rate has none before the task "
            "is in a Workload"
        )

    def _assumption(self) -> str | None:
        """A sentence about a period that was rounded."""
        if self._rate is None or self._tick is None or not self._rate.is_rounded(self._tick):
            return None
        period = time_with_unit(self.period, self._tick)
        return f"{self.name}: the period of {self._rate.text} is rounded down to {period}"

    def _argument(self, key: str) -> str | None:
        if key == "segments":
            dots = ", ..." if len(self.segments) > 20 else ""
            return f"[{', '.join(map(repr, self.segments[:20]))}{dots}]"
        return super()._argument(key)


def _segments(given: Iterable[Segment]) -> tuple[Segment, ...]:
    if not is_sequence(given):
        raise TypeError(f"segments: got {shown(given)}, expected a list of segments")
    segments = tuple(given)
    if not segments:
        raise ValueError("segments: got none, expected at least one")
    for place, segment in enumerate(segments):
        if not isinstance(segment, _KINDS):
            raise TypeError(
                f"segments[{place}]: got {shown(segment)}, expected CPU, CopyIn, CopyOut or Kernel"
            )
    return segments
