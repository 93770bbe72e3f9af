"""Placement of blocks in [RTAS20]: Figures 3, 5 and 6, Tables II to IV; schedules of [RTSS17].

I. Sañudo Olmedo, N. Capodieci, J. L. Martinez, A. Marongiu, M. Bertogna: Dissecting the CUDA
Scheduling Hierarchy, RTAS 2020. Figure 5 shows the blocks of two streams on the SMs, Figure 6
pipelines within an SM, and Figure 3 the launch configurations that a model of placement predicts
wrongly. The tables are pairs of blocks that share an SM, as they follow from placement rules: the
paper's definitions as written ("olmedo"), or the most-room rule, of which they are special cases.

T. Amert, N. Otterness, M. Yang, J. H. Anderson, F. D. Smith: GPU Scheduling on the NVIDIA TX2:
Hidden Details Revealed, RTSS 2017; and the example of [ECRTS17], whose rules are the special case
of one priority and no copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.arguments import integer, one_of, some_of, spawn
from gpusched._support.results import Results, by_column, wilson
from gpusched._support.text import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched._draw.axes import AxesArray, AxesLike
    from gpusched.model.gpu import GPU
    from gpusched.model.launches import Launches
    from gpusched.simulate.hierarchy_result import Hierarchy


class SharedSMs(Results):
    """Table of ``olmedo_table2``, ``olmedo_table3`` and ``olmedo_table4``.

    >>> gs.experiments.olmedo_table2(most=4)
    <SharedSMs: 16 rows of x, y, left, same, rule>
    """

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a cell for each pair, gray if both blocks share an SM; returns the axes.

        Dark gray: they share an SM, contrary to the rule. Cross: they do not, contrary to the rule.
        Dot: the result differs with the placement ``against``.
        """
        from matplotlib.patches import Patch

        x, y = self["x"], self["y"]
        shade = np.where(self["same"], np.where(self["rule"], 0.3, 0.6), 0.0)
        grid = np.full((x.max(), y.max()), np.nan)
        grid[x - 1, y - 1] = shade
        ax = plot.axes(ax, (5.6, 5.4))
        edges = (0.5, float(y.max()) + 0.5, float(x.max()) + 0.5, 0.5)
        ax.imshow(grid, cmap="Greys", vmin=0, vmax=1, extent=edges, aspect="equal")
        grays = ax.images[-1].cmap
        handles: list[Any] = [Patch(color=grays(0.3), label="on one SM")]
        if (self["same"] & ~self["rule"]).any():
            handles.append(Patch(color=grays(0.6), label="on one SM, against the rule"))
        apart = self["rule"] & ~self["same"]
        handles += self._marks(ax, apart, "not, against the rule", marker="x", markersize=4)
        if "other" in self.columns:
            differs = self["same"] != self["other"]
            label = f"not so with {self['against'][0]}"
            handles += self._marks(ax, differs, label, marker="o", markersize=2.5)
        legend: dict[str, Any] = {
            "loc": "lower left",
            "bbox_to_anchor": (0, 1),
            "frameon": False,
            "fontsize": 9,
        }
        columns = 3 if len(handles) < 4 else 2
        ax.legend(handles=handles, ncols=columns, handlelength=1.2, borderaxespad=0.2, **legend)
        ax.set_xticks(np.arange(0.5, y.max() + 1), minor=True)
        ax.set_yticks(np.arange(0.5, x.max() + 1), minor=True)
        ax.grid(which="minor", color="#DDDDDD", linewidth=0.5)
        ax.tick_params(which="minor", length=0)
        ax.set_xticks([1, *range(4, int(y.max()) + 1, 4)])
        ax.set_yticks([1, *range(4, int(x.max()) + 1, 4)])
        ax.set_xlabel("warps of the second block")
        ax.set_ylabel("warps of the first block")
        return ax

    def _marks(self, ax: Axes, cells: Any, label: str, **style: Any) -> list[Any]:
        """Mark some cells; returns the entry of the legend, if there are any."""
        if not cells.any():
            return []
        color = plot.LATE if style["marker"] == "o" else plot.MUTED
        options = {"linestyle": "none", "color": color, "label": label, **style}
        return ax.plot(self["y"][cells], self["x"][cells], **options)


