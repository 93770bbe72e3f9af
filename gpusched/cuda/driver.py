"""CUDA driver: opened once per process on first use, limits of its devices, clocks, availability.

GPUSCHED_CUDA_DRIVER names a library to use instead of libcuda.so.1, such as the stand-in of the
tests, which does not need compiled kernels.
"""

from __future__ import annotations

import os
import threading
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration

LIMITS = enumeration("cuda.limit")
"""Keys of ``limits``, in the order of the core."""

_lock = threading.Lock()
_opened: dict[str, _core.CudaDriver] = {}


def standing_in() -> bool:
    """True when another library replaces the driver."""
    return bool(os.environ.get("GPUSCHED_CUDA_DRIVER"))


def image() -> bytes | None:
    """Image of the kernels to load; None for those of the build. A stand-in ignores it."""
    return b"stand-in" if standing_in() else None


def driver() -> _core.CudaDriver:
    """The driver's handle, opened on first use. Raises ``CudaError``."""
    path = os.environ.get("GPUSCHED_CUDA_DRIVER") or "libcuda.so.1"
    with _lock:
        if path not in _opened:
            _opened[path] = _core.cuda_driver(path)
        return _opened[path]


def version_text(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def why_not() -> str | None:
    """See ``gpusched.cuda.why_not``."""
    if _core.CUDA_MISSING and not standing_in():
        return _core.CUDA_MISSING
    try:
        version, devices, pid, _ = driver().info()
    except _core.CudaError as error:
        return str(error.args[0])
    if pid != os.getpid():
        return (
            "this process was forked from one that uses the CUDA driver, which does not support "
            "fork: start processes by spawn instead"
        )
    if devices == 0:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        hint = "" if visible is None else f" (CUDA_VISIBLE_DEVICES is {visible!r})"
        return f"the driver finds no device{hint}"
    if version // 1000 < _core.CUDA_TOOLKIT // 1000 and not standing_in():
        return (
            f"the driver is too old: it supports CUDA {version_text(version)}, the kernels were "
            f"built with {version_text(_core.CUDA_TOOLKIT)}"
        )
    return None


def limits(index: int) -> tuple[str, dict[str, int]]:
    """Name and limits of a device. Raises ``CudaError``; ``ValueError`` for an unknown device."""
    name, values = driver().limits(index)
    return name, dict(zip(LIMITS, values.tolist(), strict=True))


def names() -> tuple[str, ...]:
    """Names of the devices; empty when none can be used."""
    if why_not() is not None:
        return ()
    devices = driver().info()[1]
    return tuple(limits(index)[0] for index in range(devices))


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
