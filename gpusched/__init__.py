"""Real-time scheduling of GPU kernels: exact schedulability tests and schedules."""

from gpusched import generate as generate
from gpusched._version import __version__ as __version__
from gpusched.table import BatchTable as BatchTable
