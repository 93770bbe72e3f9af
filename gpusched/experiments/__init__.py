"""The figures of the papers, one function for each: a tidy table that can draw itself.

One module per paper: ``yang`` (paper 000, concurrent kernels in FIFO order), ``feddal`` (paper
001, the Parallel Batch Scheduler).
"""

from __future__ import annotations

from gpusched.experiments.feddal import (
    SCHEDULERS,
    SLOWDOWNS,
    UTILIZATIONS,
    GraphSize,
    Schedulability,
    SearchTimes,
    TimesByTasks,
    gpusched_fig4,
    gpusched_fig5,
)
from gpusched.experiments.yang import (
    Bounds,
    Figure2,
    Figure3,
    yang_bounds,
    yang_fig2,
    yang_fig3,
)

__all__ = [
    "SCHEDULERS",
    "SLOWDOWNS",
    "UTILIZATIONS",
    "Bounds",
    "Figure2",
    "Figure3",
    "GraphSize",
    "Schedulability",
    "SearchTimes",
    "TimesByTasks",
    "gpusched_fig4",
    "gpusched_fig5",
    "yang_bounds",
    "yang_fig2",
    "yang_fig3",
]
