"""Colours, time axes, legends and confidence bands of Matplotlib figures.

Matplotlib is imported when the first figure is drawn.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from gpusched._support.files import replacing
from gpusched._support.text import UNITS, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Several panels: as they are returned, and as they are taken. Strings, since Matplotlib is not
# imported here.
AxesArray: TypeAlias = "npt.NDArray[np.object_]"
AxesLike: TypeAlias = "Sequence[Axes] | AxesArray"

# Okabe and Ito's colours, which stay apart for every common kind of colour blindness, with a dark
# grey for their black; yellow, which is faint on white, comes late.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#4D4D4D")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
INK = "#222222"
MUTED = "#666666"
LATE = "#C00000"
_KEY = 14  # characters of a timeline's legend per inch, with its marks counted as 7


def color(index: int) -> str:
    """The palette's colour number ``index``, starting again after the last."""
    return PALETTE[index % len(PALETTE)]


def pyplot() -> Any:
    """The module ``matplotlib.pyplot``; an ImportError says how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib: pip install 'gpusched[plot]'", name="matplotlib"
        ) from error
    return pyplot


def axes(ax: Axes | None = None, size: tuple[float, float] = (6.4, 4.0)) -> Axes:
    """``ax`` itself, or the axes of a new figure of this size in inches."""
    if ax is not None:
        return ax
    new: Axes = pyplot().subplots(figsize=size, layout="constrained")[1]
    return new


def panels(
    axes: AxesLike | None,
    shape: int | tuple[int, int],
    size: tuple[float, float],
    what: str = "diagrams",
    **options: Any,
) -> AxesArray:
    """Axes as an array: those given, or those of a new figure.

    Parameters
    ----------
    axes
        An array of axes of this shape; None for a new figure.
    shape
        Number of axes side by side, or (rows, columns).
    size
        Size of the new figure in inches.
    what
        Name of the diagrams, for the message.
    options
        Those of ``matplotlib.pyplot.subplots``.

    Raises
    ------
    ValueError
        Axes of another shape.
    """
    rows, columns = (1, shape) if isinstance(shape, int) else shape
    if axes is None:
        options = {"figsize": size, "squeeze": False, "layout": "constrained", **options}
        new: AxesArray = pyplot().subplots(rows, columns, **options)[1]
        return new[0] if isinstance(shape, int) else new
    given = np.atleast_1d(np.asarray(axes, dtype=object))
    if isinstance(shape, int) and len(given) != shape:
        raise ValueError(f"axes: got {len(given)}, expected {shape}, for the {what}")
    if not isinstance(shape, int) and given.shape != shape:
        raise ValueError(f"axes: got shape {given.shape}, expected {shape}")
    return given


def grid(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """A light grid behind the data, no frame at the top and on the right."""
    ax.grid(True, axis=axis, color="#DDDDDD", linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def band(
    ax: Axes, x: Any, y: Any, low: Any, high: Any, label: str, index: int, **options: Any
) -> None:
    """A line with markers in the palette's colour ``index`` and its confidence band."""
    style = {"color": color(index), "marker": MARKERS[index % len(MARKERS)], "markersize": 5}
    ax.fill_between(x, low, high, color=color(index), alpha=0.15, linewidth=0)
    ax.plot(x, y, label=label, **{**style, **options})


def legend(ax: Axes, **options: Any) -> None:
    """Legend whose names are taken literally: a dollar sign does not start a formula."""
    for text in ax.legend(**options).get_texts():
        text.set_parse_math(False)


def word(ax: Axes, row: int, text: str) -> None:
    """A word at the left end of a row, in the place of a bar."""
    across = ax.get_yaxis_transform()
    ax.text(0.01, row, text, transform=across, fontsize=8, color=MUTED, va="center")


def key(ax: Axes, handles: list[Any]) -> None:
    """Legend above a timeline, in as few lines as fit; nothing without handles."""
    if not handles:
        return
    lengths = [7 + len(str(handle.get_label())) for handle in handles]

    def length(columns: int) -> int:
        return sum(int(part.max()) for part in np.array_split(lengths, columns))

    figure = ax.figure
    room = _KEY * ax.get_position().width * figure.bbox.width / figure.dpi
    fits = [columns for columns in range(1, len(handles) + 1) if length(columns) <= room]
    lines = -(-len(handles) // max(fits, default=1))
    legend(
        ax,
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=-(-len(handles) // lines),
        frameon=False,
        fontsize=9,
        handlelength=1.2,
        columnspacing=1.2,
        borderaxespad=0.2,
    )


class TimeAxis:
    """Notation of times on an axis: its ``label``, and the number of ``ticks`` per shown unit."""

    def __init__(self, ticks: int, label: str) -> None:
        self.ticks = ticks
        self.label = label

    @property
    def unit(self) -> str:
        """The shown unit: "ticks", "ns", "µs", "ms" or "s"."""
        return self.label[self.label.index("(") + 1 : -1]

    def text(self, time: float) -> str:
        """A time in ticks as the axis writes it."""
        return f"{time / self.ticks:.10g}"

    def steps(self, first: int, last: int, count: int = 10) -> list[int]:
        """Round times in ticks from ``first`` to ``last``, at most about ``count`` of them."""
        if last <= first:
            return [first]
        raw = max((last - first) / self.ticks / count, 1 / self.ticks)
        power = 10 ** math.floor(math.log10(raw))
        step = next(s * power for s in (1, 2, 5, 10) if s * power >= raw * (1 - 1e-9))
        distance = max(1, round(step * self.ticks))
        return list(range(-(-first // distance) * distance, last + 1, distance))


def time_axis(unit: str | Fraction | None, last: int) -> TimeAxis:
    """Time axis up to ``last`` ticks.

    Parameters
    ----------
    unit
        Unit of a tick: None (the axis counts ticks), or "ns", "us", "ms" or "s" (the axis has the
        unit that suits its length). Or the length of a tick in ns, a fraction of such a unit.
    last
        Its end in ticks.

    Raises
    ------
    ValueError
        Another unit.
    """
    if unit is None:
        return TimeAxis(1, "time (ticks)")
    if isinstance(unit, Fraction):
        sizes = [(name, UNITS[name] / unit) for name in ("s", "ms", "µs", "ns")]
        whole = [(name, int(size)) for name, size in sizes if size.denominator == 1]
        name, ticks = next((of for of in whole if last >= 2 * of[1]), whole[-1])
        return TimeAxis(ticks, f"time ({name})")
    if not isinstance(unit, str) or unit not in UNITS:
        raise ValueError(f"unit: got {shown(unit)}, expected None, 'ns', 'us', 'ms' or 's'")
    for name in ("s", "ms", "µs", "ns"):
        size = UNITS[name]
        if size <= UNITS[unit] or last * UNITS[unit] >= 2 * size:
            return TimeAxis(max(1, size // UNITS[unit]), f"time ({name})")
    raise AssertionError


def save_figure(figure: Any, path: str | os.PathLike[str], dpi: int = 150) -> None:
    """Write a figure to a file, in the format of the name's ending, and close it.

    An existing file is replaced when the new one is complete. Raises OSError when the file cannot
    be written, ValueError for an ending that Matplotlib does not know.
    """
    try:
        with replacing(path) as file:
            ending = os.path.splitext(os.fspath(path))[1].lstrip(".")
            figure.savefig(file, dpi=dpi, format=ending)
    finally:
        pyplot().close(figure)
