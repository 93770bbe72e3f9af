"""Recorder of streams and launches, one by one (``gs.Launches.build``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from gpusched._support.arguments import integer, one_of
from gpusched.model.launch_columns import STREAM_KINDS, read_factors

__all__ = ["Recorder"]

Made = TypeVar("Made")


class Recorder(Generic[Made]):
    """Recorder of streams and launches, one by one; made by `Launches.build`.

    >>> work = gs.Launches.build(bandwidth=12)
    >>> camera = work.stream(priority=-1)
    >>> work.copy_in(camera, bytes=640 * 480)
    0
    >>> work.kernel(camera, blocks=16, threads=256, duration=3000, name="edges")
    1
    >>> work.done()
    <Launches: 1 kernels and 1 copies in 1 streams>

    ``stream`` returns the stream's index, the others the launch's. ``at`` is the time of the
    launch in ticks; unless given, that of the launch recorded before (0 for the first one). For
    the other arguments see `Launches`; ``after`` takes one index or several. All raise TypeError
    and ValueError for values that are not possible.
    """

    def __init__(self, make: Callable[..., Made], *, bandwidth: Any = None) -> None:
        self._make = make
        self._bandwidth = bandwidth
        self._streams: list[dict[str, Any]] = []
        self._launches: list[dict[str, Any]] = []

    def stream(
        self, *, context: int = 0, priority: int = 0, kind: str = "blocking", name: str = ""
    ) -> int:
        """Record a stream of kind "blocking", "non_blocking" or "null"; return its index."""
        one_of(kind, STREAM_KINDS, "kind")
        number = len(self._streams)
        label = "NULL stream" if kind == "null" else f"stream {number}"
        self._streams.append(
            {
                "stream_context": integer(context, "context"),
                "stream_priority": integer(priority, "priority"),
                "stream_kind": kind,
                "stream_name": name or label,
            }
        )
        return number

    def kernel(
        self,
        stream: int,
        *,
        blocks: int = 1,
        threads: int = 32,
        duration: int | None = None,
        at: int | None = None,
        regs: int = 0,
        smem: int = 0,
        carveout: int = -1,
        longest: int | None = None,
        block_times: Sequence[int] | None = None,
        after: int | Iterable[int] = (),
        interference: Sequence[float] | None = None,
        name: str = "",
    ) -> int:
        """Record a kernel; ``duration`` is that of one block. Return its index."""
        shape = {"blocks": blocks, "threads": threads, "regs": regs, "smem": smem}
        shape["carveout"] = integer(carveout, "carveout")
        more = {"block_times": block_times, "interference": interference}
        return self._launch("kernel", stream, duration, at, longest, after, name, shape | more)

    def copy_in(
        self,
        stream: int,
        *,
        bytes: int = 0,
        duration: int | None = None,
        at: int | None = None,
        longest: int | None = None,
        after: int | Iterable[int] = (),
        name: str = "",
    ) -> int:
        """Record a copy to the GPU, given by ``bytes`` or ``duration``; return its index."""
        return self._launch("copy_in", stream, duration, at, longest, after, name, {"bytes": bytes})

    def copy_out(
        self,
        stream: int,
        *,
        bytes: int = 0,
        duration: int | None = None,
        at: int | None = None,
        longest: int | None = None,
        after: int | Iterable[int] = (),
        name: str = "",
    ) -> int:
        """Record a copy from the GPU, given by ``bytes`` or ``duration``; return its index."""
        return self._launch(
            "copy_out", stream, duration, at, longest, after, name, {"bytes": bytes}
        )

    def done(self) -> Made:
        """Make the launches recorded so far; recording may go on afterwards."""
        rows, streams = self._launches, self._streams
        if not streams:
            raise ValueError("streams: got none, expected at least one call of stream()")
        columns = {key: [row[key] for row in rows] for key in _EMPTY}
        if all(times is None for times in columns["block_times"]):
            del columns["block_times"]
        factors = columns.pop("interference")
        table = None
        if any(row is not None for row in factors):
            table = np.full((len(rows), 4), 1000, dtype=np.int64)
            for i, row in enumerate(factors):
                if row is not None:
                    table[i] = read_factors(row, 1, f"interference of launch {i}")[0]
        return self._make(
            **columns,
            bandwidth=self._bandwidth,
            interference=table,
            **_columns(streams),
        )

    def _launch(
        self,
        kind: str,
        stream: int,
        duration: int | None,
        at: int | None,
        longest: int | None,
        after: int | Iterable[int],
        name: str,
        more: dict[str, Any],
    ) -> int:
        number = len(self._launches)
        which = integer(stream, "stream")
        if not 0 <= which < len(self._streams):
            raise ValueError(
                f"stream: got {which}, expected one of {len(self._streams)} streams so far"
            )
        before = self._launches[-1]["time"] if self._launches else 0
        row: dict[str, Any] = {
            "time": before if at is None else integer(at, "at"),
            "duration": 0 if duration is None else integer(duration, "duration"),
            "kind": kind,
            "stream": which,
            "longest": 0 if longest is None else integer(longest, "longest"),
            "after": tuple(after) if isinstance(after, Iterable) else (after,),
            "name": name or f"{kind.replace('_', ' ')} {number}",
        }
        if row["time"] < 0:
            raise ValueError(f"at: got {row['time']}, expected a non-negative number")
        if duration is not None and row["duration"] < 1:
            raise ValueError(f"duration: got {row['duration']}, expected a positive number")
        self._launches.append(_EMPTY | row | more)
        return number

    def __repr__(self) -> str:
        return f"<Recorder: {len(self._launches)} launches in {len(self._streams)} streams>"


# Values of a row of a recorder that were not given.
_EMPTY: dict[str, Any] = {
    "time": 0,
    "duration": 0,
    "kind": "kernel",
    "stream": 0,
    "blocks": 1,
    "threads": 32,
    "regs": 0,
    "smem": 0,
    "carveout": -1,
    "longest": 0,
    "after": (),
    "block_times": None,
    "bytes": 0,
    "interference": None,
    "name": "",
}


def _columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {key: [row[key] for row in rows] for key in rows[0]}
