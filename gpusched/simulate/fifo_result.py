"""What comes of simulating kernels whose blocks start in FIFO order (``gs.simulate.fifo``)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gpusched._support.arguments import Int64Array
from gpusched._support.frozen import Frozen
from gpusched.model.fifo_order import ORDERS
from gpusched.model.jobs import Jobs, RunJobs
from gpusched.model.kernel_tasks import KernelTasks
from gpusched.simulate import fifo_picture
from gpusched.simulate.responses import Responses

__all__ = ["ORDERS", "OUTCOMES", "FifoResponses", "FifoRun", "Waves"]

OUTCOMES = ("done", "repeats", "diverges", "budget")
"""What is known at the end of a simulation; see ``FifoRun``."""


@dataclass(frozen=True, eq=False)
class Waves(Frozen):
    """Blocks of one job that start and end together, in order of start: read-only int64 arrays.

    Attributes
    ----------
    task, job
        The task's index, and the number of its job, from 0.
    blocks
        How many of its blocks.
    start, end
        In ticks.
    """

    task: Int64Array
    job: Int64Array
    blocks: Int64Array
    start: Int64Array
    end: Int64Array

    def __len__(self) -> int:
        return len(self.task)

    def to_frame(self) -> Any:
        """A pandas table with one row per wave."""
        import pandas as pd

        return pd.DataFrame({f.name: getattr(self, f.name) for f in fields(self)})

    def __repr__(self) -> str:
        return f"<Waves: {len(self)}>"


@dataclass(frozen=True, eq=False, repr=False)
class FifoRun(RunJobs):
    """Jobs whose blocks started in FIFO order, by release; see ``gs.simulate.fifo``.

    Beside the columns of ``Jobs``, whose ``start`` is that of the first block and whose ``finish``
    that of the last (-1 for what has not happened):

    Attributes
    ----------
    dispatched
        When the job's last block started.
    waves
        The blocks as ``Waves``; None if they were not wanted.
    tasks, threads, order
        What was simulated.
    outcome
        "repeats": from ``cycle_from`` on everything happens again every ``cycle_length`` ticks, so
        no later response exceeds ``worst``. "diverges": the responses of the tasks in ``grows``
        have no bound, as everything happens again with ever longer backlogs. "done": neither is
        known, and every job released before ``until`` has finished. "budget": it was spent before.
    worst
        Per task, the largest response time seen; 0 where no job has finished.
    finished
        Per task, how many jobs have.
    grows
        Per task, whether its responses are known to grow without bound.
    cycle_from, cycle_length
        An instant and a duration in ticks; None unless it repeats or diverges.
    now
        The instant at which the simulation ended.
    reason
        Which budget ended it, "states" (jobs), "bytes" or "seconds"; None if none did.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = (*Jobs.COLUMNS, "dispatched")

    dispatched: Int64Array
    waves: Waves | None
    tasks: KernelTasks
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

    def __repr__(self) -> str:
        known = self.outcome if self.reason is None else f"{self.outcome} ({self.reason})"
        return (
            f"<FifoRun: {len(self)} jobs of {self.tasks.n} tasks on {self.threads} threads, "
            f"order {self.order}, {known}>"
        )

    # Pictures

    def plot(
        self,
        ax: Any = None,
        *,
        unit: str | None = None,
        since: int = 0,
        until: int | None = None,
        labels: Mapping[tuple[int, int], str] | None = None,
    ) -> Any:
        """Draws which threads run which blocks, with matplotlib, and returns the axes.

        One rectangle per block, in its task's colour and with its job's number; blocks get the
        lowest free threads of the picture, side by side where there is room (the model does not
        say which threads a block runs on). Blocks of a job that misses its deadline are hatched
        with red edges. Below, each task's releases.

        Parameters
        ----------
        ax
            Axes to draw on; a new figure unless given.
        unit
            What a tick is: None, "ns", "us", "ms" or "s".
        since, until
            The window in ticks; up to the 300th wave unless ``until`` is given, and never more
            than 3000.
        labels
            Texts instead of the job's number, by (task, job).

        Raises ValueError for a run without its waves.
        """
        return fifo_picture.plot(self, ax, unit, since, until, labels or {})

    def to_svg(self, *, unit: str | None = None, since: int = 0, until: int | None = None) -> str:
        """The same picture as an SVG document, without matplotlib; see ``plot``."""
        return fifo_picture.svg(self, unit, since, until)

    def _repr_svg_(self) -> str | None:
        return None if self.waves is None else self.to_svg()

    # Files

    def to_chrome_trace(self, path: str | os.PathLike[str], *, tick: int = 1) -> None:
        """Writes the run for Perfetto (ui.perfetto.dev) and chrome://tracing.

        A process "jobs" with a lane per task, in which a job lasts from its first block's start to
        its finish (more lanes where its jobs overlap; release, deadline and response in their
        arguments), and with waves a process "GPU" with the blocks of each task and a counter of
        the busy threads. ``tick`` is the length of a tick in ns. The file is written whole or not
        at all; a name that ends in .gz is compressed. Raises OSError, and ValueError for a
        ``tick`` below 1.
        """
        from gpusched.simulate import fifo_trace

        fifo_trace.write(self, path, tick)


@dataclass(frozen=True, eq=False, repr=False)
class FifoResponses(Responses):
    """The largest responses of many simulated sets; see ``gs.simulate.fifo_responses``.

    For a stack of N sets of n tasks; a single set has no first axis.

    Attributes
    ----------
    worst
        The largest response time of each task, (N, n); 0 where no job finished.
    finished
        How many jobs did, (N, n).
    outcome
        One of ``OUTCOMES`` for each set, (N,); see ``FifoRun``.
    waves
        How many waves of blocks were started, (N,).
    """

    waves: Int64Array

    def __repr__(self) -> str:
        names, counts = np.unique(np.atleast_1d(self.outcome), return_counts=True)
        known = "".join(f", {k} {name}" for name, k in zip(names, counts, strict=True))
        of = f"{len(self)} sets of " if self.is_stack else ""
        return f"<FifoResponses: {of}{self.worst.shape[-1]} tasks{known}>"
