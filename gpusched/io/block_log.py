"""Which block of which kernel ran when, on which SM: what a GPU or a simulator recorded.

`gpusched.io.read_examiner` makes a `BlockLog` of files; `gpusched.io.check_rules` tells which of
the scheduling hierarchy's rules it breaks.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array, at_least, frozen, int_array
from gpusched._support.frozen import Frozen
from gpusched._support.text import shown

__all__ = ["BlockLog"]

_KERNELS = ("stream", "launch", "blocks", "threads", "regs", "smem", "priority", "context")
_BLOCKS = ("kernel", "block", "sm", "start", "end")
_MOST_STREAMS = 2**24
_LEAST = {"blocks": 1, "threads": 1} | dict.fromkeys(
    ("stream", "regs", "smem", "context", "kernel", "block", "sm"), 0
)


@dataclass(frozen=True, eq=False, repr=False)
class BlockLog(Frozen):
    """K kernels (one launch each) and the B blocks that they ran as.

    All columns are stored as read-only int64 arrays; one number stands for the same everywhere.
    Times are ns (or any other ticks) on one clock.

    Parameters
    ----------
    name
        Shape ``(K,)``: the kernels' names (str).
    stream, launch
        Shape ``(K,)``: the stream, from 0, and when the kernel was launched into it. The kernels
        of one stream run in the order of their launch times, equal ones in that of the rows.
    blocks, threads, regs, smem
        Shape ``(K,)``: blocks of the grid, threads per block, registers per thread (0: they do not
        matter), bytes of shared memory per block.
    kernel, block, sm, start, end
        Shape ``(B,)``: the kernel's row, the block's number in its grid, its SM, and when it
        started and ended. Every kernel has all its blocks, in any order.
    priority, context
        Shape ``(K,)``: of the stream (smaller is more urgent) and of the application. 0.
    joined
        Shape ``(K,)``: when the kernel joined its queue, for a simulator that knows it. Else it is
        taken to be the launch or the end of the kernel before it in its stream, whichever is
        later: right unless something that is not in the log (a copy, an event) held it up.
    stream_name
        One per stream; "stream 0", ... unless given.

    Raises
    ------
    ValueError
        A column of another length, a number out of range, a block that ends before it starts or
        is missing or there twice. The message names the column and row.
    """

    name: npt.NDArray[np.object_]
    stream: Int64Array
    launch: Int64Array
    blocks: Int64Array
    threads: Int64Array
    regs: Int64Array
    smem: Int64Array
    kernel: Int64Array
    block: Int64Array
    sm: Int64Array
    start: Int64Array
    end: Int64Array
    priority: Int64Array
    context: Int64Array
    joined: Int64Array
    stream_name: tuple[str, ...]

    def __init__(
        self,
        name: Any,
        stream: Any,
        launch: Any,
        blocks: Any,
        threads: Any,
        regs: Any,
        smem: Any,
        kernel: Any,
        block: Any,
        sm: Any,
        start: Any,
        end: Any,
        priority: Any = 0,
        context: Any = 0,
        joined: Any = None,
        stream_name: Any = None,
    ) -> None:
        given = dict(locals())
        names = np.empty(len(name), dtype=object)
        names[:] = list(name)
        for row, value in enumerate(names):
            if not isinstance(value, str):
                raise ValueError(f"name[{row}]: got {shown(value)}, expected a string")
        values: dict[str, Any] = {"name": names}
        for keys, count in ((_KERNELS, len(names)), (_BLOCKS, np.size(kernel))):
            for key in keys:
                values[key] = _column(given[key], key, count)
        self._check(values)
        for row in np.flatnonzero(values["stream"] >= _MOST_STREAMS)[:1].tolist():
            raise ValueError(
                f"stream[{row}]: got {values['stream'][row]}, expected below {_MOST_STREAMS}"
            )
        streams = int(values["stream"].max(initial=-1)) + 1
        if joined is None:
            values["joined"] = _joined(values)
        else:
            values["joined"] = _column(joined, "joined", len(names))
        if stream_name is None:
            stream_name = [f"stream {s}" for s in range(streams)]
        values["stream_name"] = tuple(str(label) for label in stream_name)
        if len(values["stream_name"]) < streams:
            raise ValueError(f"stream_name: has {len(stream_name)} entries for {streams} streams")
        for key, value in values.items():
            object.__setattr__(self, key, value if key == "stream_name" else frozen(value))

    @staticmethod
    def _check(values: dict[str, Any]) -> None:
        kernels, kernel, block = len(values["name"]), values["kernel"], values["block"]
        if wrong := np.flatnonzero(kernel >= kernels).tolist():
            raise ValueError(
                f"kernel[{wrong[0]}] = {kernel[wrong[0]]}: there are {kernels} kernels"
            )
        if wrong := np.flatnonzero(values["end"] < values["start"]).tolist():
            raise ValueError(
                f"end[{wrong[0]}] = {values['end'][wrong[0]]}: "
                f"is before the block's start at {values['start'][wrong[0]]}"
            )
        grid = values["blocks"]
        if wrong := np.flatnonzero(block >= grid[kernel]).tolist():
            row = wrong[0]
            raise ValueError(
                f"block[{row}] = {block[row]}: kernel {kernel[row]} has {grid[kernel[row]]} blocks"
            )
        order = np.lexsort((block, kernel))
        if twice := np.flatnonzero(
            (np.diff(kernel[order]) == 0) & (np.diff(block[order]) == 0)
        ).tolist():
            row = int(order[twice[0] + 1])
            raise ValueError(f"block[{row}] = {block[row]}: is there twice in kernel {kernel[row]}")
        ran = np.bincount(kernel, minlength=kernels)
        if missing := np.flatnonzero(ran != grid).tolist():
            row = missing[0]
            raise ValueError(f"blocks[{row}] = {grid[row]}: the log has {ran[row]} of them")

    def __len__(self) -> int:
        return len(self.name)

    @property
    def first(self) -> Int64Array:
        """When each kernel's first block started, shape ``(K,)``."""
        return _reduced(np.minimum, self.kernel, self.start, len(self))

    @property
    def dispatched(self) -> Int64Array:
        """When each kernel's last block started, shape ``(K,)``."""
        return _reduced(np.maximum, self.kernel, self.start, len(self))

    @property
    def ended(self) -> Int64Array:
        """When each kernel's last block ended, shape ``(K,)``."""
        return _reduced(np.maximum, self.kernel, self.end, len(self))

    def to_frame(self) -> Any:
        """A pandas table with one row per block: its columns and those of its kernel."""
        import pandas as pd

        table = {key: getattr(self, key) for key in _BLOCKS}
        return pd.DataFrame(
            table | {key: getattr(self, key)[self.kernel] for key in ("name", "joined", *_KERNELS)}
        )

    def __reduce__(self) -> Any:
        return (_restored, ({f.name: getattr(self, f.name) for f in fields(self)},))

    def __repr__(self) -> str:
        return (
            f"<BlockLog: {len(self.kernel)} blocks of {len(self)} kernels "
            f"in {len(self.stream_name)} streams>"
        )