def olmedo_table2(
    gpu: GPU | str = "Xavier",
    placement: str = "most_room",
    most: int = 32,
    against: str | None = None,
) -> SharedSMs:
    """Compute Table II of [RTAS20]: pairs of kernels of one block each that share an SM.

    Two streams launch a block of x warps and a block of y warps on an idle GPU.

    >>> table = gs.experiments.olmedo_table2(most=4)
    >>> int(table["same"].sum()), bool((table["same"] == table["rule"]).all())
    (1, True)

    Parameters
    ----------
    gpu
        A ``GPU`` or the name of a preset; 64 warps per SM for Table II.
    placement
        As in ``gs.place``.
    most
        Largest number of warps per block.
    against
        Another placement to compare with. Default: none.

    Returns
    -------
    SharedSMs
        Rows with columns x, y, left (warps that the first block leaves free on its SM), same
        (whether the second is placed on that SM) and rule (the same by Definition III.1). With
        ``against`` also against (its name) and other (``same`` with that placement).
    """
    return _shared(gpu, placement, most, (), against)


def olmedo_table3(
    gpu: GPU | str = "Pegasus",
    placement: str = "most_room",
    most: int = 32,
    against: str | None = None,
) -> SharedSMs:
    """Compute Table III of [RTAS20]: ``olmedo_table2`` for Turing's SMs with 32 warps.

    >>> table = gs.experiments.olmedo_table3(most=4)
    >>> int(table["same"].sum()), bool((table["same"] == table["rule"]).all())
    (2, True)
    """
    return _shared(gpu, placement, most, (), against)


def olmedo_table4(
    gpu: GPU | str = "Xavier",
    placement: str = "most_room",
    most: int = 32,
    z: int = 6,
    against: str | None = None,
) -> SharedSMs:
    """Compute Table IV of [RTAS20]: Table II if all SMs but one host a block of z warps.

    The columns are as in ``olmedo_table2``; the rule is Definition III.2. Some blocks share an SM
    contrary to the rule (load balancing, Definition III.3). If the empty SM and the others can host
    equally many blocks of the second kernel, they share an SM by the rule, and "most_room" takes
    the first SM in order. The definitions do not cover the remaining cases, so that the placements
    "most_room" and "olmedo" differ in 193 of 1,024 pairs; in 188 of these the definition holds and
    most_room takes another SM.

    >>> table = gs.experiments.olmedo_table4(against="olmedo")
    >>> differs = table["same"] != table["other"]
    >>> int(differs.sum()), int((differs & table["rule"]).sum())
    (193, 188)
    """
    return _shared(gpu, placement, most, (integer(z, "z"),), against)


def _shared(
    gpu: GPU | str, placement: str, most: int, before: tuple[int, ...], against: str | None
) -> SharedSMs:
    from gpusched.model.block_placement import PLACEMENTS
    from gpusched.model.gpu import as_gpu

    device = as_gpu(gpu)
    top = integer(most, "most")
    if not 1 <= top <= 32:
        raise ValueError(f"most: got {top}, expected 1 to 32 warps, the most of a block")
    columns = _pairs(device, placement, top, before)
    if against is not None:
        one_of(against, PLACEMENTS, "against")
        other = _pairs(device, against, top, before)["same"]
        columns |= {"against": [against] * len(other), "other": other}
    return SharedSMs(columns)


def _pairs(device: GPU, placement: str, top: int, before: tuple[int, ...]) -> dict[str, Any]:
    """The columns of a table with one placement."""
    from gpusched.model.block_placement import place

    rows = []
    mw = device.warps_per_sm
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
    return by_column(("x", "y", "left", "same", "rule"), rows)


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


_GRIDS = ("each", "equal")


