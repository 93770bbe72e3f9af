"""Programs that keep a guarantee: the runtime library, and the comparison of runs with answers.

``gs.kept`` compares the log of a run with the bounds and conditions of an answer. Programs in C and
C++ write such logs, take the lock, ask the server or play a schedule with ``gpusched/rt.h``, which
is installed with the package: ``gpusched config --cflags --libs`` prints how to build with it.
Programs in Python do so with ``Log``, ``jobs``, ``Lock``, ``Server`` and ``Player``, which wait
without the GIL.
``gs.rt.execute`` runs a workload under a way of sharing the GPU by such threads, with a stand-in
for the GPU.
"""

from __future__ import annotations

from gpusched.rt.build_flags import cflags, get_include, get_library_dir, libs
from gpusched.rt.gpu_lock import Lock, Slot
from gpusched.rt.job_log import Log, now, thread
from gpusched.rt.job_loop import Ends, Job, jobs
from gpusched.rt.kept_rules import Finding
from gpusched.rt.plan_player import Player
from gpusched.rt.real_runs import Execution, execute
from gpusched.rt.segment_server import Server

__all__ = [
    "Ends",
    "Execution",
    "Finding",
    "Job",
    "Lock",
    "Log",
    "Player",
    "Server",
    "Slot",
    "cflags",
    "execute",
    "get_include",
    "get_library_dir",
    "jobs",
    "libs",
    "now",
    "thread",
]


def __dir__() -> list[str]:
    return sorted(__all__)  # names for tab completion
