"""Real-time scheduling of GPU kernels: exact schedulability tests and schedules.

Describe a GPU (``GPU``) and periodic kernels (``KernelTasks``), ask when batches of them end
(``BatchTable``), whether the Parallel Batch Scheduler meets every deadline (``pbs.search``), and
sweep utilizations (``sweep``, ``experiments``). ``io`` reads traces of real applications, ``cuda``
measures and plays on the GPUs of this machine.
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
    from gpusched._core import CudaError as CudaError
    from gpusched._study_store import StoreError as StoreError
    from gpusched.hosttasks import HostTasks as HostTasks
    from gpusched.launches import Launches as Launches
    from gpusched.schedule import Schedule as Schedule
    from gpusched.schedule import ScheduleError as ScheduleError
    from gpusched.table import BatchTable as BatchTable
    from gpusched.tasks import KernelTasks as KernelTasks

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
    return sorted({*globals(), *_MODULES, *_CLASSES})
