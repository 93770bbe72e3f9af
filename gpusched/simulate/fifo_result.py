"""Results of simulations of kernels in FIFO order: jobs, waves of blocks, responses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.saved import Saved
from gpusched._support.text import plural
from gpusched.model.fifo_order import ORDERS
from gpusched.model.gpu import GPU
from gpusched.model.jobs import Jobs, RunJobs
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.simulate import run_results
from gpusched.simulate.run_results import Responses, Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["ORDERS", "OUTCOMES", "FifoResponses", "FifoRun", "Waves"]

OUTCOMES = ("done", "repeats", "diverges", "budget")
"""Knowledge at the end of a simulation; see ``FifoRun``."""


@dataclass(frozen=True, eq=False, repr=False)
class Waves(Table):
    """Blocks of one job that start and end together, in order of start: int64 arrays, (waves,).

    On a GPU with SMs, those on one SM.

    >>> tasks = gs.KernelTasks([100, 120], block_time=[10, 30], blocks=2, threads=[64, 128])
    >>> waves = gs.simulate.fifo(tasks, threads=256, until=100).waves
    >>> waves.task.tolist(), waves.start.tolist(), waves.blocks.tolist()
    ([0, 1, 1], [0, 0, 10], [2, 1, 1])

    Attributes
    ----------
    task, job
        The task's index, and the number of its job, from 0.
    blocks
        Number of its blocks.
    start, end
        In ticks.
    sm
        Their SM; None for a pool of threads.
    kernel
        Their kernel, from 0 in each job; None unless jobs are chains of kernels.
    """

    _KIND: ClassVar[str] = "Waves"

    task: Int64Array
    job: Int64Array
    blocks: Int64Array
    start: Int64Array
    end: Int64Array
    sm: Int64Array | None = None
    kernel: Int64Array | None = None

    def _table(self) -> dict[str, npt.NDArray[Any]]:
        return {name: column for name, column in super()._table().items() if column is not None}


@dataclass(frozen=True, eq=False, repr=False)
class FifoRun(Saved, RunJobs):
    """Jobs of kernels whose blocks start in FIFO order, by release; see ``gs.simulate.fifo``.

    Arrays are read-only, one entry per job or per task, times in ticks. Beside the columns of
    ``Jobs``, whose ``start`` is that of the first block and whose ``finish`` that of the last (-1
    for what has not happened):

    >>> tasks = gs.KernelTasks([100, 120], block_time=[10, 30], blocks=2, threads=[64, 128])
    >>> run = gs.simulate.fifo(tasks, threads=256, until=200)
    >>> run.task.tolist(), run.start.tolist(), run.finish.tolist()
    ([0, 1, 0, 1], [0, 0, 100, 120], [10, 40, 110, 150])

    Attributes
    ----------
    dispatched
        Start of the job's last block.
    waves
        The blocks as ``Waves``; None for a run with ``waves=False``.
    tasks, threads, order
        The task set, the number of the GPU's threads and the reading of FIFO.
    outcome
        "repeats": from ``cycle_from`` on everything repeats every ``cycle_length`` ticks, so that
        no later response exceeds ``worst``. "diverges": the responses of the tasks in ``grows``
        have no bound, because everything repeats with larger and larger backlogs. "done": neither
        is known, and every job released before ``until`` has finished. "budget": it was spent
        first.
    worst
        Per task, the largest response time; 0 where no job has finished.
    finished
        Per task, the number of finished jobs.
    grows
        Per task, whether its responses are known to grow without bound.
    cycle_from, cycle_length
        An instant and a duration in ticks; None unless it repeats or diverges.
    now
        The instant at which the simulation ended.
    reason
        The budget that ended it, "states" (jobs), "bytes" or "seconds"; None if none did.
    gpu, placement
        The GPU with SMs and the rule for the SM of a block; None for a pool of threads.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = (*Jobs.COLUMNS, "dispatched")
    _OPTIONAL: ClassVar[tuple[str, ...]] = (*Jobs._OPTIONAL, "dispatched")
    _KIND: ClassVar[str] = "FifoRun"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (KernelTasks, KernelChains, Waves, GPU)

    dispatched: Int64Array
    waves: Waves | None
    tasks: KernelTasks | KernelChains
    threads: int
    order: str
    outcome: str
    worst: Int64Array
    finished: Int64Array
    grows: npt.NDArray[np.bool_]
    cycle_from: int | None
    cycle_length: int | None
    now: int
    reason: str | None
    gpu: GPU | None = None
    placement: str | None = None

    def __repr__(self) -> str:
        size = f"{self.threads} threads"
        if self.gpu is not None:
            size = plural(self.gpu.sms, "SM")
        return (
            f"<FifoRun: {plural(len(self), 'job')} of "
            f"{plural(self.tasks.n, 'task')} on {size}, order "
            f"{self.order}; {run_results.misses(self)}; {self._ended()}>"
        )

    def _ended(self) -> str:
        if self.outcome == "repeats":
            return f"repeats every {self.cycle_length} ticks from {self.cycle_from} on"
        if self.outcome == "diverges":
            return f"{plural(int(self.grows.sum()), 'task')} with growing responses"
        return run_results.ended(self.outcome, self.reason, self.now)

    def _repr_html_(self) -> str:
        return run_results.html_of(self)

    def to_frame(self) -> pd.DataFrame:
        """One row per job as a ``pandas.DataFrame``; NA for what has not happened."""
        frame: pd.DataFrame = super().to_frame()
        return frame

    def why(self, task: int | str | None = None) -> str:
        """The largest response of a task in words: where its ticks went.

        ``task``: its index or name; without it, the task that is closest to its deadline, or
        exceeds it most. Raises IndexError and ValueError for a task that the set does not have.
        """
        number, row = run_results.worst_job(self, task)
        text = run_results.job_text(self, number, row)
        if row is not None:
            release, first = int(self.release[row]), int(self.start[row])
            last, finish = int(self.dispatched[row]), int(self.finish[row])
            text += (
                f": {first - release} until its first block starts, {last - first} until its last "
                f"block starts, {finish - last} until that ends"
            )
        if self.grows[number]:
            text += "; its responses grow without bound"
        return text

    # Pictures

    def plot(
        self,
        ax: Axes | None = None,
        *,
        unit: str | None = None,
        since: int = 0,
        until: int | None = None,
        labels: Mapping[tuple[int, int], str] | None = None,
    ) -> Axes:
        """Draw which threads, or which SMs, run which blocks, with Matplotlib.

        One rectangle per block, in its task's colour, with its job's number. Blocks are drawn on
        the lowest free threads, side by side where there is room (the model does not say which
        threads a block runs on). On a GPU with SMs each SM has a lane, as high as its warps, or as
        those in use where most are idle. Blocks of a job that misses its deadline are hatched with
        red edges. Below, the releases of each task.

        Parameters
        ----------
        ax
            Axes to draw on; a new figure unless given.
        unit
            Unit of a tick: None, "ns", "us", "ms" or "s".
        since, until
            The window in ticks. Without ``until``, up to the 300th wave; with it, at most 3000.
        labels
            Texts instead of the job's number, by (task, job).

        Returns
        -------
        matplotlib.axes.Axes
            ``ax``, or those of the new figure.

        Raises
        ------
        ValueError
            A run without its waves, an empty window.
        """
        from gpusched._draw import timeline_axes
        from gpusched.simulate import fifo_timeline

        drawn = fifo_timeline.picture(self, unit, since, until, labels)
        shown: Axes = timeline_axes.plot(drawn, ax)
        return shown

    def to_svg(self, *, unit: str | None = None, since: int = 0, until: int | None = None) -> str:
        """The same picture as an SVG document, without Matplotlib; see ``plot``."""
        from gpusched._draw import svg
        from gpusched.simulate import fifo_timeline

        return svg.svg(fifo_timeline.picture(self, unit, since, until))

    def _repr_svg_(self) -> str | None:
        return None if self.waves is None else self.to_svg()

    # Files

    def to_chrome_trace(self, path: str | os.PathLike[str], *, tick: int = 1) -> None:
        """Write the run for Perfetto (ui.perfetto.dev) and chrome://tracing.

        A process "jobs" with a lane per task, in which a job lasts from its first block's start to
        its finish (more lanes where its jobs overlap; release, deadline and response in their
        arguments), and with waves a process "GPU" with the blocks of each task, or a process for
        each SM with its blocks, and a counter of the busy threads.

        Parameters
        ----------
        path
            The file, replaced when the new one is complete; compressed if the name ends in .gz.
        tick
            Length of a tick in ns.

        Raises
        ------
        OSError
            The file cannot be written.
        TypeError, ValueError
            ``tick`` is not a positive integer.
        """
        from gpusched._draw import chrome_trace
        from gpusched.simulate import fifo_timeline

        chrome_trace.write_timeline(fifo_timeline.trace(self), path, tick)


@dataclass(frozen=True, eq=False, repr=False)
class FifoResponses(Responses):
    """Largest responses of simulated sets; see ``gs.simulate.fifo_responses``.

    For a stack of N sets of n tasks; a single set has no first axis.

    >>> tasks = gs.KernelTasks([100, 120], block_time=[10, 30], blocks=2, threads=[64, 128])
    >>> gs.simulate.fifo_responses(tasks, threads=256, until=1_000).response.tolist()
    [20, 40]

    Attributes
    ----------
    worst
        The largest response time of each task, (N, n), in ticks; 0 where no job finished.
    finished
        Number of finished jobs, (N, n).
    outcome
        One of ``OUTCOMES`` per set, (N,); see ``FifoRun``.
    waves
        Number of waves of blocks that were started, (N,).
    """

    _KIND: ClassVar[str] = "FifoResponses"

    waves: Int64Array

    def __repr__(self) -> str:
        names, counts = np.unique(np.atleast_1d(self.outcome), return_counts=True)
        known = "".join(f", {k} {name}" for name, k in zip(names, counts, strict=True))
        of = f"{plural(len(self), 'set')} of " if self.is_stack else ""
        return f"<FifoResponses: {of}{self.worst.shape[-1]} tasks{known}>"
