"""Tasks whose kernels run in batches, and the rows of these batches."""

from __future__ import annotations

from gpusched._support.arguments import Int64Array
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_graph import KernelGraph
from gpusched.model.kernel_tasks import KernelTasks

__all__ = ["BATCH_TASKS", "BatchTasks", "precedence_of", "rows_of"]

BatchTasks = KernelTasks | KernelChains | KernelGraph
BATCH_TASKS = (KernelTasks, KernelChains, KernelGraph)


def rows_of(tasks: BatchTasks) -> KernelTasks:
    """Rows of batches: the tasks themselves, or the kernels of chains."""
    return tasks if isinstance(tasks, KernelTasks) else tasks.rows


def precedence_of(tasks: BatchTasks) -> Int64Array | None:
    """The precedence between the rows as the core takes it: of chains a mask per set, (N, 1), of
    a graph the masks of the rows that each row needs, (1, n); None for tasks."""
    if isinstance(tasks, KernelTasks):
        return None
    return tasks._chained()[:, None] if isinstance(tasks, KernelChains) else tasks._precedence()
