"""Results of simulations of kernels in FIFO order: jobs, waves of blocks, responses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.registry import enumeration
from gpusched._support.results import Saved
from gpusched._support.text import plural
from gpusched.model.gpu import GPU
from gpusched.model.jobs import Jobs, RunJobs
from gpusched.model.kernel_chains import KernelChains
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.simulate import run_results
from gpusched.simulate.run_results import Responses, Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

OUTCOMES = (*enumeration("simulate.fifo_outcome"), "budget")
"""Results of a simulation about later jobs; see ``FifoRun``."""


@dataclass(frozen=True, eq=False, repr=False)
class Waves(Table):
    """Groups of blocks of one job that start and end together, in order of start: int64 (waves,).

    On a GPU with SMs, the blocks of a group are on one SM.

    >>> tasks = gs.KernelTasks([100, 120], block_time=[10, 30], blocks=2, threads=[64, 128])
    >>> waves = gs.simulate.fifo(tasks, threads=256, until=100).waves
    >>> waves.task.tolist(), waves.start.tolist(), waves.blocks.tolist()
    ([0, 1, 1], [0, 0, 10], [2, 1, 1])

    Attributes
    ----------
    task, job
        Index of the task, and number of the job, from 0.
    blocks
        Number of blocks in the group.
    start, end
        Times in ticks.
    sm
        SM of the blocks; None for a pool of threads.
    kernel
        Kernel of the blocks, from 0 in each job; None unless jobs are chains of kernels.
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
    """Simulated jobs of kernels whose blocks start in FIFO order; see ``gs.simulate.fifo``.

    Arrays are read-only, with one entry per job (ordered by release) or per task; times are in
    ticks. They are the columns of ``Jobs``, where ``start`` is the start of the first block and
    ``end`` the end of the last one (-1 if it did not happen), and:

    >>> tasks = gs.KernelTasks([100, 120], block_time=[10, 30], blocks=2, threads=[64, 128])
    >>> run = gs.simulate.fifo(tasks, threads=256, until=200)
    >>> run.task.tolist(), run.start.tolist(), run.end.tolist()
    ([0, 1, 0, 1], [0, 0, 100, 120], [10, 40, 110, 150])

    Attributes
    ----------
    dispatched
        Time at which the last block of each job starts.
    waves
        The blocks as ``Waves``; None for a run with ``waves=False``.
    tasks, threads, order
        The task set, the number of threads of the GPU, and the reading of FIFO.
    outcome
        "repeats": from ``cycle_from`` on, everything repeats every ``cycle_length`` ticks, so that
        no later response exceeds ``worst``. "diverges": the responses of the tasks in ``grows``
        have no bound, because everything repeats with growing backlogs. "done": neither is known,
        and every job released before ``until`` has finished. "budget": the budget was used up
        first.
    worst
        For each task, the largest response time; 0 if no job finished.
    finished
        For each task, the number of finished jobs.
    grows
        For each task, whether its responses are known to grow without bound.
    cycle_from, cycle_length
        Start and length of the cycle in ticks; None unless the run repeats or diverges.
    now
        Time at which the simulation ended.
    reason
        The budget that ended the simulation, "states" (jobs), "bytes" or "seconds"; otherwise
        None.
    gpu, placement
        The GPU with SMs, and the rule that chooses the SM of a block; None for a pool of threads.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = (*Jobs.COLUMNS, "dispatched")
    _OPTIONAL: ClassVar[tuple[str, ...]] = (*Jobs._OPTIONAL, "dispatched")
    _KIND: ClassVar[str] = "FifoRun"
    _PARTS: ClassVar[tuple[type[Saved], ...]] = (KernelTasks, KernelChains, Waves, GPU)
    _OLD_NAMES: ClassVar[Mapping[str, str]] = {"finish": "end"}

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
        """Return a pandas table with one row per job; NA for events that did not happen."""
        frame: pd.DataFrame = super().to_frame()
        return frame

    def why(self, task: int | str | None = None) -> str:
        """Explain the largest response of a task.

        ``task`` is its index or name; by default, the task that comes closest to its deadline or
        exceeds it most. Raises IndexError and ValueError for a task that the set does not have.
        """
        number, row = run_results.worst_job(self, task)
        text = run_results.job_text(self, number, row)
        if row is not None:
            release, first = int(self.release[row]), int(self.start[row])
            last, end = int(self.dispatched[row]), int(self.end[row])
            text += (
                f": {first - release} until its first block starts, {last - first} until its last "
                f"block starts, {end - last} until that ends"
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
        """Draw which threads, or which SMs, execute which blocks, with Matplotlib.

        Each block is a rectangle in the colour of its task, with the number of its job. Blocks are
        drawn on the lowest free threads, side by side if possible (the model does not say which
        threads a block uses). On a GPU with SMs, each SM has a lane, as high as its number of
        warps, or as the number in use if most are idle. Blocks of a job that misses its deadline
        are hatched with red edges. The releases of each task are drawn below.

        Parameters
        ----------
        ax
            Axes to draw on. Default: those of a new figure.
        unit
            Unit of a tick: None, "ns", "us", "ms" or "s".
        since, until
            Start and end of the drawn interval in ticks. Without ``until``, it ends at the 300th
            wave; with it, at most 3000 waves are drawn.
        labels
            Texts by (task, job) to show instead of the number of the job.

        Returns
        -------
        matplotlib.axes.Axes
            ``ax``, or those of the new figure.

        Raises
        ------
        ValueError
            The run has no waves, or the interval is empty.
        """
        from gpusched._draw import timeline_axes
        from gpusched.simulate import fifo_timeline

        drawn = fifo_timeline.picture(self, unit, since, until, labels)
        shown: Axes = timeline_axes.plot(drawn, ax)
        return shown

    def to_svg(self, *, unit: str | None = None, since: int = 0, until: int | None = None) -> str:
        """Return the picture of `plot` as an SVG document, made without Matplotlib."""
        from gpusched._draw import svg
        from gpusched.simulate import fifo_timeline

        return svg.svg(fifo_timeline.picture(self, unit, since, until))

    def _repr_svg_(self) -> str | None:
        return None if self.waves is None else self.to_svg()

    # Files

    def to_chrome_trace(self, path: str | os.PathLike[str], *, tick: int = 1) -> None:
        """Write the run for Perfetto (ui.perfetto.dev) and chrome://tracing.

        The process "jobs" has a lane per task, in which a job extends from the start of its first
        block to its end (several lanes if jobs overlap), with release, deadline and response as
        arguments. With waves, there is also a process "GPU" with the blocks of each task, or a
        process for each SM with its blocks, and a counter of the busy threads.

        Parameters
        ----------
        path
            The file, replaced only when the new one is complete; compressed if it ends in .gz.
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
        Largest response time of each task in ticks, (N, n); 0 if no job finished.
    finished
        Number of finished jobs of each task, (N, n).
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
