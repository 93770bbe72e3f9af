"""Real-time scheduling of GPU kernels: will they meet their deadlines?

``import gpusched as gs``, and describe what there is:

    gs.GPU, gs.occupancy, gs.place    a GPU, how many blocks an SM holds, which SM they go to
    gs.KernelTasks, gs.BatchTable     periodic kernels, and how long batches of them take
    gs.HostTasks                      tasks that compute on CPUs and on a GPU, in turns
    gs.Launches                       kernels and copies in streams, as programs launch them
    gs.generate                       random task sets, as many as you like in one call

Then ask:

    gs.pbs.search(tasks, table)       can the Parallel Batch Scheduler meet every deadline, and how?
    gs.pbs.edf_serial, edf_parallel   can plain EDF?
    gs.analysis                       how late can kernels in streams, or tasks with CPU and GPU
                                      segments, be: bounds and schedulability tests
    gs.simulate                       what happens, job by job and block by block
    gs.sweep                          one of these questions over a grid, for many task sets
    gs.experiments                    the figures and tables of the papers

``gs.io`` reads traces of programs that ran, ``gs.cuda`` measures and plays on this machine's GPUs.
Every time is a whole number of ticks; what a tick is, is yours to choose (nanoseconds in what is
read from files and measured). ``help(gs.pbs.search)`` and so on have the details.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched._core import Cancelled as Cancelled
from gpusched._version import __version__ as __version__
from gpusched.gpu import GPU as GPU
from gpusched.gpu import occupancy as occupancy
from gpusched.place import Placement as Placement
from gpusched.place import place as place
from gpusched.sweep import Sweep as Sweep
from gpusched.sweep import SweepError as SweepError
from gpusched.sweep import sweep as sweep

if TYPE_CHECKING:
    from gpusched import analysis as analysis
    from gpusched import cuda as cuda
    from gpusched import experiments as experiments
    from gpusched import generate as generate
    from gpusched import graph as graph
    from gpusched import io as io
    from gpusched import pbs as pbs
    from gpusched import profiles as profiles
    from gpusched import simulate as simulate
    from gpusched._budget import Budget as Budget
    from gpusched._core import CudaError as CudaError
    from gpusched._study_store import StoreError as StoreError
    from gpusched.hosttasks import HostTasks as HostTasks
    from gpusched.launches import Launches as Launches
    from gpusched.schedule import Schedule as Schedule
    from gpusched.schedule import ScheduleError as ScheduleError
    from gpusched.table import BatchTable as BatchTable
    from gpusched.tasks import KernelTasks as KernelTasks

_EAGER = (
    *("Cancelled", "GPU", "Placement", "Sweep", "SweepError", "__version__", "occupancy", "place"),
    "sweep",
)
# Imported when they are first asked for, so that importing the package costs little. Functions
# named like their module (place, sweep) cannot wait: the module would hide them.
_MODULES = (
    "analysis",
    "cuda",
    "experiments",
    "generate",
    "graph",
    "io",
    "pbs",
    "profiles",
    "simulate",
)
_CLASSES = {
    "BatchTable": "table",
    "Budget": "_budget",
    "CudaError": "_core",
    "HostTasks": "hosttasks",
    "KernelTasks": "tasks",
    "Launches": "launches",
    "Schedule": "schedule",
    "ScheduleError": "schedule",
    "StoreError": "_study_store",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"gpusched.{name}")
    if name not in _CLASSES:
        raise AttributeError(f"module 'gpusched' has no attribute {name!r}")
    value = getattr(import_module(f"gpusched.{_CLASSES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # What a user's tab key shows, and not what happens to be imported.
    special = {name for name in globals() if name.startswith("__")}
    return sorted({*special, *_EAGER, *_MODULES, *_CLASSES})
