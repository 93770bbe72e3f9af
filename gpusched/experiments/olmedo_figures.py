"""Tables II to IV and Figures 5 to 9 of [RTAS20]: placement and contention of blocks.

I. Sañudo Olmedo, N. Capodieci, J. L. Martinez, A. Marongiu, M. Bertogna: Dissecting the CUDA
Scheduling Hierarchy, RTAS 2020. Tables II to IV and Figures 5 and 6 follow from rules. Figures 7 to
9 are measurements of memory contention, for which the paper has no formula: here the slowdown
factors are inputs, and the figures show their effect in a schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.arguments import integer
from gpusched._support.results import Results
from gpusched._support.text import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched._draw.axes import AxesArray, AxesLike
    from gpusched.model.gpu import GPU
    from gpusched.simulate.hierarchy_result import Hierarchy

__all__ = [
    "Contention",
    "Figure5",
    "Figure6",
    "SharedSMs",
    "olmedo_fig5",
    "olmedo_fig6",
    "olmedo_fig7",
    "olmedo_fig8",
    "olmedo_fig9",
    "olmedo_table2",
    "olmedo_table3",
    "olmedo_table4",
]


def _columns(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


# Tables II to IV -------------------------------------------------------------------------------


class SharedSMs(Results):
    """Table of ``olmedo_table2``, ``olmedo_table3`` and ``olmedo_table4``."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a cell for each pair, gray where both blocks share an SM; returns the axes.

        Dark gray: they share an SM against the rule. Cross: they do not, against the rule.
        """
        x, y = self["x"], self["y"]
        shade = np.where(self["same"], np.where(self["rule"], 0.3, 0.6), 0.0)
        grid = np.full((x.max(), y.max()), np.nan)
        grid[x - 1, y - 1] = shade
        ax = plot.axes(ax, (5.6, 5.4))
        edges = (0.5, float(y.max()) + 0.5, float(x.max()) + 0.5, 0.5)
        ax.imshow(grid, cmap="Greys", vmin=0, vmax=1, extent=edges, aspect="equal")
        apart = self["rule"] & ~self["same"]
        cross: dict[str, Any] = {
            "marker": "x",
            "markersize": 4,
            "linestyle": "none",
            "color": plot.MUTED,
        }
        ax.plot(y[apart], x[apart], **cross)
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        grays = ax.images[-1].cmap
        handles: list[Any] = [Patch(color=grays(0.3), label="on one SM")]
        if (self["same"] & ~self["rule"]).any():
            handles.append(Patch(color=grays(0.6), label="on one SM, against the rule"))
        if apart.any():
            handles.append(Line2D([], [], **cross, label="not, against the rule"))
        legend: dict[str, Any] = {
            "loc": "lower left",
            "bbox_to_anchor": (0, 1),
            "frameon": False,
            "fontsize": 9,
        }
        ax.legend(handles=handles, ncols=3, handlelength=1.2, borderaxespad=0.2, **legend)
        ax.set_xticks(np.arange(0.5, y.max() + 1), minor=True)
        ax.set_yticks(np.arange(0.5, x.max() + 1), minor=True)
        ax.grid(which="minor", color="#DDDDDD", linewidth=0.5)
        ax.tick_params(which="minor", length=0)
        ax.set_xticks([1, *range(4, int(y.max()) + 1, 4)])
        ax.set_yticks([1, *range(4, int(x.max()) + 1, 4)])
        ax.set_xlabel("warps of the second block")
        ax.set_ylabel("warps of the first block")
        return ax


def olmedo_table2(
    gpu: GPU | str = "Xavier", placement: str = "most_room", most: int = 32
) -> SharedSMs:
    """Table II of [RTAS20]: pairs of kernels of one block each that share an SM.

    Two streams launch a block of x and a block of y warps on an idle GPU.

    Parameters
    ----------
    gpu
        A ``GPU`` or the name of a preset; 64 warps per SM for Table II.
    placement
        As in ``gs.place``.
    most
        Largest number of warps per block.

    Returns
    -------
    SharedSMs
        Rows with columns x, y, left (warps that the first block leaves free on its SM), same
        (whether the second is placed on that SM) and rule (the same by Definition III.1).
    """
    return _shared(gpu, placement, most, ())


def olmedo_table3(
    gpu: GPU | str = "Pegasus", placement: str = "most_room", most: int = 32
) -> SharedSMs:
    """Table III of [RTAS20]: ``olmedo_table2`` on Turing's SMs of 32 warps."""
    return _shared(gpu, placement, most, ())


