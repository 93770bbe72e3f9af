"""Ways of sharing a GPU: their tests, their simulations, and their rows in a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpusched._support.registry import Method, methods
from gpusched._support.text import shown

__all__ = ["OUTSIDE", "WAYS", "OptionValue", "Simulator", "Way", "way_of"]

OptionValue = str | int | bool
"""A value of an option of a method."""

Simulator = Literal["fifo", "hierarchy", "host", "instances"]


@dataclass(frozen=True)
class Way:
    """A way of sharing the GPU.

    Parameters
    ----------
    name
        The name in tables and as an argument.
    title
        Short description of the rule.
    test
        Name of its test in ``gs.methods()``; None if the package has no test for it.
    simulator
        The simulation of the way; "instances" for separate simulations of GPU instances; None if
        the test itself simulates everything that can happen.
    modes
        Choices of its option ``mode``, each of which is a row of a comparison.
    """

    name: str
    title: str
    test: str | None
    simulator: Simulator | None
    modes: tuple[str, ...] = ()

    @property
    def method(self) -> Method | None:
        """Its test as listed by ``gs.methods()``."""
        return None if self.test is None else methods()[self.test]


def _modes(test: str) -> tuple[str, ...]:
    return methods()[test].choices("mode")


WAYS = (
    Way("one_stream", "all kernels and copies in one stream", None, "hierarchy"),
    Way("streams", "a stream for each task, of equal priority", "fifo_bound", "fifo"),
    Way("priority_streams", "a stream for each task, with its priority", "priority_streams",
        "hierarchy"),
    Way("mps", "a process for each task, as clients of MPS without time slices", "fifo_bound",
        "hierarchy"),
    Way("green_contexts", "green contexts of one process, each with SMs and queues of its own",
        "priority_streams", "hierarchy"),
    Way("time_slices", "a process for each task, in turns of a time slice", "time_slices",
        "hierarchy"),
    Way("gcaps", "a process for each task, the most urgent one with GPU work first", "gcaps",
        "host", _modes("gcaps")),
    Way("mpcp", "a lock on the GPU, the most urgent waiting job next", "mpcp", "host",
        _modes("mpcp")),
    Way("fmlp_plus", "a lock on the GPU, first come, first served", "fmlp_plus", "host",
        _modes("fmlp_plus")),
    Way("gpu_server", "a server task runs all GPU segments, the most urgent first", "gpu_server",
        "host"),
    Way("stgm", "SMs divided among the tasks", "stgm", "host", _modes("stgm")),
    Way("mig", "GPU instances, each with its tasks", "mig", "instances"),
    Way("srm", "a lock on the GPU under global EDF", "srm", "host"),
    Way("container", "GPU-using tasks in one server under global EDF", "container", "host"),
    Way("driver", "no lock, whole segments in the order of their requests, global EDF", None,
        "host"),
    Way("edf_serial", "jobs one at a time, earliest deadline first", "edf_serial", None),
    Way("edf_parallel", "batches filled in order of deadlines", "edf_parallel", None),
    Way("pbs", "batches by the exact search for a schedule", "search", None),
)  # fmt: skip
"""All ways, in the order of a comparison."""

OUTSIDE = {
    "fifo_limit": "its limit is no guarantee, and fifo_bound rejects all that it rejects",
    "partition": "it chooses the cores of mpcp, fmlp_plus and gpu_server, whose rows use it",
    "stgm_allocate": "it chooses the cores and SMs of stgm, whose row uses it",
    "stgm_exhaustive": "it tries all allocations of stgm, which takes too long for most workloads",
    "breakdown": "it finds factors for other tests; gs.margin has them for a workload",
    "challenge": "it looks for late jobs where other tests do not accept",
    "assign_priorities": "it chooses the priorities of other tests",
    "gedf_tardiness": "it takes the time that jobs wait for the GPU from srm or container",
    "cpu_only": "it has kernels run on the CPUs, whose times a workload does not state",
    "fifo": "it plays the way streams",
    "hierarchy": "it plays one_stream, priority_streams, mps, green_contexts and time_slices",
    "host": "it plays gcaps, locks, servers, divided SMs and global EDF",
    "pbs_partition": "it is about several GPUs, and a platform has one; ask gs.pbs.partition",
}
"""Methods of ``gs.methods()`` that are not ways of sharing a GPU by themselves, and why."""

_BY_NAME = {way.test: way for way in reversed(WAYS) if way.test is not None}
_BY_NAME |= {way.name: way for way in WAYS}


def way_of(name: object) -> Way:
    """The way of this name, or the first one whose test has this name.

    Raises ValueError for another name; if it is the name of a method, with the reason.
    """
    if isinstance(name, str):
        if name in _BY_NAME:
            return _BY_NAME[name]
        if name in OUTSIDE:
            raise ValueError(
                f"method: got {name!r}, expected a way of sharing the GPU; {OUTSIDE[name]}"
            )
    known = ", ".join(way.name for way in WAYS)
    raise ValueError(f"method: got {shown(name)}, expected one of {known}")
