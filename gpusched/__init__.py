"""Real-time scheduling of GPU kernels: exact schedulability tests and schedules."""

from gpusched import generate as generate
from gpusched._version import __version__
from gpusched.gpu import GPU as GPU
from gpusched.gpu import occupancy as occupancy
from gpusched.place import Placement as Placement
from gpusched.place import place as place
from gpusched.table import BatchTable as BatchTable
