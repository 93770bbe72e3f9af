"""Real-time scheduling of GPU kernels: exact schedulability tests and schedules."""

from gpusched import experiments as experiments
from gpusched import generate as generate
from gpusched import graph as graph
from gpusched import io as io
from gpusched import pbs as pbs
from gpusched._core import Cancelled as Cancelled
from gpusched._version import __version__ as __version__
from gpusched.gpu import GPU as GPU
from gpusched.gpu import occupancy as occupancy
from gpusched.place import Placement as Placement
from gpusched.place import place as place
from gpusched.schedule import Schedule as Schedule
from gpusched.schedule import ScheduleError as ScheduleError
from gpusched.sweep import Sweep as Sweep
from gpusched.sweep import SweepError as SweepError
from gpusched.sweep import sweep as sweep
from gpusched.table import BatchTable as BatchTable
from gpusched.tasks import KernelTasks as KernelTasks
