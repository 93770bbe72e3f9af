"""Executor, store and shard of a study: how it is run, without influence on its results."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpusched._support.arguments import integer
from gpusched._support.budget import Progress
from gpusched._support.text import shown


class SweepError(RuntimeError):
    """The function failed at a point; ``point`` has its parameters, ``__cause__`` the error.

    >>> def inverse(*, x, count, first, seed):
    ...     return {"y": [1 / x]}
    >>> try:
    ...     gs.sweep(inverse, {"x": [0]}, count=1)
    ... except gs.SweepError as error:
    ...     print(error)
    at x=0, task sets 0 to 0: ZeroDivisionError: division by zero
    """

    def __init__(self, message: str, point: Mapping[str, Any]) -> None:
        super().__init__(message, dict(point))
        self.point = dict(point)

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Execution:
    """Parameters of ``gs.sweep`` that control the execution of a study, not its results."""

    executor: Any = None
    workers: int | None = None
    progress: Progress = None
    chunk: int | None = None
    store: str | os.PathLike[str] | None = None
    shard: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.chunk is not None and integer(self.chunk, "chunk") < 1:
            raise ValueError(f"chunk: got {self.chunk}, expected at least 1")
        worker_count(self.workers)
        if self.shard is None:
            return
        try:
            part, of = (integer(number, "shard") for number in self.shard)
        except (TypeError, ValueError):
            part, of = -1, 0
        if not 0 <= part < of:
            raise ValueError(
                f"shard: got {shown(self.shard)}, expected (i, k) with i from 0 to k - 1"
            )
        if self.store is None:
            raise ValueError("store: got None, expected a file for the results of the shard")
        object.__setattr__(self, "shard", (part, of))


def worker_count(workers: int | None) -> int:
    """The argument ``workers``; for None, the number of CPUs that this process may use."""
    if workers is None:
        with contextlib.suppress(AttributeError):  # not on every system
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    number = integer(workers, "workers")
    if number < 1:
        raise ValueError(f"workers: got {number}, expected at least 1")
    return number
