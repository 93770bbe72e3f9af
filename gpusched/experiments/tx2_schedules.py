"""Simulations of schedules observed on a TX2 [RTSS17].

T. Amert, N. Otterness, M. Yang, J. H. Anderson, F. D. Smith: GPU Scheduling on the NVIDIA TX2:
Hidden Details Revealed, RTSS 2017; and the example of [ECRTS17], whose rules are the special case
of one priority and no copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._support.arguments import integer
from gpusched._support.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched.model.gpu import GPU
    from gpusched.model.launches import Launches
    from gpusched.simulate.hierarchy_result import Hierarchy

__all__ = ["Observed", "ecrts2017", "rtss2017"]

# Kernels as (stream, launch, block time, blocks, threads, shared KB, priority), in hundredths.
_Row = tuple[int, int, int, int, int, int, int]
_KERNELS: dict[int, tuple[tuple[str, _Row], ...]] = {
    1: (
        ("K1", (0, 0, 100, 6, 768, 0, 0)),
        ("K2", (0, 0, 100, 2, 512, 0, 0)),
        ("K4", (1, 20, 100, 4, 256, 32, 0)),
        ("K5", (2, 40, 100, 2, 256, 32, 0)),
    ),
    3: (
        ("K1", (0, 0, 50, 8, 1024, 0, 0)),
        ("K2", (1, 20, 50, 16, 1024, 0, -1)),
        ("K3", (2, 50, 50, 16, 1024, 0, -1)),
    ),
    5: (
        *((f"K{k + 1}", (k, 10 * k, 100, 1, 512, 0, 0)) for k in range(7)),
        ("K8", (7, 65, 50, 1, 1024, 0, -1)),
        ("K9", (8, 70, 100, 1, 512, 0, 0)),
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class Observed(Results):
    """Table of ``rtss2017`` or ``ecrts2017``; ``run`` is the simulation.

    >>> table = gs.experiments.ecrts2017()
    >>> list(table.columns)[:5], len(table)
    (['kernel', 'stream', 'priority', 'launched', 'first'], 5)
    """

    run: Hierarchy
    ticks: int

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the blocks on the SMs over time, in the paper's unit; returns the axes."""
        ax = self.run.plot(ax)
        last = self.run.now / self.ticks
        step = max(1, round(last / 8)) if last > 5 else 0.5
        places = np.arange(0, last + 1e-9, step)
        ax.set_xticks(places * self.ticks, [f"{place:g}" for place in places])
        ax.set_xlabel("time (units of the paper)")
        return ax

    def _repr_svg_(self) -> str:
        return self.run.to_svg()


def rtss2017(number: int) -> Observed:
    """Simulate an experiment of [RTSS17] on a TX2.

    >>> len(gs.experiments.rtss2017(1))
    4

    Parameters
    ----------
    number
        1: three streams with one priority; kernels wait in their stream, in the queue and for
        shared memory. 3: two high-priority kernels delay a low-priority one, but do not preempt its
        blocks. 5: a high-priority block that does not fit blocks a smaller low-priority one that
        would fit.

    Returns
    -------
    Observed
        Rows with columns kernel, stream, priority, launched, first, dispatched and end, in
        hundredths of a second.
    """
    from gpusched.model.gpu import GPU
    from gpusched.model.launches import Launches

    chosen = integer(number, "number")
    if chosen not in _KERNELS:
        raise ValueError(f"number: got {chosen}, expected one of {', '.join(map(str, _KERNELS))}")
    names, rows = zip(*_KERNELS[chosen], strict=True)
    stream, time, duration, blocks, threads, smem, priority = zip(*rows, strict=True)
    launches = Launches(
        time,
        duration,
        stream=stream,
        blocks=blocks,
        threads=threads,
        smem=[1024 * kb for kb in smem],
        name=names,
        stream_priority=[
            next(p for s, p in zip(stream, priority, strict=True) if s == k)
            for k in range(max(stream) + 1)
        ],
    )
    return _observed(GPU.preset("TX2"), launches, 100)


def ecrts2017() -> Observed:
    """Simulate Examples 1 and 2 of [ECRTS17] with all limits of a TX2's two SMs.

    Five kernels run on 2 x 2,048 threads. The schedule equals that of ``yang_fig2``, which models
    threads only.

    >>> found = gs.experiments.ecrts2017()
    >>> list(found.columns), len(found)
    (['kernel', 'stream', 'priority', 'launched', 'first', 'dispatched', 'end'], 5)

    Returns
    -------
    Observed
        Rows as in ``rtss2017``, in tenths of the paper's unit.
    """
    from gpusched.model.gpu import GPU
    from gpusched.model.launches import Launches

    launches = Launches(
        [0, 0, 0, 0, 80],
        [38, 60, 60, 112, 38],
        stream=[0, 1, 2, 3, 0],
        blocks=[1, 7, 1, 5, 1],
        threads=[1024, 512, 1024, 512, 1024],
        name=["K1", "K2", "K3", "K4", "K5"],
    )
    return _observed(GPU.preset("threads4096"), launches, 10)


def _observed(gpu: GPU, launches: Launches, ticks: int) -> Observed:
    from gpusched import simulate

    run = simulate.hierarchy(launches, gpu)
    columns: dict[str, Any] = {
        "kernel": list(launches.name),
        "stream": launches.stream,
        "priority": launches.stream_priority[launches.stream],
        "launched": launches.time,
        "first": run.first,
        "dispatched": run.dispatched,
        "end": run.end,
    }
    return Observed(columns, run, ticks)
