"""Launches made from a file, ready for ``gs.simulate.hierarchy``, and their assumptions."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched._support.arguments import Int64Array
from gpusched.model.launches import Launches

__all__ = ["MOST_TIME", "Replay", "TraceReplay", "too_long"]

MOST_TIME = 2**59
"""Times of a simulation are below this number of ticks."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Launches of a log, a trace or a configuration, for ``gs.simulate.hierarchy``.

    >>> log = gs.io.BlockLog(["a"], 0, 5_000, 1, 32, 0, 0, [0], 0, 0, 5_040, 5_300)
    >>> replay = log.launches()
    >>> replay.launches, replay.origin, replay.launches.time.tolist()
    (<Launches: 1 kernels in 1 streams>, 5000, [40])

    Parameters
    ----------
    launches
        Kernels and copies; a tick is 1 ns. Times start near 0, as a simulation requires.
    origin
        Time in the file that is tick 0: add it to a time of the simulation to get one of the file.
    assumptions
        Sentences that state what is not in the file, and what was assumed instead.
    """

    launches: Launches
    origin: int
    assumptions: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TraceReplay(Replay):
    """Launches of a trace (``Trace.launches``).

    >>> replay = gs.io.read_trace("tests/data/pipeline.pt.trace.json").launches()
    >>> len(replay.launches), int((replay.kernel >= 0).sum())
    (45, 37)

    Parameters
    ----------
    launches, origin, assumptions
        As in `Replay`.
    kernel, transfer
        For each launch, its row in the trace, and its row in ``trace.events.transfers``; shape
        ``(n,)``, -1 if it has none.
    """

    kernel: Int64Array
    transfer: Int64Array


def too_long(name: str, value: int, origin: int) -> OverflowError:
    """The error for a time that a simulation cannot have."""
    return OverflowError(
        f"{name}: got {value}, expected less than 2**59 ticks after the earliest launch, {origin}"
    )
