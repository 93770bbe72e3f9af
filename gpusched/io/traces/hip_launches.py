"""Launch calls of HIP in Kineto's JSON: grids and blocks that the kernels' own events lack.

Until August 2024 Kineto wrote them into the call alone, and of what libraries launch (RCCL) it
still does. A call and its kernel have a correlation number in common. Kernels of HIP graphs have
no call of their own.
"""

from __future__ import annotations

from typing import Any

from gpusched.io.traces.kineto_numbers import correlation, whole

__all__ = ["HIP_CATEGORIES", "HIP_LAUNCHES", "HipLaunches"]

HIP_CATEGORIES = ("cuda_runtime", "hip_runtime")
_NAMES = ("hipLaunch", "hipExt", "hipModuleLaunch", "hipHcc")

HIP_LAUNCHES = tuple((category, name) for category in HIP_CATEGORIES for name in _NAMES)
"""Categories and beginnings of the names of calls that may launch a kernel."""


class HipLaunches:
    """Grids and blocks by correlation number; calls are added in any order."""

    def __init__(self) -> None:
        self.shapes: dict[int, tuple[Any, Any] | None] = {}

    def add(self, event: dict[str, Any]) -> None:
        """Add a decoded event; one that is no such call, or damaged, is ignored."""
        name, args = event.get("name"), event.get("args")
        if event.get("ph") != "X" or event.get("cat") not in HIP_CATEGORIES:
            return
        if not (isinstance(name, str) and name.startswith(_NAMES) and isinstance(args, dict)):
            return
        number, shape = correlation(args), (args.get("grid"), args.get("block"))
        if number < 0 or not all(map(_is_size, shape)):
            return
        if self.shapes.setdefault(number, shape) != shape:
            self.shapes[number] = None  # calls of several processes: the kernel's is not known

    def completed(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """The event of a kernel with the grid and the block of its call; None without one."""
        shape = self.shapes.get(correlation(event["args"]))
        if shape is None:
            return None
        return event | {"args": event["args"] | {"grid": shape[0], "block": shape[1]}}


def _is_size(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    sides = [whole(side) for side in value]
    return all(side is not None and side >= 1 for side in sides)
