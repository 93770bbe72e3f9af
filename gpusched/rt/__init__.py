"""Programs that keep a guarantee: the runtime library, and the comparison of runs with answers.

``gs.kept`` compares the log of a run with the bounds and conditions of an answer. Programs in C and
C++ write such logs, take the lock, ask the server or play a schedule with ``gpusched/rt.h``, which
is installed with the package: ``gpusched config --cflags --libs`` prints how to build with it.
``gs.rt.execute`` runs a workload under a way of sharing the GPU by such threads, with a stand-in
for the GPU.
"""

from __future__ import annotations

from gpusched.rt.build_flags import cflags, get_include, get_library_dir, libs
from gpusched.rt.kept_rules import Finding
from gpusched.rt.real_runs import Execution, execute

__all__ = ["Execution", "Finding", "cflags", "execute", "get_include", "get_library_dir", "libs"]


def __dir__() -> list[str]:
    return sorted(__all__)  # names for tab completion