def olmedo_table4(
    gpu: GPU | str = "Xavier", placement: str = "most_room", most: int = 32, z: int = 6
) -> SharedSMs:
    """Table IV of [RTAS20]: Table II when all SMs but one host a block of z warps.

    Columns as in ``olmedo_table2``; the rule is Definition III.2. Some blocks share an SM against
    the rule (load balancing, Definition III.3). Where the empty SM and the others can host equally
    many of the second block, the rule is that they share, and "most_room" takes the first SM in
    order.
    """
    return _shared(gpu, placement, most, (integer(z, "z"),))


def _shared(gpu: GPU | str, placement: str, most: int, before: tuple[int, ...]) -> SharedSMs:
    from gpusched.model.gpu import as_gpu
    from gpusched.model.placement import place

    device = as_gpu(gpu)
    mw, top = device.warps_per_sm, integer(most, "most")
    if not 1 <= top <= 32:
        raise ValueError(f"most: got {top}, expected 1 to 32 warps, the most of a block")
    rows = []
    for x in range(1, top + 1):
        for y in range(1, top + 1):
            blocks = [*(device.sms - 1 for _ in before), 1, 1]
            threads = [32 * w for w in (*before, x, y)]
            placed = place(device, blocks, threads, placement=placement)
            first, second = placed.sm[-2:].tolist()
            if second < 0:
                raise ValueError(
                    f"most: got {top}, expected blocks that fit (not {x} and {y} warps)"
                )
            same = first == second
            held = int(placed.after[first, 0]) - (y if same else 0)
            z = held - x
            rule = mw - z - x >= ((mw - z - y) // y + 1) * y
            rows.append((x, y, mw - held, same, rule and y <= mw - z - x))
    return SharedSMs(_columns(("x", "y", "left", "same", "rule"), rows))


# Figure 5 --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Figure5(Results):
    """Table of ``olmedo_fig5``; ``runs`` are its two simulations."""

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
    """Figure 5 of [RTAS20]: two streams with a kernel of four blocks each.

    Left: all blocks have 128 threads, and each is alone on an SM. Right: those of the second kernel
    have 160, and share SMs with those of the first, although half of the SMs are idle.

    Parameters
    ----------
    duration
        Time of a block without interference, in ticks.
    interference
        The four factors of ``gs.Launches``. By default, sharing an SM costs no time; the paper
        gives no number.
    gpu, placement
        As in ``gs.simulate.hierarchy``.

    Returns
    -------
    Figure5
        Rows with columns panel ("left", "right"), kernel, block, sm, start and end.
    """
    from gpusched import simulate
    from gpusched.model.launches import Launches

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
        run = simulate.hierarchy(launches, gpu, placement=placement)
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
    """Table of ``olmedo_fig6``."""

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
    """Figure 6 of [RTAS20]: speed-up by half of the warps computing with integers.

    A block of 16 warps: all do floating-point arithmetic (FP), or half of them integer arithmetic
    (FP/I). With separate pipelines, from Volta on, both kinds execute concurrently.

    Parameters
    ----------
    instructions
        Instructions of each warp.
    warps
        Warps of the block.
    architectures
        By name, ``separate``, ``interval``, ``latency`` and ``schedulers`` of
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
    return Figure6(_columns(("architecture", "mix", "cycles", "relative"), rows))


# Figures 7 to 9 --------------------------------------------------------------------------------


class Contention(Results):
    """Table of ``olmedo_fig7``, ``olmedo_fig8`` or ``olmedo_fig9``."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the response time relative to that of the kernel alone; returns the axes."""
        ax = plot.axes(ax, (5.6, 3.8))
        x = "processes" if "processes" in self.columns else "footprint"
        for index, by in enumerate(dict.fromkeys(self["by"].tolist())):
            rows = self.where(by=by)
            style: dict[str, Any] = {
                "marker": plot.MARKERS[index % len(plot.MARKERS)],
                "markersize": 4.5,
            }
            ax.plot(rows[x], rows["relative"], color=plot.color(index), label=by, **style)
        ax.set_ylabel("response time / alone")
        ax.set_ylim(bottom=0)
        if x == "processes":
            ax.set_xlabel("interfering processes")
            ax.set_xticks(sorted({int(value) for value in self[x]}))
        else:
            ax.set_xscale("log")
            ax.set_xlabel("footprint (bytes)")
        if len(self):
            plot.legend(ax, frameon=False, fontsize=9)
        plot.grid(ax)
        return ax


def _factor(value: Any, name: str) -> float:
    """A slowdown factor, from 1 to 1000."""
    try:
        factor = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: got {shown(value)}, expected a number") from None
    if not 1 <= factor <= 1000:
        raise ValueError(f"{name}: got {factor}, expected 1 to 1000")
    return factor


def _pairs(
    factors: Mapping[int, tuple[float, float]], bandwidth: int
) -> list[tuple[int, int, tuple[float, float]]]:
    """Footprints, times of a kernel of each alone, and the two factors."""
    if integer(bandwidth, "bandwidth") < 1:
        raise ValueError(f"bandwidth: got {bandwidth}, expected a positive number")
    rows = []
    for footprint, given in factors.items():
        name, size = f"factors[{footprint}]", integer(footprint, "footprint")
        if size < 1:
            raise ValueError(f"footprint: got {size}, expected a positive number")
        if np.shape(given) != (2,):
            raise TypeError(f"{name}: got {shown(given)}, expected two numbers")
        one, other = (_factor(value, f"{name}[{k}]") for k, value in enumerate(given))
        rows.append((size, -(-size // bandwidth), (one, other)))
    return rows


def olmedo_fig7(
    factors: Mapping[str, float] | None = None,
    processes: Sequence[int] = (0, 1, 2, 3, 4),
    *,
    kernel: int = 1000,
    copy: int = 100,
    period: int = 300,
    gpu: GPU | str = "TX2",
) -> Contention:
    """Figure 7 of [RTAS20]: slowdown of a kernel by copies of other applications.

    The kernel's application uses the SMs alone. Each of the other processes copies for ``copy``
    ticks in every ``period`` ticks, one after the other on the copy engine. Meanwhile the kernel's
    blocks are slower by a factor, which is an input.

    Parameters
    ----------
    factors
        Slowdown factors by operation. Default: the largest that the paper reports for Pascal,
        almost 3 for memcpy and almost 8 for memset.
    processes
        Numbers of interfering processes.
    kernel, copy, period
        Time of the kernel alone, time of a copy, and period of the copies, in ticks.
    gpu
        As in ``gs.simulate.hierarchy``.

    Returns
    -------
    Contention
        Rows with columns by (the operation), processes, factor, response and relative.
    """
    given = {"memcpy": 3.0, "memset": 8.0} if factors is None else factors
    values = {"kernel": kernel, "copy": copy, "period": period}
    for name, value in values.items():
        if integer(value, name) < 1:
            raise ValueError(f"{name}: got {value}, expected a positive number")
    rows = []
    for operation, slower in given.items():
        factor = _factor(slower, f"factors[{operation!r}]")
        for count in processes:
            last = int(kernel * factor) + period
            times = [(t, p) for t in range(0, last, period) for p in range(1, count + 1)]
            response = _beside_copies(gpu, kernel, factor, copy, times, integer(count, "processes"))
            rows.append((operation, count, factor, response, response / kernel))
    return Contention(_columns(("by", "processes", "factor", "response", "relative"), rows))


def _beside_copies(
    gpu: GPU | str,
    kernel: int,
    factor: float,
    copy: int,
    times: list[tuple[int, int]],
    processes: int,
) -> int:
    """Response time of a kernel beside copies (time, process from 1)."""
    from gpusched import simulate
    from gpusched.model.launches import Launches

    if processes < 0:
        raise ValueError(f"processes: got {processes}, expected a non-negative number")
    n = len(times)
    launches = Launches(
        [0, *(time for time, _ in times)],
        [kernel, *[copy] * n],
        kind=["kernel", *["copy_in"] * n],
        stream=[0, *(process for _, process in times)],
        threads=256,
        stream_context=range(processes + 1),
        interference=[[1, 1, 1, float(factor)]] * (n + 1),
    )
    run = simulate.hierarchy(launches, gpu, timeslice=kernel, blocks=False)
    return int(run.response[0])


def olmedo_fig8(
    factors: Mapping[int, tuple[float, float]],
    *,
    bandwidth: int = 50,
    copied: int = 50 * 10**6,
    gpu: GPU | str = "TX2",
) -> Contention:
    """Figure 8 of [RTAS20]: slowdown of a kernel by copies, over its footprint.

    One other process copies (or sets) ``copied`` bytes repeatedly. The slowdown for each footprint
    is an input: the paper has measurements, no formula.

    Parameters
    ----------
    factors
        Slowdown factors (memcpy, memset) of its blocks by the kernel's footprint in bytes.
    bandwidth
        Bytes per tick, of the kernel alone and of the copies.
    copied
        Bytes of one copy.
    gpu
        As in ``gs.simulate.hierarchy``.

    Returns
    -------
    Contention
        Rows with columns by (the operation), footprint, factor, response and relative.
    """
    if integer(copied, "copied") < 1:
        raise ValueError(f"copied: got {copied}, expected a positive number")
    rows = []
    for k, operation in enumerate(("memcpy", "memset")):
        for size, kernel, pair in _pairs(factors, bandwidth):
            copy = -(-copied // bandwidth)
            last = int(kernel * pair[k]) + copy
            times = [(t, 1) for t in range(0, last, copy)]
            response = _beside_copies(gpu, kernel, pair[k], copy, times, 1)
            rows.append((operation, size, pair[k], response, response / kernel))
    return Contention(_columns(("by", "footprint", "factor", "response", "relative"), rows))


def olmedo_fig9(
    factors: Mapping[int, tuple[float, float]], *, bandwidth: int = 50, gpu: GPU | str = "Xavier"
) -> Contention:
    """Figure 9 of [RTAS20]: slowdown of a block by another one in the same and in another GPC.

    A kernel of four blocks is on SMs 0, 2, 4 and 6, one per GPC. The only block of another kernel
    is on SM 1, next to SM 0; or, by another SM order, on SM 3, in another GPC. The response is that
    of the block on SM 0. The factors are inputs: the paper has measurements, up to 10 in the same
    GPC, and no formula.

    Parameters
    ----------
    factors
        Slowdown factors (same GPC, other GPC) by footprint in bytes.
    bandwidth
        Bytes per tick of a kernel alone.
    gpu
        A GPU with at least four GPCs of two SMs.

    Returns
    -------
    Contention
        Rows with columns by ("alone", "other GPC", "same GPC"), footprint, sm (of the other block,
        -1 for none), response and relative.
    """
    from gpusched import simulate
    from gpusched.model.gpu import as_gpu
    from gpusched.model.launches import Launches

    device = as_gpu(gpu)
    rows: list[tuple[str, int, int, int, float]] = []
    for by, target in (("alone", -1), ("other GPC", 3), ("same GPC", 1)):
        for size, kernel, (same, other) in _pairs(factors, bandwidth):
            launches = Launches(
                [0, 0][: 1 + (target >= 0)],
                kernel,
                stream=[0, 1][: 1 + (target >= 0)],
                blocks=[4, 1][: 1 + (target >= 0)],
                threads=256,
                interference=[1.0, same, other, 1.0],
            )
            run = simulate.hierarchy(launches, _ordered(device, target))
            assert run.blocks is not None
            mine = (run.blocks.kernel == 0) & (run.blocks.sm == 0)
            beside = run.blocks.sm[run.blocks.kernel == 1]
            if beside.tolist() != [target] * (target >= 0):
                raise ValueError(
                    f"gpu: got the other block on SM {beside[0]}, expected SM {target}"
                )
            response = int(run.blocks.end[mine][0])
            rows.append((by, size, target, response, response / kernel))
    return Contention(_columns(("by", "footprint", "sm", "response", "relative"), rows))


def _ordered(device: GPU, fifth: int) -> GPU:
    """The GPU with the SM order 0, 2, 4, 6, ``fifth``, and then the others."""
    from dataclasses import fields

    from gpusched.model.gpu import GPU

    if device.sms < 8:
        raise ValueError(f"gpu: got {device.sms} SMs, expected at least four GPCs of two")
    front = [0, 2, 4, 6, *([fifth] if fifth >= 0 else [])]
    order = front + [s for s in device.sm_order.tolist() if s not in front]
    values = {f.name: getattr(device, f.name) for f in fields(device)}
    return GPU(**(values | {"sm_order": order}))
