"""The figures of the papers, one function for each: a tidy table that can draw itself.

One module per paper: ``feddal`` (paper 001, the Parallel Batch Scheduler).
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

__all__ = [
    "SCHEDULERS",
    "SLOWDOWNS",
    "UTILIZATIONS",
    "GraphSize",
    "Schedulability",
    "SearchTimes",
    "TimesByTasks",
    "gpusched_fig4",
    "gpusched_fig5",
]
