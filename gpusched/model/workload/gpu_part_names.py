"""Names of processes and tasks to which a platform gives parts of the GPU, and a workload lacks."""

from __future__ import annotations

from gpusched._support.text import clip, shown
from gpusched.model.workload.platforms import Platform
from gpusched.model.workload.workloads import Workload

__all__ = ["unknown_clients", "unknown_tasks"]

_SHOWN = 300  # characters of the known names


def unknown_clients(workload: Workload, platform: Platform) -> str:
    """Sentence on a process with a share of the SMs under MPS that no task belongs to; "" if none.

    Without processes in the workload, each task is a process of its name.
    """
    given = [process for process, _ in platform.mps or ()]
    if all(task.process is None for task in workload if task.kernels):
        return _unknown(given, list(workload.names), "tasks, each a process of its own")
    known = [task.process for task in workload if task.process is not None]
    return _unknown(given, list(dict.fromkeys(known)), "processes")


def unknown_tasks(workload: Workload, platform: Platform) -> str:
    """Sentence on a task of a green context that the workload lacks; "" if there is none."""
    given = [task for tasks, _ in platform.green_contexts or () for task in tasks]
    return _unknown(given, list(workload.names), "tasks")


def _unknown(given: list[str], known: list[str], what: str) -> str:
    for name in given:
        if name not in known:
            names = clip(", ".join(known), _SHOWN) or "none"
            return f"got {shown(name)}, expected one of the workload's {what}: {names}"
    return ""
