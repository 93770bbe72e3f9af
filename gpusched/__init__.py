"""Real-time scheduling of GPU kernels: exact schedulability tests and schedules."""

from gpusched._version import __version__
