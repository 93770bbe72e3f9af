"""Figures and tables of the papers: one function for each, which returns a table in long form.

Every table has ``plot()``, ``to_frame()`` and ``save_csv(path)``.

``gpusched_*``: the Parallel Batch Scheduler [RTNS24]; ``yang_*``: concurrent kernels in FIFO order
[ECRTS17]; ``stgm_*``: tasks with CPU and GPU segments [RTCSA19]; ``olmedo_*``: the scheduling
hierarchy [RTAS20]; ``elliott_*``: global EDF with a GPU [RTNS10]; ``gcaps_*``: a GPU context per
task, or a lock [ECRTS24]; ``ecrts2017`` and ``rtss2017``: schedules observed on a TX2 [RTSS17].
``sharing`` compares all ways of sharing a GPU on random systems.

Functions over random task sets take ``executor=``, ``workers=``, ``progress=``, ``store=`` and
``shard=`` as ``gs.sweep`` does. Single schedules, and searches for one set, take only a moment and
are computed at once. Two machines can share the work for a figure as follows::

    gs.experiments.stgm_fig4(count=10**6, seed=1, store="part0", shard=(0, 2))
    gs.experiments.stgm_fig4(count=10**6, seed=1, store="part1", shard=(1, 2))  # the other machine
    gs.merge(["part0", "part1"], "all")
    gs.experiments.stgm_fig4(count=10**6, seed=1, store="all").plot()
"""

from __future__ import annotations

from gpusched.experiments.elliott_counts import SCENARIOS, ElliottStudy, Scenario
from gpusched.experiments.elliott_runs import (
    CATEGORIES,
    PRINTED_TABLE2,
    RUN_METHODS,
    ElliottGrowth,
    ElliottRuns,
    elliott_fig6,
    elliott_table2,
)
from gpusched.experiments.elliott_study import elliott_fig5
from gpusched.experiments.gcaps_figures import (
    GCAPS_PUBLISHED,
    GCAPS_TESTS,
    GcapsSchedulability,
    gcaps_fig8,
)
from gpusched.experiments.gpusched_figures import (
    SCHEDULERS,
    SLOWDOWNS,
    UTILIZATIONS,
    Schedulability,
    gpusched_fig4,
)
from gpusched.experiments.gpusched_search_figures import (
    GraphSize,
    SearchTimes,
    TimesByTasks,
    gpusched_fig5,
)
from gpusched.experiments.olmedo_contention import (
    Bandwidth,
    Contention,
    olmedo_fig7,
    olmedo_fig8,
    olmedo_fig9,
)
from gpusched.experiments.olmedo_figures import (
    ARCHITECTURES,
    Figure5,
    Figure6,
    Mispredictions,
    Observed,
    SharedSMs,
    ecrts2017,
    olmedo_fig3,
    olmedo_fig5,
    olmedo_fig6,
    olmedo_table2,
    olmedo_table3,
    olmedo_table4,
    rtss2017,
)
from gpusched.experiments.sharing_study import SHARING_WAYS, WaysOfSharing, sharing
from gpusched.experiments.stgm_choices import (
    ALLOCATORS,
    Allocators,
    Options,
    stgm_allocators,
    stgm_options,
)
from gpusched.experiments.stgm_figures import (
    STGM_READINGS,
    STGM_TESTS,
    Profiles,
    StgmSchedulability,
    stgm_fig3,
    stgm_fig4,
    stgm_fig5,
)
from gpusched.experiments.yang_figures import (
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
    "GCAPS_PUBLISHED",
    "GCAPS_TESTS",
    "PRINTED_TABLE2",
    "RUN_METHODS",
    "SCENARIOS",
    "SCHEDULERS",
    "SHARING_WAYS",
    "SLOWDOWNS",
    "STGM_READINGS",
    "STGM_TESTS",
    "UTILIZATIONS",
    "Allocators",
    "Bandwidth",
    "Bounds",
    "Contention",
    "ElliottGrowth",
    "ElliottRuns",
    "ElliottStudy",
    "Figure2",
    "Figure3",
    "Figure5",
    "Figure6",
    "GcapsSchedulability",
    "GraphSize",
    "Mispredictions",
    "Observed",
    "Options",
    "Profiles",
    "Scenario",
    "Schedulability",
    "SearchTimes",
    "SharedSMs",
    "StgmSchedulability",
    "TimesByTasks",
    "WaysOfSharing",
    "ecrts2017",
    "elliott_fig5",
    "elliott_fig6",
    "elliott_table2",
    "gcaps_fig8",
    "gpusched_fig4",
    "gpusched_fig5",
    "olmedo_fig3",
    "olmedo_fig5",
    "olmedo_fig6",
    "olmedo_fig7",
    "olmedo_fig8",
    "olmedo_fig9",
    "olmedo_table2",
    "olmedo_table3",
    "olmedo_table4",
    "rtss2017",
    "sharing",
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
    return sorted(__all__)  # names for tab completion
