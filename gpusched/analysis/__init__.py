"""Response-time bounds and schedulability tests.

`fifo_bound`: kernels that run concurrently and whose blocks start in FIFO order, in the model of
[ECRTS17] (Yang and Anderson, "Response-Time Bounds for Concurrent GPU Scheduling", 2017).
`fifo_limit`: the utilization up to which that paper conjectures bounded response times.

`priority_streams`: chains of kernels in streams of different priorities.

`holistic`: whole programs, with CPU work, copies and kernels anywhere in a job, in one stream, in
streams or in time slices.

`path_bounds`: latencies of paths through tasks that release each other or read each other's newest
results, from the latest ends of their jobs; `waiting_results`: the room that they need.

`stgm`, `mpcp`, `fmlp_plus`, `gpu_server`: tasks with CPU and GPU segments under partitioned fixed
priorities, in which tasks use different SMs, or one task at a time uses the whole GPU; compared in
[RTCSA19] (Saha, Xiang and Kim, "STGM: Spatio-Temporal GPU Management for Real-Time Tasks").
`stgm_allocate`, `stgm_exhaustive` and `partition` also choose the cores and SMs.

`time_slices`, `gcaps`: the same tasks, with GPU contexts served in turn or by priority, as in
Wang, Liu, Wong and Kim, "GCAPS: GPU Context-Aware Preemptive Priority-based Scheduling", 2024.

`srm`, `container`, `cpu_only`, `gedf_tardiness`: bounded tardiness under global EDF, with the GPU
behind a lock or inside a server, [RTNS10] (Elliott and Anderson, "Globally Scheduled Real-Time
Multiprocessor Systems with GPUs", 2010).

`breakdown`, `assign_priorities`: the largest factor on execution times with which a test of
partitioned tasks accepts a set, and priorities with which it does. `schedulability` computes the
columns of a sweep.

The answers of tests are derived from `Answer`: they have ``accepted``, ``rejected``, ``undecided``,
``schedulable``, ``claim``, ``assumptions``, ``response``, ``slack`` and ``why()``, for one set and
for stacks of sets.
"""

from __future__ import annotations

from gpusched.analysis import contexts, partitioned
from gpusched.analysis.allocation import partition, stgm_allocate, stgm_exhaustive
from gpusched.analysis.assignment_answer import Assignment
from gpusched.analysis.breakdown_answer import Breakdown
from gpusched.analysis.contexts import *  # noqa: F403  (the tests of ways)
from gpusched.analysis.fifo_answer import REASONS, STATUSES, THEOREMS, FifoBound
from gpusched.analysis.fifo_bounds import fifo_bound
from gpusched.analysis.fifo_limits import FifoLimit, fifo_limit
from gpusched.analysis.global_edf import GEDF_METHODS, container, cpu_only, gedf_tardiness, srm
from gpusched.analysis.global_edf_verdict import GEDF_BOUNDS, LOCKS, GedfVerdict
from gpusched.analysis.holistic_answer import HOLISTIC_TERMS, HolisticBound
from gpusched.analysis.holistic_bounds import holistic
from gpusched.analysis.partitioned import *  # noqa: F403
from gpusched.analysis.path_times import PATH_JOBS, PathTimes, path_bounds, waiting_results
from gpusched.analysis.priority_answer import PRIORITY_TERMS, PriorityStreamsBound
from gpusched.analysis.priority_assignment import assign_priorities
from gpusched.analysis.priority_bounds import priority_streams
from gpusched.analysis.sensitivity import breakdown, schedulability
from gpusched.analysis.verdict import TERMS, Verdict
from gpusched.model.answer import Answer
from gpusched.model.fifo_model import ORDERS

__all__ = [
    *contexts.__all__,
    *partitioned.__all__,
    "GEDF_BOUNDS",
    "GEDF_METHODS",
    "HOLISTIC_TERMS",
    "LOCKS",
    "ORDERS",
    "PATH_JOBS",
    "PRIORITY_TERMS",
    "REASONS",
    "STATUSES",
    "TERMS",
    "THEOREMS",
    "Answer",
    "Assignment",
    "Breakdown",
    "FifoBound",
    "FifoLimit",
    "GedfVerdict",
    "HolisticBound",
    "PathTimes",
    "PriorityStreamsBound",
    "Verdict",
    "assign_priorities",
    "breakdown",
    "container",
    "cpu_only",
    "fifo_bound",
    "fifo_limit",
    "gedf_tardiness",
    "holistic",
    "partition",
    "path_bounds",
    "priority_streams",
    "schedulability",
    "srm",
    "stgm_allocate",
    "stgm_exhaustive",
    "waiting_results",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # names for tab completion