def _restored(values: dict[str, Any]) -> BlockLog:
    return BlockLog(**values)


def _column(value: Any, name: str, count: int) -> Int64Array:
    array = int_array(value, name)
    if array.ndim > 1 or (array.ndim == 1 and len(array) != count):
        raise ValueError(f"{name}: must have shape ({count},), has {array.shape}")
    if name in _LEAST:
        at_least(array, _LEAST[name], name)
    return np.broadcast_to(array, (count,)).copy()


def _reduced(
    function: np.ufunc, kernel: Int64Array, values: Int64Array, kernels: int
) -> Int64Array:
    """One number per kernel, each of which has blocks."""
    order = np.argsort(kernel, kind="stable")
    starts = np.searchsorted(kernel[order], np.arange(kernels))
    if not kernels:
        return np.zeros(0, np.int64)
    reduced: Int64Array = function.reduceat(values[order], starts)
    return reduced


def _joined(values: dict[str, Any]) -> Int64Array:
    stream, launch = values["stream"], values["launch"]
    ended = _reduced(np.maximum, values["kernel"], values["end"], len(launch))
    joined: Int64Array = launch.copy()
    order = np.lexsort((launch, stream))
    for before, after in pairwise(order.tolist()):
        if stream[before] == stream[after]:
            joined[after] = max(joined[after], ended[before])
    return joined
