"""Task sets and batch tables of the figures of [RTNS24], section 6.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import spawn

if TYPE_CHECKING:
    from gpusched.model.answer import Answer
    from gpusched.model.batch_table import BatchTable
    from gpusched.model.kernel_tasks import KernelTasks

UTILIZATIONS = tuple(k / 5 for k in range(1, 11))
_TICKS = 1000


def draw_sets(
    n: int, utilization: float, count: int, first: int, seed: np.random.SeedSequence
) -> KernelTasks:
    """Task sets ``first``, ``first + 1``, ... of a seed ([RTNS24], section 6.1)."""
    from gpusched import generate

    key = spawn(seed, 0)
    return generate.gpusched(n, utilization, count=count, seed=key, first=first, ticks=_TICKS)


def verdicts(answer: Answer) -> npt.NDArray[np.int8]:
    """Verdicts on a stack as counted by a sweep: 1 accepted, 0 rejected, -1 undecided."""
    codes: npt.NDArray[np.int8] = answer.accepted.astype(np.int8) - answer.undecided
    return codes


def draw_tables(
    tasks: KernelTasks, slowdown: str, first: int, seed: np.random.SeedSequence
) -> BatchTable:
    """Batch tables of sets: eligibility by placement, one slowdown factor per batch."""
    from gpusched.model.batch_table import BatchTable

    return BatchTable.from_gpu(
        tasks, "pbs2024", slowdown=slowdown, seed=spawn(seed, 1), first=first
    )


def panels_of(panel: str | None, known: tuple[str, ...]) -> list[str]:
    if panel is None:
        return list(known)
    if panel not in known:
        raise ValueError(f"panel: got {panel!r}, expected one of {', '.join(known)} or None")
    return [panel]


def append(columns: dict[str, list[Any]], **row: Any) -> None:
    for name, value in row.items():
        columns.setdefault(name, []).append(value)
