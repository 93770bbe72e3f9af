"""Four tasks with all kinds of waiting, for the equations of [RTCSA19], and lists as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpusched.model.host_tasks import HostTasks

__all__ = ["example", "listed"]


def example() -> HostTasks:
    """Four tasks on two cores, with all kinds of waiting."""
    jobs: list[list[Any]] = [
        [3, (1, 6, 1), 2],
        [5, (2, 8, 1), 1],
        [10],
        [6, (2, 10, 2), 2, (1, 4, 1), 1],
    ]
    sets: list[list[int]] = [[0], [0, 1], [], [1]]
    return HostTasks.from_segments([60, 80, 120, 160], jobs, core=[0, 1, 0, 1], sm=sets)


def listed(values: Iterable[object]) -> str:
    """Values as words of a sentence: "1, 2 and 3"."""
    words = [str(value) for value in values]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
