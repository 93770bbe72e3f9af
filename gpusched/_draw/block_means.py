"""Images of many blocks on SMs: mean numbers of warps in equal parts of a window."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gpusched._draw.axes import PALETTE
from gpusched._draw.block_columns import BlockColumns
from gpusched._draw.timeline import PIXELS_PER_POINT, Raster
from gpusched._support.arguments import Int64Array

__all__ = ["COLUMNS", "THIN", "mean_warps", "raster"]

COLUMNS = 360  # parts of a window
THIN = 8.0  # points of a lane in which heights cannot be told apart
_THIN_CELLS = 2  # of its height
_MOST_CELLS = 32  # of that of other lanes
_SHADES = 6  # of a colour
_PALEST = 0.25

Shares = npt.NDArray[np.float64]


def mean_warps(
    log: BlockColumns, classes: Int64Array, since: int, end: int, group: int = 1
) -> Shares:
    """Mean number of warps per SM that run in equal parts of a window.

    Parameters
    ----------
    log
        The blocks.
    classes
        Index of each kernel's colour, ``(K,)``.
    since, end
        The window in ticks.
    group
        Number of adjacent SMs that share a row.

    Returns
    -------
    numpy.ndarray
        Shape (rows, colours of the palette, parts), float64; parts are 360, or as many as the
        window has ticks. Time and memory: linear in blocks and cells.
    """
    parts = min(COLUMNS, end - since)
    edges = np.array([since + (end - since) * k // parts for k in range(parts + 1)], np.int64)
    block, start, stop = log.running()
    inside = np.flatnonzero((stop > since) & (start < end))
    block = block[inside]
    rows = -(-log.sms // group)
    shape = (rows, len(PALETTE), parts)
    kernel = log.kernel[block]
    base = (log.sm[block] // group * len(PALETTE) + classes[kernel]) * parts
    warps = log.warps_of[kernel].astype(np.float64)
    size = int(np.prod(shape))
    first, later = np.zeros(size), np.zeros(size)
    for times, sign in ((start[inside], 1), (stop[inside], -1)):
        at = np.clip(times, since, end)
        part = np.minimum(np.searchsorted(edges, at, side="right") - 1, parts - 1)
        # From an instant on, warps count for the rest of its part, and for all of the later ones.
        rest = (edges[part + 1] - at).astype(np.float64)
        first += sign * np.bincount(base + part, warps * rest, size)
        after = part + 1 < parts
        later += sign * np.bincount((base + part + 1)[after], warps[after], size)
    lengths = np.diff(edges).astype(np.float64)
    area = first.reshape(shape) + np.cumsum(later.reshape(shape), axis=2) * lengths
    sms = np.minimum(group, log.sms - group * np.arange(rows)).astype(np.float64)
    means: Shares = np.maximum(np.round(area / lengths / sms[:, None, None], 9), 0.0)
    return means


def raster(shares: Shares, lane: int, height: float, tip: str) -> Raster:
    """Image of shares of rows, (rows, colours, columns), in lanes from ``lane`` on.

    Shares are stacked from the bottom of a row. Rows of fewer than ``THIN`` points are filled, the
    paler the smaller the sum of the shares. What is not 0 is shown.
    """
    rows, colors, columns = shares.shape
    total = shares.sum(axis=1)
    if height < THIN:
        parts = np.divide(
            shares, total[:, None], out=np.zeros_like(shares), where=total[:, None] > 0
        )
        values = _stacked(parts, _THIN_CELLS)
        shade = np.clip(np.ceil(total * _SHADES - 1e-6), 1, _SHADES).astype(np.int64) - 1
        values = np.where(values < colors, values * _SHADES + shade[:, None], -1)
        texts = tuple(_pale(text, k / (_SHADES - 1)) for text in PALETTE for k in range(_SHADES))
    else:
        values = _stacked(shares, min(int(height * PIXELS_PER_POINT + 1e-9), _MOST_CELLS))
        values, texts = np.where(values < colors, values, -1), PALETTE
    image = np.ascontiguousarray(values.reshape(-1, columns), dtype=np.int16)
    return Raster(lane, rows, image, texts, tip)


def _stacked(shares: Shares, cells: int) -> Int64Array:
    """Index of the colour of each cell of a row, (rows, cells from the top, columns).

    That of an empty cell is the number of colours.
    """
    colors = shares.shape[1]
    tops = np.rint(np.cumsum(shares, axis=1) * cells)
    level = np.arange(cells)[:, None]
    values: Int64Array = (tops[:, :, None, :] <= level).sum(axis=1)
    lowest, some = values[:, 0], shares.any(axis=1)
    values[:, 0] = np.where((lowest == colors) & some, np.argmax(shares, axis=1), lowest)
    return values[:, ::-1]


def _pale(text: str, strength: float) -> str:
    """A colour mixed with white."""
    part = _PALEST + (1 - _PALEST) * strength
    mixed = (round(255 - part * (255 - int(text[k : k + 2], 16))) for k in (1, 3, 5))
    return "#{:02X}{:02X}{:02X}".format(*mixed)
