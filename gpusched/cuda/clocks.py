"""Clocks of host and device: a line maps one to the other, as they drift apart over seconds."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array

MOST_DRIFT = 2e-4
"""Largest relative drift of two clocks, each within 100 parts per million."""


def job_offsets(
    dispatch: Int64Array, first: Int64Array, last: Int64Array, done: Int64Array, known: Any
) -> tuple[Int64Array, tuple[int, int]]:
    """Offset of each job from device to host time, and the bounds of the offset.

    No job starts before its dispatch, and none ends after the return of its wait. Over seconds,
    clock drift exceeds the time of a dispatch; therefore the offset is not a constant but the
    greatest line below all upper bounds: the edge of their lower hull at the middle of the
    playback (Moon, Skelly and Towsley 1999). The bounds are those with the drift removed.
    """
    if not known.any():
        return np.zeros(len(known), np.int64), (-(2**62), 2**62)
    middle = (int(last[known].min()) + int(last[known].max())) // 2
    since = (last - middle).astype(np.float64)
    base = int((done - last)[known].min())
    above = ((done - last) - base)[known]
    slope = _drift(since[known], above)
    drift = np.where(known, np.rint(slope * since), 0).astype(np.int64)
    high = int((done - last - drift)[known].min())
    low = int((dispatch - first - drift)[known].max())
    return high + drift, (low, high)


def launch_offsets(
    called: Int64Array, first: Int64Array, last: Int64Array, end: int
) -> tuple[Int64Array, tuple[int, int]]:
    """Offset of each kernel from device to host time at its start, and its bounds.

    No kernel starts before the call of its launch, and none ends after ``end``. The drift is the
    slope of the lowest line above all lower bounds, at their middle; the offset is in the middle of
    the bounds with the drift removed.
    """
    middle = (int(first.min()) + int(first.max())) // 2
    since = (first - middle).astype(np.float64)
    below = called - first
    slope = -_drift(since, int(below.max()) - below)
    drift = np.rint(slope * since).astype(np.int64)
    low = int((below - drift).max())
    high = end - int((last + np.rint(slope * (last - middle)).astype(np.int64)).max())
    return (low + max(high, low)) // 2 + drift, (low, high)


def _drift(since: npt.NDArray[np.float64], above: npt.NDArray[np.int64]) -> float:
    """Relative drift, as the slope below upper bounds of the offset."""
    return float(np.clip(_edge(since, above), -MOST_DRIFT, MOST_DRIFT))


def _edge(x: npt.NDArray[np.float64], y: npt.NDArray[np.int64]) -> float:
    """Slope of the lower convex hull of the points at x = 0; 0 for a single x."""
    hull: list[tuple[float, float]] = []
    for i in np.lexsort((y, x)).tolist():
        at, value = float(x[i]), float(y[i])
        if hull and hull[-1][0] == at:
            continue
        while len(hull) > 1:
            (ax, ay), (bx, by) = hull[-2:]
            if (by - ay) * (at - ax) < (value - ay) * (bx - ax):
                break
            hull.pop()
        hull.append((at, value))
    for (ax, ay), (bx, by) in pairwise(hull):
        if bx >= 0:
            return (by - ay) / (bx - ax)
    return 0.0
