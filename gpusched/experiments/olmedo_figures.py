"""Figures 5 and 6 of [RTAS20]: blocks of two streams on the SMs, and pipelines within an SM.

I. Sañudo Olmedo, N. Capodieci, J. L. Martinez, A. Marongiu, M. Bertogna: Dissecting the CUDA
Scheduling Hierarchy, RTAS 2020.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.arguments import integer
from gpusched._support.results import Results, by_column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched._draw.axes import AxesArray, AxesLike
    from gpusched.model.gpu import GPU
    from gpusched.simulate.hierarchy_result import Hierarchy

__all__ = ["ARCHITECTURES", "Figure5", "Figure6", "olmedo_fig5", "olmedo_fig6"]

# Figure 5 --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Figure5(Results):
    """Table of ``olmedo_fig5``; ``runs`` are its two simulations.

    >>> gs.experiments.olmedo_fig5()
    <Figure5: 16 rows of panel, kernel, block, sm, start, end>
    """

    runs: tuple[Hierarchy, Hierarchy]

    def plot(self, axes: AxesLike | None = None) -> AxesArray:
        """Draw the SMs of both runs side by side; returns the array of axes."""
        from gpusched._draw import timeline_axes

        axes = plot.panels(axes, 2, (9.4, 4.2), sharex=True)
        until = max(run.now for run in self.runs)
        warps = max(int(run.occupancy().warps.max()) for run in self.runs)  # one scale for both
        for ax, run in zip(axes, self.runs, strict=True):
            timeline_axes.plot(run._picture("sm", None, 0, until, warps), ax)
            threads = run.launches.threads.tolist()
            ax.set_title(f"blocks of {threads[0]} and {threads[1]} threads", fontsize=10, pad=24)
        return axes


def olmedo_fig5(
    duration: int = 100,
    interference: Any = None,
    gpu: GPU | str = "Xavier",
    placement: str = "most_room",
) -> Figure5:
    """Simulate Figure 5 of [RTAS20]: two streams with a kernel of four blocks each.

    Left: all blocks have 128 threads, and each of them is alone on an SM. Right: the blocks of the
    second kernel have 160 threads, and share SMs with those of the first, although half of the SMs
    are idle.

    >>> gs.experiments.olmedo_fig5().where(panel="left")["sm"].tolist()
    [0, 2, 4, 6, 1, 3, 5, 7]

    Parameters
    ----------
    duration
        Time of a block without interference, in ticks.
    interference
        The four factors of ``gs.Launches``. Default: sharing an SM costs no time, because the paper
        gives no number.
    gpu, placement
        As in ``gs.simulate.hierarchy``.

    Returns
    -------
    Figure5
        Rows with columns panel ("left", "right"), kernel, block, sm, start and end.
    """
    from gpusched import simulate
    from gpusched.model.gpu import as_gpu
    from gpusched.model.launches import Launches

    device = as_gpu(gpu)
    pairs = device.sms_per_gpc or 2  # the paper measures pairs of SMs
    runs = []
    columns: dict[str, Any] = {}
    for panel, threads in (("left", 128), ("right", 160)):
        launches = Launches(
            [0, 0],
            duration,
            stream=[0, 1],
            blocks=4,
            threads=[128, threads],
            interference=interference,
            name=["stream 0", "stream 1"],
        )
        run = simulate.hierarchy(launches, device, placement=placement, sms_per_gpc=pairs)
        assert run.blocks is not None
        runs.append(run)
        columns.setdefault("panel", []).extend([panel] * len(run.blocks))
        for name in ("kernel", "block", "sm", "start", "end"):
            columns.setdefault(name, []).extend(getattr(run.blocks, name).tolist())
    return Figure5(columns, (runs[0], runs[1]))


# Figure 6 --------------------------------------------------------------------------------------

ARCHITECTURES: Mapping[str, Mapping[str, Any]] = {
    "Pascal": {"separate": False, "interval": 1, "latency": 6},
    "Volta": {"separate": True, "interval": 2, "latency": 4},
}
"""Pipelines of an SM: arguments of ``gs.simulate.warps``."""


class Figure6(Results):
    """Table of ``olmedo_fig6``.

    >>> gs.experiments.olmedo_fig6(instructions=100, warps=8)
    <Figure6: 4 rows of architecture, mix, cycles, relative>
    """

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the times relative to each baseline as bars; returns the axes."""
        ax = plot.axes(ax, (5.4, 3.6))
        names = list(dict.fromkeys(self["architecture"].tolist()))
        for index, mix in enumerate(dict.fromkeys(self["mix"].tolist())):
            rows = self.where(mix=mix)
            at = np.arange(len(names)) + 0.36 * (index - 0.5)
            ax.bar(at, rows["relative"], width=0.34, color=plot.color(index), label=mix)
        ax.set_xticks(range(len(names)), names, parse_math=False)
        ax.set_ylabel("execution time / baseline")
        ax.set_ylim(0, 1.25)
        ax.legend(frameon=False, fontsize=9, ncols=2, loc="upper right")
        plot.grid(ax, "y")
        return ax


def olmedo_fig6(
    instructions: int = 10_000,
    warps: int = 16,
    architectures: Mapping[str, Mapping[str, Any]] = ARCHITECTURES,
) -> Figure6:
    """Simulate Figure 6 of [RTAS20]: speed-up if half of the warps compute with integers.

    A block has 16 warps: all do floating-point arithmetic (FP), or half of them integer arithmetic
    (FP/I). With separate pipelines, from Volta on, both kinds execute concurrently.

    >>> gs.experiments.olmedo_fig6(instructions=100, warps=8)["cycles"].tolist()
    [601, 601, 402, 401]

    Parameters
    ----------
    instructions
        Number of instructions of each warp.
    warps
        Number of warps of the block.
    architectures
        Maps names to the arguments ``separate``, ``interval``, ``latency`` and ``schedulers`` of
        ``gs.simulate.warps``.

    Returns
    -------
    Figure6
        Rows with columns architecture, mix ("FP", "FP/I"), cycles and relative (to FP).
    """
    from gpusched import simulate

    count, each = integer(warps, "warps"), integer(instructions, "instructions")
    if count < 2:
        raise ValueError(f"warps: got {count}, expected at least 2")
    if each < 1:
        raise ValueError(f"instructions: got {each}, expected a positive number")
    whole = np.arange(count) < count // 2
    rows: list[tuple[str, str, int, float]] = []
    for name, pipelines in architectures.items():
        base = 0
        for mix, integers in (("FP", 0 * whole), ("FP/I", 1 * whole)):
            times = simulate.warps(each * integers, each * (1 - integers), **pipelines)
            cycles = int(times.max())
            base = base or cycles
            rows.append((name, mix, cycles, cycles / base))
    return Figure6(by_column(("architecture", "mix", "cycles", "relative"), rows))
