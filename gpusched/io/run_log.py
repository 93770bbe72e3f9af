"""Logs of jobs that programs write with the runtime library, as tables and for Perfetto.

A file has a header of 128 bytes (magic, version, numbers of tasks, threads and events per thread,
claimed rings, lost events, the instant of its creation by two clocks, what it is about), a name of
64 bytes per task, 64 bytes per thread (events ever written, process and thread), and one ring of
events of 32 bytes per thread; all little-endian. ``csrc/rt/job_log.c`` writes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import (
    MAX_BYTES,
    Int64Array,
    at_least,
    frozen,
    int_array,
    integer64,
    task_names,
)
from gpusched._support.files import replacing
from gpusched._support.input_files import content
from gpusched._support.registry import enumeration
from gpusched._support.results import Frozen
from gpusched._support.tabular import Tabular, frame_of, optional
from gpusched._support.text import path_text, plural, shown

if TYPE_CHECKING:
    import pandas as pd

    from gpusched._draw.timeline import Piece, Timeline

EVENTS = enumeration("rt.event")
"""Names of the kinds of events by number; 0 is unused."""

NO_TASK = 65535

_HEADER = np.dtype(
    [
        *(("magic", "S8"), ("version", "<u4"), ("tasks", "<u4"), ("threads", "<u4")),
        *(("events", "<u4"), ("claimed", "<u4"), ("unused", "<u4"), ("lost", "<u8")),
        *(("opened", "<i8"), ("wall", "<i8"), ("about", "S64"), ("reserved", "<i8")),
    ]
)
_RING = np.dtype([("next", "<u8"), ("owner", "<u8"), ("reserved", "S48")])
_EVENT = np.dtype(
    [
        *(("time", "<i8"), ("job", "<i8"), ("value", "<i8")),
        *(("kind", "<u2"), ("task", "<u2"), ("thread", "<u4")),
    ]
)
_COLUMNS = ("time", "kind", "task", "job", "value", "thread")
_NAME_BYTES = 64
_OF_FRAMES = [EVENTS.index("frame"), EVENTS.index("frame_done")]


@dataclass(frozen=True, eq=False, repr=False)
class RunLog(Tabular, Frozen):
    """Log of E events of the jobs of n tasks, in the order of their times.

    ``gs.io.read_run_log`` reads it from a file. Times are ns of the monotonic clock of the machine.

    >>> log = gs.io.RunLog(["camera"], [100, 350], ["release", "complete"], 0, 0, [100, 500])
    >>> log
    <RunLog: 2 events of 1 task over 250ns>
    >>> log.of("complete").time.tolist()
    [350]

    Parameters
    ----------
    name
        Shape ``(n,)``: names of the tasks.
    time, kind, task, job, value
        Shape ``(E,)``: instant, kind (a name or its number), task (an index; 65535 for frames),
        number of the job or frame, and what ``gpusched/rt.h`` says of the kind. One number is
        broadcast to all rows.
    thread
        Shape ``(E,)``: number of the thread that wrote it. Default: 0.
    lost
        Number of events that were overwritten, or could not be written.
    about
        Text that the program gave, such as the digest of a schedule.

    Raises
    ------
    ValueError
        A column has another length, or a kind or task is unknown; the message names the row.
    TypeError, OverflowError
        A column is not of whole numbers of 64 bits.
    """

    name: tuple[str, ...]
    time: Int64Array
    kind: Int64Array
    task: Int64Array
    job: Int64Array
    value: Int64Array
    thread: Int64Array
    lost: int
    about: str

    def __init__(
        self,
        name: Sequence[str],
        time: npt.ArrayLike,
        kind: npt.ArrayLike | Sequence[str],
        task: npt.ArrayLike,
        job: npt.ArrayLike,
        value: npt.ArrayLike = 0,
        thread: npt.ArrayLike = 0,
        lost: int = 0,
        about: str = "",
    ) -> None:
        names = task_names(name, len(name))
        given: dict[str, Any] = {"time": time, "kind": _codes(kind), "task": task, "job": job}
        given |= {"value": value, "thread": thread}
        columns = {key: int_array(column, key) for key, column in given.items()}
        if columns["time"].ndim != 1:
            raise ValueError(f"time: got {columns['time'].ndim} dimensions, expected 1")
        rows = len(columns["time"])
        for key, column in columns.items():
            if column.shape not in ((), (rows,)):
                raise ValueError(f"{key}: got shape {column.shape}, expected ({rows},) as of time")
            columns[key] = np.broadcast_to(column, (rows,))
        for key, most in (("kind", len(EVENTS)), ("task", len(names))):
            column = columns[key]
            ok = (column >= (key == "kind")) & (column < most)
            if key == "task":
                ok |= (column == NO_TASK) & np.isin(columns["kind"], _OF_FRAMES)
            if (bad := np.flatnonzero(~ok)).size:
                row = int(bad[0])
                what = "a kind of events" if key == "kind" else f"one of {plural(most, 'task')}"
                raise ValueError(f"{key}[{row}]: got {column[row]}, expected {what}")
        at_least(columns["thread"], 0, "thread")
        order = np.argsort(columns["time"], kind="stable")
        object.__setattr__(self, "name", names)
        for key, column in columns.items():
            object.__setattr__(self, key, frozen(column[order]))
        object.__setattr__(self, "lost", integer64(lost, "lost"))
        object.__setattr__(self, "about", str(about))

    def __len__(self) -> int:
        """Number of events."""
        return len(self.time)

    def __repr__(self) -> str:
        from gpusched.model.workload.time_units import time_with_unit

        span = int(self.time[-1] - self.time[0]) if len(self) else 0
        lost = f", {self.lost} lost" if self.lost else ""
        return (
            f"<RunLog: {plural(len(self), 'event')} of {plural(len(self.name), 'task')} over "
            f"{time_with_unit(span, 1)}{lost}>"
        )

    def of(self, *kinds: str) -> RunLog:
        """The events of some kinds, by their names.

        Raises ValueError for a name that is not one of a kind.
        """
        return self._rows(np.isin(self.kind, _codes(list(kinds))))

    def _rows(self, chosen: npt.NDArray[Any]) -> RunLog:
        columns: dict[str, Any] = {key: getattr(self, key)[chosen] for key in _COLUMNS}
        return RunLog(self.name, **columns, lost=self.lost, about=self.about)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per event.

        The columns are ``time``, ``kind`` (a name), ``task`` (a name; None for frames), ``job``,
        ``value`` and ``thread``.
        """
        return frame_of(self._table())

    def _table(self) -> dict[str, Any]:
        names = [None if i == NO_TASK else self.name[i] for i in self.task.tolist()]
        return {
            "time": self.time,
            "kind": np.array([EVENTS[k] for k in self.kind.tolist()], object),
            "task": names,
            "job": self.job,
            "value": self.value,
            "thread": self.thread,
        }

    def spans(self, begin: str, end: str) -> dict[str, Any]:
        """Pairs of events of the same task and job: columns ``task``, ``job``, ``start``, ``end``
        and, of the event that begins, ``value``.

        An event that begins is paired with the next one that ends; without one, ``end`` is masked.
        """
        found: list[tuple[int, int, int, int, int]] = []
        open_: dict[tuple[int, int], list[int]] = {}
        first, last = EVENTS.index(begin), EVENTS.index(end)
        columns = [getattr(self, key).tolist() for key in ("time", "kind", "task", "job", "value")]
        for time, kind, task, job, value in zip(*columns, strict=True):
            if kind == first:
                open_.setdefault((task, job), []).append(len(found))
                found.append((task, job, time, -1, value))
            elif kind == last and (waiting := open_.get((task, job))):
                at = waiting.pop(0)
                found[at] = (*found[at][:3], time, found[at][4])
        rows = np.array(found, np.int64).reshape(len(found), 5)
        return {
            "task": rows[:, 0],
            "job": rows[:, 1],
            "start": rows[:, 2],
            "end": optional(rows[:, 3]),
            "value": rows[:, 4],
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that ``gs.io.read_run_log`` reads back as an equal log.

        The file is written completely or not at all. Raises OSError if it cannot be written, and
        ValueError for a name of more than 63 bytes.
        """
        names = [name.encode("utf-8") for name in self.name]
        for row, name in enumerate(names):
            if len(name) >= _NAME_BYTES:
                raise ValueError(f"name[{row}]: got {len(name)} bytes, expected at most 63")
        counts = np.bincount(self.thread, minlength=1)
        size = max(2, 1 << int(counts.max()).bit_length())
        header = np.zeros(1, _HEADER)
        header[["magic", "version", "tasks", "threads", "events", "lost", "about"]] = (
            *(b"GSRTLOG1", 1, len(names), len(counts), size, self.lost),
            self.about.encode("utf-8"),
        )
        rings, events = np.zeros(len(counts), _RING), np.zeros((len(counts), size), _EVENT)
        rings["next"] = counts
        for thread, count in enumerate(counts.tolist()):
            for key in _COLUMNS:
                events[key][thread, :count] = getattr(self, key)[self.thread == thread]
        padded = b"".join(name.ljust(_NAME_BYTES, b"\0") for name in names)
        with replacing(path) as file:
            file.write(header.tobytes() + padded + rings.tobytes() + events.tobytes())

    def to_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the log for Perfetto (ui.perfetto.dev) and chrome://tracing.

        Each task has lanes for its jobs (release to completion), its requests (until they are
        granted), the time that it holds the GPU, and its GPU work; frames of a player have a lane
        of their own. The file is written completely or not at all. Raises OSError.
        """
        from gpusched._draw import chrome_trace

        chrome_trace.write_timeline(self._timeline(), path, 1)

    def _timeline(self) -> Timeline:
        from gpusched._draw.timeline import Lane, Rows, Timeline

        lanes = [Lane("frames", "player")]
        lanes += [Lane(part, name) for name in self.name for part, *_ in _LANES]

        def pieces() -> Iterator[Piece]:
            yield from self._pieces(0, "frame", "frame_done", NO_TASK)
            for i in range(len(self.name)):
                for lane, (_, begin, end) in enumerate(_LANES):
                    yield from self._pieces(1 + i * len(_LANES) + lane, begin, end, i)

        return Timeline(tuple(lanes), Rows(pieces))

    def _pieces(self, lane: int, begin: str, end: str, task: int) -> Iterator[Piece]:
        from gpusched._draw.timeline import Piece

        found = self._rows(self.task == task).spans(begin, end)
        origin = int(self.time[0]) if len(self) else 0
        for job, start, value, until in zip(
            found["job"].tolist(),
            found["start"].tolist(),
            found["value"].tolist(),
            found["end"].tolist(),
            strict=True,
        ):
            if until is not None:
                name = "frame" if task == NO_TASK else self.name[task]
                yield Piece(
                    lane=lane,
                    start=start - origin,
                    end=until - origin,
                    name=f"{name} #{job}",
                    color=0 if task == NO_TASK else task,
                    args={"job": job, "value": value},
                )


_LANES = (
    ("jobs", "release", "complete"),
    ("waits", "request", "acquire"),
    ("holds", "acquire", "release_lock"),
    ("GPU", "submit", "gpu_end"),
)


def _codes(kinds: Any) -> Any:
    """Numbers of kinds that are given by name, or as they are."""
    if not isinstance(kinds, (list, tuple)) or not any(isinstance(k, str) for k in kinds):
        return kinds
    for row, kind in enumerate(kinds):
        if kind not in EVENTS[1:]:
            raise ValueError(
                f"kind[{row}]: got {shown(kind)}, expected one of {', '.join(EVENTS[1:])}"
            )
    return [EVENTS.index(kind) for kind in kinds]


def read_run_log(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> RunLog:
    """Read the log of a program that uses the runtime library, also while it runs.

    >>> import tempfile
    >>> log = gs.io.RunLog(["camera"], [100, 350], ["release", "complete"], 0, 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log.save(f"{folder}/run.gslog")
    ...     gs.io.read_run_log(f"{folder}/run.gslog") == log
    True

    Parameters
    ----------
    path
        File of ``gs_rt_log_create``, or of `RunLog.save`.
    max_bytes
        Largest file that is read. Default: 4 GiB.

    Returns
    -------
    RunLog
        The events that the rings hold, in the order of their times.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is not a complete log of this version; the message names the file and the field.
    """
    name = path_text(path)
    data = content(name, max_bytes)

    def fail(field: str, got: object, expected: str) -> ValueError:
        return ValueError(f"{name}: {field}: got {shown(got)}, expected {expected}")

    if len(data) < _HEADER.itemsize:
        raise fail("file", f"{len(data)} bytes", "a log of jobs")
    header = np.frombuffer(data, _HEADER, 1)[0]
    if header["magic"] != b"GSRTLOG1" or header["version"] != 1:
        raise fail("magic", bytes(header["magic"]), "a log of jobs of version 1")
    tasks, threads, events = (int(header[key]) for key in ("tasks", "threads", "events"))
    if events < 2 or events & (events - 1):
        raise fail("events", events, "a power of 2")
    at = _HEADER.itemsize + tasks * _NAME_BYTES
    size = at + threads * (_RING.itemsize + events * _EVENT.itemsize)
    if len(data) != size:
        raise fail("file", f"{len(data)} bytes", f"{size} bytes as its header says")
    try:
        names = [
            text.decode("utf-8")
            for text in np.frombuffer(data, f"S{_NAME_BYTES}", tasks, _HEADER.itemsize).tolist()
        ]
        about = bytes(header["about"]).decode("utf-8")
    except UnicodeDecodeError as error:
        raise fail("names", str(error), "UTF-8") from None
    rings = np.frombuffer(data, _RING, threads, at)
    rows = np.frombuffer(data, _EVENT, threads * events, at + threads * _RING.itemsize)
    lost, parts = int(header["lost"]), []
    for ring, written in enumerate(rings["next"].tolist()):
        own = rows[ring * events : (ring + 1) * events]
        if written > events:
            # A program that still runs may be overwriting the oldest event that is left.
            lost += written - events + 1
            first = written % events
            own = np.concatenate([own[first:], own[:first]])[1:]
        parts.append(own[: min(written, events)])
    found = np.concatenate(parts) if parts else rows[:0]
    columns: dict[str, Any] = {key: found[key].astype(np.int64) for key in _COLUMNS}
    try:
        return RunLog(names, **columns, lost=lost, about=about)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
