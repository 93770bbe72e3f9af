"""The figures of the papers, one function for each: a tidy table that can draw itself.

One module per paper: ``yang`` (Yang and Anderson 2017, concurrent kernels in FIFO order),
``feddal`` (GPUSched, the Parallel Batch Scheduler), ``saha`` (STGM, tasks with CPU and GPU
segments), ``olmedo`` (Olmedo et al. 2020, the scheduling hierarchy), ``elliott`` (Elliott and
Anderson 2010, global EDF with a GPU), ``amert`` (schedules observed on a TX2, RTSS 2017).
"""

from __future__ import annotations

from gpusched.experiments.amert import Observed, ecrts2017, rtss2017
from gpusched.experiments.elliott import SCENARIOS, ElliottStudy, Scenario, elliott_fig5
from gpusched.experiments.elliott_runs import (
    CATEGORIES,
    RUN_METHODS,
    ElliottGrowth,
    ElliottRuns,
    elliott_fig6,
    elliott_table2,
)
from gpusched.experiments.feddal import (
    SCHEDULERS,
    SLOWDOWNS,
    UTILIZATIONS,
    Schedulability,
    gpusched_fig4,
)
from gpusched.experiments.feddal_search import (
    GraphSize,
    SearchTimes,
    TimesByTasks,
    gpusched_fig5,
)
from gpusched.experiments.olmedo import (
    ARCHITECTURES,
    Contention,
    Figure5,
    Figure6,
    SharedSMs,
    olmedo_fig5,
    olmedo_fig6,
    olmedo_fig7,
    olmedo_fig8,
    olmedo_fig9,
    olmedo_table2,
    olmedo_table3,
    olmedo_table4,
)
from gpusched.experiments.saha import STGM_TESTS, StgmSchedulability, stgm_fig4, stgm_fig5
from gpusched.experiments.saha_allocators import ALLOCATORS, Allocators, stgm_allocators
from gpusched.experiments.saha_options import Options, stgm_options
from gpusched.experiments.saha_profiles import Profiles, stgm_fig3
from gpusched.experiments.yang import (
    Bounds,
    Figure2,
    Figure3,
    yang_bounds,
    yang_fig2,
    yang_fig3,
)

__all__ = [
    "ALLOCATORS",
    "ARCHITECTURES",
    "CATEGORIES",
    "RUN_METHODS",
    "SCENARIOS",
    "SCHEDULERS",
    "SLOWDOWNS",
    "STGM_TESTS",
    "UTILIZATIONS",
    "Allocators",
    "Bounds",
    "Contention",
    "ElliottGrowth",
    "ElliottRuns",
    "ElliottStudy",
    "Figure2",
    "Figure3",
    "Figure5",
    "Figure6",
    "GraphSize",
    "Observed",
    "Options",
    "Profiles",
    "Scenario",
    "Schedulability",
    "SearchTimes",
    "SharedSMs",
    "StgmSchedulability",
    "TimesByTasks",
    "ecrts2017",
    "elliott_fig5",
    "elliott_fig6",
    "elliott_table2",
    "gpusched_fig4",
    "gpusched_fig5",
    "olmedo_fig5",
    "olmedo_fig6",
    "olmedo_fig7",
    "olmedo_fig8",
    "olmedo_fig9",
    "olmedo_table2",
    "olmedo_table3",
    "olmedo_table4",
    "rtss2017",
    "stgm_allocators",
    "stgm_fig3",
    "stgm_fig4",
    "stgm_fig5",
    "stgm_options",
    "yang_bounds",
    "yang_fig2",
    "yang_fig3",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # what a user's tab key shows
