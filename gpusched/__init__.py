"""Real-time scheduling of GPU kernels: exact schedulability tests and schedules."""

from gpusched._version import __version__
from gpusched.gpu import GPU, occupancy
from gpusched.place import Placement, place