class Mispredictions(Results):
    """Table of ``olmedo_fig3``.

    >>> table = gs.experiments.olmedo_fig3(count=10, streams=[2])
    >>> list(table.columns)[:5], len(table)
    (['model', 'against', 'streams', 'count', 'rate'], 2)
    """

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a bar per model and number of streams, with 95 % intervals; returns the axes."""
        ax = plot.axes(ax, (6.0, 3.8))
        models = list(dict.fromkeys(self["model"].tolist()))
        width = 0.8 / len(models)
        for index, model in enumerate(models):
            rows = self.where(model=model)
            at = rows["streams"] + width * (index - (len(models) - 1) / 2)
            rate = 100 * rows["rate"]
            low, high = rate - 100 * rows["rate_low"], 100 * rows["rate_high"] - rate
            ax.bar(at, rate, 0.92 * width, color=plot.color(index), label=model)
            ax.errorbar(at, rate, [low, high], linestyle="none", color=plot.INK, linewidth=0.8)
        ax.set_xticks(sorted({int(value) for value in self["streams"]}))
        ax.set_xlabel("streams")
        ax.set_ylabel(f"placed otherwise than by {self['against'][0]} (%)")
        ax.set_ylim(0, 100)
        ax.legend(frameon=False, fontsize=9, loc="upper left")
        plot.grid(ax, "y")
        return ax


def olmedo_fig3(
    count: int = 1000,
    streams: Sequence[int] = (2, 3, 4, 5, 6, 7, 8),
    models: Sequence[str] = ("round_robin", "olmedo"),
    against: str = "most_room",
    grids: str = "each",
    seed: Any = 1,
    gpu: GPU | str = "Xavier",
) -> Mispredictions:
    """Compute Figure 3 of [RTAS20]: share of launches whose blocks a model places on wrong SMs.

    A launch configuration has one kernel in each stream, with 1 to 4 blocks of 1 to 1,024 threads.
    The paper compares round robin with an Xavier. Here another placement rule stands for the GPU,
    so the rates tell how much two models differ.

    Parameters
    ----------
    count
        Number of configurations for each number of streams; 1,000 for the paper's 7,000.
    streams
        Numbers of streams.
    models
        Placement rules used as predictions, as in ``gs.place``.
    against
        The placement rule that stands for the GPU.
    grids
        "each": every kernel has its own number of blocks; "equal": all kernels of a configuration
        have the same number. The threads per block are drawn for each kernel.
    seed
        As in ``gs.sweep``; the configurations of a number of streams do not depend on the others.
    gpu
        A ``GPU`` or the name of a preset.

    Returns
    -------
    Mispredictions
        Rows with columns model, against, streams, count, rate (share of configurations in which a
        block is on another SM), rate_low and rate_high (95 % confidence), placed (share of the
        configurations whose blocks all find room at once) and placed_rate (``rate`` among these).

    >>> table = gs.experiments.olmedo_fig3(200, [2, 8], ["round_robin"])
    >>> bool(table["rate"][0] < 0.3 < 0.9 < table["rate"][1])
    True
    """
    from gpusched.model.block_placement import PLACEMENTS, place
    from gpusched.model.gpu import as_gpu

    device = as_gpu(gpu)
    drawn = integer(count, "count")
    if drawn < 1:
        raise ValueError(f"count: got {drawn}, expected a positive number")
    if np.ndim(streams) != 1 or len(streams) == 0:
        raise ValueError(f"streams: got {shown(streams)}, expected a list of numbers")
    named = some_of(models, PLACEMENTS, "models")
    one_of(against, PLACEMENTS, "against")
    one_of(grids, _GRIDS, "grids")
    rows: list[tuple[Any, ...]] = []
    root = spawn(seed)
    for number in (integer(value, "streams") for value in streams):
        if not 1 <= number <= 1024:
            raise ValueError(f"streams: got {number}, expected 1 to 1024")
        rng = np.random.default_rng(spawn(root, number))
        wrong = np.zeros((len(named), drawn), dtype=bool)
        placed = np.zeros(drawn, dtype=bool)
        for i in range(drawn):
            blocks = rng.integers(1, 5, number if grids == "each" else 1)
            threads = rng.integers(1, 1025, number)
            real = place(device, blocks, threads, placement=against)
            placed[i] = real.all_placed
            for k, model in enumerate(named):
                told = place(device, blocks, threads, placement=model)
                wrong[k, i] = not np.array_equal(real.sm, told.sm)
        for k, model in enumerate(named):
            low, high = wilson(wrong[k].sum(), drawn)
            among = wrong[k, placed].mean() if placed.any() else float("nan")
            rows.append(
                (
                    model,
                    against,
                    number,
                    drawn,
                    float(wrong[k].mean()),
                    float(low),
                    float(high),
                    float(placed.mean()),
                    float(among),
                )
            )
    names = ("model", "against", "streams", "count", "rate", "rate_low", "rate_high")
    return Mispredictions(by_column((*names, "placed", "placed_rate"), rows))


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
