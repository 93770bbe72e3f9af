"""Response-time bounds: how late can a job end, whatever happens?

``fifo_bound``: kernels that run concurrently, their blocks started in FIFO order, as in paper 000
(Yang and Anderson, "Response-Time Bounds for Concurrent GPU Scheduling"). The paper conjectures
that response times are bounded as long as the utilization stays within a limit (``fifo_limit``);
the theorems used here say when they are, and by what.

``stgm``, ``mpcp``, ``fmlp_plus``, ``gpu_server``: tasks with CPU and GPU segments under partitioned
fixed priorities, as in paper 002 (Saha, Xiang and Kim, "STGM: Spatio-Temporal GPU Management for
Real-Time Tasks"), with the GPU divided among tasks by SMs or used by one at a time.
``stgm_allocate``, ``stgm_exhaustive`` and ``partition`` also choose the cores and SMs.
"""

from __future__ import annotations

from gpusched._fifo_bounds import (
    ORDERS,
    REASONS,
    STATUSES,
    THEOREMS,
    FifoBound,
    FifoLimit,
    fifo_bound,
    fifo_limit,
)
from gpusched._host_tests import (
    fmlp_plus,
    gpu_server,
    mpcp,
    partition,
    stgm,
    stgm_allocate,
    stgm_exhaustive,
)
from gpusched.verdict import TERMS, Verdict

__all__ = [
    "ORDERS",
    "REASONS",
    "STATUSES",
    "TERMS",
    "THEOREMS",
    "FifoBound",
    "FifoLimit",
    "Verdict",
    "fifo_bound",
    "fifo_limit",
    "fmlp_plus",
    "gpu_server",
    "mpcp",
    "partition",
    "stgm",
    "stgm_allocate",
    "stgm_exhaustive",
]
