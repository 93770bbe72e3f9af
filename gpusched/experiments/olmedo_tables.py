"""Tables II to IV of [RTAS20]: pairs of blocks that share an SM.

The tables follow from placement rules. Two rules can be compared: the paper's definitions as
written ("olmedo") and the most-room rule, of which they are special cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.arguments import integer, one_of
from gpusched._support.results import Results, by_column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched.model.gpu import GPU

__all__ = ["SharedSMs", "olmedo_table2", "olmedo_table3", "olmedo_table4"]


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
