"""Simulators of task sets, job by job, under the scheduling rules of GPUs.

``fifo`` simulates the model of [ECRTS17]: m threads, and kernels whose blocks start in FIFO order;
``fifo_responses`` simulates stacks of task sets and keeps only the largest responses. ``hierarchy``
simulates the model of [RTAS20] above the SM: applications, streams, copies, and blocks on SMs with
all their limits. ``host`` simulates tasks with CPU and GPU segments on cores and a GPU under one of
several ways of sharing it, and ``host_responses`` stacks of them; ``challenge`` searches for a
schedule of such tasks in which a job is late. `gs.observe` simulates the whole machine of a
program, with CPUs, copy engines and the GPU, where its parts matter to each other: the result is a
`MachineRun`. ``warps`` simulates the inside of an SM, and ``block_times`` uses it for the execution
times of blocks that share an SM.
"""

from __future__ import annotations

from gpusched.model.fifo_model import Order
from gpusched.simulate.challenge_run import Challenge, LateJobs, challenge
from gpusched.simulate.fifo_result import FifoResponses, FifoRun, Waves
from gpusched.simulate.fifo_run import fifo, fifo_responses
from gpusched.simulate.hierarchy_result import Hierarchy
from gpusched.simulate.hierarchy_run import hierarchy
from gpusched.simulate.hierarchy_tables import Blocks, Deadlock, Occupancy, Slices, Waits
from gpusched.simulate.host_result import HostResponses, HostRun, HostWaits, Intervals
from gpusched.simulate.host_run import Victim, host, host_responses
from gpusched.simulate.machine_result import (
    BlockIntervals,
    ContextTurns,
    CpuIntervals,
    MachineJobs,
    MachineRun,
    Operations,
)
from gpusched.simulate.warps_run import block_times, warps

__all__ = [
    "BlockIntervals",
    "Blocks",
    "Challenge",
    "ContextTurns",
    "CpuIntervals",
    "Deadlock",
    "FifoResponses",
    "FifoRun",
    "Hierarchy",
    "HostResponses",
    "HostRun",
    "HostWaits",
    "Intervals",
    "LateJobs",
    "MachineJobs",
    "MachineRun",
    "Occupancy",
    "Operations",
    "Order",
    "Slices",
    "Victim",
    "Waits",
    "Waves",
    "block_times",
    "challenge",
    "fifo",
    "fifo_responses",
    "hierarchy",
    "host",
    "host_responses",
    "warps",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # names for tab completion
