"""Waits of a job in a simulation of streams and contexts, from the waits of its launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched.comparison.waits.wait_sums import (
    JobSpan,
    Waited,
    busy_within,
    overlaps,
    shown_name,
    sorted_waits,
)
from gpusched.simulate.hierarchy_result import Hierarchy
from gpusched.simulate.hierarchy_tables import REASONS, Waits

__all__ = ["launch_waits"]

_MOST_STEPS = 2_000_000  # waits of the job times launches beside it
_MOST_CHANNELS = 32  # of CUDA_DEVICE_MAX_CONNECTIONS
_ROOM = ("warps", "blocks", "registers", "shared_memory", "carveout", "cooperative", "cluster")
_FULL = (*_ROOM, "partition")


def launch_waits(run: Hierarchy, names: Sequence[str], span: JobSpan) -> list[Waited] | None:
    """The causes for which the launches of a job waited, the longest first.

    ``names``: all tasks of the workload, each with a stream of its name, or in one stream. None if
    the job is not found in the run, or if its waits are too many.
    """
    found = _OfJob(run, names, span)
    if not len(found.mine) or not found.is_small():
        return None
    return sorted_waits(found.sums(), found.text)


class _OfJob:
    """The launches of a job, those of others that ran meanwhile, and its waits."""

    def __init__(self, run: Hierarchy, names: Sequence[str], span: JobSpan) -> None:
        self.run, self.names, self.span = run, names, span
        launches = run.launches
        self.by_stream = set(launches.stream_name) <= set(names)
        if self.by_stream:
            streams = [i for i, name in enumerate(launches.stream_name) if name == span.name]
            of_task = np.flatnonzero(np.isin(launches.stream, streams))
        else:
            own = [self.owner(k) == span.name for k in range(len(launches))]
            of_task = np.flatnonzero(np.array(own, np.bool_))
        times = np.unique(launches.time[of_task])
        self.mine = of_task[:0]
        if span.job < len(times):
            self.mine = of_task[launches.time[of_task] == times[span.job]]
        first, end = run.first, np.where(run.end < 0, run.now, run.end)
        self.beside = np.flatnonzero((first >= 0) & (first < span.end) & (end > span.release))
        self.beside = self.beside[~np.isin(self.beside, self.mine)]
        self.first, self.end = first, end
        every = np.flatnonzero(np.isin(run.waits.launch, self.mine))
        late = np.flatnonzero(np.isin(run.pending.launch, self.mine))
        self.rows = [(run.waits, k) for k in every.tolist()]
        self.rows += [(run.pending, k) for k in late.tolist()]

    def is_small(self) -> bool:
        return (len(self.rows) + 1) * (len(self.beside) + 1) <= _MOST_STEPS

    def owner(self, launch: int) -> str:
        """The task of a launch; "" if unknown."""
        launches = self.run.launches
        if self.by_stream:
            return launches.stream_name[int(launches.stream[launch])]
        name = launches.name[launch]
        parts = name.split(": ")
        heads = [": ".join(parts[: k + 1]) for k in range(len(parts) - 1)]
        return next((head for head in reversed(heads) if head in self.names), "")

    # Sums

    def sums(self) -> dict[tuple[str, str], int]:
        """Ticks that the job waited, by reason and other task."""
        total: Counter[tuple[str, str]] = Counter()
        for waits, k in self.rows:
            self._add(total, waits, k)
        if self.run.launches.contexts > 1:
            self._add_slices(total)
        return dict(total)

    def _add(self, total: Counter[tuple[str, str]], waits: Waits, k: int) -> None:
        reason, blocker = REASONS[waits.why[k]], int(waits.blocker[k])
        start = int(waits.start[k])
        end = int(waits.end[k]) if waits.end[k] >= 0 else self.run.now
        if reason == "stream":
            if blocker in self.mine:
                return
            if self.by_stream:
                total["previous", ""] += end - start
                return
            for name, ticks in self._running(start, end, self.beside).items():
                total["one stream", name] += ticks
            return
        if reason == "slice":
            return  # counted for the whole job
        if self.run.launches.contexts > 1 and reason != "copy_engine":
            end = start + self._own_slices(int(waits.launch[k]), start, end)
        if reason in _FULL:
            others = self._kernels_beside()
            parts = self._running(start, end, others)
            if not parts and reason == "partition":
                total["share", ""] += end - start
            if parts:  # else blocks of its own kernels leave no room
                name = max(parts, key=lambda each: parts[each])
                spans = zip(self.first[others].tolist(), self.end[others].tolist(), strict=True)
                total["partition" if reason == "partition" else "room", name] += busy_within(
                    spans, start, end
                )
            return
        if reason == "queue":
            full = any(self._waits_for_room(blocker, start, end))
            total["behind" if full else "queue", self.owner(blocker)] += end - start
            return
        total[reason, self.owner(blocker) if blocker >= 0 else ""] += end - start

    def _kernels_beside(self) -> Int64Array:
        launches = self.run.launches
        found: Int64Array = self.beside[launches.kind[self.beside] == 0]
        return found

    def _running(self, start: int, end: int, launches: Int64Array) -> dict[str, int]:
        """Ticks of an interval in which launches ran, by their tasks, without the job's."""
        found: Counter[str] = Counter()
        ticks = overlaps(self.first[launches], self.end[launches], start, end)
        for at in np.flatnonzero(ticks).tolist():
            found[self.owner(int(launches[at]))] += int(ticks[at])
        return dict(found)

    def _waits_for_room(self, launch: int, start: int, end: int) -> npt.NDArray[np.bool_]:
        """Whether each wait of a launch in an interval is for room on the SMs."""
        waits = self.run.waits
        rows = np.flatnonzero((waits.launch == launch) & (waits.end > start) & (waits.start < end))
        full = [REASONS.index(reason) for reason in _FULL]
        return np.isin(waits.why[rows], full)

    # Time slices

    def _context(self, launch: int) -> int:
        launches = self.run.launches
        return int(launches.stream_context[launches.stream[launch]])

    def _slices(self, start: int, end: int) -> tuple[Int64Array, Int64Array]:
        """Contexts of the slices that overlap an interval, and for how long."""
        slices = self.run.slices
        ends = np.where(slices.end < 0, self.run.now, slices.end)
        ticks = overlaps(slices.start, ends, start, end)
        rows = np.flatnonzero(ticks)
        return slices.context[rows], ticks[rows]

    def _own_slices(self, launch: int, start: int, end: int) -> int:
        contexts, ticks = self._slices(start, end)
        return int(ticks[contexts == self._context(launch)].sum())

    def _add_slices(self, total: Counter[tuple[str, str]]) -> None:
        """Add the time for which kernels of the job wait while other contexts have the GPU."""
        for launch in self.mine[self.run.launches.kind[self.mine] == 0].tolist():
            start = int(self.run.head[launch])
            if start < 0:
                continue
            end = int(self.end[launch])
            contexts, ticks = self._slices(start, end)
            own = contexts == self._context(launch)
            away = end - start - int(ticks[own].sum())
            if away <= 0:
                continue
            others: Counter[int] = Counter()
            for context, length in zip(contexts[~own].tolist(), ticks[~own].tolist(), strict=True):
                others[context] += length
            whose = max(others, key=lambda each: others[each]) if others else -1
            total["slice", self._task_of(whose)] += away

    def _task_of(self, context: int) -> str:
        """The task of a context; "" if there are several."""
        launches = self.run.launches
        streams = np.unique(launches.stream[self._kernels_beside()])
        found = [s for s in streams.tolist() if launches.stream_context[s] == context]
        return launches.stream_name[found[0]] if len(found) == 1 else ""

    # Words

    def text(self, cause: tuple[str, str]) -> str:
        reason, name = cause
        other = shown_name(name) if name else "another task"
        if reason == "channel":
            return f"because {self._channel(other)}"
        words = {
            "previous": f"because job {self.span.job - 1} had not ended",
            "one stream": f"because the work of {other} was before it in the one stream of all "
            "tasks: give each task a stream (--way streams)",
            "room": f"because kernels of {other} left no room on the SMs",
            "partition": f"because kernels of {other} left no room on the SMs that it may use",
            "share": "because it may use only some of the SMs",
            "behind": f"because {other}'s kernel, before it in the queue, had no room left on the "
            "SMs",
            "queue": f"because {other}'s kernel was before it in the queue",
            "priority": f"because kernels of {other} have a more urgent stream priority",
            "copy_engine": f"for a copy engine, busy with {other}'s copy",
            "slice": f"for its time slice, while {other} had the GPU",
            "grids": f"because the GPU runs at most {self.run.gpu.resident_grids} kernels at once",
        }
        return words.get(reason, f"for {other}")

    def _channel(self, other: str) -> str:
        launches = self.run.launches
        stream = int(launches.stream[self.mine[0]])
        alike = launches.stream_context == launches.stream_context[stream]
        if launches.stream_partition is not None and not self.run.shared_channels:
            alike &= launches.stream_partition == launches.stream_partition[stream]
        streams = int(alike.sum())
        said = f"{other}'s stream shares its hardware channel ({streams} streams, "
        said += f"{self.run.channels} channels)"
        if streams > _MOST_CHANNELS:
            return f"{said}: use fewer streams, as there are at most {_MOST_CHANNELS} channels"
        return f"{said}: set CUDA_DEVICE_MAX_CONNECTIONS={streams} (--channels {streams})"
