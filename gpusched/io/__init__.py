"""Readers of recorded kernels: traces of real programs, and logs of blocks.

    trace = gs.io.read_trace("step.pt.trace.json.gz")       # PyTorch profiler (Kineto)
    trace = gs.io.read_trace("report1.sqlite")              # Nsight Systems, nvprof
    tasks = trace.choose(5).tasks()                         # five of its kernels as periodic tasks
    w = trace.workload(by="annotation")                     # its record_function or NVTX ranges

Formats of traces: the JSON of the PyTorch profiler; the database that Nsight Systems exports
(``nsys export --type sqlite``) or nvprof writes; and the CSV of Nsight's statistics (``nsys stats
-r cuda_gpu_trace --format csv``), which rounds shared memory to 1 kB, whereas the database is
exact. Files of other kinds (archives, other profilers) are named with what to do.

Logs of cuda_scheduling_examiner contain the SM and the times of each block. ``check_rules`` checks
them against the rules of the scheduling hierarchy:

    log = gs.io.read_examiner("results/")
    gs.io.check_rules(log, "Xavier", tolerance=20_000, latency="log")   # violations, [] without
    gs.io.check_rules(gs.io.read_scenarios("many/"), "Xavier")          # each scenario alone

Logs, traces and configurations of that tool can be converted to launches for
``gs.simulate.hierarchy``, and ``agreement`` compares the simulation of a log with the log:

    run = gs.simulate.hierarchy(log.launches().launches, "V100")
    gs.io.agreement(run, log, tolerance=1_000_000)          # errors, SMs, and why they differ
    gs.simulate.hierarchy(trace.launches().launches, trace.gpu)
    gs.io.read_examiner_config("config.json").launches      # before it is measured

Task sets of other tools are read as workloads, whose ``assumptions`` state what a workload cannot
represent:

    w = gs.io.read_job_set("jobs.csv", tick="us")           # schedule abstraction (SAG), or YAML
    gs.io.write_job_set(w, "jobs.csv")
    w = gs.io.read_schedcat("taskset.xml")                  # SchedCAT

Programs that use the runtime library log their jobs, and ``gs.kept`` compares such a log with an
answer:

    gs.kept(answer, gs.io.read_run_log("run.gslog"))

In traces and logs, every time is an integer number of nanoseconds. A duration in a trace is the
time from the start of a launch's first block to the end of its last block, and includes
interference by concurrent kernels. It is neither the execution time of the kernel alone nor that
of one block.
"""

from __future__ import annotations

from gpusched.io.block_log import BlockLog, Violation
from gpusched.io.examiner_config import read_examiner_config
from gpusched.io.job_sets import read_job_set, read_schedcat, write_job_set
from gpusched.io.log_agreement import Agreement, Difference, agreement
from gpusched.io.readers import (
    DIFFERS,
    NOT_REPORTED,
    OPT_IN,
    OccupancyAgreement,
    check_rules,
    occupancy_agreement,
    read_examiner,
    read_scenarios,
    read_trace,
    write_examiner,
)
from gpusched.io.replay import Replay, TraceReplay
from gpusched.io.run_log import RunLog, read_run_log
from gpusched.io.traces.from_trace import LinkSuggestion
from gpusched.io.traces.trace import Trace
from gpusched.io.traces.trace_kernels import TraceKernels, harmonic_periods

__all__ = [
    "DIFFERS",
    "NOT_REPORTED",
    "OPT_IN",
    "Agreement",
    "BlockLog",
    "Difference",
    "LinkSuggestion",
    "OccupancyAgreement",
    "Replay",
    "RunLog",
    "Trace",
    "TraceKernels",
    "TraceReplay",
    "Violation",
    "agreement",
    "check_rules",
    "harmonic_periods",
    "occupancy_agreement",
    "read_examiner",
    "read_examiner_config",
    "read_job_set",
    "read_run_log",
    "read_scenarios",
    "read_schedcat",
    "read_trace",
    "write_examiner",
    "write_job_set",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # names for tab completion
