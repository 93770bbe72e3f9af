"""CUDA driver: opened once per process on first use, limits of its devices, availability.

GPUSCHED_CUDA_DRIVER names a library to use instead of libcuda.so.1, such as the stand-in of the
tests, which does not need compiled kernels.
"""

from __future__ import annotations

import os
import threading

from gpusched import _core
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
