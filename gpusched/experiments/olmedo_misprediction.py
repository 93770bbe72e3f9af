"""Figure 3 of [RTAS20]: launch configurations that a model of placement predicts wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched._draw import axes as plot
from gpusched._support.arguments import integer, one_of, some_of, spawn
from gpusched._support.results import Results, by_column, wilson
from gpusched._support.text import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from gpusched.model.gpu import GPU

__all__ = ["Mispredictions", "olmedo_fig3"]

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
