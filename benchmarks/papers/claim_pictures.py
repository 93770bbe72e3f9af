"""Pictures of claims: figures of Matplotlib as SVG text."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figure_svg"]


def figure_svg(plot: Callable[[], Any]) -> str | None:
    """SVG text of what ``plot`` draws; None where Matplotlib is not installed.

    Parameters
    ----------
    plot
        Draws a figure and returns its axes or an array of them, as ``plot`` of the tables of
        ``gs.experiments`` does. The figure is closed. Equal figures give equal text.
    """
    if importlib.util.find_spec("matplotlib") is None:
        return None
    import matplotlib as mpl
    import numpy as np

    from gpusched._draw.axes import pyplot

    axes = np.ravel(np.asarray(plot(), dtype=object))
    figure: Figure = axes[0].figure
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "gpusched", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    pyplot().close(figure)
    return text.getvalue()
