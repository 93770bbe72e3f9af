"""The argument ``stop``: a byte that another thread sets to end a call."""

from __future__ import annotations

from typing import Any

from gpusched._core import Cancelled
from gpusched._support.text import shown

__all__ = ["raise_if_stopped"]


def raise_if_stopped(stop: Any) -> None:
    """Raise `Cancelled` if the byte is set.

    Long calls of the core check it themselves; a loop over short calls checks it between them.
    Raises TypeError for anything but None or a writable buffer of one byte.
    """
    if stop is None:
        return
    try:
        view = memoryview(stop)
    except (TypeError, ValueError):  # no buffer, or of a type that has none
        view = memoryview(b"")
    if view.readonly or view.nbytes != 1 or view.ndim != 1:
        raise TypeError(
            f"stop: got {shown(stop)}, expected None or a writable buffer of one byte, such as "
            "bytearray(1)"
        )
    if view.cast("B")[0]:
        raise Cancelled("stopped")
