"""Results of a derivation: a model, and the assumptions under which it represents the workload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from gpusched._support.arguments import Int64Array
from gpusched.model.batch_table import BatchTable
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.model.launches import Launches

__all__ = ["BatchView", "ChainBatchView", "LaunchView", "View"]

Model = TypeVar("Model", covariant=True)


@dataclass(frozen=True, eq=False)
class View(Generic[Model]):
    """Tasks of a model, as ``Workload.kernels`` and ``Workload.hosts`` derive them.

    >>> w = gs.Workload([gs.Task("a", 9, [gs.Kernel(4, blocks=8, threads=256)])])
    >>> view = w.kernels(gs.Platform("Xavier"))
    >>> view.tasks, view.assumptions
    (KernelTasks(period=[9], wcet=[4]), ())

    Parameters
    ----------
    tasks
        `KernelTasks` or `HostTasks`, in ticks of the workload.
    assumptions
        Sentences: the assumptions of the workload, followed by those of the derivation.
    """

    tasks: Model
    assumptions: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class BatchView(View[KernelTasks]):
    """Kernel tasks and the completion times of their batches (``Workload.batches``).

    Parameters
    ----------
    tasks, assumptions
        As in `View`.
    table
        Batch table of the tasks.
    """

    table: BatchTable


@dataclass(frozen=True, eq=False)
class ChainBatchView(View[KernelChains]):
    """Chains of kernels, and the completion times of batches of their kernels.

    Made by ``Workload.batches(..., chains="keep")``.

    Parameters
    ----------
    tasks, assumptions
        As in `View`.
    table
        Batch table of the kernels, which are the rows of ``tasks.rows``.
    """

    table: BatchTable


@dataclass(frozen=True, eq=False)
class LaunchView:
    """Launches of all jobs up to a time (``Workload.launches``).

    Parameters
    ----------
    launches
        Kernels and copies of the jobs.
    task, job
        For each launch, the index of its task in the workload, and the number of its job, from 0;
        shape ``(n,)``.
    assumptions
        As in `View`.
    """

    launches: Launches
    task: Int64Array
    job: Int64Array
    assumptions: tuple[str, ...]
