"""Real-time scheduling of GPU kernels: exact schedulability tests and schedules.

Describe a GPU (``GPU``) and periodic kernels (``KernelTasks``), ask when batches of them end
(``BatchTable``), whether the Parallel Batch Scheduler meets every deadline (``pbs.search``), and
sweep utilizations (``sweep``, ``experiments``). ``io`` reads traces of real applications.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusched import generate as generate
from gpusched import pbs as pbs
from gpusched._core import Cancelled as Cancelled
from gpusched._version import __version__ as __version__
from gpusched.gpu import GPU as GPU
from gpusched.gpu import occupancy as occupancy
from gpusched.place import Placement as Placement
from gpusched.place import place as place
from gpusched.sweep import Sweep as Sweep
from gpusched.sweep import SweepError as SweepError
from gpusched.sweep import sweep as sweep
from gpusched.table import BatchTable as BatchTable
from gpusched.tasks import KernelTasks as KernelTasks

if TYPE_CHECKING:
    from gpusched import experiments as experiments
    from gpusched import graph as graph
    from gpusched import io as io
    from gpusched.schedule import Schedule as Schedule
    from gpusched.schedule import ScheduleError as ScheduleError

# Not needed to ask a question, so not imported before they are used. (``sweep`` is a function in a
# module of its name: imported later, the module would take its place.)
_LATER = {
    "Schedule": "gpusched.schedule",
    "ScheduleError": "gpusched.schedule",
    "experiments": "gpusched.experiments",
    "graph": "gpusched.graph",
    "io": "gpusched.io",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'gpusched' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(_LATER[name])
    value = module if module.__name__ == f"gpusched.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
